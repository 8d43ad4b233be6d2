"""Classes that a framework runs, as far as their bases and methods tell."""

import ast

import pytest
from devfix_codemods.project.classes import ClassTable
from devfix_codemods.project.names import Names

HOOKS = " def training_step(self): ...\n def configure_optimizers(self): ...\n"
CLASSES = {
    "of Lightning": ("import lightning as pl\nclass A(pl.LightningModule): pass\n", True),
    "of transformers": ("from transformers import Trainer\nclass A(Trainer): pass\n", True),
    "of another file, with the hooks": (f"from ours import Base\nclass A(Base):\n{HOOKS}", True),
    "of another file": ("from ours import Base\nclass A(Base):\n def training_step(self): ...\n", False),
    "of what places nothing": (f"import abc\nclass A(abc.ABC):\n{HOOKS}", False),
    "of a protocol": (f"from typing import Protocol\nclass A(Protocol):\n{HOOKS}", False),
    "of a generic one": (
        f"from typing import Generic, TypeVar\nT = TypeVar('T')\nclass A(Generic[T]):\n{HOOKS}",
        False,
    ),
    "of none": (f"class A:\n{HOOKS}", False),
    "of torch": (f"from torch import nn\nclass A(nn.Module):\n{HOOKS}", False),
}


@pytest.mark.parametrize(("text", "managed"), CLASSES.values(), ids=CLASSES)
def test_classes_that_a_framework_runs(text: str, managed: bool) -> None:
    names = Names(ast.parse(text))
    (definition,) = names.classes
    assert ClassTable(names).is_managed(definition) is managed
