"""Backward passes: gradients across moves, given and returned on the wrong place, hooks, checkpointing."""

import torch
from expectations import ITERATOR, passes, raises, two_devices
from torch.utils.checkpoint import checkpoint

VALIDATE = "validate_outputs, torch/csrc/autograd/engine.cpp"


@passes("the backward of a copy copies the gradient back, ToCopyBackward")
def gradient_returns_across_a_move():
    x = torch.ones(2, requires_grad=True)
    (x.to("cuda") * 3).sum().backward()
    assert x.grad.device.type == "cpu"
    assert x.grad.tolist() == [3, 3]


@passes("the gradient of a device leaf is on the device")
def gradient_of_a_device_leaf():
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x.cpu() * 2).sum().backward()
    assert x.grad.is_cuda


@raises("RuntimeError", "invalid gradient at index 0 - expected device cuda:0 but got cpu", VALIDATE)
def backward_with_host_gradient():
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x * 2).backward(torch.ones(2))


@raises("RuntimeError", "invalid gradient at index 0 - expected device cpu but got cuda:0", VALIDATE)
def host_backward_with_device_gradient():
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.ones(2, device="cuda"))


@passes(VALIDATE + ": a 0-dim gradient is moved")
def backward_with_host_scalar_gradient():
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x * 2).sum().backward(torch.tensor(1.0))
    assert x.grad.is_cuda


@raises(
    "RuntimeError",
    "Function DoubleBackward returned an invalid gradient at index 0 - expected device cuda:0 but got cpu",
    VALIDATE,
)
def custom_function_returns_a_host_gradient():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            return x * 2

        @staticmethod
        def backward(context, gradient):
            return torch.full((2,), 2.0)

    Double.apply(torch.ones(2, device="cuda", requires_grad=True)).sum().backward()


@passes("torch.autograd.Function documentation")
def custom_function_on_the_device():
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(context, x):
            context.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            assert x.is_cuda
            return gradient * 2

    x = torch.ones(2, device="cuda", requires_grad=True)
    Double.apply(x).sum().backward()
    assert x.grad.is_cuda


@raises(
    "RuntimeError",
    "hook '<lambda>' has changed the type of value (was torch.cuda.FloatTensor got torch.FloatTensor)",
    "check_variable_result, torch/csrc/autograd/variable.cpp",
)
def hook_returns_a_host_gradient():
    x = torch.ones(2, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: gradient.cpu())
    (x * 2).sum().backward()


@passes("torch.Tensor.register_hook documentation")
def hook_on_the_device():
    seen = []
    x = torch.ones(2, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: seen.append(gradient.device))
    (x * 2).sum().backward()
    assert seen == [torch.device("cuda:0")]


@raises("RuntimeError", two_devices(), ITERATOR + "; the backward of a hook's product")
def hook_multiplies_by_a_host_tensor():
    x = torch.ones(2, device="cuda", requires_grad=True)
    x.register_hook(lambda gradient: gradient * torch.ones(2))
    (x * 2).sum().backward()


@raises(
    "RuntimeError",
    "attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. "
    "Please ensure that the gradient and the tensor are on the same device",
    "THPVariable_set_grad, torch/csrc/autograd/python_variable.cpp, of torch 2.13",
)
def assigning_a_host_gradient():
    x = torch.ones(2, device="cuda", requires_grad=True)
    x.grad = torch.ones(2)


@passes("torch.autograd.grad documentation: create_graph")
def double_backward():
    x = torch.tensor([2.0], device="cuda", requires_grad=True)
    (gradient,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(gradient.sum(), x)
    assert second.is_cuda
    assert second.item() == 12


@passes("torch.utils.checkpoint documentation")
def checkpointing():
    layer = torch.nn.Linear(2, 2).to("cuda")
    x = torch.ones(1, 2, device="cuda", requires_grad=True)
    checkpoint(lambda value: layer(value).relu(), x, use_reentrant=False).sum().backward()
    assert x.grad.is_cuda


@passes("torch.utils.checkpoint documentation: the reentrant variant")
def checkpointing_reentrant():
    layer = torch.nn.Linear(2, 2).to("cuda")
    x = torch.ones(1, 2, device="cuda", requires_grad=True)
    checkpoint(layer, x, use_reentrant=True).sum().backward()
    assert layer.weight.grad.is_cuda


@raises("RuntimeError", two_devices(), ITERATOR)
def gradient_penalty_with_host_weights():
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = x * x
    (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    (gradient * torch.ones(2)).sum().backward()


@passes("torch.no_grad, inference_mode and detach keep the device")
def without_gradients():
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.no_grad():
        assert (x * 2).is_cuda
    with torch.inference_mode():
        assert (x * 2).is_cuda


@passes("torch.autograd.graph.save_on_cpu documentation")
def saved_tensors_on_the_host():
    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).sum()
    y.backward()
    assert x.grad.is_cuda


@passes("gradients accumulate where the leaf is")
def gradients_accumulate():
    x = torch.ones(2, device="cuda", requires_grad=True)
    for _ in range(2):
        (x * 2).sum().backward()
    assert x.grad.tolist() == [4, 4]
    x.grad.zero_()


@passes("a loss may sum parts of several devices after moving them", devices=2)
def backward_across_devices():
    a = torch.ones(2, device="cuda:0", requires_grad=True)
    b = torch.ones(2, device="cuda:1", requires_grad=True)
    (a.sum() + b.sum().to("cuda:0")).backward()
    assert (a.grad.get_device(), b.grad.get_device()) == (0, 1)


@raises("RuntimeError", two_devices("cuda:0", "cuda:1"), ITERATOR, devices=2)
def sum_of_losses_of_two_devices():
    torch.ones(2, device="cuda:0").sum() + torch.ones(2, device="cuda:1").sum()
