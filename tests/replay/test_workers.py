"""Processes that a script starts: their errors have lines, and what they run counts."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from devfix.replay import ReplayResult
from devfix.replay.outcomes import Outcome
from devfix.replay.verdicts import Kind

Replay = Callable[..., ReplayResult]

RAISES = """import concurrent.futures, multiprocessing, subprocess, sys

def work(number):
    if number:
        raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices!")

"""


@pytest.fixture
def tree(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """As elsewhere, but with short paths: the sockets through which processes share memory have at most 100 letters."""
    with tempfile.TemporaryDirectory(prefix="w") as scratch:
        folder, copies = Path(scratch, "project"), Path(scratch, "c")
        folder.mkdir()
        copies.mkdir()
        (folder / "pyproject.toml").touch()
        monkeypatch.setattr("tempfile.tempdir", str(copies))
        yield folder


def ends(result: ReplayResult) -> tuple[Outcome, Outcome]:
    assert result.before is not None, result.verdict
    assert result.after is not None, result.verdict
    return result.before, result.after


@pytest.mark.parametrize(
    "start",
    [
        "with multiprocessing.Pool(1) as pool:\n    pool.map(work, [1])\n",
        "with concurrent.futures.ProcessPoolExecutor(1) as pool:\n    pool.submit(work, 1).result()\n",
        """
try:
    with multiprocessing.Pool(1) as pool:
        pool.map(work, [1])
except RuntimeError as error:
    raise ValueError("no data") from error
""",
    ],
)
def test_an_error_in_a_process_has_the_line_where_it_arose(replay: Replay, start: str) -> None:
    before, _ = ends(replay(RAISES + start, RAISES.replace("if number", "if not number") + start))
    assert before.error is not None
    assert (before.error.file, before.error.line) == ("train.py", 5)
    assert before.error.message == "Expected all tensors to be on the same device, but found at least two devices!"
    assert before.device_error is not None


def test_a_traceback_in_the_message_of_a_library_is_not_taken_for_a_line_of_the_tree(replay: Replay) -> None:
    script = """
raise RuntimeError('''Expected all tensors to be on the same device
Traceback (most recent call last):
  File "/usr/lib/python3/other.py", line 1, in work
''')
"""
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.error is not None
    assert (before.error.file, before.error.line) == ("train.py", 2)


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_lines_that_only_a_process_runs_are_reached(replay: Replay, method: str) -> None:
    script = f"""
import multiprocessing
def work():
    return 1
if __name__ == "__main__":
    process = multiprocessing.get_context({method!r}).Process(target=work)
    process.start()
    process.join()
"""
    result = replay(script, script.replace("return 1", "return 2"))
    _, after = ends(result)
    assert after.passed
    assert ("train.py", 4) in after.reached


SPAWNED = """
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, TensorDataset

data = TensorDataset(torch.arange(8.0).view(4, 2), torch.arange(4))

def collate(samples):
    return torch.stack([sample[0] for sample in samples]).to("cuda")

def work(rank, shared, queue):
    queue.put([str(shared.device), (shared + torch.ones(2, device="cuda")).tolist()])
    shared + torch.ones(2)

if __name__ == "__main__":
    for batch in DataLoader(data, 4, collate_fn=collate, num_workers=1, multiprocessing_context="spawn"):
        print(batch.device, batch.sum().item())
    queue = mp.get_context("spawn").SimpleQueue()
    try:
        mp.spawn(work, (torch.arange(2.0, device="cuda"), queue))
    finally:
        print(queue.get())
"""


@pytest.mark.slow
def test_spawned_processes_believe_in_the_simulated_accelerator(simulated: Callable[[str, str], ReplayResult]) -> None:
    result = simulated(SPAWNED, SPAWNED.replace("torch.ones(2)\n", "torch.ones(2).cuda()\n"))
    before, after = ends(result)
    for outcome in (before, after):
        assert outcome.stdout.head == "cuda:0 28.0\n['cuda:0', [1.0, 2.0]]\n", outcome.stderr.tail
    assert before.error is not None
    assert (before.error.file, before.error.line) == ("train.py", 13)
    assert result.verdict.kind is Kind.CONFIRMED


FORKED = """
import torch
from torch.utils.data import DataLoader, Dataset

class Data(Dataset):
    def __len__(self):
        return 4

    def __getitem__(self, index):
        value = torch.ones(2)
        return value.cuda()

model = torch.nn.Linear(2, 2).cuda()
for batch in DataLoader(Data(), num_workers=1):
    model(batch.cuda())
"""


@pytest.mark.slow
def test_a_worker_that_touches_the_device_is_confirmed_once_it_does_not(
    simulated: Callable[[str, str], ReplayResult],
) -> None:
    result = simulated(FORKED, FORKED.replace("return value.cuda()", "return value"))
    before, _ = ends(result)
    assert before.error is not None
    assert (before.error.file, before.error.line) == ("train.py", 11)
    assert before.error.message.startswith("Cannot re-initialize CUDA in forked subprocess.")
    assert result.verdict.kind is Kind.CONFIRMED


def test_a_script_that_closes_all_files_is_seen_to_the_end_and_its_own_files_are_left_alone(replay: Replay) -> None:
    script = """
import os
os.closerange(3, 100)
own = [os.open(f"own{number}", os.O_RDWR | os.O_CREAT) for number in range(20)]
try:
    raise RuntimeError("CUDA error: invalid device ordinal")
finally:
    print([os.fstat(number).st_size for number in own if os.fstat(number).st_size])
"""
    before, after = ends(replay(script, script.replace("print(", "print( ")))
    assert before.device_error is not None
    assert before.stdout.head == "[]\n"
    assert ("train.py", 8) in after.reached


def test_a_folder_for_temporary_files_may_be_half_as_long_as_sockets_allow(
    replay: Replay, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That of macOS is; what shares tensors between processes has a socket two folders below."""
    long = tree.parent / "temporary-files".ljust(60 - len(str(tree.parent)), "-")
    long.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(long))
    script = """
import torch
from torch.utils.data import DataLoader

if __name__ == "__main__":
    print(sum(batch.sum().item() for batch in DataLoader(torch.ones(4, 2), 2, num_workers=1)))
"""
    before, _ = ends(replay(script, script + "x = 1\n", timeout=60))
    assert before.passed
    assert before.stdout.head == "8.0\n"
    assert list(long.iterdir()) == []
