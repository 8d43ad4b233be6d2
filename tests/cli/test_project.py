"""Files that say something of each other, on the disk."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.analysis import one_file
from devfix.analysis.jobs import Job, Task
from devfix.project.settings import Choice
from devfix.results import Rewritten, Target
from devfix.rules.selection import options_of

from .conftest import Devfix, git

Analysed = Callable[[], list[str]]

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)
"""
MANAGED = NET.replace("from torch import nn", "import pytorch_lightning as pl\nfrom torch import nn").replace(
    "nn.Module)", "pl.LightningModule)"
)
TRAIN = """\
import torch
from torch import nn

from models import Net

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Net()
seen = 0
for x, y in loader:
    x, y = x.to(device), y.to(device)
    out = model(x)
    seen += len(out)
"""
MAIN = """\
import torch
from torch import nn

from loop import train

if __name__ == "__main__":
    model = nn.Linear(4, 2)
    train(model, loader, torch.device("cuda"))
"""
LOOP = """\
def train(model, loader, device):
    for x, y in loader:
        model(x.to(device))
"""
OTHER = "import torch\n\nx = torch.zeros(2)\nx.to('cuda')\n"


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> Analysed:
    """The names of the files that were analysed since the last call."""
    seen: list[str] = []
    honest = one_file.analyse

    def watched(job: Job) -> object:
        seen.append(job.target.label)
        return honest(job)

    monkeypatch.setattr("devfix.analysis.one_file.analyse", watched)
    monkeypatch.setattr("devfix.analysis.pool.forks", lambda: False)

    def since() -> list[str]:
        names = list(seen)
        seen.clear()
        return names

    return since


