"""Several devices, process groups, optimizers, and compilation in the simulation."""

from typing import Any

import pytest

from .conftest import Simulate
from .tables import assert_errors, assert_values

NETWORK = """
import torch, torch.nn as nn, torch.nn.functional as F
inputs, labels = torch.randn(6, 4), torch.randint(0, 2, (6,))
def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
"""

OPTIMIZER_SETTING = (
    NETWORK
    + """
def trained(device, name, **options):
    model = network().to(device)
    optimizer = getattr(torch.optim, name)(model.parameters(), **options)
    for _ in range(3):
        optimizer.zero_grad()
        F.cross_entropy(model(inputs.to(device)), labels.to(device)).backward()
        optimizer.step()
    return model[0].weight, optimizer
def same(name, **options):
    ours, optimizer = trained("cuda", name, **options)
    plain, _ = trained("cpu", name, **{key: value for key, value in options.items() if key in ("lr", "momentum")})
    state = [value for values in optimizer.state.values() for key, value in values.items() if key != "step"]
    on_device = all(value.is_cuda for value in state if torch.is_tensor(value) and value.ndim)
    return ours.is_cuda and on_device and torch.allclose(ours.cpu(), plain, atol=1e-6)
"""
)

OPTIMIZERS = (
    "'Adam'",
    "'Adam', foreach=True",
    "'Adam', foreach=False",
    "'Adam', fused=True",
    "'Adam', capturable=True",
    "'AdamW'",
    "'AdamW', fused=True",
    "'SGD', lr=0.1",
    "'SGD', lr=0.1, momentum=0.9",
    "'SGD', lr=0.1, momentum=0.9, fused=True",
    "'RMSprop'",
    "'RMSprop', capturable=True",
    "'Adagrad'",
    "'Adadelta'",
    "'Adamax'",
    "'NAdam'",
    "'RAdam'",
    "'ASGD'",
    "'Rprop'",
)

TWO_DEVICES_SETTING = (
    NETWORK
    + """
from torch.nn.parallel import comm
def places(tensors):
    return [str(tensor.device) for tensor in tensors]
def parallel(model, values):
    made = nn.DataParallel(model)(values)
    return str(made.device), tuple(made.shape)
def gradients():
    wrapped, plain = nn.DataParallel(network().cuda()), network()
    F.cross_entropy(wrapped(inputs), labels.cuda()).backward()
    F.cross_entropy(plain(inputs), labels).backward()
    return torch.allclose(wrapped.module[0].weight.grad.cpu(), plain[0].weight.grad, atol=1e-6)
def stepped():
    values = [nn.Parameter(torch.ones(2, device=f"cuda:{index}")) for index in (0, 1)]
    optimizer = torch.optim.Adam(values)
    for value in values:
        value.sum().backward()
    norm = nn.utils.clip_grad_norm_(values, 1.0)
    optimizer.step()
    return [str(norm.device), *places(values)]
class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.mask = nn.Linear(4, 4), torch.ones(4, device="cuda")
    def forward(self, values):
        return self.linear(values) * self.mask
"""
)

TWO_DEVICES = {
    "parallel(network().cuda(), inputs.cuda())": ("cuda:0", (6, 2)),
    "parallel(network().cuda(), inputs)": ("cuda:0", (6, 2)),
    "parallel(network().cuda(), inputs[:1])": ("cuda:0", (1, 2)),
    "gradients()": True,
    "nn.DataParallel(network()).device_ids": [0, 1],
    "list(nn.DataParallel(network()).state_dict())[0]": "module.0.weight",
    "str(nn.DataParallel(network().cuda(), device_ids=[0])(inputs).device)": "cuda:0",
    "str(nn.DataParallel(network().cuda(), output_device=1)(inputs).device)": "cuda:1",
    "places(comm.scatter(inputs, [0, 1]))": ["cuda:0", "cuda:1"],
    "[len(part) for part in comm.scatter(inputs, [0, 1], [2, 4])]": [2, 4],
    "places(comm.broadcast(inputs.cuda(), [0, 1]))": ["cuda:0", "cuda:1"],
    "places(comm.broadcast_coalesced([inputs.cuda()], [0, 1])[1])": ["cuda:1"],
    "places([comm.gather([inputs.cuda(0), inputs.cuda(1)]), comm.reduce_add([inputs.cuda(0), inputs.cuda(1)], 0)])": [
        "cuda:0",
        "cuda:0",
    ],
    "tuple(comm.gather([inputs.cuda(0), inputs.cuda(1)], destination='cpu').shape)": (12, 4),
    "stepped()": ["cuda:0", "cuda:0", "cuda:1"],
}

