"""Changes of what things are called."""

import ast
import symtable
from collections.abc import Iterator

from reshaping.trees import OWN, Function, NewNames, Renamed, assigned, calls, functions, inserted, read


def torch_aliased(tree: ast.Module) -> None:
    """`import torch` is `import torch as t`."""
    stores = [
        one
        for one in ast.walk(tree)
        if isinstance(one, ast.Name) and one.id == "torch" and not isinstance(one.ctx, ast.Load)
    ]
    imports = [one for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names]
    if stores or not any(one.name == "torch" and one.asname is None for one in imports):
        return
    for one in imports:
        if one.name == "torch" and one.asname is None:
            one.asname = f"{OWN}torch"
    Renamed({"torch": f"{OWN}torch"}).visit(tree)


def functions_of_torch_imported(tree: ast.Module) -> None:
    """`torch.zeros(3)` is `zeros(3)`, of `from torch import zeros`."""
    if not any(isinstance(one, ast.Import) and any(part.name == "torch" for part in one.names) for one in tree.body):
        return
    used: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr=name)):
                used.add(name)
                node.func = read(f"{OWN}{name}")
    if used:
        inserted(tree, [ast.ImportFrom("torch", [ast.alias(name, f"{OWN}{name}") for name in sorted(used)], 0)])


def self_renamed(tree: ast.Module) -> None:
    """The first parameter of methods is `this`."""
    for function in functions(tree):
        first = function.args.args[:1]
        if first and first[0].arg == "self" and not calls(function, "super"):
            first[0].arg = "this"
            function.body = [Renamed({"self": "this"}).visit(one) for one in function.body]


def devices_named(tree: ast.Module) -> None:
    """`"cuda:0"` in a call is a constant of the module."""
    found: dict[str, str] = {}
    for call in [one for function in functions(tree) for one in ast.walk(function) if isinstance(one, ast.Call)]:
        for at, value in enumerate(call.args):
            match value:
                case ast.Constant(value=str() as text) if text.split(":")[0] in ("cuda", "cpu"):
                    call.args[at] = read(found.setdefault(text, f"{OWN.upper()}{len(found)}"))
    inserted(tree, [assigned(name, ast.Constant(text)) for text, name in found.items()])


def locals_renamed(tree: ast.Module) -> None:
    """Local names say nothing. What devfix reads from names (`model`, `loader`) is evidence: some of it has to go."""
    tables = {
        (one.get_name(), one.get_lineno()): one for one in _tables(symtable.symtable(ast.unparse(tree), "", "exec"))
    }
    lines = ast.parse(ast.unparse(tree))
    names = NewNames()
    for function, placed in zip(functions(tree), functions(lines), strict=True):
        line = placed.decorator_list[0].lineno if placed.decorator_list else placed.lineno
        table = tables.get((function.name, line)) or tables.get((function.name, placed.lineno))
        if not isinstance(table, symtable.Function) or calls(function, "locals", "eval", "exec", "vars"):
            continue
        fixed = _named_otherwise(function) | {
            one for inner in _tables(table) if inner is not table for one in _own(inner)
        }
        wanted = [one for one in table.get_locals() if one not in table.get_parameters() and one not in fixed]
        new = {one: names.new() for one in sorted(wanted) if not one.startswith((".", OWN))}
        function.body = [Renamed(new).visit(one) for one in function.body]


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for one in table.get_children():
        yield from _tables(one)


def _own(table: symtable.SymbolTable) -> list[str]:
    return [
        one.get_name() for one in table.get_symbols() if one.is_local() or one.is_declared_global() or one.is_global()
    ]


def _named_otherwise(function: Function) -> set[str]:
    """Names that stand in more than `ast.Name`."""
    found: set[str] = set()
    for node in ast.walk(function):
        match node:
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                found.update((one.asname or one.name).split(".")[0] for one in names)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case (
                ast.ExceptHandler(name=str() as name)
                | ast.MatchAs(name=str() as name)
                | ast.MatchStar(name=str() as name)
            ):
                found.add(name)
            case ast.Global(names=shared) | ast.Nonlocal(names=shared):
                found.update(shared)
    return found


def arguments_by_keyword(tree: ast.Module) -> None:
    """What functions of the module are given by position is given by name."""
    bound = [name for one in ast.walk(tree) for name in _binds(one)]
    known = {one.name: one for one in tree.body if isinstance(one, Function) and bound.count(one.name) == 1}
    for call in [one for one in ast.walk(tree) if isinstance(one, ast.Call)]:
        function = known.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None or function.decorator_list or function.args.posonlyargs or function.args.vararg:
            continue
        names = [one.arg for one in function.args.args]
        if len(call.args) <= len(names) and not any(isinstance(one, ast.Starred) for one in call.args):
            given = [ast.keyword(name, value) for name, value in zip(names, call.args, strict=False)]
            call.args, call.keywords = [], [*given, *call.keywords]


def _binds(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Name(id=name, ctx=ast.Store() | ast.Del()) | ast.arg(arg=name):
            return [name]
        case ast.alias(name=name, asname=asname):
            return [asname or name]
    return []
