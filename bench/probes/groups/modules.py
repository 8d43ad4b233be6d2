"""Modules: what a move takes along, state dicts, shared and replaced parameters."""

import copy

import torch
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices
from torch import nn


class WithBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)
        self.register_buffer("scale", torch.ones(2))
        self.plain = torch.ones(2)


@passes("torch.nn.Module.to documentation: moves parameters and buffers, in place")
def to_moves_parameters_and_buffers_and_no_attribute():
    module = WithBuffer()
    assert module.to("cuda") is module
    assert module.layer.weight.is_cuda
    assert module.scale.is_cuda
    assert module.plain.device.type == "cpu"


@passes("torch.nn.Module.cuda and cpu documentation")
def cuda_and_cpu():
    module = nn.Linear(2, 2).cuda()
    assert next(module.parameters()).is_cuda
    assert next(module.cpu().parameters()).device.type == "cpu"


@passes("torch.nn.Module._apply assigns param.data: the parameter stays the same object")
def parameters_stay_the_same_objects():
    module = nn.Linear(2, 2)
    weight = module.weight
    module.to("cuda")
    assert module.weight is weight
    assert weight.is_cuda
    assert weight.is_leaf


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm", "cuda:0", "cpu"),
    recorded("addmm") + "; a layer added later stays where it was made",
)
def layer_replaced_after_the_move():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)).to("cuda")
    model[1] = nn.Linear(2, 3)
    model(torch.ones(1, 2, device="cuda"))


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm", "cuda:0", "cpu"),
    recorded("addmm") + "; a plain list hides modules from Module.to",
)
def layers_in_a_plain_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = [nn.Linear(2, 2)]

        def forward(self, x):
            return self.layers[0](x)

    Net().to("cuda")(torch.ones(1, 2, device="cuda"))


@passes("torch.nn.ModuleList documentation")
def layers_in_a_module_list():
    layers = nn.ModuleList([nn.Linear(2, 2)]).to("cuda")
    assert layers[0](torch.ones(1, 2, device="cuda")).is_cuda


@raises("RuntimeError", two_devices(), ITERATOR + "; a tensor made in forward is on the host by default")
def tensor_made_in_forward():
    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.randn(x.shape)

    Noise().to("cuda")(torch.ones(2, device="cuda"))


@passes("torch.randn_like documentation")
def tensor_like_its_input_made_in_forward():
    class Noise(nn.Module):
        def forward(self, x):
            return x + torch.randn_like(x)

    assert Noise()(torch.ones(2, device="cuda")).is_cuda


@passes("torch.nn.Module.load_state_dict copies with param.copy_")
def host_state_into_a_device_module():
    module = nn.Linear(2, 2).to("cuda")
    module.load_state_dict(nn.Linear(2, 2).state_dict())
    assert module.weight.is_cuda


@passes("torch.nn.Module.load_state_dict documentation: assign keeps the properties of the tensors in the state dict")
def host_state_assigned_to_a_device_module():
    module = nn.Linear(2, 2).to("cuda")
    module.load_state_dict(nn.Linear(2, 2).state_dict(), assign=True)
    assert module.weight.device.type == "cpu"


@passes("torch.nn.Module.state_dict shares the parameters' data")
def state_dict_is_on_the_device():
    module = WithBuffer().to("cuda")
    assert all(value.is_cuda for value in module.state_dict().values())


@passes("copy.deepcopy of a module keeps its devices")
def deep_copy_of_a_module():
    module = copy.deepcopy(WithBuffer().to("cuda"))
    assert module.layer.weight.is_cuda
    assert module.scale.is_cuda


@passes("torch.nn.Module.to_empty documentation")
def meta_module_to_empty():
    with torch.device("meta"):
        module = nn.Linear(2, 2)
    assert module.to_empty(device="cuda").weight.is_cuda


@raises(
    "NotImplementedError",
    "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
    "when moving module from meta to a different device.",
    "torch.nn.Module.to, torch/nn/modules/module.py",
)
def meta_module_to_the_device():
    with torch.device("meta"):
        module = nn.Linear(2, 2)
    module.to("cuda")


@passes("layers document device")
def layers_made_on_the_device():
    assert nn.Linear(2, 2, device="cuda").weight.is_cuda
    assert nn.Embedding(2, 2, device="cuda").weight.is_cuda
    assert nn.Conv2d(1, 1, 1, device="cuda").weight.is_cuda
    assert nn.BatchNorm1d(2, device="cuda").running_mean.is_cuda
    assert nn.LSTM(2, 2, device="cuda").weight_ih_l0.is_cuda


@raises(
    "TypeError",
    "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int64",
    "torch.nn.Module.to",
)
def module_to_integers():
    nn.Linear(2, 2).to("cuda", torch.long)


@raises(
    "TypeError",
    "Found two parameters on different devices, this is currently not supported.",
    "_check_param_device, torch/nn/utils/convert_parameters.py",
)
def parameters_to_vector_of_both_places():
    nn.utils.parameters_to_vector([torch.ones(2, device="cuda"), torch.ones(2)])


@passes("torch.nn.utils.clip_grad_norm_ groups by device and moves the norms to the first")
def clipping_gradients_of_both_places():
    parameters = [nn.Parameter(torch.ones(2, device="cuda")), nn.Parameter(torch.ones(2))]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    assert abs(nn.utils.clip_grad_norm_(parameters, 1.0).item() - 2) < 1e-5


@passes("torch.nn.init works in place")
def initialisation_keeps_the_place():
    weight = torch.empty(2, 2, device="cuda")
    for initialise in (nn.init.xavier_uniform_, nn.init.kaiming_normal_, nn.init.orthogonal_, nn.init.zeros_):
        assert initialise(weight).is_cuda


@passes("parametrizations run where the module is")
def weight_norm_follows_the_module():
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)).to("cuda")
    assert layer(torch.ones(1, 2, device="cuda")).is_cuda


@passes("torch.nn.Module.half and double keep the device")
def types_keep_the_place():
    module = WithBuffer().to("cuda").double()
    assert module.scale.is_cuda
    assert module.scale.dtype == torch.float64


@passes("torch.func.functional_call and vmap")
def functional_call_with_device_parameters():
    module = nn.Linear(2, 2)
    parameters = {name: value.detach().to("cuda") for name, value in module.named_parameters()}
    assert torch.func.functional_call(module, parameters, (torch.ones(1, 2, device="cuda"),)).is_cuda


@passes("torch.vmap documentation")
def vmap_on_the_device():
    x = torch.ones(3, 2, device="cuda")
    assert torch.vmap(lambda row: (row * row).sum())(x).is_cuda


@raises("RuntimeError", two_devices(), ITERATOR)
def vmap_of_both_places():
    torch.vmap(lambda row: row + torch.ones(2))(torch.ones(3, 2, device="cuda"))
