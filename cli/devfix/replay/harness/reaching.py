"""Whether code that comes to a line has surely asked for CUDA before, or will, in its own file or in those it uses.

Then nobody comes there on a machine without it, or nobody comes any further, whatever stands for what was asked for.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeGuard

from devfix_codemods.project.imports import Files, find

from devfix.replay.harness.targets import functions
from devfix.replay.probe.harness.alone import definition, inner_blocks
from devfix.replay.probe.harness.free import own_nodes

DEEPEST = 5
"""Through so many calls or imports it is asked whether these ask."""
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_LEAVING = (ast.Return, ast.Raise, ast.Break, ast.Continue)
_AT_ITS_END = 1 << 30
_ASKING = frozenset({"set_device", "current_device", "get_device_name", "get_device_properties", "synchronize"})
"""Functions of `torch.cuda` that fail without a card."""


Speakers = Callable[[str], Iterable[str]]
"""The paths of the files of the project in which a word stands."""


@dataclass
class Reached:
    """One file of a project, `path` its name in `files`."""

    path: str
    tree: ast.Module
    files: Files
    trees: dict[str, ast.Module | None] = field(default_factory=dict)
    speakers: Speakers = lambda word: ()

    def asks_before(self, name: str, line: int, seen: Set[tuple[str, str]] = frozenset()) -> bool:
        """Whether CUDA was surely asked for when the function `name`, or without one the file, comes to a line.

        `seen` are the functions whose callers are asked already.
        """
        if not name:
            return self._asks(_passed(self.tree.body, line), 0)
        scope = definition(self.tree, name.split("."))
        if self._asks(_passed(getattr(scope, "body", []), line), 0) or self._asks_when_loaded(0):
            return True
        return self._asks_where_made(name) or self._is_called_late(name, seen)

    def asks_after(self, name: str, line: int, seen: Set[tuple[str, str]] = frozenset()) -> bool:
        """Whether CUDA is surely asked for by what runs in the function, or without one in the file, after a line, or
        by all who call the function, behind that."""
        scope = definition(self.tree, name.split(".")) if name else self.tree
        if self._asks(iter(_following(getattr(scope, "body", []), line)), 0):
            return True
        if not name or not self._can_be_followed(name, seen):
            return False
        seen = {*seen, (self.path, name)}
        return self._all_callers(name, lambda home, caller, call: home.asks_after(caller, call.lineno, seen), seen)

    def is_used(self, name: str) -> bool:
        """Whether the project calls a function, or hands it on. Of what torch itself calls, that is not told."""
        if not name or name.rpartition(".")[2] in {"forward", "__call__"}:
            return not name
        return any(caller != name for _, caller in self.users(name))

    def users(self, name: str) -> Iterator[tuple["Reached", str]]:
        """The files and their functions that read the name of a function or a class, or of any method called so."""
        return ((home, caller) for home, caller, _ in self._uses(name))

    def _asks_where_made(self, name: str) -> bool:
        """Whether the constructor of the object asks, of which a method is."""
        owner, _, method = name.rpartition(".")
        maker = definition(self.tree, [*owner.split("."), "__init__"]) if owner and method != "__init__" else None
        return maker is not None and self._asks(_passed(maker.body), 1)

    def _is_called_late(self, name: str, seen: Set[tuple[str, str]]) -> bool:
        """Whether the project calls a function, and always after it has asked; of a method, whether it asks before it
        does anything with an object that it has made."""
        owner, _, method = name.rpartition(".")
        if owner and method != "__init__" and self._is_made_late(owner, seen):
            return True
        name = owner if method == "__init__" else name
        if not self._can_be_followed(name, seen):
            return False
        seen = {*seen, (self.path, name)}
        return self._all_callers(
            name, lambda home, caller, call: home._asks_in(call) or home.asks_before(caller, call.lineno, seen), seen
        )

    def _is_made_late(self, name: str, seen: Set[tuple[str, str]]) -> bool:
        """Whether the project calls what makes an object, and asks before it does, or before it uses what it got."""
        is_decorated = bool(getattr(definition(self.tree, [name]), "decorator_list", ()))
        if "." in name or is_decorated or not self._can_be_followed(name, seen) or self._is_inherited(name):
            return False
        seen = {*seen, (self.path, name)}
        return self._all_callers(name, lambda home, caller, call: home._asks_around(caller, call, seen), seen)

    def _can_be_followed(self, name: str, seen: Set[tuple[str, str]]) -> bool:
        """Whether the calls of a function, a class or a method can be found: what torch calls itself has none."""
        last = name.rpartition(".")[2]
        return not last.startswith("__") and last != "forward" and len(seen) < DEEPEST and (self.path, name) not in seen

    def _all_callers(
        self, name: str, ask: Callable[["Reached", str, ast.Call], bool], seen: Set[tuple[str, str]]
    ) -> bool:
        """Whether something is true of all calls of a function or class, of which there are some, but for its own."""
        found = [
            (home, caller, call)
            for home, caller, call in self._uses(name)
            if (home.path, caller) not in seen and not (home.path == self.path and caller.startswith(f"{name}."))
        ]
        return bool(found) and all(call is not None and ask(home, caller, call) for home, caller, call in found)

    def _is_inherited(self, name: str) -> bool:
        bases = (
            (home, base)
            for home in self.speaking(name)
            for node in ast.walk(home.tree)
            if isinstance(node, ast.ClassDef)
            for base in node.bases
        )
        return any(_last(base) == name and home._means(base, self.path, name) for home, base in bases)

    def _asks_around(self, caller: str, call: ast.Call, seen: Set[tuple[str, str]]) -> bool:
        """Whether a function asks before it makes an object, or before it does anything else with it; where the object
        is handed to the caller, or is a part of another one, whether those do."""
        if self._asks_in(call) or self.asks_before(caller, call.lineno, seen):
            return True
        scope = definition(self.tree, caller.split(".")) if caller else self.tree
        following = _from_line(getattr(scope, "body", []), call.lineno)
        names = {ast.unparse(one) for one in getattr(following[0], "targets", ())} if following else set()
        owner, _, method = caller.rpartition(".")
        if owner and method == "__init__" and names and all(one.startswith("self.") for one in names):
            return self._is_made_late(owner, seen)
        for one in following:
            if not hasattr(one, "body") and self._asks(iter((one,)), 1):
                return True
            is_used = one is following[0] or any(ast.unparse(node) in names for node in ast.walk(one) if _last(node))
            if isinstance(one, ast.Return) and is_used:
                return self._is_made_late(caller, seen)
            if is_used and one is not following[0]:
                return False
        return False

    def _asks_in(self, call: ast.Call) -> bool:
        """Whether what a call is given asks when it is made."""
        given = [*call.args, *(one.value for one in call.keywords)]
        return any(_asks(node, self._named_cuda) for one in given for node in _surely_run(one))

    def _uses(self, name: str) -> Iterator[tuple["Reached", str, ast.Call | None]]:
        """Where a function of the file, or any method of the name of one, is called in the project: the file, the
        function and the call.

        There is no call where it is handed on, to be called by others.
        """
        owner, _, name = name.rpartition(".")
        for home in self.speaking(name):
            for caller, scope in [("", home.tree), *functions(home.tree)]:
                nodes = list(ast.walk(scope) if caller else _run_when_loaded(home.tree))
                called = {id(one.func): one for one in nodes if isinstance(one, ast.Call)}
                own = {name} & {one.arg if isinstance(one, ast.arg) else one.id for one in nodes if _binds(one)}
                named = (one for one in nodes if _last(one) == name)
                for one in named:
                    if isinstance(one, ast.Attribute) if owner else not own and home._means(one, self.path, name):
                        yield home, caller, called.get(id(one))

    def speaking(self, name: str) -> Iterator["Reached"]:
        """The files of the project that speak of a name of this one, itself first."""
        others = (self._at(path) for path in self.speakers(name) if path != self.path)
        yield from (self, *(one for one in others if one is not None))

    def _means(self, node: ast.AST, path: str, name: str) -> bool:
        home, parts = self._meant(ast.unparse(node).split("."))
        return home is not None and home.path == path and list(parts) == [name]

    def _asks_when_loaded(self, depth: int) -> bool:
        return depth < DEEPEST and self._asks(_passed(self.tree.body), depth)

    def _asks(self, statements: Iterator[ast.stmt], depth: int) -> bool:
        nodes = (node for one in statements for node in _surely_run(one))
        return any(_asks(node, self._named_cuda) or self._asks_elsewhere(node, depth) for node in nodes)

    @cached_property
    def _named_cuda(self) -> frozenset[str]:
        """The names and attributes that the file binds to CUDA wherever it binds them: `device = "cuda"`."""
        assigned = (one for one in ast.walk(self.tree) if isinstance(one, ast.Assign))
        said: dict[ast.AST, bool] = {target: _says_cuda(one.value) for one in assigned for target in one.targets}
        bound: dict[str, set[bool]] = {}
        for node in ast.walk(self.tree):
            if node in said or _binds(node) or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
                name = node.arg if isinstance(node, ast.arg) else ast.unparse(node)
                bound.setdefault(name, set()).add(said.get(node, False))
            elif isinstance(node, ast.alias):
                bound.setdefault(node.asname or node.name, set()).add(False)
        return frozenset(name for name, each in bound.items() if each == {True})

    def _asks_elsewhere(self, node: ast.AST, depth: int) -> bool:
        """Whether what is imported asks when it is loaded, or what is called."""
        if depth >= DEEPEST:
            return False
        if isinstance(node, ast.Import | ast.ImportFrom):
            found = (self._file(dotted) for dotted in _imported(node))
            return any(one is not None and one._asks_when_loaded(depth + 1) for one, _ in found)
        if not isinstance(node, ast.Call):
            return False
        home, body = self._called(node.func)
        return home is not None and home._asks(_passed(body), depth + 1)

    def _called(self, callee: ast.expr) -> tuple["Reached | None", Sequence[ast.stmt]]:
        """The body of the function, or of the constructor of the class, that is called by its name."""
        parts = ast.unparse(callee).split(".") if isinstance(callee, ast.Name | ast.Attribute) else []
        home, parts = self._meant(parts)
        scope = definition(home.tree, parts) if home is not None and parts else None
        if isinstance(scope, ast.ClassDef):
            scope = definition(scope, ["__init__"])
        return (home, scope.body) if isinstance(scope, ast.FunctionDef) else (None, ())

    def _meant(self, parts: list[str], depth: int = 0) -> tuple["Reached | None", list[str]]:
        """The file that defines what a dotted name stands for, also where others hand it on, and its name there."""
        if not parts or not all(one.isidentifier() for one in parts) or depth > DEEPEST:
            return None, []
        if parts[0] in self._imports:
            ways = [self._imports[parts[0]]]
        elif definition(self.tree, parts[:1]) is not None:
            return self, parts
        else:
            ways = [f"{star}{'' if star.endswith('.') else '.'}{parts[0]}" for star in self._stars]
        for dotted in ways:
            home, rest = self._file(dotted)
            found = home._meant([*rest, *parts[1:]], depth + 1) if home is not None else (None, [])
            if found[0] is not None:
                return found
        return None, []

    @cached_property
    def _stars(self) -> list[str]:
        """The modules of which the file imports all names."""
        found = (one for one in ast.walk(self.tree) if isinstance(one, ast.ImportFrom) and one.names[0].name == "*")
        return ["." * one.level + (one.module or "") for one in found]

    @cached_property
    def _imports(self) -> dict[str, str]:
        """The names that the file imports, with what they stand for."""
        found: dict[str, str] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                tops = ((one.name.partition(".")[0], one) for one in node.names)
                found.update((one.asname or top, one.name if one.asname else top) for top, one in tops)
            elif isinstance(node, ast.ImportFrom):
                found.update((alias.asname or alias.name, dotted) for alias, dotted in zip(node.names, _imported(node)))
        return found

    def _file(self, dotted: str) -> tuple["Reached | None", tuple[str, ...]]:
        """The file of the project that an imported name leads to, and what is left of the name."""
        found = find(self.path, dotted, self.files)
        if found is None:
            return None, ()
        path, rest = found
        return self._at(path), rest

    def _at(self, path: str) -> "Reached | None":
        """The file of the project with that path, None where it is no Python."""
        if path == self.path:
            return self
        if path not in self.trees:
            self.trees[path] = _parsed(self.files.read(path))
        tree = self.trees[path]
        return Reached(path, tree, self.files, self.trees, self.speakers) if tree is not None else None


def _parsed(data: bytes | None) -> ast.Module | None:
    try:
        return None if data is None else ast.parse(data)
    except (SyntaxError, ValueError):
        return None


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """What an import names, dotted; a relative one begins with dots."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names)
        return
    head = "." * node.level + (node.module or "")
    yield from (f"{head}{'' if head.endswith('.') else '.'}{one.name}" for one in node.names)


