"""Moving tensors, making them where they are wanted, default devices, and what a tensor says of its place."""

import copy

import torch
from expectations import ORDINAL, passes, raises

CUDA_NOTES = "https://docs.pytorch.org/docs/stable/notes/cuda.html#cuda-semantics"


@passes("torch.Tensor.to documentation")
def to_makes_a_copy_elsewhere_and_none_in_place():
    x = torch.ones(2)
    y = x.to("cuda")
    assert x.device.type == "cpu"
    assert y.device == torch.device("cuda", 0)
    assert y.to("cuda") is y
    assert x.to("cpu") is x


@passes("torch.Tensor.to documentation: to(other)")
def to_another_tensor_takes_device_and_type():
    y = torch.ones(2).to(torch.zeros(1, dtype=torch.float64, device="cuda"))
    assert y.is_cuda
    assert y.dtype == torch.float64


@passes("torch.Tensor.to documentation: to(dtype) keeps the device")
def to_a_type_keeps_the_place():
    assert torch.ones(2, device="cuda").to(torch.float64).is_cuda
    assert torch.ones(2, device="cuda").half().is_cuda
    assert torch.ones(2, device="cuda").long().is_cuda


@passes("torch.Tensor.cuda and cpu documentation")
def cuda_and_cpu():
    x = torch.ones(2).cuda()
    assert x.is_cuda
    assert x.get_device() == 0
    assert x.cpu().get_device() == -1
    assert x.cpu().device.type == "cpu"


@passes("torch.Tensor.to documentation: to(dtype, device) in any of its forms")
def to_with_all_its_arguments():
    x = torch.ones(2)
    assert x.to("cuda", torch.float64, non_blocking=True).dtype == torch.float64
    assert x.to(device="cuda", dtype=torch.float16).is_cuda
    assert x.to(torch.device("cuda"), copy=True).is_cuda
    assert x.to(0).is_cuda


@raises("RuntimeError", "Invalid device, must be cuda device", "THPVariable_cuda, python_variable_methods.cpp")
def cuda_of_the_host():
    torch.ones(2).cuda("cpu")


@raises(
    ORDINAL,
    "CUDA error: invalid device ordinal",
    "c10::cuda::ExchangeDevice; the type is torch.AcceleratorError since torch 2.8",
)
def to_a_device_that_is_not_there():
    torch.ones(2).to("cuda:99")


@raises(
    ORDINAL,
    "CUDA error: invalid device ordinal",
    "c10::cuda::ExchangeDevice; the type is torch.AcceleratorError since torch 2.8",
)
def factory_on_a_device_that_is_not_there():
    torch.zeros(2, device="cuda:99")


@passes("torch.device documentation: naming a device does not use it")
def naming_a_device_that_is_not_there():
    assert torch.device("cuda:99").index == 99
    assert torch.device("cuda", 1) == torch.device("cuda:1")
    assert str(torch.device("cuda")) == "cuda"
    assert torch.device(0).type == "cuda"


@raises(
    "RuntimeError",
    "Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, vulkan, mps, "
    "meta, hpu, mtia, privateuseone device type at start of device string: gpu",
    "c10::Device::Device(const std::string&), c10/core/Device.cpp",
)
def no_such_kind_of_device():
    torch.ones(2).to("gpu")


@passes("torch.zeros and the like document device")
def factories_with_a_device():
    for made in (
        torch.zeros(2, device="cuda"),
        torch.ones(2, device="cuda"),
        torch.full((2,), 1.0, device="cuda"),
        torch.empty(2, device="cuda"),
        torch.arange(2, device="cuda"),
        torch.linspace(0, 1, 2, device="cuda"),
        torch.eye(2, device="cuda"),
        torch.rand(2, device="cuda"),
        torch.randn(2, device="cuda"),
        torch.randint(3, (2,), device="cuda"),
        torch.randperm(2, device="cuda"),
        torch.tensor([1.0], device="cuda"),
        torch.as_tensor([1.0], device="cuda"),
        torch.tril_indices(2, 2, device="cuda"),
        torch.hann_window(4, device="cuda"),
    ):
        assert made.device == torch.device("cuda:0")


@passes("torch.zeros_like and the like document: the device of input by default")
def likes_follow_their_input():
    x = torch.ones(2, device="cuda")
    for made in (torch.zeros_like(x), torch.rand_like(x), torch.full_like(x, 2), torch.empty_like(x), x.new_zeros(2)):
        assert made.is_cuda
    assert x.new_tensor([1.0]).is_cuda
    assert x.new_full((2,), 1.0, device="cpu").device.type == "cpu"
    assert torch.zeros_like(x, device="cpu").device.type == "cpu"


@passes("torch.tensor documentation: a tensor's device is taken from data where data is a tensor")
def tensor_of_a_device_tensor():
    x = torch.ones(2, device="cuda")
    assert x.clone().is_cuda
    assert torch.as_tensor(x).is_cuda
    assert torch.asarray(x).is_cuda
    assert torch.asarray(x, device="cpu").device.type == "cpu"


@passes("views share their storage")
def views_are_where_their_base_is():
    x = torch.ones(4, 2, device="cuda")
    for view in (x[0], x.t(), x.view(8), x.reshape(2, 4), x[:, 1:], x.expand(2, 4, 2), x.detach(), x.data, x.flatten()):
        assert view.is_cuda
    assert all(part.is_cuda for part in x.split(2))
    assert all(part.is_cuda for part in x.unbind())


