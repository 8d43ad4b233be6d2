"""Which lines of a patch may run alone."""

import ast
from pathlib import Path

import pytest
from devfix.replay.harness.known_places import KnownPlaces
from devfix.replay.harness.regions import binds_alone, with_parts
from devfix.replay.harness.targets import targets_of
from devfix.replay.patches import Patch
from devfix_codemods.program import Program
from devfix_codemods.source import Source

BEFORE = """
import torch

rows = load()
net = build(rows).cuda()
for row in rows:
    net(row.cuda())
"""


def parts(after: str, before: str = BEFORE) -> list[str]:
    """The lines of each part, as the patched file has them."""
    patch = Patch(before.encode(), after.encode())
    (target,) = targets_of(Path("/tree"), "train.py", patch, ())
    lines = after.splitlines(keepends=True)
    known = KnownPlaces(Program(Source("train.py", before.encode())))
    found = with_parts(target, ast.parse(after), patch, (), known).parts
    return ["".join(lines[first - 1 : last]) for first, last in found]


def test_a_line_that_the_patch_adds_is_not_run_alone() -> None:
    after = BEFORE.replace("rows = load()", 'device = "cpu"\nrows = load()').replace("row.cuda()", "row.to(device)")
    found = parts(after)
    assert 'device = "cpu"\n' not in found
    assert "    net(row.to(device))\n" in found


def test_what_is_put_in_the_place_of_a_line_is_run_as_a_whole() -> None:
    after = BEFORE.replace("net = build(rows).cuda()", 'device = "cpu"\nnet = build(rows).to(device)')
    found = parts(after)
    assert found == ['device = "cpu"\nnet = build(rows).to(device)\n']


@pytest.mark.parametrize(
    "lines",
    [
        "found = torch.load(path, map_location='cpu')",
        "from torch.amp import autocast\nimport torch",
        "loader = torch.utils.data.DataLoader(rows, pin_memory=True)\nfound = torch.load(path)",
        "found = lambda x: x.cpu().numpy()",
    ],
)
def test_lines_that_bind_alone(lines: str) -> None:
    tree = ast.parse(f"import os\n{lines}\nprint(found)\n")
    assert binds_alone(tree, (2, 1 + len(lines.splitlines())))


@pytest.mark.parametrize(
    "lines",
    [
        "found = torch.load(path)\nprint(found)",
        "net.load_state_dict(torch.load(path))",
        "found = torch.load(path)['x'] + 1",
        "for x in torch.utils.data.DataLoader(rows):\n    pass",
        "y = x.to(device)",
        "y = (lambda x: x.cpu())(x)",
    ],
)
def test_lines_that_do_something_with_what_they_bind(lines: str) -> None:
    assert not binds_alone(ast.parse(f"import os\n{lines}\n"), (2, 1 + len(lines.splitlines())))