def _passed(block: Sequence[ast.stmt], line: int = _AT_ITS_END) -> Iterator[ast.stmt]:
    """The simple statements that surely ran where a block has come to a line, or to its end."""
    for one in block:
        if one.lineno >= line:
            return
        if not hasattr(one, "body"):
            yield one
        elif line == _AT_ITS_END and any(isinstance(node, ast.Return | ast.Raise) for node in own_nodes(one)):
            return
        elif isinstance(one, ast.With):
            yield from _passed(one.body, line)
        elif (one.end_lineno or 0) >= line and not isinstance(one, _SCOPES):
            inner = (part for part in inner_blocks(one) if part[0].lineno <= line <= (part[-1].end_lineno or 0))
            yield from _passed(next(inner, []), line)


def _from_line(block: Sequence[ast.stmt], line: int) -> Sequence[ast.stmt]:
    """The statement at a line, and those behind it in its block."""
    for index, one in enumerate(block):
        if one.lineno <= line <= (one.end_lineno or 0):
            inner = (part for part in inner_blocks(one) if part[0].lineno <= line <= (part[-1].end_lineno or 0))
            part = next(inner, None)
            if part is None or isinstance(one, _SCOPES):
                return [] if hasattr(one, "body") else block[index:]
            return _from_line(part, line)
    return []


