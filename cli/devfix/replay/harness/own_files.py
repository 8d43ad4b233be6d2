"""Whether what a program loads may be of a GPU: not what it saved itself, or saved as copies on the host."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set

from devfix.replay.harness.targets import functions
from devfix.replay.probe.harness.free import called_name, own_nodes

_SAVES = re.compile(
    r"(?:torch|self|\w*model|\w*net)\.save"
    r"|(?:[\w.]*\.)?save_?\w*(?:model|check_?point|ckpt|state|weights|net|pretrained|param)\w*"
)
"""How what saves tensors is called, where this file does not define it."""


Writers = Callable[[Set[str]], Iterable[ast.Module]]
"""The other files of the project that save something, and speak of a file by one of these names."""


def is_of_host(tree: ast.Module, name: str, line: int, writers: Writers = lambda names: ()) -> bool:
    """Whether what a function, or without a name the file, loads at a line was saved on the host, or by itself."""
    return (
        may_have_saved(tree, name, line)
        or gave_folder(tree, name, line)
        or saves_host_copies(tree)
        or loads_arrays(tree, name, line)
        or loads_own_data(tree, name, line, writers)
        or loads_rows(tree, name, line)
    )


def may_have_saved(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a file may save something before it comes to a line of its function `name`, or without one of its own.

    Each function saves that calls what does.
    """
    return _saves_first(tree, name, line, _saving(tree), set())


def gave_folder(tree: ast.Module, name: str, line: int) -> bool:
    """Whether a function, or without a name the file, loads at a line from a folder that it has given to something else
    before, which may have saved it there: `trainer = Trainer(folder)`, `torch.load(f"{folder}/best.pt")`.
    """
    scope = dict(functions(tree)).get(name, tree) if name else tree
    calls = list(_calls(scope))
    loads = [one for one in calls if ast.unparse(one.func) == "torch.load" and _holds(one, line) and one.args]
    folders = {word for one in loads for path in _spelled(scope, one.args[0]) for word in _folders(path)}
    before = (one for one in calls if one.lineno < line and not _READING.match(ast.unparse(one.func)))
    given = (value for one in before for value in (*one.args, *(word.value for word in one.keywords)))
    return any(isinstance(one, ast.Name) and one.id in folders for one in given)


_READING = re.compile(
    r"(os|glob|shutil|json|pathlib|logging|logger|log|torch|np|numpy|cv2)\.|.*(?i:data|load|read|find|parse|config)"
    r"|(.*\.)?(Path|open|print|str|repr|len|sorted|list|isinstance|glob|join|exists|makedirs|listdir|format|info)$"
)
"""What is given a folder, and trains nothing: nothing is saved there by it."""


def _spelled(*scopes_and_path: ast.AST) -> list[ast.AST]:
    """A path, and what its names are bound to in the scopes."""
    *scopes, path = scopes_and_path
    pending, seen = [path], set[str]()
    for one in pending:  # grows
        for node in ast.walk(one):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                bound = (each for part in scopes for each in own_nodes(part) if isinstance(each, ast.Assign))
                pending += (each.value for each in bound if _binds(each, node.id))
    return pending


def _folders(path: ast.AST) -> Iterator[str]:
    """The names with which a path begins, and goes on."""
    for node in ast.walk(path):
        parts: list[ast.expr] = []
        match node:
            case ast.JoinedStr(values=[ast.FormattedValue(value=first), _, *_]):
                parts = [first]
            case ast.Call(func=ast.Attribute(attr="join"), args=[first, _, *_]):
                parts = [first]
            case ast.BinOp(op=ast.Div() | ast.Add(), left=first):
                parts = [first]
        yield from (one.id for one in parts if isinstance(one, ast.Name))


def saves_host_copies(tree: ast.Module) -> bool:
    """Whether a file saves something, and copies all of that to the host before: so what it loads was saved there.

    Who copies one tensor of a mapping copies all that are on a device.
    """
    saved = [
        (scope, call.args[0])
        for scope in (tree, *(node for _, node in functions(tree)))
        for call in _calls(scope)
        if ast.unparse(call.func) == "torch.save" and call.args
    ]
    return bool(saved) and all(_is_host_copy(scope, value) for scope, value in saved)


