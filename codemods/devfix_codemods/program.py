"""One parsed file and what has been learnt of it, each part computed when a rule first asks."""

import ast
from functools import cached_property

from devfix_codemods.flow.facts import Facts
from devfix_codemods.flow.interpreter import interpret
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.outline import Outline
from devfix_codemods.source import Source


class Program:
    """The view of one file that rules get.

    Attributes are lazy: a rule that matches an API asks for `names` and never pays for `facts`. `accelerator` says that
    a device which has to be declared is torch's accelerator, and not CUDA or the host.
    """

    def __init__(self, source: Source, *, accelerator: bool = False) -> None:
        self.source = source
        self.accelerator = accelerator

    @property
    def tree(self) -> ast.Module:
        """The syntax tree. Raises `SourceError` where the file does not parse."""
        return self.source.tree

    @cached_property
    def names(self) -> Names:
        """Qualified names of what each name and attribute refers to."""
        return Names(self.source.tree)

    @cached_property
    def outline(self) -> Outline:
        """What syntax alone says: whether a rule can apply at all."""
        return Outline(self.names)

    @cached_property
    def facts(self) -> Facts:
        """What the abstract interpreter saw: meetings, moves, calls."""
        return interpret(self.source, self.names)
