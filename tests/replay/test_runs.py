"""Scripts run for real: how each kind of end is seen, and that nothing of a run is left."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from devfix.replay.backends import PlainCpu
from devfix.replay.changes import Change
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.programs import Program
from devfix.replay.replaying import replay_on
from devfix.replay.results import ReplayResult
from devfix.replay.verdicts import Kind

Replay = Callable[..., ReplayResult]

DEVICE_ERROR = 'raise RuntimeError("Expected all tensors to be on the same device, but found at least two devices")\n'


def ends(result: ReplayResult) -> tuple[Outcome, Outcome]:
    assert result.before is not None
    assert result.after is not None
    return result.before, result.after


def test_a_script_that_passes_before_and_after_proves_nothing_on_a_cpu(replay: Replay) -> None:
    result = replay("x = 1\nprint(x)\n", "x = 1\nprint(x, end='\\n')\n")
    before, after = ends(result)
    assert before.passed
    assert after.passed
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "cannot show on the plain CPU" in result.verdict.reason
    assert after.reached == {("train.py", 2)}
    assert before.peak_memory
    assert before.peak_memory < 1 << 30


def test_a_device_error_that_is_gone_after_the_patch_is_confirmed(replay: Replay) -> None:
    result = replay(f"print('go')\n{DEVICE_ERROR}", "print('go')\nprint('moved')\n")
    before, after = ends(result)
    assert before.ending is Ending.FAILED
    assert before.status == 1
    assert before.error is not None
    assert (before.error.type, before.error.file, before.error.line) == ("RuntimeError", "train.py", 2)
    assert before.error.is_device_error
    assert after.passed
    assert result.verdict.kind is Kind.CONFIRMED
    assert result.verdict.satisfied


def test_a_patch_that_breaks_a_script_is_refuted(replay: Replay) -> None:
    result = replay("print(1)\n", "print(devise)\n")
    assert result.verdict.kind is Kind.REFUTED
    assert "NameError at train.py:1" in result.verdict.reason


def test_a_patch_that_prints_something_else_is_refuted(replay: Replay) -> None:
    result = replay("print('accuracy 0.91')\n", "print('accuracy 0.19')\n")
    assert result.verdict.kind is Kind.REFUTED
    assert "'accuracy 0.91' before and 'accuracy 0.19' after" in result.verdict.reason


def test_a_script_that_differs_from_run_to_run_refutes_nothing(replay: Replay) -> None:
    script = "import os\nprint(os.urandom(8).hex())\n"
    result = replay(script, script + "x = 1\n")
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "do not agree with each other" in result.verdict.reason


def test_random_numbers_and_hashes_are_the_same_in_every_run(replay: Replay) -> None:
    script = "import random\nprint(random.random(), hash('devfix'))\n"
    assert "output agrees" in replay(script, script + "x = 1\n").verdict.reason


def test_a_script_that_hangs_is_ended_at_the_time_limit(replay: Replay) -> None:
    script = "import time\nprint('started')\nwhile True: time.sleep(0.1)\n"
    result = replay(script, "print('started')\n", timeout=8)  # by then it has started, whatever else the machine does
    before, _ = ends(result)
    assert before.ending is Ending.TIMED_OUT
    assert before.seconds >= 8
    assert before.stdout.head == "started\n"
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "time limit" in result.verdict.reason


def test_what_ran_before_os_exit_is_known(replay: Replay) -> None:
    result = replay("import os\nx = 1\nos._exit(0)\n", "import os\nx = 2\nos._exit(0)\n")
    _, after = ends(result)
    assert after.passed
    assert after.reached == {("train.py", 2)}


def test_the_status_of_os_exit_is_kept(replay: Replay) -> None:
    before, after = ends(replay("import os\nos._exit(7)\n", "import os\nos._exit(8)\n"))
    assert (before.status, after.status) == (7, 8)
    assert before.error is None


@pytest.mark.parametrize(
    ("call", "status", "message"),
    [
        ("sys.exit()", 0, ""),
        ("sys.exit(3)", 3, "3"),
        ("sys.exit('no data')", 1, "no data"),
        ("sys.exit(256)", 0, ""),
        ("sys.exit(-1)", 255, "-1"),
        ("sys.exit(True)", 1, "True"),
    ],
)
def test_sys_exit_has_its_usual_status(replay: Replay, call: str, status: int, message: str) -> None:
    before, _ = ends(replay(f"import sys\n{call}\n", f"import sys\n{call}  # now\n"))
    assert before.status == status
    assert before.passed is (status == 0)
    if before.error is not None:
        assert (before.error.type, before.error.message) == ("SystemExit", message)


def test_a_device_error_that_a_script_turns_into_an_exit_is_found(replay: Replay) -> None:
    script = f"import sys\ntry:\n    {DEVICE_ERROR}except Exception as error:\n    print(error)\n    sys.exit(1)\n"
    before, _ = ends(replay(script, script.replace("print(error)", "print()")))
    assert before.device_error is not None
    assert before.device_error.line == 3


def test_a_segmentation_fault_is_an_outcome(replay: Replay) -> None:
    crash = "import ctypes\ny = 1\nctypes.string_at(0)\n"
    result = replay("x = 1\nprint(x)\n", crash)
    _, after = ends(result)
    assert after.ending is Ending.KILLED
    assert after.signal == "SIGSEGV"
    assert after.status is None
    assert ("train.py", 3) in after.reached
    assert result.verdict.kind is Kind.REFUTED


def is_over(pid: int) -> bool:
    """Whether a process is over, or comes to its end: one that is killed takes its time on a busy machine."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            if " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