def loads_arrays(tree: ast.Module, name: str, line: int) -> bool:
    """Whether what a function, or without a name the file, loads at a line is given to numpy as it is, or after it was
    computed with: so it was saved on the host, for numpy takes nothing that is on a device.
    """
    scope = dict(functions(tree)).get(name, tree) if name else tree
    nodes = list(own_nodes(scope))
    taken = [(target, _holder(value)) for one in nodes for target, value in _taken(one)]
    at_line = (one for one in nodes if isinstance(one, ast.Assign) and one.lineno <= line <= (one.end_lineno or 0))
    loaded = _spread({word for one in at_line for target in one.targets for word in _names(target)}, taken)
    calls = [one for one in nodes if isinstance(one, ast.Call)]
    given = (one for call in calls if _OF_ARRAYS.match(ast.unparse(call.func)) for one in call.args)
    read = (one for call in calls if called_name(call) == "numpy" for one in _computed_of(call.func))
    return any(_holder(one) in loaded for one in given) or not loaded.isdisjoint(read)


_OF_ARRAYS = re.compile(r"(np|numpy)\.|torch\.from_numpy$")
"""What takes arrays, and no tensors of a device."""


def _computed_of(value: ast.expr) -> Iterator[str]:
    """The names of what is computed on: `found` of `(found["x"] * 255).permute(1, 2, 0)`, but not behind `.cpu()`."""
    match value:
        case ast.Name(id=name):
            yield name
        case ast.Call(func=ast.Attribute(attr=attr) as func) if attr not in _ELSEWHERE:
            yield from _computed_of(func)
        case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.UnaryOp(operand=inner):
            yield from _computed_of(inner)
        case ast.BinOp(left=left, right=right):
            yield from (*_computed_of(left), *_computed_of(right))


_ELSEWHERE = frozenset({"cpu", "to", "cuda"})


def loads_rows(tree: ast.Module, name: str, line: int) -> bool:
    """Whether what is loaded at a line is data: a part of it is given to a loader, which reads it on the host, or
    nothing is done with it but what is done with rows, which are picked, counted and gone through.
    """
    scope = dict(functions(tree)).get(name, tree) if name else tree
    nodes = list(own_nodes(scope))
    parents = {child: node for node in nodes for child in ast.iter_child_nodes(node)}
    picked = [
        (target, _name_under(value, ast.Subscript, ast.Attribute)) for one in nodes for target, value in _picked(one)
    ]
    loaded = _spread({word for one in nodes for word in _bound_to_load(one, line)}, picked)
    reads = [one for one in nodes if isinstance(one, ast.Name) and one.id in loaded and isinstance(one.ctx, ast.Load)]
    is_read = any(_is_given(one, parents) in _LOADERS for one in reads)
    return is_read or (bool(reads) and all(_is_of_rows(one, parents) for one in reads))


def _bound_to_load(node: ast.AST, line: int) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets, value=ast.Call(func=func) as call) if _holds(call, line):
            if ast.unparse(func) == "torch.load":
                yield from (word for target in targets for word in _names(target))