@passes("results are where their arguments are")
def results_are_where_their_arguments_are():
    x = torch.ones(2, 2, device="cuda")
    assert (x @ x).is_cuda
    assert x.sum().is_cuda
    assert (x > 0).is_cuda
    assert x.argmax().is_cuda
    assert torch.cat([x, x]).is_cuda
    assert torch.linalg.svd(x).S.is_cuda


@passes("torch.set_default_device documentation")
def default_device():
    torch.set_default_device("cuda")
    try:
        assert torch.ones(2).is_cuda
        assert torch.tensor([1.0]).is_cuda
        assert torch.nn.Linear(2, 2).weight.is_cuda
        assert torch.get_default_device() == torch.device("cuda", 0)
        assert torch.ones(2, device="cpu").device.type == "cpu"
    finally:
        torch.set_default_device(None)
    assert torch.ones(2).device.type == "cpu"


@passes("torch.set_default_device documentation: does not affect functions that share memory, like from_numpy")
def default_device_and_from_numpy():
    import numpy

    with torch.device("cuda"):
        assert torch.from_numpy(numpy.ones(2)).device.type == "cpu"


@passes("torch.device documentation: as a context manager")
def device_as_a_context():
    with torch.device("cuda"):
        assert torch.zeros(2).is_cuda
        assert torch.randint(3, (2,)).is_cuda
        with torch.device("cpu"):
            assert torch.zeros(2).device.type == "cpu"
    assert torch.zeros(2).device.type == "cpu"


@passes("torch.cuda.device documentation", devices=2)
def current_device_as_a_context():
    with torch.cuda.device(1):
        assert torch.cuda.current_device() == 1
        assert torch.zeros(2, device="cuda").get_device() == 1
        assert torch.zeros(2).cuda().get_device() == 1
    assert torch.zeros(2, device="cuda").get_device() == 0


@passes("torch.Tensor.cuda documentation: defaults to the current device", devices=2)
def cuda_moves_to_the_current_device():
    x = torch.ones(2, device="cuda:0")
    with torch.cuda.device(1):
        assert x.cuda().get_device() == 1
        assert x.to("cuda").get_device() == 1
    assert x.cuda().get_device() == 0


@passes("torch.Tensor.to documentation", devices=2)
def between_devices():
    x = torch.arange(3, device="cuda:0")
    y = x.to("cuda:1")
    assert (x.get_device(), y.get_device()) == (0, 1)
    assert y.cpu().tolist() == [0, 1, 2]
    y.copy_(x)


@passes("legacy types of torch.cuda, torch/csrc/tensor/python_tensor.cpp")
def legacy_types():
    assert torch.cuda.FloatTensor(2).is_cuda
    assert torch.cuda.LongTensor([1, 2]).dtype == torch.long
    assert torch.ones(2, device="cuda").type() == "torch.cuda.FloatTensor"
    assert torch.ones(2).type("torch.cuda.FloatTensor").is_cuda
    assert isinstance(torch.ones(2, device="cuda"), torch.cuda.FloatTensor)
    assert not isinstance(torch.ones(2), torch.cuda.FloatTensor)
    assert torch.FloatTensor(2).device.type == "cpu"


@raises(
    "RuntimeError",
    "legacy constructor expects device type: cuda but device type: cpu was passed",
    "check_legacy_ctor_device, torch/csrc/utils/tensor_new.cpp",
)
def legacy_new_for_the_other_place():
    torch.ones(2, device="cuda").new(3, device="cpu")


@passes("torch.Tensor.new is made where its owner is, torch/csrc/utils/tensor_new.cpp")
def legacy_new():
    assert torch.ones(2, device="cuda").new(3).is_cuda
    assert torch.ones(2, device="cuda").new([1.0]).is_cuda


@passes("torch.Tensor.__deepcopy__ and __reduce_ex__ keep the device")
def deep_copies_stay():
    x = torch.ones(2, device="cuda", requires_grad=True)
    y = copy.deepcopy({"x": [x]})["x"][0]
    assert y.is_cuda
    assert y.requires_grad


@passes("torch.Tensor.data_ptr, element_size and storage are of the place")
def storage_is_of_the_place():
    x = torch.ones(2, device="cuda")
    assert x.untyped_storage().device == torch.device("cuda:0")
    assert x.untyped_storage().is_cuda
    assert not torch.ones(2).untyped_storage().is_cuda


@passes("torch.device equality: cuda without an index is not cuda:0")
def device_equality():
    assert torch.ones(1, device="cuda").device != torch.device("cuda")
    assert torch.ones(1, device="cuda").device == torch.device("cuda:0")
    assert torch.ones(1, device="cuda").device.type == "cuda"
    assert torch.ones(1).device == torch.device("cpu")


@passes("torch.Tensor.requires_grad_ and .to: a moved leaf is no leaf")
def moved_leaf_is_no_leaf():
    x = torch.ones(2, requires_grad=True)
    assert x.to("cuda").is_leaf is False
    assert torch.ones(2, device="cuda", requires_grad=True).is_leaf


@passes(CUDA_NOTES + ": pinned memory and non_blocking copies")
def pinned_memory():
    x = torch.ones(2).pin_memory()
    assert x.is_pinned()
    assert x.device.type == "cpu"
    assert x.to("cuda", non_blocking=True).is_cuda
    assert not torch.ones(2).is_pinned()


@raises(
    "RuntimeError",
    "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    "at::native::_pin_memory, Memory.cpp",
)
def pinning_a_device_tensor():
    torch.ones(2, device="cuda").pin_memory()
