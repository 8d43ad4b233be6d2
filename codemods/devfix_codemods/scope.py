"""Which names are bound at a statement whatever path led there, and the blocks and functions around it."""

import ast
from collections import deque
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache

from devfix_codemods.program import Program
from devfix_codemods.project.names import Scope
from devfix_codemods.project.tree import declared as declared
from devfix_codemods.project.tree import stored as stored
from devfix_codemods.repairs.points import block_in

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ENDS = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def function_around(program: Program, node: ast.AST) -> Function | None:
    """The function in whose body `node` stands, or None at module level."""
    return next((one for one in program.names.ancestors(node) if isinstance(one, Function)), None)


def parameters(function: Function) -> list[str]:
    """The names of the parameters that are no stars, in order."""
    return [one.arg for one in declared(function)]


def constructor(owner: ast.ClassDef) -> ast.FunctionDef | None:
    """The `__init__` that the class itself defines."""
    return next((one for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)


def nodes_on(tree: ast.Module, first: int, last: int) -> Iterator[ast.AST]:
    """The nodes of the statements that reach over one of these lines, the outermost first, as `ast.walk` gives them."""
    todo: deque[ast.AST] = deque([tree])
    while todo:
        node = todo.popleft()
        yield node
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.stmt) or (_first_line(child) <= last and first <= (child.end_lineno or last)):
                todo.append(child)


def _first_line(statement: ast.stmt) -> int:
    """The line of the first decorator, or of the statement itself."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min(statement.lineno, *(one.lineno for one in decorators)) if decorators else statement.lineno


def statements_at(program: Program, line: int) -> list[ast.stmt]:
    """The statements that run at `line`, the outermost first: of compound ones only the header counts."""
    nodes = (node for node in nodes_on(program.tree, line, line) if isinstance(node, ast.stmt))
    found = [node for node in nodes if node.lineno <= line <= _header_end(node)]
    return sorted(found, key=lambda one: (one.lineno, -_header_end(one)))


def _header_end(node: ast.stmt) -> int:
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and isinstance(body[0], ast.stmt):
        return max(node.lineno, body[0].lineno - 1)
    return node.end_lineno or node.lineno


def block_of(program: Program, statement: ast.stmt) -> list[ast.stmt]:
    """The list of statements that holds `statement`."""
    return block_in(program.names.parent(statement), statement) or [statement]


def leaves(block: Sequence[ast.stmt]) -> bool:
    """Whether a block certainly ends by leaving the code around it."""
    return bool(block) and isinstance(block[-1], _ENDS)


def bound_at(program: Program, statement: ast.stmt, module_line: int | None = None) -> set[str]:
    """The names that are surely bound when `statement` starts.

    Inside a function, the module counts as far as it had run: up to `module_line` where that is known, else to its end.
    """
    bound: set[str] = set()
    inner: ast.AST = statement
    removed: set[str] = set()
    for outer in (*program.names.ancestors(statement),):
        if isinstance(inner, ast.stmt):
            before, gone = _before(program, inner)
            bound |= before - removed
            removed |= gone
        bound |= _given_by(outer, inner)
        if isinstance(outer, Function):
            return bound | _of_module(program, outer, module_line)
        inner = outer
    return bound


def _before(program: Program, statement: ast.stmt) -> tuple[set[str], set[str]]:
    """What the statements above in the same block bind, and what they delete."""
    bound: set[str] = set()
    gone: set[str] = set()
    for one in block_of(program, statement):
        if one is statement:
            break
        deleted = _deleted(one)
        bound = (bound - deleted) | _binds(one)
        gone |= deleted
    return bound, gone


def _deleted(statement: ast.stmt) -> set[str]:
    """The names that a statement deletes, on whatever path."""
    if isinstance(statement, ast.Delete):
        return {one.id for one in ast.walk(statement) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Del)}
    blocks = [getattr(statement, field, ()) for field in ("body", "orelse", "finalbody")]
    blocks += [one.body for field in ("handlers", "cases") for one in getattr(statement, field, ())]
    if isinstance(statement, Function | ast.ClassDef):
        return set()
    errors = {one.name for one in getattr(statement, "handlers", ()) if one.name}  # which end with their handlers
    return errors.union(*(_deleted(one) for block in blocks for one in block))


def _given_by(outer: ast.AST, inner: ast.AST) -> set[str]:
    """What a compound statement binds before its body runs."""
    if isinstance(outer, (ast.For, ast.AsyncFor)) and any(one is inner for one in outer.body):
        return stored(outer.target)
    if isinstance(outer, (ast.With, ast.AsyncWith)):
        return {name for item in outer.items if item.optional_vars is not None for name in stored(item.optional_vars)}
    if isinstance(outer, ast.ExceptHandler):
        return {outer.name} if outer.name else set()
    if isinstance(outer, Function):
        stars = (outer.args.vararg, outer.args.kwarg)
        return {*parameters(outer), *(one.arg for one in stars if one is not None)}
    return set()


def _of_module(program: Program, function: Function, module_line: int | None) -> set[str]:
    """Names of the enclosing functions and the module that a call of `function` finds bound.

    A name that a function binds anywhere is its own: what is bound around it under that name is not read there.
    """
    bound: set[str] = set()
    own: list[Scope] = []
    for outer in (function, *program.names.ancestors(function)):
        if isinstance(outer, Function):
            bound |= set() if outer is function else _unbound_in(own, parameters(outer))
            own.append(program.names.scopes[outer])
    return bound | _unbound_in(own, _of_top_level(program, module_line))


def _unbound_in(scopes: Sequence[Scope], names: Iterable[str]) -> set[str]:
    return {name for name in names if not any(scope.binds(name) for scope in scopes)}


def _of_top_level(program: Program, line: int | None) -> Set[str]:
    """What the module itself has bound when it has run up to `line`, or to its end."""
    if line is None:
        return _at_the_end(program.tree)
    bound: set[str] = set()
    for statement in program.tree.body:
        if (statement.end_lineno or statement.lineno) < line:
            bound = (bound - _deleted(statement)) | _binds(statement)
        elif statement.lineno <= line:
            bound |= _reached_inside(program, statement, line)
    return bound


@lru_cache(maxsize=1)
def _at_the_end(tree: ast.Module) -> frozenset[str]:
    """What the top level binds, the last file's kept: it is asked for again and again."""
    return frozenset(_binds_all(tree.body))


