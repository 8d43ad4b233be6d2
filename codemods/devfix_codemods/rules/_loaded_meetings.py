"""Tensors that meet a loaded value in one operation: the two must be in one place."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.catalogue.torch import FACTORIES
from devfix_codemods.program import Program
from devfix_codemods.project.bindings import Scope
from devfix_codemods.project.tree import dotted, last_name
from devfix_codemods.rules._taken_to_host import moves_to_host

_COMPARISONS = (
    "equal allclose isclose eq ne dist cdist assert_close assert_allclose cosine_similarity pairwise_distance"
)
_ARITHMETIC = "add sub mul div true_divide fmod lerp maximum minimum mm matmul bmm dot mse_loss l1_loss smooth_l1_loss"
_JOINS = "cat concat concatenate stack hstack vstack"
_OPERATIONS = frozenset(f"{_COMPARISONS} {_ARITHMETIC} {_JOINS} where".split())
"""Functions of torch, and methods of tensors, that need their tensors in one place."""
_METHODS = frozenset({*_OPERATIONS, "add_", "sub_", "mul_", "div_", "lerp_", "addcmul_"}) - {"where"}
_STATE = frozenset({"state_dict", "parameters", "named_parameters", "buffers", "named_buffers"})
_PLAIN = frozenset({"shape", "dtype", "ndim", "size", "dim", "numel", "nelement", "len", "item"})
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEEPEST = 6


def in_call(program: Program, call: ast.Call, node: ast.expr) -> list[ast.expr] | None:
    """The other tensors of an operation that gets `node`, or a list with it; None where it is none."""
    name = program.names.qualified(call.func) or ""
    arguments = [part for one in call.args for part in (one.elts if isinstance(one, ast.List | ast.Tuple) else [one])]
    if name.startswith("torch.") and name.rpartition(".")[2] in _OPERATIONS:
        return [one for one in arguments if one is not node]
    if isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS and node in arguments and name == "":
        return [call.func.value]
    return None


def of_method(call: ast.Call) -> list[ast.expr] | None:
    """The arguments of `loaded.equal(x)`; None where another method is called."""
    is_operation = isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS
    return list(call.args) if is_operation else None


class Partners:
    """Tells whether what meets a loaded value may be on a device."""

    def __init__(self, program: Program, loaded: set[tuple[ast.AST, str]]) -> None:
        self._program = program
        self._bindings = program.bindings
        self._loaded = loaded

    def is_elsewhere(self, partner: ast.expr, *, is_tensor: bool) -> bool:
        """Whether it is a tensor that is neither loaded, too, nor made on the host.

        By `is_tensor` the operation says that it is one; else it must come from the state of a module.
        """
        sources = list(self._sources(partner))
        if isinstance(partner, ast.Constant):
            return False
        if any(self._is_of_module(one) for one in sources):
            return True
        return is_tensor and not any(self._is_near(node) for one in sources for node in _parts(one))

    def _sources(self, partner: ast.expr) -> Iterator[ast.expr]:
        """The expression, and those that its names are bound to, as far as the file tells."""
        seen: set[tuple[ast.AST, str]] = set()
        found = [(partner, 0)]
        for one, depth in found:
            yield one
            for node in _parts(one) if depth < _DEEPEST else ():
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    owner = self._bindings.owner(node.id, node)
                    if owner is not None and (owner, node.id) not in seen:
                        seen.add((owner, node.id))
                        found += [(value, depth + 1) for value in self._values(node, owner)]

    def _values(self, name: ast.Name, owner: Scope) -> Iterator[ast.expr]:
        """What a name is bound to: of a loop, what that runs over."""
        inner = [one for one in self._program.names.ancestors(name) if isinstance(one, _COMPREHENSIONS)]
        loops = [one for each in inner for one in each.generators if name.id in scope.stored(one.target)]
        if loops:
            yield loops[0].iter
            return
        for one in self._bindings.of(owner, name.id):
            if isinstance(one.node, ast.For | ast.AsyncFor):
                yield one.node.iter
            elif one.value is not None and not isinstance(one.node, ast.arg):
                yield one.value

    def _is_of_module(self, source: ast.expr) -> bool:
        """Whether it reads the state of a module that may have been moved."""
        methods = (one.func for one in _parts(source) if isinstance(one, ast.Call))
        return any(
            isinstance(one, ast.Attribute) and one.attr in _STATE and not self._stays(one.value) for one in methods
        )

    def _stays(self, module: ast.expr) -> bool:
        """Whether a module is loaded as well, or built in the same function and left on the host."""
        if self._is_loaded(module):
            return True
        around = scope.function_around(self._program, module) or self._program.tree
        name = module.id if isinstance(module, ast.Name) else None
        owner = self._bindings.owner(name, module) if name is not None else None
        if name is None or owner is not around:
            return False
        values = [one.value for one in self._bindings.of(owner, name)]
        built = bool(values) and all(isinstance(one, ast.Call) and _is_class(one.func) for one in values)
        return built and not any(
            isinstance(one, ast.Attribute) and one.attr in {"to", "cuda"} and dotted(one.value) == name
            for one in ast.walk(around)
        )

    def _is_loaded(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Name):
            return any(self._is_loaded(one) for one in ast.iter_child_nodes(node))
        around = scope.function_around(self._program, node) or self._program.tree
        return (around, node.id) in self._loaded

    def _is_near(self, node: ast.AST) -> bool:
        """An array, a tensor of the host, or another that is loaded to where this one goes."""
        if isinstance(node, ast.Name):
            return self._is_loaded(node)
        if not isinstance(node, ast.Call):
            return False
        name = self._program.names.qualified(node.func) or ""
        options = {one.arg: one.value for one in node.keywords}
        if last_name(node.func) in {"load", "load_url", "load_state_dict_from_url"}:
            place = options.get("map_location")
            return place is None or "cpu" in ast.unparse(place)
        return moves_to_host(node) or name.startswith("numpy.") or (name in FACTORIES and "device" not in options)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes that give an expression its tensors: no keys, no shapes."""
    yield node
    if isinstance(node, ast.Attribute) and node.attr in _PLAIN:
        return
    if isinstance(node, ast.Call) and (last_name(node.func) or "") in _PLAIN:
        return
    for child in [node.value] if isinstance(node, ast.Subscript) else ast.iter_child_nodes(node):
        yield from _parts(child)


def _is_class(function: ast.expr) -> bool:
    return (last_name(function) or "")[:1].isupper()
