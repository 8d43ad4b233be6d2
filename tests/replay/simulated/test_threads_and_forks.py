"""Threads and processes under the simulated accelerator: operations are checked wherever they run."""

import pytest

from .conftest import Result, Simulate

TWO_PLACES = "torch.ones(2, device='cuda') + torch.ones(2)"
REFUSED = "Expected all tensors to be on the same device"


def clean(result: Result) -> dict[str, object]:
    """The values that a snippet kept, which nothing ended early."""
    assert (result.message, result.status) == ("", 0), result.printed
    assert result.not_simulated == []
    return result.values


def test_threads_compute_and_give_back_what_they_made(simulate: Simulate) -> None:
    code = """
import _thread, concurrent.futures, threading
import torch

class Worker(threading.Thread):
    def __init__(self):
        super().__init__(name="mine", daemon=True)
        self.result = None
    def run(self):
        self.result = torch.ones(2, device="cuda") * 2

def work(number):
    return torch.full((2,), number, device="cuda") + 1

worker = Worker()
worker.start()
worker.join()
keep("subclass", [str(worker.result.device), worker.result.tolist(), worker.name])
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    keep("pool", [result.tolist() for result in pool.map(work, [1.0, 2.0])])
results = []
thread = threading.Thread(target=lambda: results.append(work(3.0)))
thread.start()
thread.join()
lock = _thread.allocate_lock()
lock.acquire()
_thread.start_new_thread(lambda number: (results.append(work(number)), lock.release()), (4.0,))
lock.acquire()
timer = threading.Timer(0, lambda: results.append(work(5.0)))
timer.start()
timer.join()
keep("others", [[str(result.device), result.tolist()] for result in results])
keep("run by hand", Worker().run())
"""
    assert clean(simulate(code)) == {
        "subclass": ["cuda:0", [2, 2], "mine"],
        "pool": [[2, 2], [3, 3]],
        "others": [["cuda:0", [4, 4]], ["cuda:0", [5, 5]], ["cuda:0", [6, 6]]],
        "run by hand": None,
    }


def test_backward_works_in_threads_and_however_deep_it_calls_itself(simulate: Simulate) -> None:
    code = """
import threading
import torch
from torch.utils.checkpoint import checkpoint

weight = torch.ones(2, device="cuda", requires_grad=True)
thread = threading.Thread(target=lambda: (weight * 3).sum().backward())
thread.start()
thread.join()
keep("in a thread", [str(weight.grad.device), weight.grad.tolist()])

def nested(value, depth):
    # Beyond 60 levels autograd goes on in threads of its own.
    return value * 1.0 if depth == 0 else checkpoint(nested, value, depth - 1, use_reentrant=True)

value = torch.ones(2, device="cuda", requires_grad=True)
nested(value, 70).sum().backward()
keep("nested", [str(value.grad.device), value.grad.tolist()])
"""
    assert clean(simulate(code)) == {"in a thread": ["cuda:0", [3, 3]], "nested": ["cuda:0", [1, 1]]}


def test_asyncio_and_futures_of_torch_work(simulate: Simulate) -> None:
    code = """
import asyncio
import torch

async def main():
    return await asyncio.to_thread(lambda: torch.ones(2, device="cuda") + 1)

keep("asyncio", str(asyncio.run(main()).device))
future = torch.futures.Future()
chained = future.then(lambda done: done.value() * 2)
future.set_result(torch.ones(1, device="cuda"))
keep("future", [str(chained.wait().device), chained.wait().item()])
called = []
chained.add_done_callback(lambda done: called.append(done.value().item()))
keep("called", called)
"""
    assert clean(simulate(code)) == {"asyncio": "cuda:0", "future": ["cuda:0", 2], "called": [2]}


@pytest.mark.parametrize(
    "start",
    [
        "with concurrent.futures.ThreadPoolExecutor(1) as pool:\n    pool.submit(work).result()",
        "worker = Worker()\nworker.start()\nworker.join()\nraise worker.error",
        "asyncio.run(asyncio.to_thread(work))",
        "pool = multiprocessing.pool.ThreadPool(1)\npool.apply(work)",
    ],
)
def test_a_mix_of_places_is_refused_in_threads(simulate: Simulate, start: str) -> None:
    code = f"""
import asyncio, concurrent.futures, multiprocessing.pool, threading
import torch

def work():
    {TWO_PLACES}

class Worker(threading.Thread):
    def run(self):
        try:
            work()
        except RuntimeError as error:
            self.error = error

"""
    result = simulate(code + start + "\n")
    assert result.first_line.startswith(REFUSED), result.printed
    assert result.line == 5


