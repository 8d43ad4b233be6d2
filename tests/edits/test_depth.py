import subprocess
import sys
import threading

import pytest
from devfix_codemods.edits.depth import MAX_DEPTH, with_deep_stack
from devfix_codemods.edits.errors import NotEditable
from devfix_codemods.edits.operations import AddImport

EDIT = AddImport("torch")
MANY = MAX_DEPTH - 20

# Each within the limit, and within what CPython itself parses.
DEEP = {
    "calls": "x = a" + ".f()" * (MANY // 2),
    "operators": "x = " + " + ".join("a" * MANY),
    "conditions": "x = " + " and ".join("a" * MANY),
    "comparisons": "x = " + " < ".join("a" * MANY),
    "strings": "x = (" + "'a' " * MANY + ")",
    "elif": "if a: pass\n" + "elif b: pass\n" * (MANY // 2),
    "brackets": "x = " + "[" * 90 + "]" * 90,
    "blocks": "".join(f"{' ' * level}if a:\n" for level in range(90)) + " " * 90 + "pass",
}
TOO_DEEP = {
    "calls": "x = a" + ".f()" * MAX_DEPTH,
    "operators": "x = " + " + ".join("a" * 2 * MAX_DEPTH),
    "conditions": "x = " + " or ".join("a" * 20 * MAX_DEPTH),
    "brackets": "x = " + "[" * 400 + "]" * 400,
    "signs": "x = " + "-" * 100_000 + "1",
}


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_files_are_edited(sheet, text):
    assert sheet(text + "\n").edited(EDIT) == f"import torch\n\n{text}\n"


@pytest.mark.parametrize("text", TOO_DEEP.values(), ids=TOO_DEEP)
def test_files_that_would_crash_the_parser_are_refused(sheet, text):
    with pytest.raises(NotEditable, match=r"nested too deeply|syntax error"):
        sheet(text + "\n").edited(EDIT)


def test_the_limits_are_put_back():
    before = sys.getrecursionlimit(), threading.stack_size()
    assert with_deep_stack(sys.getrecursionlimit) > before[0]
    assert (sys.getrecursionlimit(), threading.stack_size()) == before


def test_errors_come_out_as_they_are():
    with pytest.raises(ZeroDivisionError):
        with_deep_stack(lambda: 1 // 0)


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the stack there")
def test_a_small_stack_is_enough():
    """Threads of macOS have 512 KiB; the parser alone would crash there."""
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_STACK, (512 * 1024, resource.RLIM_INFINITY))\n"
        "import threading; threading.stack_size(512 * 1024)\n"
        "from devfix_codemods.edits.apply import apply\n"
        "from devfix_codemods.edits.operations import AddImport\n"
        "from devfix_codemods.source import Source\n"
        "source = Source('deep.py', b'x = ' + b'[' * 150 + b']' * 150 + b'\\n')\n"
        "work = lambda: print(len(apply(source, [AddImport('torch')])))\n"
        "thread = threading.Thread(target=work); thread.start(); thread.join()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert (done.returncode, done.stdout.strip()) == (0, "319")
