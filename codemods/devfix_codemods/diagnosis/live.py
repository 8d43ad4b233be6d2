"""What the values at the stops of a way were when the program crashed, and how values of each form are moved."""

import ast
from collections.abc import Callable
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.diagnosis.project import Project, parse
from devfix_codemods.diagnosis.records import Diagnosis, Form
from devfix_codemods.diagnosis.trace import Site, Way
from devfix_codemods.ir import Function

_NOT_MOVABLE = (
    ast.Tuple,
    ast.List,
    ast.Dict,
    ast.Set,
    ast.ListComp,
    ast.DictComp,
    ast.SetComp,
    ast.GeneratorExp,
    ast.Constant,
    ast.JoinedStr,
    ast.Lambda,
    ast.Starred,
)
"""Expressions whose values never have a `.to`."""
_PLAIN = frozenset({"dict", "OrderedDict", "defaultdict", "list", "tuple"})
"""Containers that a comprehension can stand for."""
_NAMES = (("k", "v"), ("name", "value"), ("key", "item"))
"""Names for the keys and the elements in comprehensions."""


@dataclass(frozen=True)
class Live:
    """The forms of a crash."""

    project: Project
    diagnosis: Diagnosis

    def form(self, site: Site) -> Form | None:
        """The form of what a stop binds, None where that is not known any more."""
        function = self.project.function(site.file, site.statement)
        if site.way is Way.ARGUMENT:
            inner = None if site.frame is None else self.diagnosis.live.get((site.frame + 1, site.target))
            return inner or self._in_frames(site.file, ast.unparse(site.value), lambda one: one is function)
        if site.target.startswith("self.") and function.owner is not None:
            return self._in_frames(site.file, site.target, lambda one: one.owner is function.owner)
        return self._in_frames(site.file, site.target, lambda one: one is function)

    def _in_frames(self, file: str, expression: str, is_meant: Callable[[Function], bool]) -> Form | None:
        """What an expression is in the innermost frame of a function that is meant."""
        for number, frame in reversed(list(enumerate(self.diagnosis.frames))):
            form = self.diagnosis.live.get((number, expression)) if frame.file == file else None
            statement = self.project.statement(frame.file, frame.line) if form is not None else None
            if statement is not None and is_meant(self.project.function(file, statement)):
                return form
        return None


def moved(text: str, form: Form | None, suffix: str) -> str | None:
    """The code that moves the value of the expression `text`: a comprehension for a container; None for what has no
    place. Without a form it is taken for a tensor."""
    if form is None or form.moves:
        return f"{text}{suffix}"
    if form.type not in _PLAIN or not _has_tensors(form):
        return None
    return _of_elements(text, form, suffix, 0)


def movable(node: ast.expr) -> bool:
    """Whether the value of an expression may have a `.to`."""
    return not isinstance(node, _NOT_MOVABLE)


def _has_tensors(form: Form) -> bool:
    return any(part.moves or _has_tensors(part) for part in form.parts)


def _of_elements(text: str, form: Form, suffix: str, depth: int) -> str:
    key, value = _names(suffix, depth)
    inside = _of_parts(value, form.parts, suffix, depth)
    if form.is_dict:
        return f"{{{key}: {inside} for {key}, {value} in {text}.items()}}"
    loop = f"{inside} for {value} in {text}"
    return f"tuple({loop})" if form.type == "tuple" else f"[{loop}]"


def _of_parts(name: str, parts: tuple[Form, ...], suffix: str, depth: int) -> str:
    if all(part.moves for part in parts):
        return f"{name}{suffix}"
    if len(parts) == 1 and parts[0].type in _PLAIN and depth + 1 < len(_NAMES):
        return _of_elements(name, parts[0], suffix, depth + 1)
    return f'{name}{suffix} if hasattr({name}, "to") else {name}'


def _names(suffix: str, depth: int) -> tuple[str, str]:
    """Names that the move itself does not read."""
    read = parse(f"_{suffix}")
    taken = set(scope.reads(read)) if read is not None else set()
    key, value = _NAMES[depth]
    while taken & {key, value}:
        key, value = f"{key}_", f"{value}_"
    return key, value
