"""Arithmetic, linear algebra, and functions that join tensors."""

import torch
from expectations import ITERATOR, WRAPPER, misplaced, passes, raises, recorded, two_devices


def host(*shape):
    return torch.ones(*shape)


def device(*shape):
    return torch.ones(*shape, device="cuda")


@raises("RuntimeError", two_devices(), recorded("add.Tensor"))
def add_host_to_device():
    device(3) + host(3)


@raises("RuntimeError", two_devices(), recorded("add.Tensor"))
def add_device_to_host():
    host(3) + device(3)


@raises("RuntimeError", two_devices(), recorded("mul_.Tensor"))
def multiply_host_in_place_by_device():
    host(3).mul_(device(3))


@raises("RuntimeError", two_devices(), recorded("add_.Tensor"))
def add_host_in_place_to_device():
    x = device(3)
    x += host(3)


@raises("RuntimeError", two_devices(), recorded("eq.Tensor"))
def compare_predictions_with_host_labels():
    (device(4).argmax(0).expand(4) == host(4)).sum()


@raises("RuntimeError", two_devices(), recorded("maximum"))
def maximum_of_host_and_device():
    torch.maximum(device(2), host(2))


@raises("RuntimeError", two_devices(), recorded("lerp.Tensor"))
def lerp_with_host_end():
    torch.lerp(device(2), host(2), device(2))


@raises("RuntimeError", two_devices(), recorded("addcmul_"))
def addcmul_with_host_factor():
    device(2).addcmul_(device(2), host(2))


@raises("RuntimeError", two_devices(), ITERATOR + "; isclose compares with self == other")
def allclose_host_and_device():
    torch.allclose(device(2), host(2))


@raises("RuntimeError", misplaced("other", "_equal"), recorded("equal"))
def equal_host_and_device():
    torch.equal(device(2), host(2))


@raises("RuntimeError", misplaced("mat2", "mm"), recorded("mm"))
def matmul_device_by_host():
    device(2, 3) @ host(3, 2)


@raises("RuntimeError", misplaced("mat2", "mm", "cuda:0", "cpu"), recorded("mm"))
def matmul_host_by_device():
    host(2, 3) @ device(3, 2)


@raises("RuntimeError", misplaced("mat2", "bmm"), recorded("bmm"))
def matmul_batches_device_by_host():
    device(2, 2, 3) @ host(2, 3, 2)


@raises(
    "RuntimeError", misplaced("mat2", "mm", "cuda:0", "cpu"), recorded("mm") + "; at::matmul folds 3-D by 2-D to mm"
)
def matmul_host_batch_by_device_matrix():
    host(2, 2, 3) @ device(3, 2)


@raises("RuntimeError", misplaced("tensor", "_dot"), recorded("dot"))
def dot_of_device_and_host():
    torch.dot(device(3), host(3))


@raises("RuntimeError", misplaced("mat", "addmv_"), recorded("addmv_") + "; at::native::mv calls addmv_ on its result")
def host_matrix_by_device_vector():
    host(2, 3) @ device(3)


@raises("RuntimeError", misplaced("mat2", "bmm", "cuda:0", "cpu"), recorded("bmm") + "; einsum calls bmm, Linear.cpp")
def einsum_of_host_and_device():
    torch.einsum("bi,ij->bj", host(2, 3), device(3, 2))


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm"))
def addmm_with_host_matrix():
    torch.addmm(device(2), host(2, 3), device(3, 2))


@raises("RuntimeError", misplaced("mat1", "addmm", "cuda:0", "cpu"), recorded("addmm"))
def addmm_with_host_bias():
    torch.addmm(host(2), device(2, 3), device(3, 2))


@raises("RuntimeError", misplaced("B", "_linalg_solve_ex"), recorded("_linalg_solve_ex"))
def solve_with_host_right_side():
    torch.linalg.solve(torch.eye(2, device="cuda"), host(2, 1))


@raises("RuntimeError", misplaced("x2", "__cdist_forward"), recorded("_cdist_forward"))
def cdist_device_to_host():
    torch.cdist(device(2, 3), host(2, 3))


@raises(
    "RuntimeError",
    misplaced("tensors", "cat"),
    WRAPPER + "; reported in scraed/LanPaint issue 6",
)
def cat_device_and_host():
    torch.cat([device(2), host(2)])


@raises(
    "RuntimeError",
    misplaced("tensors", "cat", "cuda:0", "cpu"),
    WRAPPER + ": the first of the list decides; reported in Comfy-Org/ComfyUI issue 7746",
)
def cat_host_and_device():
    torch.cat([host(2), device(2)])


@raises("RuntimeError", misplaced("tensors", "cat"), "at::native::stack calls cat, TensorShape.cpp")
def stack_device_and_host():
    torch.stack([device(2), host(2)])