def _picked(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What assignments and loops bind, with what they bind it to."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from ((one, value) for one in targets)
        case ast.For(target=target, iter=value):
            yield target, value


def _spread(words: set[str], bound: Sequence[tuple[ast.expr, str]]) -> set[str]:
    """The words, and the names that are bound to what one of them is the name of."""
    size = -1
    while len(words) > size:
        size = len(words)
        words |= {word for target, name in bound if name in words for word in _names(target)}
    return words


def _is_of_rows(read: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> bool:
    """Whether a part is picked and bound, compared, counted or gone through."""
    node = _part_of(read, parents)
    match parents.get(node):
        case ast.Assign(targets=targets):
            return all(isinstance(one, ast.Name | ast.Tuple) for one in targets)
        case ast.For() | ast.Compare() | ast.FormattedValue():
            return True
    return _is_given(read, parents) in _OF_ROWS


def _is_given(read: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> str:
    """The last name of what a part is given to; empty where it is given to nothing."""
    node = _part_of(read, parents)
    call = parents.get(node)
    if isinstance(call, ast.keyword):
        call = parents.get(call)
    return called_name(call) if isinstance(call, ast.Call) and call.func is not node else ""


def _part_of(read: ast.Name, parents: Mapping[ast.AST, ast.AST]) -> ast.AST:
    """`found["x"].rows` of the `found` in it."""
    node: ast.AST = read
    while isinstance(around := parents.get(node), ast.Subscript | ast.Attribute) and around.value is node:
        node = around
    return node


_LOADERS = frozenset({"DataLoader"})
_OF_ROWS = frozenset(
    {
        "len",
        "list",
        "set",
        "sorted",
        "range",
        "enumerate",
        "print",
        "isinstance",
        "type",
        "hasattr",
        "getattr",
        "Subset",
    }
)


def loads_own_data(tree: ast.Module, name: str, line: int, writers: Writers) -> bool:
    """Whether what is loaded at a line is what the project saves, in this file or under this file name in another one,
    and that is no state of a module, nor anything that is moved there: nothing says that it ever was on a device.
    """
    scope = dict(functions(tree)).get(name, tree) if name else tree
    loads = [one for one in _calls(scope) if ast.unparse(one.func) == "torch.load" and _holds(one, line) and one.args]
    names = {text for one in loads for text in _file_names(tree, scope, one.args[0])}
    others = writers(names) if names else ()
    saved = [(tree, save) for save in _saves(tree) if not names or names & _names_of(tree, save)]
    saved += [(other, save) for other in others for save in _saves(other) if names & _names_of(other, save)]
    return bool(loads) and bool(saved) and not any(_may_be_elsewhere(home, save.args[0]) for home, save in saved)


def _holds(call: ast.Call, line: int) -> bool:
    return call.lineno <= line <= (call.end_lineno or 0)


def _saves(tree: ast.Module) -> Iterator[ast.Call]:
    every = (one for one in ast.walk(tree) if isinstance(one, ast.Call) and len(one.args) > 1)
    return (one for one in every if ast.unparse(one.func) == "torch.save")


def _names_of(tree: ast.Module, save: ast.Call) -> Set[str]:
    scopes = (node for _, node in functions(tree) if node.lineno <= save.lineno <= (node.end_lineno or 0))
    return set(_file_names(tree, next(scopes, tree), save.args[1]))


def _file_names(tree: ast.Module, scope: ast.AST, path: ast.expr) -> Iterator[str]:
    """The names of files that a path spells out, also by the names that the function and the file give it."""
    for one in _spelled(scope, tree, path):
        for node in ast.walk(one):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                last = node.value.rpartition("/")[2]
                yield from (last,) if "." in last.strip(".") else ()


def _may_be_elsewhere(tree: ast.Module, saved: ast.expr) -> bool:
    """Whether a file saves the state of a module that may be moved, or something that it moves."""
    words = {node.id for node in ast.walk(saved) if isinstance(node, ast.Name)}
    bound = [one for one in ast.walk(tree) if isinstance(one, ast.Assign) and any(_binds(one, word) for word in words)]
    values = [saved, *(one.value for one in bound)]
    calls = [one for value in values for one in ast.walk(value) if isinstance(one, ast.Call)]
    states = [one for one in calls if called_name(one) == "state_dict"]
    if states and all(_is_moved_nowhere(tree, _name_under(one.func, ast.Attribute)) for one in states):
        return False
    calls += (
        one for one in ast.walk(tree) if isinstance(one, ast.Call) and _name_under(one.func, ast.Attribute) in words
    )
    return any(called_name(one) in _OF_DEVICES for one in calls)


def _is_moved_nowhere(tree: ast.Module, name: str) -> bool:
    """Whether a file makes what it calls so, gives it to nobody, and moves nothing at all."""
    every = [one for one in ast.walk(tree) if isinstance(one, ast.Call)]
    made = any(
        isinstance(one, ast.Assign) and _binds(one, name) and isinstance(one.value, ast.Call) for one in ast.walk(tree)
    )
    given = any(isinstance(one, ast.Name) and one.id == name for call in every for one in call.args)
    taken = any(one.arg == name for one in ast.walk(tree) if isinstance(one, ast.arg))
    return made and not given and not taken and not any(called_name(one) in _MOVING for one in every)


_MOVING = frozenset({"to", "cuda", "to_device", "prepare", "DataParallel", "DistributedDataParallel"})
_OF_DEVICES = _MOVING | {"state_dict"}


def _taken(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What takes a value, or parts of it, as it is: names, the target of a loop, a list that it is appended to."""
    yield from _picked(node)
    match node:
        case ast.Call(func=ast.Attribute(value=into, attr="append"), args=[value]):
            yield into, value


def _names(target: ast.expr) -> Iterator[str]:
    return (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _holder(value: ast.expr) -> str:
    """`found` of `found["x"][0]`; nothing of what is computed."""
    return _name_under(value, ast.Subscript, ast.Starred)


def _name_under(value: ast.expr, *parts: type[ast.Subscript | ast.Starred | ast.Attribute]) -> str:
    """The name of which an expression takes parts, in these ways alone; empty where it is no name."""
    while isinstance(value, parts):
        value = value.value
    return value.id if isinstance(value, ast.Name) else ""


def _is_host_copy(scope: ast.AST, value: ast.expr) -> bool:
    """`x.cpu()`, `x.detach().cpu().clone()`, `{"x": x.cpu()}`, and a name that is bound to such."""
    if isinstance(value, ast.Name):
        bound = [one.value for one in own_nodes(scope) if isinstance(one, ast.Assign) and _binds(one, value.id)]
        return bool(bound) and all(not isinstance(one, ast.Name) and _is_host_copy(scope, one) for one in bound)
    if isinstance(value, ast.Dict):
        return any(_is_host_copy(scope, one) for one in value.values)
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="state_dict")) if _is_brought(
            scope, name, value
        ):
            return True
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        if value.func.attr in ("cpu", "numpy"):
            return True
        value = value.func.value
    return False


def _is_brought(scope: ast.AST, name: str, save: ast.expr) -> bool:
    """Whether a module is moved to the host in front of what saves its state: `model.cpu()`, `model.to("cpu")`."""
    moves = [
        one
        for one in _calls(scope)
        if called_name(one) in ("cpu", "to", "cuda")
        and one.lineno < save.lineno
        and isinstance(one.func, ast.Attribute)
        and _name_under(one.func.value) == name
    ]
    last = max(moves, key=lambda one: one.lineno, default=None)
    if last is None:
        return False
    return called_name(last) == "cpu" or (bool(last.args) and ast.unparse(last.args[0]).strip("'\"") == "cpu")


def _binds(statement: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)


def _saves_first(tree: ast.Module, name: str, line: int, saving: Set[str], seen: set[str]) -> bool:
    scopes: dict[str, ast.AST] = {"": tree, **dict(functions(tree))}
    scope = scopes.get(name)
    if scope is None or name in seen:
        return False
    seen.add(name)
    loops = (one for one in own_nodes(scope) if isinstance(one, ast.For | ast.While))
    ends = (one.end_lineno or 0 for one in loops if one.lineno <= line <= (one.end_lineno or 0))
    last = max(ends, default=line - 1)
    if any(called_name(one) in saving and one.lineno <= last and one.lineno != line for one in _calls(scope)):
        return True
    called = name.rpartition(".")[2]
    return bool(name) and any(
        _saves_first(tree, other, call.lineno, saving, seen)
        for other, inner in scopes.items()
        for call in _calls(inner)
        if called_name(call) == called
    )


def _saving(tree: ast.Module) -> Set[str]:
    """The names of what saves something."""
    calls = {name.rpartition(".")[2]: {called_name(one) for one in _calls(node)} for name, node in functions(tree)}
    every = (one for one in ast.walk(tree) if isinstance(one, ast.Call))
    found = {called_name(one) for one in every if _SAVES.fullmatch(ast.unparse(one.func))}
    size = -1
    while len(found) > size:
        size = len(found)
        found |= {name for name, called in calls.items() if not called.isdisjoint(found)}
    return found


def _calls(scope: ast.AST) -> Iterator[ast.Call]:
    return (one for one in own_nodes(scope) if isinstance(one, ast.Call))
