"""What a driver of a patch has to call: functions and methods with patched statements, and how they are imported."""

import ast
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from devfix_codemods.findings import Finding

from devfix.replay.patches import Patch, telling

DRIVER = "devfix_driver.py"
_SOURCES = "src"


@dataclass(frozen=True, slots=True)
class Target:
    """A function of a changed file by its qualified name, and the patched `lines` that calling it may run.

    Without a name it is the file itself, run as a script.

    `module` is its file's dotted name, found on `paths`, which are relative to the tree. `host` are the parameters that
    a finding says are on the host, `on_device` the names that the project puts on a device. With `is_relative` the file
    imports from its own package. The `title` is what the user knows the file by.
    """

    file: str
    module: str
    name: str
    paths: tuple[str, ...]
    lines: tuple[int, ...]
    host: tuple[str, ...] = ()
    is_relative: bool = False
    parts: tuple[tuple[int, int], ...] = ()
    before: tuple[int, ...] = ()
    checksum: int = 0
    local_host: tuple[str, ...] = ()
    made_on_host: tuple[str, ...] = ()
    init_host: tuple[str, ...] = ()
    on_device: tuple[str, ...] = ()
    new_names: tuple[str, ...] = ()
    new_attributes: tuple[str, ...] = ()
    part: tuple[int, ...] = ()
    title: str = ""

    @property
    def told(self) -> str:
        """What it is called."""
        return f"{self.own_name}, lines {self.part[0]} to {self.part[1]}" if self.part else self.own_name

    @property
    def own_name(self) -> str:
        return self.name or PurePosixPath(self.title or self.file).name

    @property
    def on_host(self) -> tuple[str, ...]:
        """The names of what is given that a finding says is on the host."""
        return self.local_host if self.part else self.host

    def as_search(self, kind: str) -> str:
        """What is asked of a search, for a device of that type."""
        asked = asdict(self)
        del asked["part"], asked["title"], asked["on_device"]
        return json.dumps({**asked, "kind": kind})


@dataclass(frozen=True, slots=True)
class NoTarget:
    """Why there is nothing to drive."""

    reason: str


def targets_of(root: Path, file: str, patch: Patch, findings: Sequence[Finding]) -> list[Target] | NoTarget:
    """What to call for the patch of a file of the tree `root`, those that hold most of it first."""
    try:
        tree, before = ast.parse(patch.after), ast.parse(patch.before)
    except (SyntaxError, ValueError):
        return NoTarget("not valid Python")
    module, paths = import_of(root, file, tree)
    lines = _lines_by_function(tree, patch)
    if not lines:
        own = tuple(place.first for place in telling(patch.places))
        is_relative = _imports_relatively(tree)
        return (
            [Target(file, module, "", paths, own, (), is_relative)]
            if own
            else NoTarget("the patched lines are in no function")
        )
    host = host_parameters(before, patch.before, findings)
    found = [
        Target(file, module, name, paths, tuple(sorted(numbers)), tuple(host.get(name, ())))
        for name, numbers in lines.items()
    ]
    return sorted(_merged(found, tree), key=lambda one: -len(one.lines))


def fallbacks(target: Target, source: bytes) -> list[Target]:
    """Functions of the same file through which a target may be run that cannot be called by itself."""
    tree = ast.parse(source)
    owner, _, name = target.name.rpartition(".")
    names = [one for one, node in functions(tree) if one != target.name and _calls(node, name)]
    if owner and f"{owner}.forward" != target.name and any(one == f"{owner}.forward" for one, _ in functions(tree)):
        names.insert(0, f"{owner}.forward")
    return [replace(target, name=one, host=()) for one in dict.fromkeys(names)]


def import_of(root: Path, file: str, tree: ast.Module) -> tuple[str, tuple[str, ...]]:
    """The dotted name of a file's module, and the folders, relative to the tree, that have to be on the module path."""
    path = PurePosixPath(file)
    top = path.parent
    while top.parts and (root / top / "__init__.py").is_file():
        top = top.parent
    if top == path.parent and _imports_relatively(tree):
        top = PurePosixPath()
    parts = [*path.relative_to(top).parts[:-1], path.stem]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    folders = [top, *top.parents]
    listed = ["" if folder == PurePosixPath() else folder.as_posix() for folder in folders]
    sources = [_SOURCES] if (root / _SOURCES).is_dir() and _SOURCES not in listed else []
    return ".".join(parts), tuple(dict.fromkeys([*listed, *sources]))


def _imports_relatively(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.ImportFrom) and node.level for node in ast.walk(tree))


def host_parameters(before: ast.Module, source: bytes, findings: Sequence[Finding]) -> dict[str, set[str]]:
    """By function the parameters of which a finding says that what is given is on the host.

    It says so where it is born: of the parameter itself, or of what is made of it (`batch.float()`).
    """
    lines = source.decode("utf-8", "replace").splitlines()
    steps = [step for finding in findings for step in finding.trail if step.path is None and "on the host" in step.note]
    found: dict[str, set[str]] = {}
    for step in steps:
        name = "".join(re.findall(r"^\w*", lines[step.span.line - 1][step.span.column :]))
        for function, node in functions(before):
            parameters = {one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
            is_in = node.lineno <= step.span.line <= (node.end_lineno or 0)
            if is_in and name in parameters - {"self", "cls"}:
                found.setdefault(function, set()).add(name)
    return found


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Functions and methods that can be named from outside, by their qualified names."""

    def below(scope: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        for node in ast.iter_child_nodes(scope):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + node.name, node
            elif isinstance(node, ast.ClassDef):
                yield from below(node, f"{prefix}{node.name}.")
            elif isinstance(node, ast.If | ast.Try | ast.ExceptHandler | ast.With):
                yield from below(node, prefix)

    return below(tree, "")


def _lines_by_function(tree: ast.Module, patch: Patch) -> dict[str, set[int]]:
    """The first lines of the patched statements in each function."""
    found: dict[str, set[int]] = {}
    known = list(functions(tree))
    for place in telling(patch.places):
        if not place.declares or _is_decorated(tree, place.first):
            name = next((one for one, node in known if node.lineno < place.first <= (node.end_lineno or 0)), None)
            if name is not None:
                found.setdefault(name, set()).add(place.first)
    return found


def _is_decorated(tree: ast.Module, line: int) -> bool:
    return any(one.lineno == line for node in ast.walk(tree) for one in getattr(node, "decorator_list", ()))


def _merged(found: Sequence[Target], tree: ast.Module) -> list[Target]:
    """Targets, the patched lines of a constructor with those of the same class's `forward`, which makes the object."""
    names = {target.name: target for target in found}
    merged: list[Target] = []
    for target in found:
        owner, _, name = target.name.rpartition(".")
        constructor = names.get(f"{owner}.__init__")
        if name == "__init__" and f"{owner}.forward" in names:
            continue
        if name == "forward" and constructor is not None:
            target = replace(target, lines=tuple(sorted((*target.lines, *constructor.lines))))
        merged.append(target)
    return merged


def _calls(function: ast.AST, name: str) -> bool:
    called = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
    return any((isinstance(one, ast.Name) and one.id == name) or getattr(one, "attr", None) == name for one in called)