@pytest.mark.parametrize("daemon", ["", "os.setsid()"])
def test_processes_that_a_script_leaves_behind_are_killed(replay: Replay, daemon: str, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    script = f"""
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import os, time; {daemon}; print('up', flush=True); time.sleep(60)"],
                         stdout=subprocess.PIPE)
child.stdout.readline()
open({str(note)!r}, "a").write(f"{{child.pid}}\\n")
os._exit(0)
"""
    replay(script, script + "x = 1\n")
    pids = [int(line) for line in note.read_text().split()]
    assert len(pids) == 2
    assert all(map(is_over, pids))


def test_writes_stay_in_the_copy(replay: Replay, tree: Path, copies: Callable[[], list[Path]]) -> None:
    (tree / "log.txt").write_text("original")
    before = (
        "import os, pathlib, tempfile\npathlib.Path('log.txt').write_text('x')\nos.mkdir('runs')\nos.chmod('runs', 0)\n"
    )
    result = replay(before, before + "tempfile.mkstemp()\n")
    assert all(outcome.passed for outcome in ends(result))
    assert sorted(path.name for path in tree.iterdir()) == ["log.txt", "pyproject.toml", "train.py"]
    assert (tree / "log.txt").read_text() == "original"
    assert (tree / "train.py").read_text() == before
    assert copies() == []


def test_forks_report_lines_but_end_for_themselves(replay: Replay) -> None:
    script = """
import os, sys
def work():
    return 1
child = os.fork()
if child == 0:
    work()
    sys.exit(5)
os.waitpid(child, 0)
"""
    _, after = ends(replay(script, script.replace("return 1", "return 2")))
    assert after.passed
    assert after.error is None
    assert after.reached == {("train.py", 4)}


def test_spawned_workers_find_the_main_module(replay: Replay) -> None:
    script = """
import multiprocessing
def work(queue):
    queue.put(__name__)
if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=work, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
"""
    assert ends(replay(script, script + "x = 1\n"))[0].stdout.head == "__mp_main__\n"


@pytest.mark.slow
def test_huge_output_is_cut_and_does_not_block(replay: Replay) -> None:
    script = "for i in range(200_000): print('line', i, '.' * 20)\nprint('end')\n"
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.passed
    assert before.stdout.size > 5_000_000
    assert len(before.stdout.head) <= 256 << 10
    assert before.stdout.tail.endswith("end\n")


def test_a_missing_module_is_named(replay: Replay) -> None:
    result = replay("import no_such_thing\nprint(1)\n", "import no_such_thing\nprint(2)\n")
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "needs the module no_such_thing" in result.verdict.reason


def test_a_missing_file_is_named(replay: Replay) -> None:
    result = replay("open('data/train.bin')\nprint(1)\n", "open('data/train.bin')\nprint(2)\n")
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "missing: data/train.bin" in result.verdict.reason


ARGUMENTS = (
    "import argparse\np = argparse.ArgumentParser()\np.add_argument('--data', required=True)\na = p.parse_args()\n"
)


def test_missing_arguments_are_named(replay: Replay) -> None:
    result = replay(ARGUMENTS + "print(1)\n", ARGUMENTS + "print(2)\n")
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "the following arguments are required: --data" in result.verdict.reason
    assert result.before is not None
    assert "usage: train.py" in result.before.stderr.tail


def test_arguments_reach_the_script(replay: Replay) -> None:
    script = ARGUMENTS + "print(a.data)\n"
    result = replay(script, script + "x = 1\n", args=("--data", "a b"))
    assert ends(result)[0].stdout.head == "a b\n"
    assert result.command == "python train.py --data 'a b'"


def test_waiting_for_input_is_named(replay: Replay) -> None:
    assert "waits for input" in replay("input()\n", "input('?')\n").verdict.reason


def test_lines_that_never_run_are_not_vouched_for(replay: Replay) -> None:
    before = "def f():\n    return 1\nprint('done')\n"
    result = replay(before, before.replace("return 1", "return 2"))
    assert result.verdict.kind is Kind.NOT_REACHED
    assert result.verdict.missed == (2,)


def test_the_main_module_is_as_python_makes_it(replay: Replay, tree: Path) -> None:
    (tree / "helper.py").write_text("import __main__\nvalue = __main__.__name__\n")
    (tree / "data.txt").write_text("sibling")
    script = """
import os, pickle, sys
import helper, losses_of_mine as losses
class Thing: pass
assert __name__ == "__main__" and helper.value == "__main__", helper.value
assert sys.argv == ["train.py"], sys.argv
assert sys.path[0] == os.path.dirname(os.path.abspath(__file__)), sys.path
assert type(pickle.loads(pickle.dumps(Thing()))) is Thing
assert os.path.basename(os.path.dirname(__file__)) == "project", __file__
assert not sys.stdin.read()
assert "torch" not in sys.modules and "_devfix_probe" in sys.modules
assert all(name not in sys.modules for name in ("errors", "session", "training", "devfix"))
print(open("data.txt").read(), losses.value)
"""
    (tree / "losses_of_mine.py").write_text("value = 5\n")
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.stdout.head == "sibling 5\n", before.stderr.tail


def test_git_works_in_the_copy_where_a_hook_started_devfix(
    replay: Replay, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tree / ".git"))
    monkeypatch.setenv("GIT_AUTHOR_NAME", "kept")
    script = "import os\nprint(os.environ.get('GIT_DIR'), os.environ['GIT_AUTHOR_NAME'])\n"
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.stdout.head == "None kept\n", before.stderr.tail