def _following(block: Sequence[ast.stmt], line: int) -> list[ast.stmt]:
    """The simple statements that surely run once a block has got over a line, be it in a branch of it."""
    for index, one in enumerate(block):
        if (one.end_lineno or 0) < line or isinstance(one, _SCOPES):
            continue
        inside = (part for part in inner_blocks(one) if part[0].lineno <= line <= (part[-1].end_lineno or 0))
        found = _following(next(inside, []), line)
        leaves = any(isinstance(each, _LEAVING) for each in found)
        return found if leaves else [*found, *_passed(block[index + 1 :])]
    return []


def _surely_run(node: ast.AST) -> Iterator[ast.AST]:
    """The expressions of a statement that no condition guards."""
    if not isinstance(node, ast.IfExp | ast.BoolOp | ast.Lambda):
        yield node
        for one in ast.iter_child_nodes(node):
            yield from _surely_run(one)


def _asks(node: ast.AST, named: Set[str]) -> bool:
    """`x.cuda()`, `x.to("cuda:1")`, `torch.zeros(3, device="cuda")`, and `x.to(device)` of a device of that name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return False
    called = ast.unparse(node.func)
    given = [*node.args, *(one.value for one in node.keywords if one.arg == "device")]
    devices = [one for one in given if _says_cuda(one)]
    if named and (node.func.attr == "to" or called.startswith("torch.")):
        devices += [one for one in given if isinstance(one, ast.Name | ast.Attribute) and ast.unparse(one) in named]
    if called.startswith("torch.cuda."):
        return node.func.attr in _ASKING
    return node.func.attr == "cuda" or (bool(devices) and node.func.attr != "device")


def _says_cuda(value: ast.expr) -> bool:
    """`"cuda:0"`, `torch.device("cuda")`"""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "torch.device" and value.args:
        return _says_cuda(value.args[0])
    return isinstance(value, ast.Constant) and str(value.value).startswith("cuda")


def _run_when_loaded(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a file, bases and bodies of its classes among them, but for the bodies of its functions."""
    pending: list[ast.AST] = [tree]
    for one in pending:  # grows
        yield one
        inner = ast.iter_child_nodes(one)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = iter((*one.decorator_list, *one.args.defaults, *filter(None, one.args.kw_defaults)))
        pending += inner


def _last(node: ast.AST) -> str:
    """The last part of a name that is read; empty where it is none."""
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return ""
    return node.id if isinstance(node, ast.Name) else node.attr


def _binds(node: ast.AST) -> TypeGuard[ast.arg | ast.Name]:
    return isinstance(node, ast.arg) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store))
