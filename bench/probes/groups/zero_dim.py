"""Tensors without dimensions: where those of the host are taken for numbers and where they are not."""

import torch
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices

PROMOTED = ITERATOR + ": 0-dim host tensors are promoted (allow_cpu_scalars)"


@passes(recorded("add.Tensor"))
def host_scalar_plus_device():
    assert (torch.tensor(1.0) + torch.ones(3, device="cuda")).is_cuda


@passes(recorded("mul.Tensor"))
def device_times_host_scalar():
    assert (torch.ones(3, device="cuda") * torch.tensor(2.0)).is_cuda


@passes(PROMOTED)
def device_in_place_by_host_scalar():
    x = torch.ones(3, device="cuda")
    x /= torch.tensor(2.0)
    assert x.is_cuda


@passes(recorded("add.Tensor"))
def two_scalars_of_both_places():
    assert (torch.tensor(1.0) + torch.tensor(1.0, device="cuda")).is_cuda


@raises("RuntimeError", two_devices(), recorded("add.Tensor") + ": only host scalars are promoted")
def device_scalar_plus_host():
    torch.tensor(1.0, device="cuda") + torch.ones(3)


@raises("RuntimeError", two_devices(), ITERATOR + ": an output is no promoted scalar (!op.is_output)")
def device_loss_added_to_host_total_in_place():
    total = torch.tensor(0.0)
    total += torch.ones(3, device="cuda").sum()


@passes("torch.Tensor.item documentation")
def item_of_device_scalar_into_host():
    total = torch.tensor(0.0)
    total += torch.ones(3, device="cuda").sum().item()
    assert total.item() == 3
    assert total.device.type == "cpu"


@raises("RuntimeError", two_devices(), recorded("add.Tensor") + ": one dimension of size 1 is no scalar")
def one_element_host_vector_plus_device():
    torch.tensor([1.0]) + torch.ones(3, device="cuda")


@passes(recorded("eq.Tensor"))
def device_compared_with_host_scalar():
    assert (torch.ones(3, device="cuda") == torch.tensor(1.0)).all()


@passes(recorded("pow.Tensor_Tensor"))
def device_to_the_power_of_host_scalar():
    assert (torch.ones(3, device="cuda") ** torch.tensor(2.0)).is_cuda


@raises("RuntimeError", misplaced("other", "nextafter"), recorded("nextafter") + ": the wrapper promotes nothing")
def nextafter_host_scalar():
    torch.nextafter(torch.ones(3, device="cuda"), torch.tensor(1.0))


@raises("RuntimeError", two_devices(), recorded("addcdiv_") + ": addcdiv_ does not take host scalars")
def addcdiv_with_host_scalar():
    torch.ones(3, device="cuda").addcdiv_(torch.tensor(1.0), torch.ones(3, device="cuda"))


@passes(recorded("lerp.Tensor"))
def lerp_by_host_scalar_weight():
    assert torch.lerp(torch.zeros(3, device="cuda"), torch.ones(3, device="cuda"), torch.tensor(0.5)).is_cuda


@passes("at::native::fill_ calls item() or converts the value, Fill.cpp")
def fill_device_with_host_scalar():
    assert torch.zeros(3, device="cuda").fill_(torch.tensor(2.0)).is_cuda


@passes("at::native::fill_ calls item() or converts the value, Fill.cpp")
def fill_host_with_device_scalar():
    x = torch.zeros(3).fill_(torch.tensor(2.0, device="cuda"))
    assert x.device.type == "cpu"
    assert x[0] == 2


@raises("RuntimeError", two_devices("cuda:0", "cuda:1"), ITERATOR + ": only host scalars are promoted", devices=2)
def scalar_of_the_other_device():
    torch.ones(3, device="cuda:0") + torch.tensor(1.0, device="cuda:1")


@passes("Python's float() calls item(), a copy to the host")
def float_int_bool_of_device_scalar():
    x = torch.tensor(1.0, device="cuda")
    assert (float(x), int(x), bool(x)) == (1.0, 1, True)


@passes("torch.Tensor.__index__ reads the value")
def device_scalar_as_index_of_a_list():
    assert [10, 20][torch.tensor(1, device="cuda")] == 20


@passes("formatting and printing copy to the host, torch/_tensor_str.py")
def printing_names_the_device():
    assert repr(torch.zeros(1, device="cuda")) == "tensor([0.], device='cuda:0')"


@passes("torch.Tensor.__format__ of a 0-dim tensor formats item()")
def format_of_device_scalar():
    assert f"{torch.tensor(1.5, device='cuda'):.2f}" == "1.50"


@passes("random.choice and sum() iterate over elements, which stay on the device")
def sum_of_a_list_of_device_losses():
    losses = [torch.tensor(1.0, device="cuda") for _ in range(3)]
    assert (sum(losses) / len(losses)).is_cuda


@passes("torch.tensor documentation: data may be a list of scalars; it reads each")
def tensor_of_device_scalars_is_on_the_host():
    x = torch.tensor([torch.tensor(1.0, device="cuda"), torch.tensor(2.0, device="cuda")])
    assert x.device.type == "cpu"