def test_a_script_in_a_package_may_import_relatively(replay: Replay, tree: Path) -> None:
    (tree / "pack").mkdir()
    (tree / "pack" / "__init__.py").touch()
    (tree / "pack" / "sibling.py").write_text("value = 3\n")
    script = "from .sibling import value\nprint(value, __package__)\n"
    result = replay(script, script + "x = 1\n", name="pack/train.py")
    assert ends(result)[0].stdout.head == "3 pack\n"
    assert result.command == "python -m pack.train"


def test_a_script_in_a_folder_runs_there_and_sees_its_project(replay: Replay, tree: Path) -> None:
    (tree / "tools").mkdir()
    (tree / "tools" / "near.txt").write_text("near")
    result = replay("print(open('near.txt').read())\n", "print(open('near.txt').read() )\n", name="tools/train.py")
    assert ends(result)[0].stdout.head == "near\n"


def test_a_script_runs_where_the_user_stands(replay: Replay, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "config.txt").write_text("top")
    monkeypatch.chdir(tree)
    result = replay("print(open('config.txt').read())\n", "print(open('config.txt').read() )\n", name="tools/train.py")
    assert ends(result)[0].stdout.head == "top\n"
    assert result.command == "python tools/train.py"


def test_a_tree_on_the_module_path_is_read_from_its_copy(
    replay: Replay, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree / "src").mkdir()
    (tree / "src" / "mine.py").touch()
    monkeypatch.setenv("PYTHONPATH", str(tree / "src"))
    before, _ = ends(replay("import mine\nprint(mine.__file__)\n", "import mine\nprint(mine.__file__ )\n"))
    assert str(tree) not in before.stdout.head
    assert before.stdout.head.rstrip().endswith("project/src/mine.py")