def write(folder: Path, texts: dict[str, str], age: float = 60) -> None:
    """Files that were written a while ago."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (time.time() - age, time.time() - age))


def age_folders(top: Path) -> None:
    """Nothing has appeared in the folders or gone for a while."""
    for folder in (top, *(path for path in top.rglob("*") if path.is_dir())):
        os.utime(folder, (time.time() - 60, time.time() - 60))


def codes(devfix: Devfix, *arguments: str, stdin: bytes | None = None) -> list[tuple[str, str]]:
    ran = devfix("check", "--output-format", "json", *arguments, stdin=stdin)
    return sorted((one["path"], one["code"]) for one in ran.json["findings"])


FOUND = [("train.py", "DVF202")]


def test_other_files_are_read_though_not_named(tree: Path, devfix: Devfix) -> None:
    write(tree, {"train.py": TRAIN, "models.py": NET})
    assert codes(devfix, "train.py") == FOUND
    assert codes(devfix) == FOUND


def test_a_file_by_itself(tree: Path, devfix: Devfix) -> None:
    write(tree, {"train.py": TRAIN})
    assert codes(devfix) == []


def test_files_not_named_are_neither_reported_nor_edited(tree: Path, devfix: Devfix) -> None:
    write(tree, {"train.py": TRAIN, "models.py": NET + OTHER})
    assert codes(devfix, "train.py") == FOUND
    assert devfix("rewrite", "train.py").code == 0
    assert "model = Net().to(device)" in (tree / "train.py").read_text()
    assert (tree / "models.py").read_text() == NET + OTHER


@pytest.mark.parametrize(
    ("exported", "imported", "is_found"),
    [
        ("from .loop import train", "from pkg import train", True),
        ("from pkg.loop import other, train", "from pkg import (\n    train,\n)", True),
        ("from .loop import train", "import pkg\n\ntrain = pkg.train", False),  # one more name: not followed
        ("from .other import train", "from pkg import train", False),
    ],
)
def test_callers_by_way_of_a_package(tree: Path, devfix: Devfix, exported: str, imported: str, is_found: bool) -> None:
    main = MAIN.replace("from loop import train", imported).replace("loader, ", "DataLoader(rows), ")
    main = main.replace("import torch\n", "import torch\nfrom torch.utils.data import DataLoader\n", 1)
    loop = LOOP.replace("model(x.to(device))", "model(x)").replace("(model, loader, device)", "(model, kiwi, device)")
    loop = "import torch\n\n\n" + loop.replace("in loader", "in kiwi")
    main = main.replace("nn.Linear(4, 2)", 'nn.Linear(4, 2).to("cuda")')
    texts = {
        "main.py": main,
        "pkg/__init__.py": exported + "\n",
        "pkg/loop.py": loop,
        "pkg/other.py": "train = print\n",
    }
    write(tree, texts)
    assert (("pkg/loop.py", "DVF101") in codes(devfix, "--unsafe", "pkg")) is is_found


@pytest.mark.parametrize(
    ("folder", "imported", "is_found"),
    [
        ("pkg", "from . import train", True),
        ("pkg/tools", "from .. import train", True),
        ("pkg/tools", "from . import train", False),
    ],
)
def test_callers_that_import_from_the_package_around_them(
    tree: Path, devfix: Devfix, folder: str, imported: str, is_found: bool
) -> None:
    main = MAIN.replace("from loop import train", imported).replace("loader, ", "DataLoader(rows), ")
    main = main.replace("import torch\n", "import torch\nfrom torch.utils.data import DataLoader\n", 1)
    main = main.replace("nn.Linear(4, 2)", 'nn.Linear(4, 2).to("cuda")')
    loop = "import torch\n\n\n" + LOOP.replace("x.to(device)", "x").replace("loader", "kiwi")
    write(tree, {"pkg/__init__.py": loop, "pkg/tools/__init__.py": "train = print\n", f"{folder}/main.py": main})
    assert (("pkg/__init__.py", "DVF101") in codes(devfix, "--unsafe", "pkg")) is is_found


def test_a_package_below_src(tree: Path, devfix: Devfix) -> None:
    git(tree, "init", "-q")
    train = TRAIN.replace("from models", "from pkg.models")
    write(tree, {"scripts/train.py": train, "src/pkg/__init__.py": "", "src/pkg/models.py": NET})
    assert codes(devfix, "scripts") == [("scripts/train.py", "DVF202")]


def test_standard_input_stands_where_it_says(tree: Path, devfix: Devfix) -> None:
    write(tree, {"sub/models.py": NET})
    assert codes(devfix, "-", "--stdin-filename", "sub/train.py", stdin=TRAIN.encode()) == [("sub/train.py", "DVF202")]
    assert codes(devfix, "-", stdin=TRAIN.encode()) == []


def test_processes_and_order_change_nothing(tree: Path, devfix: Devfix) -> None:
    texts = {f"train{number}.py": TRAIN for number in range(6)}
    write(tree, {**texts, "models.py": NET})
    whole = codes(devfix, "--no-cache", "--jobs", "1")
    assert whole == [(name, "DVF202") for name in texts]
    assert codes(devfix, "--no-cache", "--jobs", "3") == whole
    assert codes(devfix, "--no-cache", *reversed(texts)) == whole


def test_only_what_depends_on_a_changed_file_is_analysed_again(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    write(tree, {"train.py": TRAIN, "models.py": NET, "other.py": OTHER})
    devfix("check")
    assert "train.py" in analysed()
    devfix("check")
    assert analysed() == []
    write(tree, {"models.py": MANAGED}, age=30)
    assert ("train.py", "DVF202") not in codes(devfix)
    again = analysed()
    assert "train.py" in again
    assert "other.py" not in again


def test_a_file_that_appears_is_seen(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    write(tree, {"train.py": TRAIN})
    assert codes(devfix) == []
    write(tree, {"models.py": NET})
    assert codes(devfix) == FOUND


def test_a_file_that_goes_is_missed(tree: Path, devfix: Devfix, analysed: Analysed) -> None:
    write(tree, {"train.py": TRAIN, "models.py": NET})
    assert codes(devfix) == FOUND
    (tree / "models.py").rename(tree / "renamed.py")
    assert codes(devfix) == []


def test_a_change_behind_a_re_export_is_seen(tree: Path, devfix: Devfix) -> None:
    write(tree, {"train.py": TRAIN, "models/__init__.py": "from .net import Net\n", "models/net.py": NET})
    assert codes(devfix) == FOUND
    write(tree, {"models/net.py": NET.replace("(4, 2)", "(4, 2)\n        self.cuda()")}, age=30)
    assert codes(devfix) == []


def test_of_untouched_files_no_import_is_looked_up(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree, {"train.py": TRAIN, "models.py": NET})
    age_folders(tree)
    assert codes(devfix) == FOUND
    assert codes(devfix) == FOUND
    monkeypatch.setattr("devfix.project.import_graph.find", lambda *_: pytest.fail("looked up"))
    assert codes(devfix) == FOUND


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file that was read changes": lambda tree: write(tree, {"src/lib/models.py": MANAGED}, age=30),
    "one that was read goes": lambda tree: (tree / "src" / "lib" / "models.py").unlink(),
    "one appears that is meant before it": lambda tree: write(tree, {"lib/models.py": MANAGED}),
    "its folder becomes a link to another": lambda tree: _replace_by_link(tree / "src" / "lib", tree / "managed"),
    "a repository begins in between": lambda tree: (tree / "named" / ".git").mkdir(),
}


def _replace_by_link(folder: Path, other: Path) -> None:
    write(other, {"__init__.py": "", "models.py": MANAGED})
    folder.rename(folder.parent / "away")
    folder.symlink_to(other)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_was_looked_up_is_believed_no_longer_than_it_holds(
    tree: Path, devfix: Devfix, change: Callable[[Path], object]
) -> None:
    train = TRAIN.replace("from models", "from lib.models")
    write(tree, {"named/train.py": train, "src/lib/__init__.py": "", "src/lib/models.py": NET})
    age_folders(tree)
    for _ in range(3):
        assert codes(devfix, "named") == [("named/train.py", "DVF202")]
    change(tree)
    assert codes(devfix, "named") == []


def test_a_repository_that_begins_above_is_seen(tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tree / "other", {"deep/train.py": TRAIN, "models.py": NET})
    (tree / "here").mkdir()
    age_folders(tree)
    monkeypatch.chdir(tree / "here")
    for _ in range(3):
        assert codes(devfix, "../other/deep") == []
    (tree / "other" / ".git").mkdir()
    assert [code for _, code in codes(devfix, "../other/deep")] == ["DVF202"]


def test_a_file_that_could_not_be_read_is_tried_again(
    tree: Path, devfix: Devfix, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tree, {"named/train.py": TRAIN, "models.py": NET})
    age_folders(tree)
    honest = Path.read_bytes

    def refused(path: Path) -> bytes:
        if path.name == "models.py":
            raise PermissionError
        return honest(path)

    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", refused)
        for _ in range(3):
            assert codes(devfix, "named") == []
    assert codes(devfix, "named") == [("named/train.py", "DVF202")]


def test_a_run_over_a_part_of_the_files_leaves_nothing_behind_that_is_wrong(tree: Path, devfix: Devfix) -> None:
    write(tree, {"main.py": MAIN, "part/loop.py": LOOP, "loop.py": "from part.loop import train\n"})
    whole = codes(devfix, "--no-cache", "--unsafe")
    part = codes(devfix, "--no-cache", "--unsafe", "part")
    for _ in range(3):
        assert codes(devfix, "--unsafe") == whole
        assert codes(devfix, "--unsafe", "part") == part


HOSTILE: dict[str, Callable[[Path], object]] = {
    "no Python": lambda path: path.write_text("class Net("),
    "no text": lambda path: path.write_bytes(b"\xff\xfe\x00\x01"),
    "a folder": lambda path: path.mkdir(),
    "a link to nothing": lambda path: path.symlink_to("gone.py"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a pipe": lambda path: os.mkfifo(path),
    "nested without end": lambda path: path.write_text("class Net:\n    x = " + "(" * 5000 + ")" * 5000),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=HOSTILE)
def test_neighbours_that_cannot_be_read(tree: Path, devfix: Devfix, make: Callable[[Path], object]) -> None:
    write(tree, {"train.py": TRAIN})
    make(tree / "models.py")
    assert codes(devfix, "train.py") == []


def test_a_trail_that_leads_into_another_file(tree: Path, devfix: Devfix) -> None:
    write(tree, {"main.py": MAIN, "loop.py": LOOP})
    ran = devfix("check", "--unsafe")
    assert "= loop.py:3: it is called here" in ran.out
    assert "= loop.py:3: it is called here" in devfix("check", "--unsafe").out, "remembered"
    [found] = devfix("check", "--output-format", "json").json["findings"]
    assert [(step["path"], step["line"]) for step in found["trail"]] == [("main.py", 7), ("main.py", 8), ("loop.py", 3)]


def test_a_trail_that_leads_into_another_file_of_a_notebook(tree: Path, devfix: Devfix) -> None:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": MAIN}
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    write(tree, {"main.ipynb": json.dumps(notebook), "loop.py": LOOP})
    [found] = devfix("check", "--output-format", "json").json["findings"]
    assert [(step["path"], step.get("cell"), step["line"]) for step in found["trail"]][1:] == [
        ("main.ipynb", 1, 8),
        ("loop.py", None, 3),
    ]


def test_of_findings_that_say_the_same_each_is_chosen_by_itself() -> None:
    """The second fix for `parse_tag` is exposed by the first."""
    data = (Path(__file__).parents[2] / "corpus/seeds/recognize_anything/before.py").read_bytes()
    job = Job(Target("a.py", "a.py"), data, options_of(Choice(unsafe=True)), Task.REWRITE)
    whole = one_file.analyse(job)
    assert isinstance(whole, Rewritten)
    said = [one.message.partition(" ")[0] for one in whole.findings]
    assert said == ["`image_tag`", "`image_tag`", "`parse_tag`", "`parse_tag`"]
    again = one_file.with_only(job, whole.findings)
    assert isinstance(again, Rewritten)
    assert again.after == whole.after
    fewer = one_file.with_only(job, [*whole.findings[:2], whole.findings[3]])
    assert isinstance(fewer, Rewritten)
    assert fewer.findings == whole.findings[:2]
    assert b"parse_tag.to(" not in fewer.after
