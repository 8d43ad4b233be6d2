"""Indices, masks, gather and scatter."""

import torch
from expectations import misplaced, passes, raises, recorded, two_devices

INDICES = "check_indices_on_cpu_or_selfdevice, TensorAdvancedIndexing.cpp"
MASKED_FILL = "masked_fill__cuda, aten/src/ATen/native/cuda/Indexing.cu"


def refused(place="cpu"):
    return f"indices should be either on cpu or on the same device as the indexed tensor ({place})"


def table(place="cuda"):
    return torch.arange(6.0, device=place).reshape(3, 2)


def rows(place="cuda"):
    return torch.tensor([0, 2], device=place)


@passes(INDICES)
def device_by_host_indices():
    assert table()[rows("cpu")].is_cuda


@raises("RuntimeError", refused(), INDICES + "; " + recorded("index.Tensor"))
def host_by_device_indices():
    table("cpu")[rows()]


@passes(INDICES)
def device_by_host_mask():
    assert table()[torch.tensor([True, False, True])].is_cuda


@raises("RuntimeError", refused(), INDICES)
def host_by_device_mask():
    table("cpu")[torch.tensor([True, False, True], device="cuda")]


@raises("RuntimeError", refused(), INDICES)
def host_columns_by_device_indices():
    table("cpu")[:, torch.tensor([1], device="cuda")]


@passes("torch::autograd::THPVariable_getitem: an integral 0-dim tensor is read as a number")
def host_by_device_scalar_index():
    x = table("cpu")[torch.tensor(1, device="cuda")]
    assert x.device.type == "cpu"


@passes("a list of numbers makes indices where the tensor is")
def device_by_list():
    assert table()[[0, 2]].is_cuda


@raises("RuntimeError", refused("cuda:0"), INDICES, devices=2)
def device_by_indices_of_the_other_device():
    table("cuda:0")[rows("cuda:1")]


@passes("THPVariable_setitem copies a selected part with copy_")
def assign_host_row_to_device():
    x = table()
    x[0] = torch.ones(2)
    assert x.is_cuda
    assert x[0].sum().item() == 2


@passes("THPVariable_setitem copies a selected part with copy_")
def assign_device_slice_to_host():
    x = table("cpu")
    x[1:] = torch.ones(2, 2, device="cuda")
    assert x[1:].sum() == 4


@raises("RuntimeError", two_devices(), recorded("_index_put_impl_"))
def assign_host_rows_at_device_indices():
    x = table()
    x[rows()] = torch.ones(2, 2)


@raises("RuntimeError", two_devices(), recorded("_index_put_impl_"))
def assign_device_rows_at_host_indices_of_host():
    x = table("cpu")
    x[rows("cpu")] = torch.ones(2, 2, device="cuda")


@passes("_index_put_impl_ moves a value of one element without dimensions, TensorAdvancedIndexing.cpp")
def assign_host_scalar_at_device_indices():
    x = table()
    x[rows()] = torch.tensor(9.0)
    assert x[0, 0].item() == 9


@passes("slicePrefix1sSize in THPVariable_setitem makes a value of shape [1] 0-dim, which _index_put_impl_ moves")
def assign_one_element_host_vector_at_device_indices():
    x = table()
    x[rows()] = torch.tensor([9.0])
    assert x[2, 1].item() == 9


@passes("_index_put_impl_ makes indices of masks and moves them, TensorAdvancedIndexing.cpp")
def assign_number_at_host_mask():
    x = table()
    x[torch.tensor([True, False, True])] = 0.0
    assert x.sum().item() == 5


@passes("torch pull request 61612: index_put handles a mask of another device; make_info moves it to self.device()")
def assign_number_at_device_mask_of_host():
    x = table("cpu")
    x[torch.tensor([True, False, True], device="cuda")] = 0.0
    assert x.sum().item() == 5


@raises(
    "RuntimeError",
    "expected device cuda:0 but got device cpu for value tensor",
    "_index_put_impl_, the accumulating branch of CUDA, TensorAdvancedIndexing.cpp",
)
def accumulate_host_rows_at_device_indices():
    table().index_put_((rows(),), torch.ones(2, 2), accumulate=True)


