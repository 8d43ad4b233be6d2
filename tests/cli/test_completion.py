"""`devfix completion`, and what shells are offered."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Devfix


def offered(line: str) -> list[str]:
    """What bash is offered for the last word of `line`, by the protocol that its script speaks."""
    words = line.split(" ")
    asked = {"_DEVFIX_COMPLETE": "complete_bash", "COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    command = [sys.executable, "-m", "devfix"]
    ran = subprocess.run(command, env={**os.environ, **asked}, capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    return ran.stdout.split()


def test_nothing_is_offered_where_nothing_fits() -> None:
    assert offered("devfix xyz") == []
    assert offered("devfix rule DVF999") == []
    assert offered("devfix check --select DVF101,nothing") == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("devfix ru", ["rules", "rule"]),
        ("devfix check --stat", ["--statistics"]),
        ("devfix check --select DVF30", ["DVF301", "DVF302", "DVF303"]),
        ("devfix rewrite --ignore DVF101,DVF20", [f"DVF101,DVF20{number}" for number in range(1, 9)]),
        ("devfix rule batch", ["batch-not-moved"]),
        ("devfix check --output-format j", ["json", "junit"]),
    ],
)
def test_commands_options_and_rules_are_offered(line: str, words: list[str]) -> None:
    assert offered(line) == words


def test_the_script_for_bash_works_in_bash(tree: Path, devfix: Devfix) -> None:
    ran = devfix("completion", "bash")
    assert (ran.code, ran.err) == (0, "")
    (tree / "completion.bash").write_text(ran.out)
    program = tree / "devfix"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m devfix "$@"\n')
    program.chmod(0o755)
    session = """
        set -eu
        source completion.bash
        complete -p devfix
        COMP_WORDS=(devfix check --select DVF30) COMP_CWORD=3
        _devfix_completion devfix
        printf '%s\\n' "${COMPREPLY[@]}"
    """
    path = f"{tree}{os.pathsep}{os.environ['PATH']}"
    bash = ["bash", "--noprofile", "--norc", "-c", session]
    done = subprocess.run(bash, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "complete -o default -F _devfix_completion devfix",
        *("DVF301", "DVF302", "DVF303"),
    ]


@pytest.mark.parametrize("shell", ["zsh", "fish", "powershell"])
def test_each_other_shell_has_its_script(devfix: Devfix, shell: str) -> None:
    ran = devfix("completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"complete_{shell}" in ran.out


def test_a_shell_that_devfix_cannot_teach(devfix: Devfix) -> None:
    ran = devfix("completion", "csh")
    assert (ran.code, ran.out) == (2, "")
    assert "csh" in ran.err
