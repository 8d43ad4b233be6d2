"""Moves that are read as if they were not there, and classes that a framework runs."""

from textwrap import dedent

import pytest
from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.program import Program
from devfix_codemods.source import Source


def program(text: str) -> Program:
    return Program(Source("train.py", dedent(text).encode()))


@pytest.mark.parametrize(
    "call",
    [
        "torch.zeros(3).cuda()",
        'torch.zeros(3).to("cuda")',
        'torch.zeros(3, device="cuda")',
        "torch.zeros(3).type(torch.cuda.FloatTensor)",
        "torch.cuda.FloatTensor(3)",
        "load(3).cuda()",
    ],
)
def test_what_is_left_on_the_host_meets_a_parameter(call: str) -> None:
    one = program(f"import torch\ndef f(x: torch.Tensor):\n    h = {call}\n    return x + h\n")
    (site,) = (node for node in one.names.calls if one.source.segment(one.source.span(node)) == call)
    assert not one.facts.followings
    (meeting,) = one.undoing(frozenset({site})).facts.followings
    assert meeting.misplaced.value.sources == (site,)


@pytest.mark.parametrize("dtype", ["torch.float", "torch.float32", "x.dtype"])
def test_a_dtype_moves_nothing(dtype: str) -> None:
    one = program(f"import torch\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3).type({dtype})\n")
    assert one.facts.followings


def test_a_type_may_move() -> None:
    one = program("import torch\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3).type(x.type())\n")
    assert not one.facts.followings


def test_a_module_stays_where_it_was_moved() -> None:
    one = program("import torch\nnet = torch.nn.Linear(3, 3).cuda()\nnet(torch.zeros(3))\n")
    other = one.undoing(frozenset(one.names.calls))
    assert other.facts.moves
    assert len(one.facts.meetings) == 1


HOOKS = " def training_step(self): ...\n def configure_optimizers(self): ...\n"
CLASSES = {
    "of Lightning": ("class A(pl.LightningModule): pass\n", True),
    "of transformers": ("from transformers import Trainer\nclass A(Trainer): pass\n", True),
    "of another file, with the hooks": (f"from ours import Base\nclass A(Base):\n{HOOKS}", True),
    "of another file": ("from ours import Base\nclass A(Base):\n def training_step(self): ...\n", False),
    "of none": (f"class A:\n{HOOKS}", False),
    "of torch": (f"from torch import nn\nclass A(nn.Module):\n{HOOKS}", False),
}


@pytest.mark.parametrize(("text", "managed"), CLASSES.values(), ids=CLASSES)
def test_classes_that_a_framework_runs(text: str, managed: bool) -> None:
    names = program(text).names
    (definition,) = names.classes
    assert ClassTable(names).is_managed(definition) is managed