def test_a_fork_computes_with_the_device_where_the_parent_never_did(simulate: Simulate) -> None:
    code = """
import os, sys
import torch
read, write = os.pipe()
child = os.fork()
if child == 0:
    value = torch.ones(2, device="cuda") * 2
    os.write(write, f"{value.device} {value.tolist()} {torch.cuda.is_initialized()}".encode())
    os._exit(0)
os.waitpid(child, 0)
keep("child", os.read(read, 100).decode())
keep("parent", torch.cuda.is_initialized())
"""
    assert clean(simulate(code)) == {"child": "cuda:0 [2.0, 2.0] True", "parent": False}


FORKED = """
import os
from concurrent.futures import ThreadPoolExecutor
import torch
inherited = torch.arange(4.0, device="cuda").view(2, 2)
host = torch.ones(2)

def in_child(work):
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            text = str(work())
        except BaseException as error:
            text = f"{type(error).__name__}: {error}".split(chr(10))[0]
        os.write(write, text.encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    return os.read(read, 1000).decode()

"""


def test_a_fork_of_a_process_with_the_device_may_work_on_the_host(simulate: Simulate) -> None:
    code = """
keep("host", in_child(lambda: (host + 1).tolist()))
keep("seeds", in_child(lambda: torch.manual_seed(3).initial_seed()))
keep("asked", in_child(lambda: [inherited.shape, inherited.device, inherited[0].shape, inherited.t().stride()]))
keep("state", in_child(lambda: [torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork()]))
keep("again", in_child(lambda: in_child(lambda: (host * 3).tolist())))
keep("parent", [(inherited + 1).sum().item(), torch.cuda.is_initialized()])
"""
    assert clean(simulate(FORKED + code)) == {
        "host": "[2.0, 2.0]",
        "seeds": "3",
        "asked": "[torch.Size([2, 2]), device(type='cuda', index=0), torch.Size([2]), (1, 2)]",
        "state": "[False, True]",
        "again": "[3.0, 3.0]",
        "parent": [10, True],
    }


def test_a_fork_of_a_process_with_the_device_cannot_use_it(simulate: Simulate) -> None:
    code = """
keep("moved", in_child(lambda: host.cuda()))
keep("made", in_child(lambda: torch.zeros(2, device="cuda")))
keep("grandchild", in_child(lambda: in_child(lambda: host.to("cuda"))))
keep("thread", in_child(lambda: ThreadPoolExecutor().submit(host.cuda).result()))
keep("computed", in_child(lambda: inherited + 1))
keep("listed", in_child(lambda: torch.cat([inherited, inherited])))
keep("back", in_child(lambda: inherited.cpu()))
keep("numbers", in_child(lambda: inherited.tolist()))
keep("text", in_child(lambda: f"{inherited}"))
keep("empty", in_child(lambda: [inherited[:0].tolist(), host.tolist(), repr(host)]))
"""
    values = clean(simulate(FORKED + code))
    text = "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' "
    for name in ("moved", "made", "grandchild", "thread"):
        assert values[name] == f"RuntimeError: {text}start method", name
    for name in ("computed", "listed", "back", "numbers", "text"):
        assert str(values[name]).endswith("Error: CUDA error: initialization error"), name
    assert "Error" not in str(values["empty"])


def test_asking_whether_there_is_a_device_spoils_it_for_forks_unless_nvml_is_asked(simulate: Simulate) -> None:
    code = FORKED.replace("inherited =", "#")
    asked = code + "torch.cuda.is_available()\nkeep('child', in_child(lambda: host.cuda().tolist()))\n"
    assert "Cannot re-initialize CUDA" in str(clean(simulate(asked))["child"])
    by_nvml = "import os\nos.environ['PYTORCH_NVML_BASED_CUDA_CHECK'] = '1'\n" + asked
    assert clean(simulate(by_nvml)) == {"child": "[1.0, 1.0]"}
    counted = asked.replace("is_available()", "device_count()")
    assert clean(simulate(counted)) == {"child": "[1.0, 1.0]"}


QUEUES = """
import torch
import torch.multiprocessing as mp

def story(tensor):
    claim, found = tensor.untyped_storage().__dict__.get("_devfix_claim"), []
    while claim is not None:
        found.append((str(claim.place), claim.how))
        claim = claim.before
    return found

def send(queue, done, make):
    queue.put(make())
    done.wait()

def sent(make):
    context = mp.get_context("fork")
    queue, done = context.Queue(), context.Event()
    process = context.Process(target=send, args=(queue, done, make))
    process.start()
    value = queue.get(timeout=100)
    done.set()
    process.join()
    return value

"""