@raises(
    "RuntimeError", misplaced("tensors", "cat"), "at::native::stack calls cat on unsqueezed tensors, TensorShape.cpp"
)
def stack_of_scalars_of_both_places():
    torch.stack([device(()), host(())])


@raises(
    "RuntimeError",
    two_devices(),
    "at::native::where, TensorCompare.cpp: only 0-dim host tensors are moved; then TensorIterator",
)
def where_with_host_condition():
    torch.where(host(3) > 0, device(3), device(3))


@raises("RuntimeError", two_devices(), "at::native::where, TensorCompare.cpp")
def where_with_host_alternative():
    torch.where(device(3) > 0, device(3), host(3))


@passes("at::native::where, TensorCompare.cpp: allow CPU scalars on non-cpu device")
def where_with_host_scalar_alternative():
    assert torch.where(device(3) > 0, device(3), torch.tensor(0.0)).is_cuda


@passes("torch.where documentation: other may be a scalar")
def where_with_number():
    assert torch.where(device(3) > 0, device(3), 0.0).is_cuda


@raises("RuntimeError", misplaced("min", "clamp_Tensor"), recorded("clamp.Tensor") + ": 0-dim too")
def clamp_with_host_scalar_tensor():
    device(3).clamp(min=torch.tensor(0.0))


@passes("clamp with numbers has no tensor arguments besides self")
def clamp_with_number():
    assert device(3).clamp(0, 0.5).is_cuda


@raises("RuntimeError", misplaced("test_elements", "isin_Tensor_Tensor"), recorded("isin.Tensor_Tensor"))
def isin_host_elements():
    torch.isin(device(3), host(2))


@raises("RuntimeError", misplaced("boundaries", "Tensor_bucketize"), recorded("bucketize.Tensor"))
def bucketize_by_host_boundaries():
    torch.bucketize(device(3), host(3))


@raises("RuntimeError", misplaced("weights", "_bincount"), recorded("bincount"))
def bincount_with_host_weights():
    torch.bincount(torch.zeros(3, dtype=torch.long, device="cuda"), weights=host(3))


@raises("RuntimeError", misplaced("other", "linalg_cross"), recorded("linalg_cross"))
def cross_of_device_and_host():
    torch.linalg.cross(device(3), host(3))


@raises(
    "RuntimeError",
    "stft input and window must be on the same device but got self on cuda:0 and window on cpu",
    "at::native::stft, SpectralOps.cpp",
)
def stft_with_host_window():
    torch.stft(device(400), 64, window=torch.hann_window(64), return_complex=True)


@raises(
    "RuntimeError",
    "quantile() q tensor must be on the same device as the input tensor",
    "at::native::quantile_checks, Sorting.cpp",
)
def quantile_with_host_q():
    torch.quantile(device(3), torch.tensor([0.5]))


@raises(
    "RuntimeError",
    "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0",
    "at::native::tensor_split, TensorShape.cpp",
)
def tensor_split_by_device_indices():
    torch.tensor_split(host(4), torch.tensor([1], device="cuda"))


@raises(
    "RuntimeError",
    "multi_dot(): all tensors must be on the same device but tensor 0 is on cuda:0 and tensor 1 on cpu",
    "multi_dot_impl, LinearAlgebra.cpp",
)
def multi_dot_of_device_and_host():
    torch.linalg.multi_dot([device(2, 2), host(2, 2)])


@raises("RuntimeError", two_devices(), ITERATOR + ": outputs count as operands")
def add_into_host_out():
    torch.add(device(2), device(2), out=host(2))


@passes("torch.Tensor.copy_ documentation: src may reside on a different device")
def copy_host_to_device():
    x = torch.zeros(3, device="cuda")
    x.copy_(host(3))
    assert x.is_cuda
    assert x.sum().item() == 3


@passes("torch.Tensor.copy_ documentation: src may reside on a different device")
def copy_device_to_host():
    x = torch.zeros(3)
    x.copy_(device(3))
    assert x.device.type == "cpu"


@passes("at::native::pad_sequence copies each sequence, PackedSequence.cpp")
def pad_sequence_of_both_places():
    padded = torch.nn.utils.rnn.pad_sequence([device(2), host(3)])
    assert padded.is_cuda


@raises(
    "TypeError", "apply_ is only implemented on CPU tensors", "torch::utils::apply_, torch/csrc/utils/tensor_apply.cpp"
)
def apply_on_device():
    device(2).apply_(lambda value: value + 1)


@raises(
    "RuntimeError",
    'Attempted to set the storage of a tensor on device "cuda:0" to a storage on different device "cpu".  '
    "This is no longer allowed; the devices must match.",
    recorded("set_.source_Tensor"),
)
def set_storage_of_the_host():
    device(2).set_(host(2))
