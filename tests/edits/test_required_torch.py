"""Which torch the code needs that edits bring."""

import pytest
from devfix_codemods.edits.operations import (
    AddImport,
    Argument,
    Edit,
    InsertStatement,
    MoveImportedName,
    RemoveStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)
from devfix_codemods.edits.required_torch import release_needed
from devfix_codemods.source import Span

AT = Span(1, 0, 1, 5)


@pytest.mark.parametrize(
    "edit",
    [
        InsertStatement(AT, "after", "y = y.to(device, non_blocking=True)"),
        InsertStatement(AT, "after", 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'),
        ReplaceExpression(AT, "torch.zeros(3, device=x.device)"),
        ReplaceStatement(AT, 'self.register_buffer("mask", mask)'),
        RewriteCall(AT, "torch.load", (Argument(0), Argument('"cpu"', "map_location"))),
        RewriteCall(AT),
        RemoveStatement(AT),
        AddImport("torch"),
        AddImport("torch", "device"),
    ],
)
def test_what_every_torch_has(edit: Edit) -> None:
    assert release_needed([edit], "import torch\n") is None


@pytest.mark.parametrize(
    ("edit", "release"),
    [
        (ReplaceStatement(AT, 'self.register_buffer("mask", mask, persistent=False)'), (1, 6)),
        (RewriteCall(AT, None, (Argument(0), Argument("False", "persistent"))), (1, 6)),
        (RewriteCall(AT, "torch.load", (Argument(0), Argument("True", "weights_only"))), (1, 13)),
        (ReplaceExpression(AT, 'torch.amp.autocast("cuda")'), (1, 10)),
        (ReplaceExpression(AT, "torch.autocast(device.type)"), (1, 10)),
        (RewriteCall(AT, "torch.amp.GradScaler"), (2, 3)),
        (MoveImportedName(AT, "GradScaler", "torch.amp"), (2, 3)),
        (AddImport("torch.amp", "custom_fwd"), (2, 4)),
        (InsertStatement(AT, "after", "with torch.device(device):\n    pass"), (2, 0)),
        (InsertStatement(AT, "after", "device = torch.accelerator.current_accelerator()"), (2, 6)),
    ],
)
def test_what_came_later(edit: Edit, release: tuple[int, int]) -> None:
    assert release_needed([RemoveStatement(AT), edit], "import torch\n") == release


def test_the_newest_counts() -> None:
    old, new = "torch.amp.GradScaler()", "torch.accelerator.current_accelerator()"
    assert release_needed([ReplaceExpression(AT, old), ReplaceExpression(AT, new)], "") == (2, 6)


def test_what_the_file_uses_already_is_no_news() -> None:
    edits = [InsertStatement(AT, "after", "x = x.to(torch.accelerator.current_accelerator())")]
    assert release_needed(edits, "model.to(torch.accelerator.current_accelerator())") is None