def _reached_inside(program: Program, statement: ast.stmt, line: int) -> set[str]:
    """What was bound inside a compound statement of the module (`if __name__ == "__main__":`) up to `line`."""
    running = statements_at(program, line)
    inner = running[-1] if running else statement
    if function_around(program, inner) is not None:
        return set()
    bound, _ = _before(program, inner)
    for outer in program.names.ancestors(inner):
        if isinstance(outer, (Function, ast.ClassDef, ast.Module)):
            break
        bound |= _given_by(outer, inner)
        bound |= _before(program, outer)[0] if isinstance(outer, ast.stmt) else set()
        inner = outer if isinstance(outer, ast.stmt) else inner
    return bound


def _binds(statement: ast.stmt) -> set[str]:
    """The names that are bound on every path through `statement`."""
    match statement:
        case ast.Assign(targets=targets):
            return {name for target in targets for name in stored(target)}
        case ast.AnnAssign(target=target, value=value):
            return stored(target) if value is not None else set()
        case ast.Import(names=names) | ast.ImportFrom(names=names):
            return {(one.asname or one.name).partition(".")[0] for one in names}
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
            given = {name for item in items if item.optional_vars is not None for name in stored(item.optional_vars)}
            return given | _binds_all(body)
        case ast.If(body=body, orelse=orelse):
            return _common([body, orelse])
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=last):
            return _common([[*body, *orelse], *(one.body for one in handlers)]) | _binds_all(last)
    return set()


def _common(branches: Sequence[Sequence[ast.stmt]]) -> set[str]:
    """What all branches bind, but for those that never come out at the end."""
    ways = [_binds_all(branch) for branch in branches if not leaves(branch)]
    return set.intersection(*ways) if ways else set()


def _binds_all(block: Sequence[ast.stmt]) -> set[str]:
    bound: set[str] = set()
    for statement in block:
        bound = (bound - _deleted(statement)) | _binds(statement)
    return bound


def reads(node: ast.AST) -> Iterator[str]:
    """The names that an expression reads, in order."""
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            yield one.id
