"""Functions of the project that refuse what is on the host: code that hands values to them cannot do without CUDA.

A function refuses by a test that raises or by an assertion, by a call of one that does on every path, or as part of a
file that imports what needs CUDA. One that asks where its input is, and goes on either way, refuses nothing.
"""

import ast
from collections.abc import Hashable, Sequence

from devfix_codemods.assumptions.availability_tests import is_guarded
from devfix_codemods.assumptions.index import Index
from devfix_codemods.assumptions.purpose import imports_cuda
from devfix_codemods.ir import Class, Function, Guard, Node, Op
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.imported_definitions import ImportedDefinitions

_DEEPEST = 6
"""How many calls are followed from what a file hands on to the check."""
_CONSTRUCTION = ("__init__", "__new__", "__post_init__", "__call__", "forward")


def hands_to_cuda(index: Index) -> bool:
    """Whether the file calls anything of its project that refuses what is on the host."""
    demands = _Demands(index.analysis.births.imported)
    module = index.analysis.module
    return any(
        demands.refuses(found, 0) and not is_guarded(index, call)
        for call in index.calls
        if (found := demands.called(call)) is not None and _module_of(found) is not module
    )


def _module_of(found: Class | Function) -> object:
    return found.home.module if isinstance(found, Class) else found.module


class _Demands:
    """What the functions of a project refuse, each read once."""

    def __init__(self, imported: ImportedDefinitions) -> None:
        self._imported = imported
        self._known: dict[Class | Function, bool] = {}

    def called(self, call: Node) -> Class | Function | None:
        """What a call runs: a function, a class, a method of the same object, a function of `torch.autograd`."""
        callee = call.args[0]
        if callee.op is Op.ATTR:
            base = callee.args[0]
            owner = base.function.owner
            if owner is not None and base is base.function.self_node:
                return owner.methods.get(str(callee.extra))
            if callee.extra == "apply":
                return self._imported.definition(base)
        found = self._imported.definition(callee)
        if found is None and callee.op is Op.GLOBAL:  # `nearest = Nearest.apply`
            made = callee.function.module.top.finals.get(str(callee.extra))
            return self._imported.definition(made.args[0]) if made is not None and made.op is Op.ATTR else None
        return found

    def refuses(self, found: Class | Function, depth: int) -> bool:
        known = self._known.get(found)
        if known is None:
            self._known[found] = False  # while it is read: a function that calls itself
            known = self._known[found] = self._read(found, depth)
        return known

    def _read(self, found: Class | Function, depth: int) -> bool:
        if isinstance(found, Class):
            methods = (found.methods.get(one) for one in _CONSTRUCTION)
            return any(self.refuses(one, depth) for one in methods if one is not None)
        if isinstance(found.syntax, ast.Lambda) or depth > _DEEPEST:
            return False
        if imports_cuda(found.module.tree):
            return True
        exits = [guard for _, guard in found.returns] + ([found.exit] if found.exit is not None else [])
        if exits and all(any(_says_cuda(found, *one) for one in guard) for guard in exits):
            return True
        calls = [one for one in found.nodes if one.op is Op.CALL and not _is_tried(found, one)]
        refusing = [one.guard for one in calls if (to := self.called(one)) is not None and self.refuses(to, depth + 1)]
        raising = [
            found.guards[one] for one in ast.walk(found.syntax) if isinstance(one, ast.Raise) and one in found.guards
        ]
        return bool(refusing) and all(_is_covered(one, [*refusing, *raising], 0) for one in exits)


def _is_covered(under: Guard, guards: Sequence[Guard], depth: int) -> bool:
    """Whether one of the guards holds on each path on which a condition does."""
    possible = [one for one in guards if not contradictory(one, under)]
    if any(one <= under for one in possible):
        return True
    open_ = [atom for one in possible for atom, _ in one - under]
    if not open_ or depth > 3:
        return False
    return all(_is_covered(under | {(open_[0], holds)}, possible, depth + 1) for holds in (True, False))


def _is_tried(function: Function, call: Node) -> bool:
    tries = (one for one in ast.walk(function.syntax) if isinstance(one, ast.Try) and one.handlers)
    return any(call.syntax is inner for one in tries for part in one.body for inner in ast.walk(part))


def _says_cuda(function: Function, atom: Hashable, holds: bool) -> bool:
    """Whether a literal holds only on a machine with CUDA, of values that are there."""
    match atom:
        case ("attr", _, "is_cuda") | ("call", ("REF", "torch.cuda.is_available")):
            return holds
        case ("attr", _, "is_cpu"):
            return not holds
        case ("compare", "Eq", ("attr", ("attr", _, "device"), "type"), ("const", text)):
            return holds is (text == "'cuda'") and text in {"'cuda'", "'cpu'"}
        case ("compare", "Eq", ("attr", _, "device"), ("call", ("REF", "torch.device"), ("const", "'cpu'"))):
            return not holds
        case ("call", ("REF", "builtins.any" | "builtins.all" as which), ("node", int(at))):
            row = next((one for one in function.nodes if one.index == at), None)
            elements = row.args if row is not None and row.op in {Op.COMPREHENSION, Op.SEQUENCE} else ()
            negated = all(one.op is Op.OPERATION and one.extra == "Not" for one in elements)
            asked = [one.args[0] for one in elements] if negated else elements
            are_cuda = bool(asked) and all(one.op is Op.ATTR and one.extra == "is_cuda" for one in asked)
            return are_cuda and negated is not holds and holds is (which == "builtins.all")
    return False
