"""Parts of a batch that are read several times: moved where they are misplaced, and nowhere else."""

from itertools import product

import pytest

CODE = "DVF101"
PARTS = {"an item": "batch['y']", "an attribute": "batch.y", "an element": "batch[1]"}
HEAD = """
import torch
import torch.nn.functional as F

def train(net, loader, device, verbose):
    net = net.to(device)
    kept = []
    for batch in loader:
        out = net(batch['x'].to(device))
"""
READ = {
    "printed": "        print({y}.shape)",
    "computed with": "        print({y}.mean())",
    "counted": "        seen = len({y})",
    "read on a branch": "        if verbose:\n            print({y}.mean())",
    "named": "        before = {y}\n        print(before)",
}
USED = {
    "an operand": "        loss = F.mse_loss(out, {y})",
    "a method of it": "        loss = F.mse_loss(out, {y}.float())",
    "a view of it": "        loss = F.mse_loss(out, {y}[:, 0])",
    "its name": "        target = {y}\n        loss = F.mse_loss(out, target)",
    "an operator": "        loss = (out - {y}).mean()",
    "both operands": "        loss = (out - {y}).mean() / {y}.sum()",
}

CASES = [*product(["batch['y']"], READ, USED), *product(["batch.y", "batch[1]"], ["computed with"], USED)]


def _program(part: str, *lines: str) -> str:
    return HEAD + "\n".join(line.format(y=part) for line in lines) + "\n        loss.backward()\n"


def _moved(program: str) -> int:
    """How many values are moved besides the model and its input."""
    return program.count(".to(device)") - HEAD.count(".to(device)")


@pytest.mark.parametrize(("part", "read", "used"), CASES)
def test_a_part_stays_where_it_is_only_looked_at(rule, part, read, used):
    fixed = rule.fixed(_program(part, READ[read], USED[used]), unsafe=True)
    assert READ[read].format(y=part) in fixed


@pytest.mark.parametrize(("part", "read", "used"), CASES)
def test_a_part_is_moved_where_it_is_misplaced(rule, part, read, used):
    fixed = rule.fixed(_program(part, READ[read], USED[used]), unsafe=True)
    assert _moved(fixed) == 1


AGAIN = {
    "in two statements": (USED["an operand"], "        loss = loss + F.l1_loss(out, {y}.float())"),
    "as a view, and whole": ("        part = F.mse_loss(out[:, 0], {y}[:, 0])", USED["an operand"]),
    "on two branches": (
        "        if verbose:\n            loss = (out - {y}).mean()",
        "        else:\n            loss = (out - {y}.float()).sum()",
    ),
}


@pytest.mark.parametrize(("part", "again"), [*product(PARTS.values(), AGAIN)])
def test_a_part_that_is_misplaced_twice_is_moved_twice(rule, part, again):
    fixed = rule.fixed(_program(part, *AGAIN[again]), unsafe=True)
    assert _moved(fixed) == 2


PLACED = {
    "read on the host alone": ("        kept.append({y}.numpy())", "        loss = out.mean()"),
    "compared with a copy": ("        print({y})", "        loss = (out.cpu() - {y}).mean()"),
    "moved each time": ("        print({y}.to(device))", "        loss = (out - {y}.to(device)).mean()"),
}


@pytest.mark.parametrize(("part", "placed"), [*product(PARTS.values(), PLACED)])
def test_a_part_that_is_placed_right_stays(rule, part, placed):
    assert rule.findings(_program(part, *PLACED[placed])) == ()
