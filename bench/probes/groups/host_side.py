"""Where the host wants a tensor: NumPy, Python values, containers, printing, DLPack."""

import numpy
import torch
from expectations import passes, raises

TO_NUMPY = "torch::utils::tensor_to_numpy, torch/csrc/utils/tensor_numpy.cpp"
REFUSED = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."


@raises("TypeError", REFUSED, TO_NUMPY)
def numpy_of_device_tensor():
    torch.ones(2, device="cuda").numpy()


@raises("TypeError", REFUSED, TO_NUMPY + ": the place is checked before requires_grad")
def numpy_of_device_tensor_with_gradient():
    torch.ones(2, device="cuda", requires_grad=True).numpy()


@raises("TypeError", REFUSED, TO_NUMPY)
def numpy_of_detached_device_tensor():
    torch.ones(2, device="cuda", requires_grad=True).detach().numpy()


@raises("TypeError", REFUSED, "Tensor.__array__ calls numpy(), torch/_tensor.py")
def asarray_of_device_tensor():
    numpy.asarray(torch.ones(2, device="cuda"))


@raises("TypeError", REFUSED, "Tensor.__array__ calls numpy(), torch/_tensor.py")
def array_of_a_list_of_device_tensors():
    numpy.array([torch.tensor(1.0, device="cuda"), torch.tensor(2.0, device="cuda")])


@raises("TypeError", REFUSED, "NumPy's functions call __array__")
def numpy_mean_of_device_tensor():
    numpy.concatenate([torch.ones(2, device="cuda"), numpy.ones(2)])


@raises(
    "RuntimeError",
    "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead.",
    TO_NUMPY,
)
def numpy_of_host_tensor_with_gradient():
    torch.ones(2, device="cuda", requires_grad=True).cpu().numpy()


@passes(TO_NUMPY + ": force=True detaches and copies")
def numpy_by_force():
    assert torch.ones(2, device="cuda", requires_grad=True).numpy(force=True).sum() == 2


@passes(TO_NUMPY)
def numpy_after_cpu():
    assert torch.ones(2, device="cuda").cpu().numpy().sum() == 2


@passes("torch.Tensor.tolist and item documentation")
def values_for_python():
    x = torch.arange(3.0, device="cuda")
    assert x.tolist() == [0.0, 1.0, 2.0]
    assert x[1].item() == 1.0
    assert [float(value) for value in x] == [0.0, 1.0, 2.0]
    assert len(x) == 3
    assert 2.0 in x


@passes("torch.from_numpy documentation: shares memory with the host")
def from_numpy_is_on_the_host():
    assert torch.from_numpy(numpy.ones(2)).device.type == "cpu"
    assert torch.as_tensor(numpy.ones(2), device="cuda").is_cuda
    assert torch.tensor(numpy.ones(2)).device.type == "cpu"


@raises(
    "RuntimeError",
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "torch.from_numpy is on the host; TensorIterator",
)
def from_numpy_plus_device():
    torch.from_numpy(numpy.ones(3, dtype=numpy.float32)) + torch.ones(3, device="cuda")


@passes("numpy scalars are numbers for torch")
def device_times_numpy_number():
    assert (torch.ones(2, device="cuda") * numpy.float32(2)).is_cuda
    assert torch.ones(2, device="cuda").mul(float(numpy.float64(2))).is_cuda


@raises("TypeError", REFUSED, "numpy.testing calls numpy.asarray")
def numpy_testing_of_device_tensor():
    numpy.testing.assert_allclose(torch.ones(2, device="cuda"), numpy.ones(2))


@raises(
    "AssertionError", "The values for attribute 'device' do not match: cuda:0 != cpu.", "torch/testing/_comparison.py"
)
def assert_close_of_both_places():
    torch.testing.assert_close(torch.ones(2, device="cuda"), torch.ones(2))


@passes("torch.testing.assert_close documentation: check_device")
def assert_close_without_place():
    torch.testing.assert_close(torch.ones(2, device="cuda"), torch.ones(2), check_device=False)


@passes("torch/_tensor_str.py shows the device where it is not the default")
def printing_shows_the_place():
    assert "device='cuda:0'" in repr(torch.ones(2, device="cuda"))
    assert "device" not in repr(torch.ones(2))
    assert "device='cuda:0'" in str({"x": torch.ones(2, device="cuda")})


@passes("the device is hashable and compares by value")
def devices_as_keys():
    places = {torch.ones(1, device="cuda").device: "device", torch.device("cpu"): "host"}
    assert places[torch.device("cuda:0")] == "device"
    assert len({t.device for t in (torch.ones(1), torch.ones(1, device="cuda"), torch.ones(2, device="cuda"))}) == 2


@raises(
    "ValueError",
    "only one element tensors can be converted to Python scalars",
    "torch.Tensor.__float__; the same on every device",
)
def float_of_several_elements():
    float(torch.ones(2, device="cuda"))


@raises(
    "RuntimeError",
    "Boolean value of Tensor with more than one value is ambiguous",
    "torch.Tensor.__bool__; the same on every device",
)
def truth_of_several_elements():
    bool(torch.ones(2, device="cuda"))
