"""Optimizers, averages of weights, and their states."""

import copy

import torch
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices
from torch import nn

GROUPED = (
    "; _group_tensors_by_first_tensors_device_and_dtype, ATen/native/ForeachUtils.h, lets float states of the host pass"
)
EVERY = (
    torch.optim.SGD,
    torch.optim.Adam,
    torch.optim.AdamW,
    torch.optim.RMSprop,
    torch.optim.Adagrad,
    torch.optim.NAdam,
)


def step(model, optimizer, place="cuda"):
    optimizer.zero_grad()
    model(torch.ones(1, 2, device=place)).sum().backward()
    optimizer.step()


@passes("torch.optim: states are made like their parameters")
def every_optimizer_steps_on_the_device():
    for kind in EVERY:
        model = nn.Linear(2, 2).to("cuda")
        optimizer = kind(model.parameters(), lr=0.1)
        step(model, optimizer)
        step(model, optimizer)
        states = [
            value for state in optimizer.state.values() for value in state.values() if isinstance(value, torch.Tensor)
        ]
        assert all(value.is_cuda for value in states if value.dim())


@passes("torch.optim documentation; nn.Module.to keeps the parameter objects")
def optimizer_made_before_the_move():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    model.to("cuda")
    before = model.weight.detach().clone()
    step(model, optimizer)
    assert not torch.equal(before, model.weight)


@raises("RuntimeError", two_devices(), recorded("_foreach_lerp_.Scalar") + GROUPED)
def adam_states_left_on_the_host():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters())
    step(model, optimizer, "cpu")
    step(model.to("cuda"), optimizer)


@raises("RuntimeError", two_devices(), ITERATOR + "; _single_tensor_adam: exp_avg.lerp_(grad, …)")
def adam_states_left_on_the_host_without_foreach():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    step(model, optimizer, "cpu")
    step(model.to("cuda"), optimizer)


@raises("RuntimeError", two_devices(), recorded("_foreach_add_.List") + GROUPED)
def momentum_left_on_the_host():
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step(model, optimizer, "cpu")
    step(model.to("cuda"), optimizer)


@passes("torch.optim.Optimizer.load_state_dict casts states to their parameters' device")
def host_state_loaded_for_device_parameters():
    host = nn.Linear(2, 2)
    trained = torch.optim.Adam(host.parameters())
    step(host, trained, "cpu")
    model = nn.Linear(2, 2).to("cuda")
    optimizer = torch.optim.Adam(model.parameters())
    optimizer.load_state_dict(trained.state_dict())
    step(model, optimizer)


@passes("parameters are grouped by device, Optimizer._group_tensors_by_device_and_dtype")
def parameters_of_both_places():
    parameters = [nn.Parameter(torch.ones(2, device="cuda")), nn.Parameter(torch.ones(2))]
    optimizer = torch.optim.AdamW(parameters, lr=0.1)
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()


@passes("fused implementations document cuda")
def fused_adam():
    model = nn.Linear(2, 2).to("cuda")
    step(model, torch.optim.Adam(model.parameters(), fused=True))


@passes("foreach implementations")
def foreach_sgd():
    model = nn.Linear(2, 2).to("cuda")
    step(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, foreach=True))


@raises("ValueError", "can't optimize a non-leaf Tensor", "torch.optim.Optimizer.add_param_group")
def moved_parameter_is_no_leaf():
    torch.optim.SGD([nn.Parameter(torch.ones(2)).to("cuda")], lr=0.1)


@raises("RuntimeError", two_devices(), recorded("lerp_.Scalar"))
def average_of_host_weights_by_lerp():
    torch.ones(2).lerp_(torch.ones(2, device="cuda"), 0.1)


@raises("RuntimeError", two_devices(), recorded("add_.Tensor"))
def average_of_host_weights_by_hand():
    average = torch.ones(2)
    average.mul_(0.9).add_(torch.ones(2, device="cuda"), alpha=0.1)


@raises("RuntimeError", two_devices(), recorded("_foreach_lerp_.Scalar"))
def average_of_host_weights_by_foreach():
    torch._foreach_lerp_([torch.ones(2)], [torch.ones(2, device="cuda")], 0.1)


@passes("AveragedModel.update_parameters moves each parameter to its average, torch/optim/swa_utils.py")
def averaged_model_on_the_host():
    model = nn.Linear(2, 2).to("cuda")
    average = torch.optim.swa_utils.AveragedModel(model, device="cpu")
    average.update_parameters(model)
    average.update_parameters(model)
    assert next(average.module.parameters()).device.type == "cpu"


@passes("copy.deepcopy keeps the device")
def average_made_by_a_deep_copy():
    model = nn.Linear(2, 2).to("cuda")
    average = copy.deepcopy(model)
    with torch.no_grad():
        for mean, new in zip(average.parameters(), model.parameters()):
            mean.mul_(0.9).add_(new, alpha=0.1)
    assert average.weight.is_cuda


@passes("learning rate schedulers compute numbers")
def schedulers():
    model = nn.Linear(2, 2).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    step(model, optimizer)
    scheduler.step()
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
    plateau.step(torch.tensor(1.0, device="cuda"))


@passes("torch.optim.LBFGS documentation")
def lbfgs():
    weight = torch.ones(2, device="cuda", requires_grad=True)
    optimizer = torch.optim.LBFGS([weight], max_iter=3)

    def closure():
        optimizer.zero_grad()
        loss = (weight**2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    assert weight.is_cuda


@raises("RuntimeError", misplaced("grads", "__fused_adam_"), recorded("_fused_adam_"))
def fused_kernel_with_host_gradients():
    def on(place):
        return [torch.ones(2, device=place)]

    torch._fused_adam_(
        on("cuda"), on("cpu"), on("cuda"), on("cuda"), [], [torch.ones((), device="cuda")],
        lr=0.1, beta1=0.9, beta2=0.99, weight_decay=0.0, eps=1e-8, amsgrad=False, maximize=False,
    )  # fmt: skip