def test_memory_is_limited(replay: Replay) -> None:
    result = replay("x = bytearray(1 << 30)\n\nprint(1)\n", "x = bytearray(1 << 30)\n\nprint(2)\n", memory=256 << 20)
    assert result.verdict.reason == "the original ran out of memory"


def test_an_interpreter_that_is_not_there_is_named(replay: Replay) -> None:
    result = replay("print(1)\n", "print(2)\n", python="/no/such/python")
    assert ends(result)[0].ending is Ending.NOT_STARTED
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "/no/such/python could not be started" in result.verdict.reason


def test_a_library_file_is_judged_by_the_script_that_runs_it(tree: Path) -> None:
    (tree / "train.py").write_text("import lib\nprint(lib.f())\n")
    (tree / "lib.py").write_text(f"def f():\n    {DEVICE_ERROR}")
    (tree / "other.py").write_text("def g():\n    pass\n")
    changes = [
        Change(tree / "lib.py", (tree / "lib.py").read_bytes(), b"def f():\n    return 1\n"),
        Change(tree / "other.py", (tree / "other.py").read_bytes(), b"def g():\n    return\n"),
        Change(tree / "train.py", (tree / "train.py").read_bytes(), b"import lib\nprint( lib.f())\n"),
    ]
    lib, other, script = replay_on(PlainCpu(), changes, ReplayOptions(timeout=90))
    assert lib.verdict.kind is Kind.CONFIRMED
    assert lib.command == "python train.py"
    assert other.verdict.reason == "a library file: name the command that runs it"
    assert script.verdict.kind is Kind.CONFIRMED


@pytest.mark.parametrize("entry", ["os.path.join(os.path.dirname(__file__), '..')", "'./..'"])
def test_a_library_file_is_known_however_the_module_path_spells_its_folder(tree: Path, entry: str) -> None:
    (tree / "tools").mkdir()
    script = tree / "tools" / "train.py"
    script.write_text(f"import os, sys\nsys.path.append({entry})\nimport lib\nprint(lib.f())\n")
    (tree / "lib.py").write_text(f"def f():\n    {DEVICE_ERROR}")
    change = Change(tree / "lib.py", (tree / "lib.py").read_bytes(), b"def f():\n    return 1\n")
    options = ReplayOptions(timeout=90, program=Program(script), cwd=tree / "tools")
    (result,) = replay_on(PlainCpu(), [change], options)
    before, after = ends(result)
    assert before.error is not None
    assert before.error.file == "lib.py"
    assert after.reached == {("lib.py", 2)}
    assert result.verdict.kind is Kind.CONFIRMED


def test_progress_names_each_run(tree: Path) -> None:
    (tree / "train.py").write_text("print(1)\n")
    steps: list[str] = []
    change = Change(tree / "train.py", b"print(1)\n", b"print(2)\n")
    replay_on(PlainCpu(), [change], ReplayOptions(timeout=90), lambda path, step, seconds: steps.append(step))
    assert list(dict.fromkeys(steps)) == ["before", "after", "before again"]


def test_the_copy_can_be_kept(replay: Replay, copies: Callable[[], list[Path]]) -> None:
    result = replay("print(1)\n", "print( 1)\n", keep=True)
    assert result.kept is not None
    assert copies() == [result.kept]
    assert (result.kept / "before" / "project" / "train.py").read_text() == "print(1)\n"
    assert (result.kept / "after" / "project" / "train.py").read_text() == "print( 1)\n"
    assert {path.name for path in result.kept.iterdir()} == {"before", "after"}


STOPPED = """
import sys, tempfile
from pathlib import Path
from devfix.replay import Change, ReplayOptions, run_replays
script, tempfile.tempdir = Path(sys.argv[1]), sys.argv[2]
run_replays([Change(script, script.read_bytes(), script.read_bytes() + b"x = 1")], ReplayOptions(on="cpu", timeout=60))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_replay_leaves_nothing(
    tree: Path, tmp_path: Path, copies: Callable[[], list[Path]], number: signal.Signals
) -> None:
    note = tmp_path / "pid"
    (tree / "train.py").write_text(
        f"import os, time\nopen({str(tmp_path / 'new')!r}, 'w').write(str(os.getpid()))\n"
        f"os.replace({str(tmp_path / 'new')!r}, {str(note)!r})\ntime.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(tree / "train.py"), str(tmp_path / "copies")], stderr=subprocess.DEVNULL
    )
    while not note.exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(60) in (-signal.SIGINT, 130, 128 + signal.SIGTERM)
    assert copies() == []
    assert is_over(int(note.read_text()))
    assert os.getpid() != int(note.read_text())


INTERRUPTED_IN = """
import os, sys, tempfile
from pathlib import Path
from devfix.replay import Change, ReplayOptions, leftovers, run_replays, workspace

