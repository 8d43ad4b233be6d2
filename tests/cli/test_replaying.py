"""`devfix replay`, and `rewrite --replay` where it needs more than a run."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from devfix.replay.confinement import find_confinement

from .conftest import Devfix

CRASH = "raise RuntimeError('Expected all tensors to be on the same device, but got cpu')\n"
SCRIPT = "import sys\nprint('hello', *sys.argv[1:])\n"
PATCH = "--- a/run.py\n+++ b/run.py\n@@ -1,2 +1,2 @@\n import sys\n-{}+{}"


@pytest.fixture(autouse=True)
def without_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)


@pytest.fixture
def project(tree: Path) -> Path:
    (tree / "pyproject.toml").touch()
    (tree / "run.py").write_text(SCRIPT)
    return tree


def test_a_script_with_nothing_to_fix_is_run_once(project: Path, devfix: Devfix) -> None:
    ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json", "--", "--on", "me")
    (replay,) = ran.json["replays"]
    assert ran.code == 0
    assert (replay["verdict"], replay["after"], replay["command"]) == (None, None, "python run.py --on me")
    assert replay["before"]["outcome"] == "passed"
    assert replay["before"]["output"] == "hello --on me\n"


@pytest.mark.parametrize("chosen", ["--python", "VIRTUAL_ENV"])
def test_an_interpreter_is_named_as_seen_from_here(
    project: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch, chosen: str
) -> None:
    python = project / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (project / ".venv" / "pyvenv.cfg").touch()
    python.write_text(f'#!/bin/sh\necho own\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    given = ("--python", ".venv/bin/python") if chosen == "--python" else ()
    if not given:
        monkeypatch.setenv(chosen, ".venv")
    ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json", *given)
    (replay,) = ran.json["replays"]
    assert replay["before"]["outcome"] == "passed", ran.out
    assert replay["before"]["output"].startswith("own\n")


def test_a_script_that_fails_is_told_and_answers_1(project: Path, devfix: Devfix) -> None:
    (project / "run.py").write_text(CRASH)
    ran = devfix("replay", "run.py", "--on", "cpu")
    assert ran.code == 1
    assert ran.out.startswith("replay run.py on cpu: RuntimeError at run.py:1 after ")
    assert "Expected all tensors to be on the same device, but got cpu\n" in ran.out
    assert "`devfix repair run.py` starts from the crash" in ran.out


def test_fixes_are_judged_and_nothing_is_written(project: Path, devfix: Devfix, library: None) -> None:
    text = "import torch, idle\nright = print\nwrong = lambda x: sys.exit(int('x'))\nwrong(1)\n"
    (project / "run.py").write_text(text)
    (project / "idle.py").write_text("import torch\nright = wrong = print\ndef idle():\n    wrong(1)\n")
    (project / "stranger.py").write_text("import torch\nright = wrong = print\nwrong(1)\n")
    before = (project / "run.py").read_text()
    ran = devfix("replay", "run.py", "--on", "cpu")
    assert ran.code == 1
    assert "replay run.py on cpu: inconclusive\n        the original failed with NameError" in ran.out
    assert "not reached: idle.py\n" in ran.out
    assert "stranger" not in ran.out
    assert (project / "run.py").read_text() == before


def test_files_that_the_script_does_not_load_are_left_alone(project: Path, devfix: Devfix, library: None) -> None:
    (project / "one.py").write_text("import torch\nright = wrong = print\nwrong(1)\n")
    (project / "broken.py").write_text("import torch\nwrong(1\n")
    ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json")
    assert (ran.code, ran.err) == (0, "")
    assert [one["verdict"] for one in ran.json["replays"]] == [None]


def test_what_only_the_patched_script_loads_is_patched_too(project: Path, devfix: Devfix, library: None) -> None:
    crash = f"    {CRASH}"
    (project / "run.py").write_text(f"import torch\nright = print\ndef wrong(_):\n{crash}wrong(1)\nimport later\n")
    (project / "later.py").write_text(f"import torch\nright = print\ndef wrong(_):\n{crash}wrong(1)\n")
    ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json")
    told = {one["path"]: (one["verdict"], one["after"]["outcome"]) for one in ran.json["replays"]}
    assert told == {"run.py": ("confirmed", "passed"), "later.py": ("confirmed", "passed")}


def test_what_is_left_out_by_the_settings_is_not_patched(project: Path, devfix: Devfix, library: None) -> None:
    (project / "pyproject.toml").write_text("[tool.devfix]\nextend-exclude = ['vendored.py', 'run.py']\n")
    for name in ("vendored.py", "run.py"):
        (project / name).write_text("import torch\nright = wrong = print\nwrong(1)\n")
    (project / "run.py").write_text((project / "run.py").read_text() + "import vendored\n")
    ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json")
    assert [one["path"] for one in ran.json["replays"]] == ["run.py"]


def test_many_files_that_the_run_did_not_reach_are_counted(project: Path, devfix: Devfix, library: None) -> None:
    names = [f"lib{number}" for number in range(9)]
    for name in names:
        (project / f"{name}.py").write_text("import torch\ndef idle():\n    wrong(1)\n")
    (project / "run.py").write_text(f"import torch, {', '.join(names)}\nright = wrong = print\nwrong(1)\n")
    ran = devfix("replay", "run.py", "--on", "cpu")
    assert ran.out.endswith("not reached: lib0.py, lib1.py, lib2.py, lib3.py, lib4.py, 4 more\n")


def test_a_script_that_is_no_python_is_told_by_its_line(project: Path, devfix: Devfix) -> None:
    (project / "run.py").write_text("import sys\ndef (\n")
    ran = devfix("replay", "run.py", "--on", "cpu")
    assert (ran.code, ran.out.startswith("replay run.py on cpu: SyntaxError at run.py:2 after ")) == (2, True)
    assert ran.err == "error: run.py: syntax error: invalid syntax (line 2)\n"


def test_a_patch_is_judged(project: Path, devfix: Devfix) -> None:
    (project / "run.py").write_text("import sys\n" + CRASH)
    (project / "good.diff").write_text(PATCH.format(CRASH, "print(1)\n"))
    (project / "bad.diff").write_text(PATCH.format(CRASH, "print(nothing)\n"))
    good = devfix("replay", "run.py", "--on", "cpu", "--patch", "good.diff")
    assert (good.code, "confirmed\n        RuntimeError at run.py:2 is gone" in good.out) == (0, True)
    bad = devfix("replay", "run.py", "--on", "cpu", "--patch", "-", stdin=(project / "bad.diff").read_bytes())
    assert (bad.code, ": refuted\n" in bad.out) == (1, True)
    assert (project / "run.py").read_text() == "import sys\n" + CRASH


@pytest.mark.parametrize("command", ["repair", "audit"])
def test_some_run_no_notebooks(command: str, project: Path, devfix: Devfix) -> None:
    (project / "notes.ipynb").touch()
    ran = devfix(command, "notes.ipynb")
    assert (ran.code, ran.out, ran.err) == (2, "", "devfix: error: notes.ipynb: a notebook; only scripts can be run\n")


@pytest.mark.parametrize("command", ["replay", "repair", "audit"])
@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["nothing.py"], "nothing.py: no such file"),
        (["."], ".: a folder; name a script"),
        (["run.py", "--memory", "12"], "--memory '12' is too little to import torch; write it like 8GiB"),
        (["run.py", "--memory", "much"], "--memory 'much' is no size; write it like 512MiB"),
        (["run.py", "--env", "X"], "--env 'X' sets nothing; write it like KEY=VALUE"),
        (["run.py", "--seed=-1"], "--seed"),
        (["run.py", "--seed", str(2**32)], "--seed"),
        (["run.py", "--devices", "65"], "--devices"),
        (["run.py", "--cwd", "nowhere"], "--cwd nowhere: no such folder"),
        (["run.py", "--cwd", "/", "--on", "cpu"], "--cwd / is no folder of the tree"),
        (["run.py", "--copy-limit", "1B", "--on", "cpu"], "is larger than 1 B (--copy-limit)"),
    ],
)
def test_all_that_run_scripts_refuse_the_same(
    command: str, arguments: list[str], what: str, project: Path, devfix: Devfix, library: None
) -> None:
    (project / "run.py").write_text("import torch\nright = wrong = print\nwrong(1)\n")
    ran = devfix(command, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("devfix: error: ")
    assert ran.err.count("\n") == 1
    assert what in ran.err


@pytest.mark.parametrize("command", ["replay", "repair", "audit"])
def test_settings_of_replays_hold_for_all_that_run_scripts(command: str, project: Path, devfix: Devfix) -> None:
    (project / "pyproject.toml").write_text('[tool.devfix]\nreplay = { on = "abacus" }\n')
    ran = devfix(command, "run.py")
    assert (ran.code, "[tool.devfix] replay.on: 'abacus' is none of auto" in ran.err) == (2, True)


@pytest.mark.parametrize("command", ["replay", "repair", "audit"])
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_ended_from_outside_leaves_nothing(
    command: str, number: signal.Signals, code: int, project: Path, tmp_path: Path
) -> None:
    (tmp_path / "copies").mkdir()
    (project / "run.py").write_text(
        "import os, subprocess, time\nchild = subprocess.Popen(['sleep', '600'])\n"
        f"print(child.pid, os.getpid(), file=open({str(tmp_path / 'pids')!r}, 'w'), flush=True)\n"
        "time.sleep(600)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "devfix", command, "run.py", "--on", "cpu"],
        env={**os.environ, "TMPDIR": str(tmp_path / "copies")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while not (pids := (tmp_path / "pids").read_text().split() if (tmp_path / "pids").exists() else []):
        assert process.poll() is None
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, "Traceback" in err) == (code, "", False)
    assert list((tmp_path / "copies").iterdir()) == []
    until = time.monotonic() + 60  # what is killed takes its time on a busy machine
    while any(_runs(int(pid)) for pid in pids):
        assert time.monotonic() < until
        time.sleep(0.02)


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["replay"], "name a script; --tests runs the tests"),
        (["replay", "run.py", "--on", "abacus"], "--on"),
        (["replay", "run.py", "--on", "npu"], "torch sees no npu device here"),
        (["replay", "run.py", "--python", "/no/python"], "/no/python could not be started"),
        (["replay", "run.py", "--steps", "0"], "--steps"),
        (["replay", "run.py", "--patch", "no.diff", "--on", "cpu"], "--patch no.diff: No such file or directory"),
        (["replay", "run.py", "--patch", "run.py", "--on", "cpu"], "--patch run.py: there is no patch in it"),
        (["rewrite", "--replay-command", "torchrun run.py"], "--replay-command: torchrun starts a program on several"),
    ],
)
def test_what_cannot_start_is_one_line(arguments: list[str], what: str, project: Path, devfix: Devfix) -> None:
    ran = devfix(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("devfix: error: ")
    assert ran.err.count("\n") == 1
    assert what in ran.err


def test_settings_say_how_but_not_what(project: Path, devfix: Devfix) -> None:
    (project / "pyproject.toml").write_text('[tool.devfix]\nreplay = { on = "cpu", seed = 7, timeout = 60 }\n')
    (project / "run.py").write_text("import random\nprint(random.random())\n")
    seeded = devfix("replay", "run.py", "--output-format", "json").json["replays"][0]
    other = devfix("replay", "run.py", "--output-format", "json", "--seed", "8").json["replays"][0]
    assert seeded["on"] == "cpu"
    assert seeded["before"]["output"] != other["before"]["output"]


@pytest.mark.parametrize(
    ("table", "what"),
    [
        ("replay = { command = 'rm -rf /' }", "[tool.devfix] replay.command: is not a setting of devfix"),
        ("replay = { python = './evil' }", "[tool.devfix] replay.python: is not a setting of devfix"),
        ("replay = { steps = 0 }", "[tool.devfix] replay.steps: must be at least 1, not 0"),
        ("replay = { devices = 65 }", "[tool.devfix] replay.devices: must be at most 64, not 65"),
        ("replay = { seed = -1 }", "[tool.devfix] replay.seed: must be at least 0, not -1"),
        ("replay = { seed = 4294967296 }", "[tool.devfix] replay.seed: must be at most 4294967295, not 4294967296"),
        ("replay = { timeout = nan }", "[tool.devfix] replay.timeout: must be at least 0.1, not nan"),
        ("replay = { memory = '1MiB' }", "[tool.devfix] replay.memory: '1MiB' is too little to import torch"),
        ("replay = { memory = 'much' }", "[tool.devfix] replay.memory: 'much' is no size"),
        ("replay = { on = 'abacus' }", "[tool.devfix] replay.on: 'abacus' is none of auto, cuda"),
        ("replay = 3", "[tool.devfix] replay: expected `object`, got `int`"),
    ],
)
def test_settings_that_make_no_sense_are_refused(project: Path, devfix: Devfix, table: str, what: str) -> None:
    (project / "pyproject.toml").write_text(f"[tool.devfix]\n{table}\n")
    ran = devfix("replay", "run.py")
    assert ran.code == 2
    assert what in ran.err


def test_rewrite_writes_only_the_fixes_that_hold(project: Path, devfix: Devfix, library: None) -> None:
    text = "import torch\nright = wrong = print\nwrong(1)\ndel right\nwrong(2)\n"
    (project / "run.py").write_text(text)
    ran = devfix("rewrite", "--replay", "--on", "cpu", "--output-format", "json")
    assert ran.code == 1
    assert (project / "run.py").read_text() == text.replace("wrong(1)", "right(1)")
    (replay,) = ran.json["replays"]
    assert replay["verdict"] == "refuted"
    assert [(fix["line"], fix["verdict"]) for fix in replay["fixes"]] == [(3, "inconclusive"), (5, "refuted")]
    assert "NameError at run.py:5" in replay["fixes"][1]["reason"]
    assert [each["line"] for each in ran.json["findings"]] == [5]
    assert devfix("undo").code == 0
    assert (project / "run.py").read_text() == text


def test_rewrite_runs_the_command_that_it_is_given(project: Path, devfix: Devfix, library: None) -> None:
    (project / "lib.py").write_text("import torch\nright = wrong = print\ndef f():\n    wrong(1)\n")
    (project / "run.py").write_text("import sys, lib\nlib.f()\nprint(sys.argv)\n")
    ran = devfix("rewrite", "--replay-command", "python run.py --fast", "--on", "cpu", "--output-format", "json")
    (replay,) = ran.json["replays"]
    assert (replay["path"], replay["command"]) == ("lib.py", "python run.py --fast")
    assert replay["after"]["reached"] == [{"path": "lib.py", "line": 4}]


def test_without_a_place_to_replay_nothing_is_written(project: Path, devfix: Devfix, library: None) -> None:
    text = "import torch\nright = wrong = print\nwrong(1)\n"
    (project / "run.py").write_text(text)
    ran = devfix("rewrite", "--replay", "--python", "/no/python")
    assert (ran.code, (project / "run.py").read_text()) == (2, text)
    assert "/no/python could not be started: No such file or directory; nothing was written" in ran.err


def test_a_sandbox_holds_what_is_run(project: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    found = find_confinement(sys.executable)
    if isinstance(found, str):
        pytest.skip(found)
    monkeypatch.setenv("GITHUB_TOKEN", "the token")
    (project / "run.py").write_text("import os\nprint(os.environ.get('GITHUB_TOKEN'))\n")
    for options, told in (((), "the token\n"), (("--sandbox",), "None\n")):
        ran = devfix("replay", "run.py", "--on", "cpu", "--output-format", "json", *options)
        assert ran.code == 0
        assert ran.json["replays"][0]["before"]["output"] == told


def test_a_sandbox_that_cannot_be_had_ends_the_command(
    project: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (project / "run.py").write_text("open('ran', 'w')\n")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    ran = devfix("replay", "run.py", "--on", "cpu", "--sandbox")
    assert ran.code == 2
    assert "--sandbox: bubblewrap is not installed" in ran.err


TRAINED = """import torch

