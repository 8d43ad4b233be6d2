"""What the screen looks like, compared with pictures that were looked at.

`DEVFIX_UPDATE_PICTURES=1 pytest tests/cli/review/test_pictures.py` draws them anew.
"""

import os
import re
from importlib.metadata import version
from pathlib import Path

import pytest

from .conftest import NARROW, Shown, Step, driven

PICTURES = Path(__file__).parent / "pictures"
CONSTRAINTS = Path(__file__).parents[3] / "constraints.txt"
TEXT = '''\
"""Trains a classifier; the text of a docstring
    is "no code", and 'quotes' in it are its own.
"""

import torch


def train(model, loader, device):
    for batch in loader:
        x = wrong(batch)  # a comment that is rather long, so that narrow columns have to fold this line somewhere
        y = wrong(batch)  # unsafe
    return "done", 3.5, None
'''

pytestmark = [
    pytest.mark.usefixtures("library"),
    pytest.mark.skipif(
        any(f"{name}=={version(name)}\n" not in CONSTRAINTS.read_text() for name in ("textual", "rich")),
        reason="pictures are of the releases in constraints.txt",
    ),
]


def looks_like(name: str) -> Step:
    def check(shown: Shown) -> None:
        file = PICTURES / f"{name}.svg"
        picture = re.sub(r"terminal-\d+", "terminal-0", shown.svg)
        if os.environ.get("DEVFIX_UPDATE_PICTURES"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(picture)
        assert picture == file.read_text(), f"{file} looks different"

    return check


@pytest.fixture
def files(tree: Path) -> Path:
    (tree / "pack").mkdir()
    (tree / "pack" / "train.py").write_text(TEXT)
    (tree / "a.py").write_text("import torch\nx = wrong(1)\ny = wrong(2)  # manual\n")
    return tree


@pytest.mark.parametrize(
    ("name", "keys", "size"),
    [
        ("narrow", ["y", "n"], NARROW),
        ("wide", ["y", "i", "j"], (200, 60)),
        ("confirm", ["y", "i", "n", "y", "w"], NARROW),
        ("filter", ["f"], NARROW),
        ("search", ["slash", *"batch"], NARROW),
        ("help", ["question_mark"], (100, 40)),
    ],
)
def test_pictures(files: Path, name: str, keys: list[str], size: tuple[int, int]) -> None:
    driven(*keys, looks_like(name), size=size)


def test_the_question_whether_to_go_on(files: Path) -> None:
    driven("y", "q")
    driven(looks_like("resume"), asks_to_resume=True, size=NARROW)
