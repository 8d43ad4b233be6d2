"""Runs in forks of a process that has imported torch: they are like those in an interpreter of their own."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from devfix.replay.backends import Backend, PlainCpu, Simulated
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.programs import Program
from devfix.replay.replaying import run_alone

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")]

Run = Callable[..., Outcome]

FORKED = "('--serve' in open(f'/proc/{os.getppid()}/cmdline').read())"
"""What is true in a script that runs in a fork."""


@pytest.fixture
def run(tree: Path) -> Run:
    """Run a script in a fork, on the plain CPU; extra arguments are `ReplayOptions`."""

    def run(script: str, backend: Backend | None = None, **options: object) -> Outcome:
        path = tree / "train.py"
        path.write_text(script)
        chosen = ReplayOptions(**{"timeout": 90, **options})  # type: ignore[arg-type]
        return run_alone(Program(path), backend or PlainCpu(), chosen).outcome

    return run


@pytest.fixture
def both(run: Run) -> Callable[[str], tuple[str, str]]:
    """What a script prints in an interpreter of its own, and in a fork."""

    def both(script: str, **options: object) -> tuple[str, str]:
        outcomes = [run(script, PlainCpu(forks=forks), **options) for forks in (False, True)]
        for outcome in outcomes:
            assert outcome.passed, outcome.stderr.tail
        return outcomes[0].stdout.head, outcomes[1].stdout.head

    return both


def test_a_script_of_a_tree_with_torch_runs_in_a_fork(run: Run, tree: Path) -> None:
    script = f"import os, sys\nprint({FORKED}, os.getsid(0) == os.getpid(), sys.stdin.read() == '')\n"
    assert run(script).stdout.head == "False True True\n"
    (tree / "library.py").write_text("import torch\n")
    assert run(script).stdout.head == "True True True\n"


PROCESS = """
import atexit, faulthandler, json, os, resource, signal, sys, threading, warnings
modules = {"torch", "numpy", "typing_extensions", "_devfix_probe"} & set(sys.modules)
main = sys.modules["__main__"]
import random
told = {
    "modules": sorted(modules),
    "main": [main is sys.modules.get("__mp_main__", main), main.__name__, __file__.rpartition("/")[2], main.__spec__],
    "argv": sys.argv,
    "path": [entry.replace(os.path.dirname(os.path.abspath(__file__)), "HERE") for entry in sys.path],
    "folder": os.path.basename(os.getcwd()),
    "variables": {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "DEVFIX_REPLAY")},
    "temporary": os.listdir(os.environ["TMPDIR"]),
    "signals": {number: getattr(signal.getsignal(number), "__name__", signal.getsignal(number))
                for number in signal.valid_signals()},
    "limits": [resource.getrlimit(getattr(resource, name)) for name in dir(resource) if name.startswith("RLIMIT_")],
    "filters": [str(one) for one in warnings.filters],
    "threads": [threading.active_count(), threading.current_thread() is threading.main_thread()],
    "random": [random.random(), hash("devfix")],
    "fault": faulthandler.is_enabled(),
    "files": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")),
    "streams": [(one.encoding, one.errors, one.line_buffering, one.write_through, one.isatty())
                for one in (sys.stdout, sys.stderr)],
    "depth": len(__import__("inspect").stack()),
    "hooks": [sys.excepthook is sys.__excepthook__, sys.gettrace(), sys.getprofile()],
    "priority": os.getpriority(os.PRIO_PROCESS, 0),
    "processors": sorted(os.sched_getaffinity(0)),
    "mask": os.umask(0),
    "session": os.getsid(0) == os.getpgid(0) == os.getpid(),
}
import torch, numpy
told |= {
    "then": sorted({"torch", "numpy", "torch.optim", "torch.nn.functional", "torch._dynamo"} & set(sys.modules)),
    "filters then": [str(one) for one in warnings.filters],
    "drawn": [torch.rand(2).tolist(), numpy.random.rand(), torch.initial_seed(), random.random()],
    "at work": [torch.get_num_threads(), torch.get_num_interop_threads(), torch.get_default_dtype().itemsize],
    "device": [torch.cuda.is_available(), torch.cuda.is_initialized(), torch.cuda._is_in_bad_fork()],
    "spec": [torch.__spec__.name, type(torch.__spec__.loader).__name__, type(torch.__loader__).__name__],
}
atexit.register(print, "at exit")
print(json.dumps(told, default=str))
"""


def test_a_script_finds_the_same_in_a_fork(both: Callable[[str], tuple[str, str]]) -> None:
    own, forked = (json.loads(text.partition("\n")[0]) for text in both(PROCESS))
    assert forked == own
    assert own["modules"] == ["_devfix_probe"]
    assert "torch" in own["then"]
    assert "torch._dynamo" not in own["then"]


def test_a_package_that_came_along_with_another_is_whole(both: Callable[[str], tuple[str, str]], tree: Path) -> None:
    (tree / "training.py").write_text("import torch.optim\n")  # what that needs is imported for the fork as well
    script = "import torch, numpy, numpy.random\nprint(numpy.fft.fft([1.0]).real[0], numpy.random.rand() < 1)\n"
    assert both(script) == ("1.0 True\n", "1.0 True\n")


OF_DEVICES = """
import sys, torch
optimizer = torch.optim.Adam(torch.nn.Linear(2, 2).cuda().parameters())
optimizer.zero_grad()
from torch.distributed.tensor import DTensor
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.rand(3, device="cuda"))
print("torch._dynamo" in sys.modules, torch.cuda._is_in_bad_fork())
print(torch.manual_seed.__module__, torch.save.__name__, DTensor.__new__.__name__)
"""


def test_the_simulated_accelerator_is_the_same_in_a_fork(run: Run, simulation: Simulated) -> None:
    own, forked = (run(OF_DEVICES, replace(simulation, forks=forks)) for forks in (False, True))
    assert own.passed, own.stderr.tail
    assert forked.stdout == own.stdout
    assert "True 1 tensor(" in own.stdout.head


UNLIKE = {
    "variables read at import": "os.environ['OMP_NUM_THREADS'] = '1'; import torch; print(torch.get_num_threads())",
    "its processors": "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); import torch; print(torch.__config__)",
    "a module of its own making": "sys.modules['numpy'] = None; import torch; print(sys.modules['numpy'])",
    "a module of its path": "sys.path.insert(0, 'sources'); import numpy; print(numpy.mine)",
}


@pytest.mark.parametrize("what", UNLIKE)
def test_a_script_that_would_have_imported_something_else_has_an_interpreter_of_its_own(
    both: Callable[[str], tuple[str, str]], tree: Path, what: str
) -> None:
    (tree / "sources" / "numpy" / "random").mkdir(parents=True)
    (tree / "sources" / "numpy" / "__init__.py").write_text("mine = True\n")
    (tree / "sources" / "numpy" / "random" / "__init__.py").write_text("def seed(seed): pass\n")
    own, forked = both(f"# torch\nimport os, sys\n{UNLIKE[what]}\nprint({FORKED})\n")
    assert forked == own
    assert forked.endswith("\nFalse\n")


@pytest.mark.parametrize("name", ["queue", "unittest", "typing_extensions"])
def test_a_module_of_the_script_is_the_one_that_it_gets(
    both: Callable[[str], tuple[str, str]], tree: Path, name: str
) -> None:
    (tree / f"{name}.py").write_text("mine = True\n")
    script = f"# torch\nimport os, {name}\nprint({name}.mine)\nprint({FORKED})\n"
    assert both(script) == ("True\nFalse\n", "True\nFalse\n")


def test_a_folder_with_the_name_of_a_module_hides_nothing(both: Callable[[str], tuple[str, str]], tree: Path) -> None:
    (tree / "queue").mkdir()
    script = f"import os, queue, torch\nprint(queue.Empty)\nprint({FORKED})\n"
    assert both(script) == ("<class '_queue.Empty'>\nFalse\n", "<class '_queue.Empty'>\nTrue\n")


def test_variables_that_are_read_later_may_be_set(both: Callable[[str], tuple[str, str]]) -> None:
    script = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nimport torch\nprint(torch.cuda.device_count())\n"
    assert both(f"{script}print({FORKED})\n") == ("0\nFalse\n", "0\nTrue\n")


def test_what_an_interpreter_is_told_when_it_starts_holds_for_forks(
    both: Callable[..., tuple[str, str]], tree: Path
) -> None:
    (tree / "here").mkdir()
    script = (
        "import os, sys, torch\n"
        "print(hash('a'), sys.flags.utf8_mode, torch.get_num_threads(), os.path.basename(sys.path[1]))\n"
    )
    for variables in ((("PYTHONUTF8", "1"), ("OMP_NUM_THREADS", "1")), (("PYTHONPATH", "here"),)):
        own, forked = both(script, seed=3, env=variables)
        assert own == forked


DAEMON = """
import os, subprocess, sys, time
import torch
if os.fork():
    while not os.path.exists("ready"):
        time.sleep(0.01)
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
subprocess.Popen(["sleep", NAME], env={}, start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("ready", "w")
time.sleep(600)
"""


def named(word: str) -> list[int]:
    """The processes that have a word in their command line, and do not only wait to be buried."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if word.encode() in (folder / "cmdline").read_bytes() and int(folder.name) != os.getpid():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def parent(process: int) -> int:
    """Whose child a process is; 0 where it is gone, or only waits to be buried."""
    try:
        state, number = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(number)


def below(process: int) -> set[int]:
    """All that descends from a process."""
    everyone = [int(folder.name) for folder in Path("/proc").glob("[0-9]*")]
    children = {one for one in everyone if parent(one) == process}
    return children.union(*map(below, children))


def test_nothing_that_a_fork_starts_outlives_it(run: Run) -> None:
    name = f"600.{os.getpid()}"
    assert run(DAEMON.replace("NAME", repr(name))).passed
    assert not named(name)


@pytest.mark.parametrize(
    ("script", "ending", "told"),
    [
        ("import ctypes\nctypes.string_at(0)", Ending.KILLED, "signal SIGSEGV"),
        ("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)", Ending.KILLED, "signal SIGTERM"),
        ("import os\nos._exit(7)", Ending.FAILED, "exit status 7"),
        ("import sys\nsys.exit(7)", Ending.FAILED, "SystemExit at train.py:3: 7"),
        ("1 / 0", Ending.FAILED, "ZeroDivisionError at train.py:2: division by zero"),
        ("while True: print('x' * 1000)", Ending.OVERRAN, "printed more than 1.0 MiB"),
        ("import torch\ntorch.ones(1 << 40)", Ending.FAILED, "RuntimeError at train.py:3: [enforce fail at"),
    ],
)
def test_the_end_of_a_fork_is_seen(run: Run, script: str, ending: Ending, told: str) -> None:
    outcome = run(f"# torch\n{script}\n", output_limit=1 << 20)
    assert outcome.ending is ending, outcome
    assert outcome.failure.startswith(told)


AT_ITS_END = """
import atexit, io, os, sys, threading, time, torch
import helper

class Last:
    def __init__(self, name):
        self.name = name
    def __del__(self):
        print("gone", self.name, helper is not None, torch is None, file=sys.stderr)
        sys.stderr.flush()

kept, _private = Last("kept"), Last("private")
helper.kept = Last("of a helper")
ring = [Last("in a ring")]
ring.append(ring)
file = open(os.environ["TMPDIR"] + "/written", "w")
file.write("written")
atexit.register(lambda: print("at exit", os.path.getsize(file.name), sys.stdout.__class__.__name__))
if os.fork() == 0:
    sys.exit(3)
print("child", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
threading.Thread(target=lambda: (time.sleep(0.2), print("a thread"))).start()
print("without a newline", end="")
END
"""


@pytest.mark.parametrize(
    "end",
    [
        "",
        "sys.exit('a word')",
        "1 / 0",
        "os.close(1)",
        "sys.stdout = io.StringIO(); atexit.register(lambda: 1 / 0)",
    ],
)
def test_a_fork_ends_as_an_interpreter_of_its_own_does(run: Run, tree: Path, end: str) -> None:
    (tree / "helper.py").write_text("import os\nreport = open(os.environ['TMPDIR'] + '/report', 'w')\n")
    own, forked = (run(AT_ITS_END.replace("END", end), PlainCpu(forks=forks)) for forks in (False, True))
    assert forked.stdout == own.stdout
    assert told(forked.stderr.tail) == told(own.stderr.tail)
    assert (forked.ending, forked.failure) == (own.ending, own.failure)


def told(text: str) -> str:
    """A text without the names of copies and without addresses."""
    return re.sub(r"devfix-replay-\w+|0x\w+", "", text)


KEPT = """
import gzip, io, os, sys, torch
binary = open(sys.argv[1], "wb")
packed = gzip.open(binary, "wb")
text = io.TextIOWrapper(packed)
text.write(str(FORKED))
torch.kept = lambda: text
"""


def test_files_that_torch_keeps_are_written_when_a_fork_ends(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert run(KEPT.replace("FORKED", FORKED).replace("sys.argv[1]", repr(str(note)))).passed
    assert gzip.decompress(note.read_bytes()) == b"True"


def test_a_fork_has_its_limits(run: Run) -> None:
    hangs = "import torch, time\nfor _ in range(3): __import__('os').fork()\nprint('x')\ntime.sleep(600)\n"
    assert run(hangs, timeout=5).ending is Ending.TIMED_OUT
    assert "File too large" in run("# torch\nopen('f', 'wb').write(bytes(3 << 20))\n", file_limit=1 << 20).failure
    assert "allocate memory" in run("import torch\nx = torch.ones(1 << 29)\n", memory=1 << 30).failure
    small = run("import torch\nprint(1)\n").peak_memory
    assert small is not None
    assert 0 < small < 1 << 30


STOPPED = """
import sys, tempfile
from pathlib import Path
from devfix.replay import Program, ReplayOptions, run_alone
from devfix.replay.backends import PlainCpu
script, tempfile.tempdir = Path(sys.argv[1]), sys.argv[2]
run_alone(Program(script), PlainCpu(), ReplayOptions(timeout=60))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupt_leaves_no_process(
    tree: Path, tmp_path: Path, copies: Callable[[], list[Path]], number: signal.Signals
) -> None:
    note = tmp_path / "pid"
    (tree / "train.py").write_text(
        f"import torch, os, time\nif not os.fork(): os.setsid()\nopen({str(note)!r}, 'w')\ntime.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tree / "train.py"), str(tmp_path / "copies")], stderr=subprocess.DEVNULL
    )
    while not note.exists() and process.poll() is None:
        time.sleep(0.02)
    started = below(process.pid)
    assert len(started) >= 4
    process.send_signal(number)
    process.wait(60)
    deadline = time.monotonic() + 120
    while any(map(parent, started)) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not list(filter(parent, started))
    assert number is signal.SIGKILL or copies() == []