def interrupt(owner, name):
    original = getattr(owner, name)

    def once(*arguments, **options):
        setattr(owner, name, original)
        raise KeyboardInterrupt

    setattr(owner, name, once)

script, tempfile.tempdir = Path(sys.argv[1]), sys.argv[2]
interrupt(*{
    "begin": (workspace.Workspace, "_settle"),
    "removal": (leftovers, "remove"),
    "end of processes": (os, "killpg"),
}[sys.argv[3]])
run_replays([Change(script, script.read_bytes(), script.read_bytes() + b"x = 1")], ReplayOptions(on="cpu", timeout=60))
"""


@pytest.mark.parametrize("moment", ["begin", "removal", "end of processes"])
def test_an_interrupt_in_the_middle_of_a_beginning_or_an_end_leaves_nothing(
    tree: Path, tmp_path: Path, copies: Callable[[], list[Path]], moment: str
) -> None:
    (tree / "train.py").write_text(("import torch\n" if moment == "end of processes" else "") + "print(1)\n")
    (tmp_path / "copies").mkdir(exist_ok=True)
    command = [sys.executable, "-c", INTERRUPTED_IN, str(tree / "train.py"), str(tmp_path / "copies"), moment]
    ran = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=False)
    assert "KeyboardInterrupt" in ran.stderr
    assert copies() == []
    assert list((tmp_path / "copies").iterdir()) == []


INTERRUPTED_AT_THE_END = """
import os, signal, sys
from devfix.replay import leftovers

folders = [leftovers.Folder("devfix-", sys.argv[1]) for _ in range(2)]
remove = leftovers.remove

def interrupted(path):
    leftovers.remove = remove
    os.kill(os.getpid(), signal.SIGINT)
    remove(path)

leftovers.remove = interrupted
"""


def test_an_interrupt_while_the_interpreter_ends_leaves_nothing(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", INTERRUPTED_AT_THE_END, str(tmp_path)], check=False)
    assert list(tmp_path.iterdir()) == []


def test_a_replay_that_is_interrupted_while_its_script_starts_leaves_nothing(
    tree: Path, tmp_path: Path, copies: Callable[[], list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    text = f"import os, time\nopen({str(note)!r}, 'w').write(str(os.getpid()) + '.')\ntime.sleep(60)\n"
    (tree / "train.py").write_text(text)

    class Interrupted(subprocess.Popen[bytes]):
        """Ctrl-C comes when the script runs already, and `Popen` does not know it yet."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            deadline = time.monotonic() + 120
            while not (note.exists() and note.read_text().endswith(".")) and time.monotonic() < deadline:
                time.sleep(0.02)
            self.returncode = 0  # nobody waits for it
            for pipe in filter(None, (self.stdout, self.stderr)):
                pipe.close()
            raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", Interrupted)
    change = Change(tree / "train.py", text.encode(), text.encode() + b"x = 1\n")
    with pytest.raises(KeyboardInterrupt):
        replay_on(PlainCpu(), [change], ReplayOptions(timeout=60))
    child = int(note.read_text()[:-1])
    assert copies() == []
    assert is_over(child)
    os.waitpid(child, 0)


def test_a_script_beside_which_temporary_files_are_may_write_such(
    replay: Replay, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one in `/tmp` itself; what else is there is the user's."""
    monkeypatch.setattr("tempfile.tempdir", str(tree))
    script = "import tempfile\nwith tempfile.TemporaryFile() as file:\n    print(file.write(b'abc'))\n"
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.stdout.head == "3\n"
    assert before.shared is None
    (tree / "other").mkdir()
    script = f"open({str(tree / 'other' / 'file')!r}, 'w')\n"
    before, _ = ends(replay(script, script + "x = 1\n"))
    assert before.error is not None
    assert before.error.type == "PermissionError"