@raises(
    "RuntimeError",
    "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    MASKED_FILL,
)
def masked_fill_by_host_mask():
    table().masked_fill(torch.ones(3, 2) > 0, 0.0)


@raises(
    "RuntimeError",
    "expected self and mask to be on the same device, but got mask on cuda:0 and self on cpu",
    MASKED_FILL,
)
def masked_fill_of_host_by_device_mask():
    table("cpu").masked_fill_(table() > 0, 0.0)


@passes("masked_fill__cuda takes a 0-dim value from the host: value.item()")
def masked_fill_with_host_scalar():
    assert table().masked_fill(table() > 0, torch.tensor(-1.0)).is_cuda


@raises("RuntimeError", misplaced("mask", "_masked_select"), recorded("masked_select"))
def masked_select_by_host_mask():
    torch.masked_select(table(), table("cpu") > 0)


@raises("RuntimeError", misplaced("mask", "_masked_scatter_"), recorded("masked_scatter_"))
def masked_scatter_by_host_mask():
    table().masked_scatter_(table("cpu") > 0, table())


@raises("RuntimeError", misplaced("index", "gather"), recorded("gather"))
def gather_by_host_index():
    table().gather(1, torch.zeros(3, 1, dtype=torch.long))


@raises("RuntimeError", misplaced("index", "gather", "cuda:0", "cpu"), recorded("gather"))
def gather_of_host_by_device_index():
    table("cpu").gather(1, torch.zeros(3, 1, dtype=torch.long, device="cuda"))


@raises("RuntimeError", misplaced("src", "scatter_add_"), recorded("scatter_add_"))
def scatter_add_of_host_source():
    table().scatter_add_(0, torch.zeros(1, 2, dtype=torch.long, device="cuda"), torch.ones(1, 2))


@raises("RuntimeError", misplaced("index", "scatter__value"), recorded("scatter_.value"))
def scatter_number_by_host_index():
    torch.zeros(2, 3, device="cuda").scatter_(1, torch.zeros(2, 1, dtype=torch.long), 1.0)


@raises("RuntimeError", misplaced("index", "_index_select"), recorded("index_select"))
def index_select_by_host_index():
    torch.index_select(table(), 0, rows("cpu"))


@raises("RuntimeError", misplaced("source", "index_add_"), recorded("index_add_"))
def index_add_of_host_source():
    table().index_add_(0, rows(), torch.ones(2, 2))


@raises("RuntimeError", misplaced("index", "index_copy_"), recorded("index_copy_"))
def index_copy_by_host_index():
    table().index_copy_(0, rows("cpu"), torch.ones(2, 2, device="cuda"))


@raises("RuntimeError", misplaced("index", "_take"), recorded("take"))
def take_by_host_index():
    torch.take(table(), rows("cpu"))


@raises(
    "RuntimeError",
    "Expected tensor to have cuda Device, but got tensor with cpu Device "
    "(while checking arguments for torch.take_along_dim():)",
    "_take_along_dim_helper, TensorAdvancedIndexing.cpp, by at::checkDeviceType",
)
def take_along_dim_by_host_index():
    torch.take_along_dim(table(), torch.zeros(3, 1, dtype=torch.long), 1)


@passes("nonzero, argmax, topk and sort answer where their input is")
def indices_made_of_device_tensors_stay_there():
    x = table()
    assert x.nonzero().is_cuda
    assert x.topk(1).indices.is_cuda
    assert x.sort().indices.is_cuda
    assert x[x.argmax(0)].is_cuda


@passes("torch.nn.functional.one_hot scatters into zeros made where its input is")
def one_hot_of_device_labels():
    assert torch.nn.functional.one_hot(torch.tensor([0, 1], device="cuda"), 3).is_cuda


@passes("torch.arange without a device is on the host; indexing by it is legal")
def device_by_host_arange_and_device_labels():
    labels = torch.tensor([0, 1, 0], device="cuda")
    assert table()[torch.arange(3, device="cuda"), labels].is_cuda


@passes(
    INDICES + "; then make_info moves each index to the tensor's device, and expand_outplace does not ask for places"
)
def device_by_host_and_device_indices():
    assert table()[torch.arange(3), torch.tensor([0, 1, 0], device="cuda")].is_cuda
