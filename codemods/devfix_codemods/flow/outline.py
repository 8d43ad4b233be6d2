"""What a file's syntax says before it is interpreted: reasons for a rule not to ask for the flow at all."""

import ast
from functools import cached_property

from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.flow.library import is_model_factory, is_module_api, returns_tensors
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tables import LOADERS, canonical


class Outline:
    """Cheap questions about one file. Each answers True where it is in doubt."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._moves = [
            node
            for node in names.calls
            if isinstance(node.func, ast.Attribute) and node.func.attr in {"to", "cuda", "cpu"}
        ]

    @cached_property
    def moves_loop_items(self) -> bool:
        """Some loop, comprehension or `next` yields a value that is moved, or a `DataLoader` is built."""
        return any(self._in_loop(one) for one in self._moves) or self._builds_loader()

    @cached_property
    def encodes(self) -> bool:
        """Some call asks for `return_tensors="pt"`; docstrings that show one do not count."""
        return any(returns_tensors(node) for node in self._names.calls)

    @cached_property
    def discards_moves(self) -> bool:
        """Some move is a statement of its own."""
        return any(isinstance(self._names.parent(one), ast.Expr) for one in self._moves)

    @cached_property
    def builds_free_modules(self) -> bool:
        """Some module is built outside the constructor of another module, and something is moved."""
        if not self._moves:
            return False
        classes = ClassTable(self._names)
        local = {one.name for one in self._names.classes if classes.may_be_module(one)}
        return any(self._builds(node, local) and not self._inside_module(node, classes) for node in self._names.calls)

    def _builds(self, node: ast.Call, local: set[str]) -> bool:
        if isinstance(node.func, ast.Name) and node.func.id in local:
            return True
        name = self._names.qualified(node.func)
        return name is not None and (is_module_api(canonical(name)) or is_model_factory(name))

    def _inside_module(self, node: ast.AST, classes: ClassTable) -> bool:
        owner = next((one for one in self._names.ancestors(node) if isinstance(one, ast.ClassDef)), None)
        return owner is not None and classes.may_be_module(owner)

    def _in_loop(self, node: ast.Call) -> bool:
        loops = (ast.For, ast.AsyncFor, ast.comprehension, ast.While)
        return any(isinstance(one, loops) or hasattr(one, "generators") for one in self._names.ancestors(node))

    def _builds_loader(self) -> bool:
        return any(self._names.qualified(node.func) in LOADERS for node in self._names.calls)
