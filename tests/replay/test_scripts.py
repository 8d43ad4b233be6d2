"""Which files run by themselves."""

from pathlib import Path

import pytest
from devfix.replay.scripts import module_name, why_not_runnable

LIBRARY = "a library file: name the command that runs it"


@pytest.mark.parametrize(
    "text",
    [
        "if __name__ == '__main__':\n    main()\n",
        "if '__main__' == __name__:\n    x = 1\n",
        "import torch\nprint(torch.zeros(3))\n",
        "for x in y:\n    pass\n",
        "try:\n    main()\nfinally:\n    pass\n",
        "with open('a') as f:\n    pass\n",
        "x += 1\n",
    ],
)
def test_scripts(text: str) -> None:
    assert why_not_runnable(Path("a.py"), text.encode()) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        '"""Docstring."""\nimport torch\nX = torch.zeros(3)\ndef f():\n    print(1)\nclass A: pass\n',
        "try:\n    import a\nexcept ImportError:\n    a = None\n",
        "import sys\nif sys.version_info > (3,):\n    x = 1\nelse:\n    x = 2\n",
    ],
)
def test_libraries(text: str) -> None:
    assert why_not_runnable(Path("a.py"), text.encode()) == LIBRARY


def test_what_is_no_script() -> None:
    assert why_not_runnable(Path("a.ipynb"), b"{}") == "a notebook of format None; only format 4 is read"
    assert why_not_runnable(Path("a.py"), b"def f(:\n") == "not valid Python"


def test_only_a_script_that_imports_relatively_runs_as_a_module(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    assert module_name(inner / "a.py", b"from . import b\n") is None
    (inner / "__init__.py").touch()
    (tmp_path / "outer" / "__init__.py").touch()
    assert module_name(inner / "a.py", b"from . import b\n") == "outer.inner.a"
    assert module_name(inner / "a.py", b"from outer import b\n") is None
