"""DVF203: copies of weights that a class takes before the model is moved; the move goes before that, or it behind."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF203"
PROGRAM = """
import torch
from torch import nn

class EMA:
    def __init__(self, model):
        self.shadow = [p.detach().clone() for p in model.parameters()]

    def update(self, model):
        with torch.no_grad():
            for kept, live in zip(self.shadow, model.parameters()):
                kept.mul_(0.99).add_(live, alpha=0.01)

def train(loader, args):
    {first}
    {lines}
    for x, y in loader:
        loss = nn.functional.mse_loss(model(x.to({device})), y.to({device}))
        loss.backward()
        ema.update(model)
"""
MADE = "model = nn.Linear(4, 2)"


def _program(*lines: str, first: str = "device = torch.device(args.device)", device: str = "device") -> str:
    return PROGRAM.format(first=first, lines="\n    ".join(lines), device=device)


RIGHT = {
    "after the move": (MADE, "model.to(device)", "ema = EMA(model)"),
    "of a model that is made there": (f"{MADE}.to(device)", "ema = EMA(model)"),
    "moved by its own statement": (MADE, "model = model.to(device)", "ema = EMA(model)"),
}


@pytest.mark.parametrize("lines", RIGHT.values(), ids=RIGHT)
def test_copies_of_what_is_moved(rule, lines: tuple[str, ...]) -> None:
    assert rule.findings(_program(*lines)) == ()


EARLY = {
    "at once": ((MADE, "ema = EMA(model)", "model.to(device)"), (MADE, "model.to(device)", "ema = EMA(model)")),
    "bound again": (
        (MADE, "ema = EMA(model)", "model = model.to(device)"),
        (MADE, "model = model.to(device)", "ema = EMA(model)"),
    ),
    "weights are loaded between": (
        (MADE, "ema = EMA(model)", "model.load_state_dict(torch.load(args.path))", "model.to(device)"),
        (MADE, "model.to(device)", "ema = EMA(model)", "model.load_state_dict(torch.load(args.path))"),
    ),
    "one of two models": (
        ("model = nn.Linear(4, 2) if args.deep else nn.Linear(4, 4)", "ema = EMA(model)", "model.to(device)"),
        ("model = nn.Linear(4, 2) if args.deep else nn.Linear(4, 4)", "model.to(device)", "ema = EMA(model)"),
    ),
    "under a condition": (
        (MADE, "if args.ema:\n        ema = EMA(model)", "model.to(device)"),
        (MADE, "model.to(device)", "if args.ema:\n        ema = EMA(model)"),
    ),
}


@pytest.mark.parametrize(("lines", "moved"), EARLY.values(), ids=EARLY)
def test_the_model_is_moved_first(rule, lines: tuple[str, ...], moved: tuple[str, ...]) -> None:
    assert rule.unchanged_unless_unsafe(_program(*lines)) == _program(*moved)


def test_the_copies_are_taken_behind_where_the_device_gets_its_name_between(rule) -> None:
    program = _program("ema = EMA(model)", "device = torch.device(args.device)", "model.to(device)", first=MADE)
    moved = _program("device = torch.device(args.device)", "model.to(device)", "ema = EMA(model)", first=MADE)
    assert rule.unchanged_unless_unsafe(program) == moved


STAY = {
    "weights are loaded between": "model.load_state_dict(torch.load(args.path))",
    "a layer is replaced between": "model.weight = nn.Parameter(torch.ones(2, 4))",
    "the copies are read between": "print(ema.shadow)",
}


@pytest.mark.parametrize("between", STAY.values(), ids=STAY)
def test_they_are_not_taken_later_where_that_changes_them(rule, between: str) -> None:
    lines = ("ema = EMA(model)", between, "device = torch.device(args.device)", "model.to(device)")
    program = _program(*lines, first=MADE)
    followed = program.replace("add_(live", "add_(live.to(kept.device)")
    assert rule.unchanged_unless_unsafe(program) == followed


def test_a_crash_is_told_beside_a_device_that_is_hard_coded() -> None:
    program = _program("ema = EMA(model)", 'model.to("cuda")', first=MADE, device='"cuda"')
    outcome = check(Source("train.py", program.encode()), Options(frozenset({"DVF203", "DVF501"}), unsafe=True))
    assert isinstance(outcome, Checked)
    assert {one.code for one in outcome.findings} == {"DVF203", "DVF501"}
