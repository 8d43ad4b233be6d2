"""What the old autocast does not look at and the new one does: the dtype around it, and a device that it is given."""

import ast
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile

from devfix_codemods.precision import api
from devfix_codemods.project.units import Unit

_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.Module
_DTYPE_AND_BEFORE = 2
"""Each autocast, old and new, takes its dtype as the second argument."""
_DEFAULTS = frozenset(f"torch.set_autocast_{name}dtype" for name in ("", "cpu_", "gpu_", "xla_", "ipu_"))


class Surroundings:
    """The calls of autocast in one file, and what their new names would depend on."""

    def __init__(self, unit: Unit) -> None:
        self._tree = unit.source.tree
        self._names = unit.names

    def risk(self, old: api.Old, call: ast.Call) -> str | None:
        """What the new name of a call may do otherwise."""
        given = call.args[0] if call.args else None
        is_refused = old.symbol == "autocast" and api.keyword(call, "enabled")  # which the old one is given twice
        if given is not None and not is_refused and api.is_device_type(given) and api.literal(given) != old.device:
            return f"the old name is for `{old.device}`, whatever it is given"
        if old.symbol != "autocast" or _is_off(call) or api.keyword(call, "dtype") or len(call.args) > 1:
            return None
        return "its dtype follows the autocast around it" if self._sets_default or self._is_nested(call) else None

    @cached_property
    def _sets_default(self) -> bool:
        """Whether the file sets the dtype that an autocast has where it is told none."""
        calls = (one.func for one in ast.walk(self._tree) if isinstance(one, ast.Call))
        return any(self._names.qualified(one) in _DEFAULTS for one in calls)

    def _is_nested(self, call: ast.Call) -> bool:
        """Whether an autocast with a dtype of its own may be open around `call`, in the same function."""
        for outer in self._names.ancestors(call):
            if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef):
                return any(self._sets_dtype(one, call) for one in outer.decorator_list)
            if isinstance(outer, ast.Lambda):
                return False
            if isinstance(outer, ast.With):
                opened = takewhile(lambda one: one is not call, (one.context_expr for one in outer.items))
                if any(self._sets_dtype(one, call) for one in opened):
                    return True
        return False

    def _sets_dtype(self, context: ast.expr, call: ast.Call) -> bool:
        return any(one is not call and self._has_dtype(one) for one in self._contexts(context))

    def _contexts(self, context: ast.expr) -> Iterator[ast.Call]:
        """The calls that may have made a context: of either branch, of each value that its name has in the function."""
        seen: set[str] = set()
        pending = [context]
        while pending:
            match pending.pop():
                case ast.Call() as made:
                    yield made
                case ast.IfExp(body=body, orelse=orelse):
                    pending += [body, orelse]
                case ast.Name(id=name) as read if name not in seen:
                    seen.add(name)
                    pending += self._values(read)

    def _values(self, read: ast.Name) -> list[ast.expr]:
        scope = next(one for one in self._names.ancestors(read) if isinstance(one, _Scope))
        set_to = (one for one in ast.walk(scope) if isinstance(one, ast.Assign))
        return [
            one.value
            for one in set_to
            if any(isinstance(each, ast.Name) and each.id == read.id for each in one.targets)
        ]

    def _has_dtype(self, made: ast.Call) -> bool:
        if not api.keyword(made, "dtype") and not api.has_double_star(made) and len(made.args) < _DTYPE_AND_BEFORE:
            return False
        qualified = self._names.qualified(made.func) or ""
        old = api.old(qualified)
        return qualified in api.AUTOCAST or (old is not None and old.symbol == "autocast")


def _is_off(call: ast.Call) -> bool:
    """Whether the autocast is certainly disabled, so that its dtype does not matter."""
    enabled = api.keyword(call, "enabled")
    given = call.args[0] if call.args else enabled.value if enabled else None
    return isinstance(given, ast.Constant) and given.value is False
