"""What is deleted from correct code, and what is left of it."""

import ast
import random
from pathlib import Path

import pytest
from cases import mirrors, read_rows, write_rows
from deletions import deletions, drawn

from .repository import History

PLACES = """
import torch

class Net(torch.nn.Module):
    def __init__(self, device):
        super().__init__()
        self.register_buffer("scale", torch.ones(3), persistent=False)
        self.register_buffer("nothing", None)
        self.register_buffer(name, torch.ones(3))
        self.to(device)

def load(path, net, device, dtype):
    net.load_state_dict(torch.load(path, map_location="cpu"))
    net = net.to(device)
    torch.cuda.synchronize()
    return net.to(dtype)

def run(net, x, device):
    if device:
        x = x.cuda()
    noise = torch.randn(3,  # as many
                        device=x.device)
    more = torch.ones(device=device, size=(3,))
    both = torch.ones((3), device=device)
    y = net((x + noise).to(device)) * 2
    return y.detach().cpu().numpy()
"""


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path)


def found() -> dict[str, list[str]]:
    """By kind, each deletion as the lines of the program that it changes, written by Python itself."""
    whole = ast.unparse(ast.parse(PLACES)).splitlines()
    by_kind: dict[str, list[str]] = {}
    for one in deletions(PLACES.encode()):
        lines = ast.unparse(ast.parse(one.applied(PLACES.encode()))).splitlines()
        by_kind.setdefault(one.kind, []).append(
            " / ".join(line.strip() for line in lines if line not in whole) or "gone"
        )
    return by_kind


def test_every_deletion_of_every_kind() -> None:
    kinds = found()
    assert sorted(kinds["move"]) == ["gone", "gone", "pass", "y = net(x + noise) * 2"]
    assert sorted(kinds["factory"]) == ["more = torch.ones(size=(3,))", "noise = torch.randn(3)"]
    assert kinds["load"] == ["net.load_state_dict(torch.load(path))"]
    assert kinds["buffer"] == ["self.scale = torch.ones(3)"]
    assert kinds["host"] == ["return y.detach().numpy()"]


def test_the_place_is_where_the_code_is_now() -> None:
    for one in deletions(PLACES.encode()):
        lines = one.applied(PLACES.encode()).decode().split("\n")
        assert 0 < one.line <= one.last <= len(lines)


def test_what_is_drawn_parses_and_is_drawn_again(history: History, tmp_path: Path) -> None:
    history.commit("first", net=PLACES, copy=PLACES, tests__test_net=PLACES, plain="print(1)\n", broken="torch cuda (")
    (mirror,) = mirrors(history.mirrors, half="both")
    once, again = (list(drawn(mirror, random.Random(3), 6, set())) for _ in range(2))
    assert once == again
    ((row, before, after),) = once
    assert row.path in {"net.py", "copy.py"}
    assert after == PLACES.encode()
    assert before != after
    ast.parse(before)
    write_rows(tmp_path / "rows.jsonl", [row])
    assert read_rows(tmp_path / "rows.jsonl") == [row]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_line_ends_are_kept(ends: str) -> None:
    source = PLACES.replace("\n", ends).encode()
    for one in deletions(source):
        assert one.applied(source).count(b"\r") in (source.count(b"\r"), source.count(b"\r") - 1)
