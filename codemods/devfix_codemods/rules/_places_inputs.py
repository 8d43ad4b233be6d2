"""What a module of the file gets only to hand it on: to modules of others, or to functions whose results it moves."""

import ast

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program

_MOVES = frozenset({"to", "cuda", "cpu", "type_as"})
_DEPTH = 3


def is_only_handed_on(program: Program, meeting: Meeting) -> bool:
    """Whether `self.decoder(x)` leads to a `forward` of the file that moves `x` or hands it on, and does no more."""
    call = meeting.node
    if meeting.anchor.role != "module" or not isinstance(call, ast.Call):
        return False
    built = _built(program, meeting.anchor.node)
    owner = _class_of(program, built) if built is not None else None
    return owner is not None and not _works(program, owner, "forward", call, meeting.misplaced.node, _DEPTH)


def _built(program: Program, module: ast.expr) -> ast.Call | None:
    """The call by which `self.decoder` is built, if there is one alone."""
    text, around = dotted(module), scope.class_around(program, module)
    if text is None or around is None or not text.startswith("self."):
        return None
    values = [one.value for one in program.bindings.of_class(around, text)]
    return values[0] if len(values) == 1 and isinstance(values[0], ast.Call) else None


def _class_of(program: Program, built: ast.Call) -> ast.ClassDef | None:
    """The class of the file that a call builds."""
    name = dotted(built.func)
    return next((one for one in program.names.classes if one.name == name), None)


def _works(program: Program, owner: ast.ClassDef, method: str, call: ast.Call, given: ast.expr, depth: int) -> bool:
    """Whether a method works on the argument `given` of `call`, or may do so."""
    function = program.unit.classes.methods(owner).get(method)
    name = _parameter(function, call, given) if function is not None else None
    return function is None or name is None or _computes(program, owner, function, name, depth)


def _parameter(function: scope.Function, call: ast.Call, given: ast.expr) -> str | None:
    """The parameter of a method that gets the argument `given` of `call`."""
    if any(isinstance(one, ast.Starred) for one in call.args):
        return None
    names = scope.parameters(function)[1:]
    if given in call.args:
        position = call.args.index(given)
        return names[position] if position < len(names) else None
    return next((one.arg for one in call.keywords if one.value is given and one.arg in names), None)


def _computes(program: Program, owner: ast.ClassDef, function: scope.Function, name: str, depth: int) -> bool:
    """Whether a method works on its parameter, or hands it to what may: functions of torch, layers, methods."""
    bound = [program.names.statement(one) for one in scope.stores(function, name)]
    last = min((one.end_lineno or one.lineno for one in bound), default=function.end_lineno or 0)
    given = [one for one in scope.loads(function, {name}) if one.lineno <= last]
    return depth == 0 or any(_is_worked_on(program, owner, one, depth) for one in given)


def _is_worked_on(program: Program, owner: ast.ClassDef, node: ast.Name, depth: int) -> bool:
    parent = program.names.parent(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _MOVES | {"shape", "dtype", "device", "size", "ndim"}
    if isinstance(parent, ast.keyword):
        parent = program.names.parent(parent)
    if not isinstance(parent, ast.Call) or node is parent.func:
        return True
    called = (dotted(parent.func) or "").removeprefix("self.")
    if isinstance(parent.func, ast.Attribute) and called in program.unit.classes.methods(owner):
        return _works(program, owner, called, parent, node, depth - 1)
    if (built := _built(program, parent.func)) is not None:
        inner, name = _class_of(program, built), program.names.imported(built.func)
        if inner is not None:
            return _works(program, inner, "forward", parent, node, depth - 1)
        return name is None or name.startswith("torch.")
    name = program.names.imported(parent.func)
    return name is None or name.startswith("torch.") or not _is_moved(program, parent)


def _is_moved(program: Program, call: ast.Call) -> bool:
    """`positions(4, x).to(y.device)`."""
    chain = (one for one in program.names.ancestors(call) if isinstance(one, ast.Attribute))
    return any(one.attr in _MOVES for one in chain)
