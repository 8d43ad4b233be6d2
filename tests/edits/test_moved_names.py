import pytest
from devfix_codemods.edits.errors import AnchorMissing
from devfix_codemods.edits.operations import MoveImportedName

OLD, NEW = "torch.cuda.amp", "torch.amp"

# name: (before, names to move, after)
CASES = {
    "into a list with a name twice": (
        "from torch.amp import x, x, c\nfrom torch.cuda.amp import a, b\n",
        "a",
        "from torch.amp import x, x, c, a\nfrom torch.cuda.amp import b\n",
    ),
    "the only name": ("from torch.cuda.amp import a  # why\n", "a", "from torch.amp import a  # why\n"),
    "the only name, in brackets": (
        "from torch.cuda.amp import (\n  a as b,\n)\n",
        "a",
        "from torch.amp import (\n  a as b,\n)\n",
    ),
    "all names": ("from  torch.cuda.amp  import a , b\n", "ab", "from  torch.amp  import a , b\n"),
    "the first": ("from torch.cuda.amp import a, b\n", "a", "from torch.cuda.amp import b\nfrom torch.amp import a\n"),
    "the last": ("from torch.cuda.amp import a, b\n", "b", "from torch.cuda.amp import a\nfrom torch.amp import b\n"),
    "the middle": (
        "from torch.cuda.amp import a, b, c\n",
        "b",
        "from torch.cuda.amp import a, c\nfrom torch.amp import b\n",
    ),
    "two of three": (
        "from torch.cuda.amp import a, b, c\n",
        "ac",
        "from torch.cuda.amp import b\nfrom torch.amp import a, c\n",
    ),
    "an alias goes with it": (
        "from torch.cuda.amp import a as x, b\n",
        "a",
        "from torch.cuda.amp import b\nfrom torch.amp import a as x\n",
    ),
    "a name imported twice": (
        "from torch.cuda.amp import a, a as x, b\n",
        "a",
        "from torch.cuda.amp import b\nfrom torch.amp import a, a as x\n",
    ),
    "the first name takes the comment above it along": (
        "from torch.cuda.amp import (\n    # one\n    a,\n    # two\n    b,\n)\n",
        "a",
        "from torch.cuda.amp import (\n    # two\n    b,\n)\nfrom torch.amp import a\n",
    ),
    "from one line of many": (
        "from torch.cuda.amp import (\n    a,  # one\n    b,  # two\n)\n",
        "b",
        "from torch.cuda.amp import (\n    a,  # one\n)\nfrom torch.amp import b\n",
    ),
    "brackets on one line": (
        "from torch.cuda.amp import (a, b)\n",
        "b",
        "from torch.cuda.amp import (a)\nfrom torch.amp import b\n",
    ),
    "into a list that is there": (
        "from torch.amp import c\nfrom torch.cuda.amp import a, b\n",
        "a",
        "from torch.amp import c, a\nfrom torch.cuda.amp import b\n",
    ),
    "into a list of lines": (
        "from torch.amp import (\n    c,\n    d,\n)\nfrom torch.cuda.amp import a, b\n",
        "a",
        "from torch.amp import (\n    c,\n    d,\n    a,\n)\nfrom torch.cuda.amp import b\n",
    ),
    "into a list below, among imports": (
        "from torch.cuda.amp import a, b\nimport x\nfrom torch.amp import c\n",
        "a",
        "from torch.cuda.amp import b\nimport x\nfrom torch.amp import c, a\n",
    ),
    "not into a list below other code": (
        "from torch.cuda.amp import a, b\na()\nfrom torch.amp import c\n",
        "a",
        "from torch.cuda.amp import b\nfrom torch.amp import a\na()\nfrom torch.amp import c\n",
    ),
    "not into a list of another block": (
        "if x:\n    from torch.amp import c\nfrom torch.cuda.amp import a, b\n",
        "a",
        "if x:\n    from torch.amp import c\nfrom torch.cuda.amp import b\nfrom torch.amp import a\n",
    ),
    "not into a star": (
        "from torch.amp import *\nfrom torch.cuda.amp import a, b\n",
        "a",
        "from torch.amp import *\nfrom torch.cuda.amp import b\nfrom torch.amp import a\n",
    ),
    "a name that is there already": (
        "from torch.amp import a\nfrom torch.cuda.amp import a, b\n",
        "a",
        "from torch.amp import a\nfrom torch.cuda.amp import b\n",
    ),
    "in try": (
        "try:\n    from torch.cuda.amp import a, b\nexcept ImportError:\n    a = None\n",
        "a",
        "try:\n    from torch.cuda.amp import b\n    from torch.amp import a\nexcept ImportError:\n    a = None\n",
    ),
    "in a function": (
        "def f():\n\tfrom torch.cuda.amp import a\n\treturn a\n",
        "a",
        "def f():\n\tfrom torch.amp import a\n\treturn a\n",
    ),
    "in a suite": (
        "if x: from torch.cuda.amp import a, b\n",
        "a",
        "if x: from torch.cuda.amp import b; from torch.amp import a\n",
    ),
    "in a line of several": (
        "import x; from torch.cuda.amp import a, b; y()\n",
        "a",
        "import x; from torch.cuda.amp import b; from torch.amp import a; y()\n",
    ),
}


def _moved(file, names, nth=0):
    at = file.statement("from torch.cuda.amp…" if "  torch" not in file.source.text else "from…", nth)
    return file.edited(*(MoveImportedName(at, name, NEW) for name in names))


@pytest.mark.parametrize(("before", "names", "after"), CASES.values(), ids=CASES)
def test_move(sheet, before, names, after):
    assert _moved(sheet(before), names) == after


def test_names_that_all_go_to_different_modules(sheet):
    file = sheet("from m import a, b, c\n")
    at = file.statement("from…")
    edits = [MoveImportedName(at, name, module) for name, module in zip("abc", ("n", "o", "n"))]
    assert file.edited(*edits) == "from n import a, c\nfrom o import b\n"


def test_a_relative_import_becomes_an_absolute_one(sheet):
    file = sheet("from .m import a\nfrom.m import b\n")
    edits = [MoveImportedName(file.statement("from…", nth), name, "n.o") for nth, name in enumerate("ab")]
    assert file.edited(*edits) == "from n.o import a\nfrom n.o import b\n"


def test_the_branches_of_a_guard_are_edited_apart(sheet):
    file = sheet("try:\n    from a import x\nexcept ImportError:\n    from b import x\n")
    edit = MoveImportedName(file.statement("from b…"), "x", "c")
    assert file.edited(edit) == "try:\n    from a import x\nexcept ImportError:\n    from c import x\n"


@pytest.mark.parametrize("text", ["from m import b\n", "from m import *\n", "import m.a\n", "a = 1\n"])
def test_a_name_that_is_not_imported_there_is_refused(sheet, text):
    file = sheet(text)
    with pytest.raises(AnchorMissing):
        file.edited(MoveImportedName(file.statement("…"), "a", "n"))


def test_a_relative_import_without_a_space(sheet):
    file = sheet("from .import a\n")
    assert file.edited(MoveImportedName(file.statement("from…"), "a", "n")) == "from n import a\n"
