"""DataParallel, DistributedDataParallel in one process, and models split over devices."""

import contextlib
import tempfile

import torch
import torch.distributed as dist
from expectations import misplaced, passes, raises, recorded
from torch import nn


@contextlib.contextmanager
def process_group(backend):
    with tempfile.TemporaryDirectory() as folder:
        dist.init_process_group(backend, init_method=f"file://{folder}/meet", rank=0, world_size=1)
        try:
            yield
        finally:
            dist.destroy_process_group()


@passes("torch.nn.DataParallel documentation: scatters inputs from any device")
def data_parallel_of_host_input():
    model = nn.DataParallel(nn.Linear(2, 2).to("cuda"), device_ids=[0])
    assert model(torch.ones(4, 2)).is_cuda


@raises(
    "RuntimeError",
    "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: cpu",
    "torch.nn.DataParallel.forward",
    devices=2,
)
def data_parallel_with_a_host_layer():
    model = nn.DataParallel(nn.Sequential(nn.Linear(2, 2)).to("cuda"), device_ids=[0, 1])
    model.module[0] = nn.Linear(2, 2)
    model(torch.ones(4, 2))


@passes("torch.nn.DataParallel documentation: gathers on the output device", devices=2)
def data_parallel_over_two_devices():
    layer = nn.Linear(2, 2)
    x = torch.randn(4, 2)
    wanted = layer(x)
    model = nn.DataParallel(layer.to("cuda"), device_ids=[0, 1])
    got = model(x.to("cuda"))
    assert got.get_device() == 0
    assert torch.allclose(got.cpu(), wanted, atol=1e-5)
    got.sum().backward()
    assert layer.weight.grad.get_device() == 0


@passes("DistributedDataParallel documentation, nccl", alone=True)
def distributed_data_parallel():
    with process_group("nccl"):
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to("cuda"), device_ids=[0])
        model(torch.ones(4, 2, device="cuda")).sum().backward()
        assert model.module.weight.grad.is_cuda


@passes("DistributedDataParallel moves inputs to its device: _to_kwargs, torch/nn/parallel/distributed.py", alone=True)
def distributed_data_parallel_of_host_input():
    with process_group("nccl"):
        model = nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to("cuda"), device_ids=[0])
        assert model(torch.ones(4, 2)).is_cuda


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm"),
    recorded("addmm") + "; without device_ids inputs are not moved",
    alone=True,
)
def distributed_data_parallel_of_host_input_without_device_ids():
    with process_group("nccl"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2).to("cuda"))(torch.ones(4, 2))


@raises(
    "ValueError",
    "DistributedDataParallel device_ids and output_device arguments only work with single-device/multiple-device GPU "
    "modules or CPU modules, but got device_ids [0], output_device None, and module parameters {device(type='cpu')}.",
    "DistributedDataParallel.__init__",
    alone=True,
)
def distributed_data_parallel_of_a_host_module():
    with process_group("gloo"):
        nn.parallel.DistributedDataParallel(nn.Linear(2, 2), device_ids=[0])


@passes("torch.distributed.all_reduce documentation", alone=True)
def all_reduce_on_the_device():
    with process_group("nccl"):
        x = torch.ones(2, device="cuda")
        dist.all_reduce(x)
        dist.broadcast(x, 0)
        dist.barrier()
        assert x.tolist() == [1, 1]


@raises("RuntimeError", misplaced("mat1", "addmm", "cuda:0", "cuda:1"), recorded("addmm"), devices=2)
def split_model_without_a_move_between():
    first, second = nn.Linear(2, 2).to("cuda:0"), nn.Linear(2, 2).to("cuda:1")
    second(first(torch.ones(1, 2, device="cuda:0")))


@passes("https://docs.pytorch.org/tutorials/intermediate/model_parallel_tutorial.html", devices=2)
def split_model_with_a_move_between():
    first, second = nn.Linear(2, 2).to("cuda:0"), nn.Linear(2, 2).to("cuda:1")
    loss = second(first(torch.ones(1, 2, device="cuda:0")).to("cuda:1")).sum()
    loss.backward()
    assert first.weight.grad.get_device() == 0
    assert second.weight.grad.get_device() == 1


@passes("torch.nn.parallel.scatter and gather documentation", devices=2)
def scatter_and_gather():
    parts = nn.parallel.scatter(torch.ones(4, 2), [0, 1])
    assert [part.get_device() for part in parts] == [0, 1]
    assert nn.parallel.gather(parts, 0).shape == (4, 2)


@passes("torch.cuda.comm documentation", devices=2)
def broadcast_to_devices():
    from torch.cuda import comm

    copies = comm.broadcast(torch.ones(2, device="cuda:0"), [0, 1])
    assert [copy.get_device() for copy in copies] == [0, 1]