TWO_DEVICES_ERRORS = {
    "parallel(network(), inputs.cuda())": (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of "
        "them on device: cpu"
    ),
    "parallel(network().cuda(1), inputs)": (
        "RuntimeError: module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of "
        "them on device: cuda:1"
    ),
    "parallel(Masked().cuda(), inputs)": "RuntimeError: Caught RuntimeError in replica 1 on device 1.",
    "comm.gather([inputs])": "RuntimeError: Expected all input tensors to be CUDA tensors",
}

COMPILED_SETTING = (
    NETWORK
    + """
device = "cuda"
@torch.compile
def doubled(values):
    return values * 2
@torch.compile(mode="reduce-overhead", fullgraph=True)
def tripled(values):
    return values * 3
compiled = torch.compile(network().cuda())
itself = network().cuda()
itself.compile()
"""
)

COMPILED = {
    "str(doubled(inputs.cuda()).device)": "cuda:0",
    "str(doubled(inputs).device)": "cpu",
    "doubled.__name__": "doubled",
    "str(tripled(inputs.cuda()).device)": "cuda:0",
    "str(compiled(inputs.cuda()).device)": "cuda:0",
    "torch.equal(compiled(inputs.cuda()).cpu(), network()(inputs))": True,
    "next(iter(compiled.state_dict()))": "_orig_mod.0.weight",
    "compiled._orig_mod.training": True,
    "isinstance(compiled, nn.Module)": True,
    "len(compiled)": 3,
    "str(itself(inputs.cuda()).device)": "cuda:0",
    "next(iter(itself.state_dict()))": "0.weight",
    "compiled.eval()._orig_mod.training": False,
}

GROUP = """
import os, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
def start(backend, **options):
    dist.init_process_group(backend, init_method=f"file://{os.getcwd()}/store", rank=0, world_size=1, **options)
"""

NCCL_SETTING = (
    NETWORK
    + GROUP
    + """
start("nccl", device_id=torch.device("cuda:0"))
def all_gathered(tensor):
    parts = [torch.zeros_like(tensor)]
    dist.all_gather(parts, tensor)
    return str(parts[0].device), parts[0].tolist()
def reduced(tensor, **options):
    dist.all_reduce(tensor, **options)
    return tensor.tolist()
def told():
    values, gathered = [{"a": 1}], [None]
    dist.broadcast_object_list(values)
    dist.all_gather_object(gathered, {"b": 2})
    return values, gathered
def trained(**options):
    model = network().cuda()
    wrapped = DDP(model, device_ids=[0], **options)
    optimizer = torch.optim.SGD(wrapped.parameters(), 0.1)
    plain = network()
    plain_optimizer = torch.optim.SGD(plain.parameters(), 0.1)
    for _ in range(3):
        for each, one, place in ((wrapped, optimizer, "cuda"), (plain, plain_optimizer, "cpu")):
            one.zero_grad()
            F.cross_entropy(each(inputs.to(place)), labels.to(place)).backward()
            one.step()
    return str(model[0].weight.grad.device), torch.allclose(model[0].weight.cpu(), plain[0].weight, atol=1e-6)
def unsynchronised():
    wrapped = DDP(network().cuda(), device_ids=[0])
    with wrapped.no_sync():
        wrapped(inputs.cuda()).sum().backward()
    return str(wrapped.module[0].weight.grad.device)
"""
)

NCCL = {
    "dist.get_backend()": "nccl",
    "dist.is_nccl_available()": True,
    "dist.get_world_size()": 1,
    "reduced(torch.ones(2, device='cuda'))": [1.0, 1.0],
    "reduced(torch.ones(2, device='cuda'), op=dist.ReduceOp.AVG)": [1.0, 1.0],
    "all_gathered(torch.ones(1, device='cuda'))": ("cuda:0", [1.0]),
    "dist.broadcast(torch.ones(2, device='cuda'), 0)": None,
    "dist.barrier()": None,
    "dist.barrier(device_ids=[0])": None,
    "told()": ([{"a": 1}], [{"b": 2}]),
    "dist.get_backend(dist.new_group([0]))": "nccl",
    "trained()": ("cuda:0", True),
    "trained(static_graph=True, gradient_as_bucket_view=True)": ("cuda:0", True),
    "trained(find_unused_parameters=True)": ("cuda:0", True),
    "unsynchronised()": "cuda:0",
    "str(DDP(network().cuda(), device_ids=[0])(inputs).device)": "cuda:0",
    "str(DDP(network().cuda())(inputs.cuda()).device)": "cuda:0",
    "str(DDP(nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(4)).cuda())(inputs.cuda()).device)": "cuda:0",
}

