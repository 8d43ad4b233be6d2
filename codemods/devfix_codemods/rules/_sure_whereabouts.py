"""Where a tensor comes from, where one on the host says nothing of what it is joined with."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.rules._bindings import Binding
from devfix_codemods.rules._tensor_words import PLACES, PLAIN
from devfix_codemods.rules._whereabouts import Made, Whereabouts


class SureWhereabouts(Whereabouts):
    """Where one tensor on the host does not speak for those that it is joined with: that may be the bug."""

    _again = Made.HOST  # `x = f(x)` is where `x` was
    _depth = 40

    def _bound(self, binding: Binding) -> Made:
        node = binding.node
        plain = binding.annotation is not None and ast.unparse(binding.annotation) in PLAIN
        known = node in self._arguments
        return Made.HOST if plain and isinstance(node, ast.arg) and not known else super()._bound(binding)

    def _call(self, node: ast.Call) -> Made:
        found = super()._call(node)
        return Made.HOST if found is not Made.HOST and self._works_on_host(node) else found

    def _works_on_host(self, node: ast.Call) -> bool:
        """A call of what the function itself has built, with nothing about devices, and never moved: on the host."""
        callee, given = node.func, scope.given_to(node)
        function = scope.function_around(self._program, node)
        if not isinstance(callee, ast.Name) or function is None or not given:
            return False
        values = [one.value for one in self._bindings.of(function, callee.id)]
        built = bool(values) and all(
            isinstance(one, ast.Call)
            and (dotted(one.func) or "").rpartition(".")[2][:1].isupper()
            and not PLACES.search(ast.unparse(one))
            for one in values
        )
        used = {one.attr for one in walk(function) if isinstance(one, ast.Attribute) and dotted(one.value) == callee.id}
        return built and not used & {"to", "cuda"} and all(self.source(one) is Made.HOST for one in given)

    def _attribute(self, node: ast.Attribute) -> Made:
        if (self._names.qualified(node) or "").startswith(("numpy.", "math.")):
            return Made.HOST
        return super()._attribute(node)

    def _joined(self, parts: ast.expr) -> Made:
        return self._first(parts.elts if isinstance(parts, ast.List | ast.Tuple) else [parts])
