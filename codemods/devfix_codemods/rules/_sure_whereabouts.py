"""Where a tensor comes from, where one on the host says nothing of what it is joined with."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.bindings import Binding
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tree import walk
from devfix_codemods.rules._built_on_host import is_built_on_host
from devfix_codemods.rules._tensor_words import PLACES, PLAIN
from devfix_codemods.rules._whereabouts import Made, Whereabouts


class SureWhereabouts(Whereabouts):
    """Where one tensor on the host does not speak for those that it is joined with: that may be the bug."""

    _again = Made.HOST  # `x = f(x)` is where `x` was
    _depth = 40

    def _source(self, node: ast.expr) -> Made:
        if isinstance(node, ast.Compare):
            return self._first([node.left, *node.comparators])
        return super()._source(node)

    def _bound(self, binding: Binding) -> Made:
        node = binding.node
        plain = binding.annotation is not None and ast.unparse(binding.annotation) in PLAIN
        known = node in self._arguments
        return Made.HOST if plain and isinstance(node, ast.arg) and not known else super()._bound(binding)

    def _call(self, node: ast.Call) -> Made:
        found = super()._call(node)
        return Made.HOST if found is not Made.HOST and self._is_of_built_here(node) else found

    def _is_of_built_here(self, node: ast.Call) -> bool:
        """A call of what the function itself has built and never moved, or of a method of it: on the host."""
        function, root = scope.function_around(self._program, node), (dotted(node.func) or "").partition(".")[0]
        if function is None or not root:
            return False
        used = (one for one in walk(function) if isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"})
        if any(dotted(one.value) == root for one in used):
            return False
        if isinstance(node.func, ast.Name):
            return self._works_on_host(function, node, root)
        built = is_built_on_host(self._program, node.func)  # `Grid(3, device="cpu")`
        return built and not any(self.source(one) in _ELSEWHERE for one in scope.given_to(node))

    def _works_on_host(self, function: scope.Function, node: ast.Call, name: str) -> bool:
        """What was built with nothing about devices answers on the host if all that it is given is there."""
        given, values = scope.given_to(node), [one.value for one in self._bindings.of(function, name)]
        built = bool(values) and all(
            isinstance(one, ast.Call)
            and (dotted(one.func) or "").rpartition(".")[2][:1].isupper()
            and not PLACES.search(ast.unparse(one))
            for one in values
        )
        return built and bool(given) and all(self.source(one) is Made.HOST for one in given)

    def _attribute(self, node: ast.Attribute) -> Made:
        if (self._names.qualified(node) or "").startswith(("numpy.", "math.")):
            return Made.HOST
        return super()._attribute(node)

    def _joined(self, parts: ast.expr) -> Made:
        return self._first(parts.elts if isinstance(parts, ast.List | ast.Tuple) else [parts])


_ELSEWHERE = frozenset({Made.GIVEN, Made.MODEL, Made.COMPUTED, Made.OWNED})