NCCL_ERRORS = {
    "reduced(torch.ones(2))": "RuntimeError: No backend type associated with device type cpu",
    "DDP(network())": "RuntimeError: No backend type associated with device type cpu",
    "DDP(network().cuda())(inputs)": "RuntimeError: Expected all tensors to be on the same device",
    "DDP(network(), device_ids=[0])": (
        "ValueError: DistributedDataParallel device_ids and output_device arguments only work with "
        "single-device/multiple-device GPU modules or CPU modules, but got device_ids [0]"
    ),
    "DDP(nn.Sequential(nn.Linear(4, 2).cuda(), nn.Linear(2, 2)))": (
        "ValueError: DistributedDataParallel's input module must be on the same type of devices, but input module "
        "parameters locate in {"
    ),
}

TABLES = [
    pytest.param(OPTIMIZER_SETTING, {f"same({call})": True for call in OPTIMIZERS}, 1, id="optimizers"),
    pytest.param(TWO_DEVICES_SETTING, TWO_DEVICES, 2, id="two devices"),
    pytest.param(NETWORK, {"str(nn.DataParallel(network())(inputs).device)": "cuda:0"}, 1, id="one device"),
    pytest.param(COMPILED_SETTING, COMPILED, 1, id="compiled"),
    pytest.param(NCCL_SETTING, NCCL, 1, id="process group"),
    pytest.param(
        NETWORK + GROUP + 'start("gloo")',
        {
            "dist.all_reduce(torch.ones(2))": None,
            "dist.all_reduce(torch.ones(2, device='cuda'))": None,
            "str(DDP(network())(inputs).device)": "cpu",
        },
        1,
        id="gloo",
    ),
]


@pytest.mark.parametrize(("setting", "expected", "devices"), TABLES)
def test_what_runs(simulate: Simulate, setting: str, expected: dict[str, Any], devices: int) -> None:
    assert_values(simulate, setting, expected, devices)


@pytest.mark.parametrize(
    ("setting", "expected", "devices"),
    [
        pytest.param(TWO_DEVICES_SETTING, TWO_DEVICES_ERRORS, 2, id="two devices"),
        pytest.param(NCCL_SETTING, NCCL_ERRORS, 1, id="process group"),
        pytest.param(
            COMPILED_SETTING, {"compiled(inputs)": "RuntimeError: Expected all tensors to be on"}, 1, id="compiled"
        ),
    ],
)
def test_what_does_not(simulate: Simulate, setting: str, expected: dict[str, str], devices: int) -> None:
    assert_errors(simulate, setting, expected, devices)


def test_a_state_left_on_the_host_is_found_by_the_optimizer(simulate: Simulate) -> None:
    result = simulate(
        NETWORK
        + """
model = network()
optimizer = torch.optim.Adam(model.parameters())
model(inputs).sum().backward()
optimizer.step()
model.cuda()
optimizer.zero_grad()
model(inputs.cuda()).sum().backward()
optimizer.step()
"""
    )
    assert result.first_line == (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    )


def test_what_runs_otherwise_than_on_hardware_is_noted_once(simulate: Simulate) -> None:
    result = simulate(NETWORK + GROUP + 'start("nccl")\ndist.new_group([0])\nfor _ in "12": torch.compile(network())')
    assert result.notes == ["torch.distributed runs over Gloo in place of NCCL", "torch.compile runs eagerly"]


def test_processes_average_their_gradients(simulate: Simulate) -> None:
    result = simulate(
        NETWORK
        + """
import os, torch.distributed as dist, torch.multiprocessing
from torch.nn.parallel import DistributedDataParallel as DDP

def work(rank, store, queue):
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.cuda.set_device(rank)
    model = DDP(nn.Linear(1, 1, bias=False).cuda(), device_ids=[rank])
    model(torch.full((1, 1), float(rank), device=f"cuda:{rank}")).sum().backward()
    queue.put((rank, str(model.module.weight.grad.device), model.module.weight.grad.item()))
    dist.destroy_process_group()

queue = torch.multiprocessing.get_context("fork").SimpleQueue()
torch.multiprocessing.start_processes(work, (os.getcwd() + "/store", queue), nprocs=2, start_method="fork")
keep("gradients", sorted([queue.get(), queue.get()]))
""",
        devices=2,
        timeout=60,
    )
    assert result.values == {"gradients": [[0, "cuda:0", 0.5], [1, "cuda:1", 0.5]]}, result.printed