@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_tensors_keep_their_places_between_processes(simulate: Simulate, strategy: str) -> None:
    code = f"""
mp.set_sharing_strategy({strategy!r})

def make():
    # All in one: receiving a tensor on the device makes a context, and forks cannot use it from then on.
    return [torch.arange(3), torch.arange(4.0).cuda()[1:].double(), torch.empty(0, device="cuda"),
            torch.nn.Parameter(torch.ones(1, device="cuda")), torch.nn.BatchNorm1d(2).cuda()]

host, device, empty, parameter, model = sent(make)
keep("host", [host.tolist(), story(host)])
keep("device", [str(device.device), device.tolist(), str(device.dtype), story(device)])
keep("empty", [str(empty.device), empty.numel()])
keep("parameter", [type(parameter).__name__, parameter.requires_grad, str(parameter.device)])
keep("initialised", torch.cuda.is_initialized())
keep("module", sorted({{str(tensor.device) for tensor in model.state_dict().values()}}))
"""
    assert clean(simulate(QUEUES + code)) == {
        "host": [[0, 1, 2], [["cpu", "made by torch.arange"]]],
        "device": [
            "cuda:0",
            [1, 2, 3],
            "torch.float64",
            [["cuda:0", "moved by .cuda"], ["cpu", "made by torch.arange"]],
        ],
        "empty": ["cuda:0", 0],
        "parameter": ["Parameter", True, "cuda:0"],
        "initialised": True,
        "module": ["cuda:0"],
    }


def test_tensors_that_are_made_of_others_are_sent_as_these(simulate: Simulate) -> None:
    code = """
import pickle
from multiprocessing.reduction import ForkingPickler

matrix = torch.eye(2, device="cuda")
nested = torch.nested.nested_tensor([matrix, matrix])
made = [matrix.to_sparse(), matrix.to_sparse_csr(), nested, torch.eye(2).to_sparse()]
keep("there", [str(pickle.loads(ForkingPickler.dumps(one)).device) for one in made])
"""
    assert clean(simulate(QUEUES + code)) == {"there": ["cuda:0", "cuda:0", "cuda:0", "cpu"]}


def test_memory_is_shared_with_the_process_that_it_is_sent_to(simulate: Simulate) -> None:
    code = """
def fill(queue, back):
    tensor = queue.get(timeout=100)
    tensor.fill_(7)
    back.put(str(tensor.device))

context = mp.get_context("fork")
queue, back = context.Queue(), context.Queue()
process = context.Process(target=fill, args=(queue, back))
process.start()
shared = torch.zeros(2, device="cuda")
queue.put(shared)
keep("there", back.get(timeout=100))
process.join()
keep("here", [str(shared.device), shared.tolist()])
"""
    assert clean(simulate(QUEUES + code)) == {"there": "cuda:0", "here": ["cuda:0", [7, 7]]}


def test_what_came_from_another_process_is_refused_where_it_meets_the_other_place(simulate: Simulate) -> None:
    for make in ("torch.ones(2)", "torch.ones(2, device='cuda')"):
        other = "torch.ones(2, device='cuda')" if "device" not in make else "torch.ones(2)"
        result = simulate(QUEUES + f"sent(lambda: {make}) + {other}\n")
        assert result.first_line.startswith(REFUSED), result.printed


def test_a_tensor_of_a_graph_is_not_sent(simulate: Simulate) -> None:
    code = """
from multiprocessing.reduction import ForkingPickler
for place in ("cpu", "cuda"):
    try:
        ForkingPickler.dumps(torch.ones(1, device=place, requires_grad=True) * 2)
    except RuntimeError as error:
        keep(place, str(error)[:60])
"""
    text = "Cowardly refusing to serialize non-leaf tensor which require"
    assert clean(simulate(QUEUES + code)) == {"cpu": text, "cuda": text}


def test_a_storage_on_the_device_is_not_sent(simulate: Simulate) -> None:
    code = """
from multiprocessing.reduction import ForkingPickler
ForkingPickler.dumps(torch.ones(1).untyped_storage())
ForkingPickler.dumps(torch.ones(1, device="cuda").untyped_storage())
"""
    result = simulate(QUEUES + code)
    assert result.first_line == "Cannot pickle CUDA storage; try pickling a CUDA tensor instead"


def test_programs_that_a_script_starts_run_and_a_note_says_that_they_see_no_accelerator(simulate: Simulate) -> None:
    code = """
import pathlib, subprocess, sys
import torch
keep("echo", subprocess.run(["echo", "a"], capture_output=True, text=True).stdout)
keep("shell", subprocess.check_output("echo b; exit 0", shell=True, text=True))
keep("path", subprocess.call(pathlib.Path("/bin/true")))
keep("class", isinstance(subprocess.Popen(["true"]), subprocess.Popen))
for odd in ([], ["no such program"], "echo 'unclosed"):
    try:
        subprocess.Popen(odd)
    except (IndexError, OSError, ValueError) as error:
        pass
keep("python", subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout)
"""
    result = simulate(code)
    values = clean(result)
    assert values == {"echo": "a\n", "shell": "b\n", "path": 0, "class": True, "python": "1\n"}
    assert len(result.notes) == 1
    assert result.notes[0].endswith(": a program of its own, which sees no accelerator")