model = torch.nn.Linear(4, 2)
if torch.cuda.is_available():
    model = model.cuda()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    x = torch.randn(8, 4)
    y = torch.randint(0, 2, (8,))
    if torch.cuda.is_available():
        x = x.cuda()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is forked elsewhere")
@pytest.mark.parametrize(
    "command",
    [
        ("replay", "train.py"),
        ("rewrite", "--replay", "--unsafe", "--diff", "."),
        ("audit", "train.py"),
        ("repair", "train.py"),
    ],
    ids=lambda command: command[0],
)
def test_all_runs_of_a_command_are_forked_from_one_interpreter(
    devfix: Devfix, tree: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    started: list[Sequence[str]] = []
    honest = subprocess.Popen.__init__

    def noting(process: subprocess.Popen[bytes], arguments: Sequence[str], *rest: Any, **named: Any) -> None:
        started.append(arguments)
        honest(process, arguments, *rest, **named)

    monkeypatch.setattr(subprocess.Popen, "__init__", noting)
    (tree / "pyproject.toml").touch()
    (tree / "train.py").write_text(TRAINED)
    ran = devfix(command[0], "--on", "simulated", "--python", sys.executable, *command[1:])
    assert ran.code != 2, ran.err
    interpreters = [one for one in started if sys.executable in one]
    assert all("--serve" in one for one in interpreters), interpreters
    assert len(interpreters) <= 1


LIBRARY = """import torch


def positions(x: torch.Tensor, scale=1.0):
    b, n, c = x.shape
    where = torch.arange(n)
    return x + scale * where.view(1, n, 1)
"""


def test_a_function_that_nothing_runs_is_driven(project: Path, devfix: Devfix) -> None:
    (project / "ops.py").write_text(LIBRARY)
    ran = devfix("rewrite", "--diff", "--unsafe", "--replay", "ops.py", "--on", "simulated")
    told = ran.out + ran.err
    assert "replay ops.py on simulated: confirmed (harness)" in told
    assert "a driver of devfix's own called `positions`" in told
    assert "; if `x` is on the accelerator" in told
    ran = devfix("rewrite", "--diff", "--unsafe", "--replay", "ops.py", "--on", "simulated", "--no-harness")
    assert "replay ops.py: inconclusive: a library file: name the command that runs it\n" in ran.out + ran.err


def test_what_the_project_puts_on_the_device_is_no_condition(project: Path, devfix: Devfix) -> None:
    (project / "ops.py").write_text(LIBRARY)
    (project / "train.py").write_text(
        "import torch\nfrom ops import positions\npositions(torch.rand(2, 3, 4).cuda())\n"
    )
    ran = devfix("rewrite", "--diff", "--unsafe", "--replay", "ops.py", "--on", "simulated")
    told = ran.out + ran.err
    assert "; with `x` on the accelerator" in told
    assert "; if `x`" not in told


def test_what_a_finding_says_is_on_the_host_is_made_there(project: Path, devfix: Devfix) -> None:
    (project / "ops.py").write_text(
        "from torch import nn\n\n\ndef step(model: nn.Module, batch_x, batch_y, device):\n"
        "    batch_x = batch_x.float().to(device)\n    batch_y = batch_y.float()\n"
        "    return nn.functional.mse_loss(model(batch_x), batch_y)\n"
    )
    ran = devfix("rewrite", "--diff", "--unsafe", "--replay", "ops.py", "--on", "simulated", "--output-format", "json")
    (replay,) = ran.json["replays"]
    assert replay["verdict"] == "confirmed"
    assert "; with `batch_y` on the host, as the finding says; if `device` is the accelerator" in replay["reason"]
    assert "batch_y=torch.rand(2, 4)" in replay["harness"]["driver"]
