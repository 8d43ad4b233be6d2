"""Whether a file is still sound after its edits, as far as the text alone tells."""

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator

from devfix_codemods.edits.binding_order import read_too_early
from devfix_codemods.source import Source, SourceError

# What the interpreter itself puts into a module
_GIVEN = frozenset(dir(builtins)) | {"__file__", "__path__", "__annotations__", "__builtins__", "__cached__"}


def problems(before: Source, after: Source) -> list[str]:
    """What `after` breaks that held in `before`, one line each; empty where nothing does."""
    try:
        _ = after.tree
    except SourceError as error:
        return [f"the result does not parse: {error}"]
    refusal = _refusal(after)
    if refusal is not None and _refusal(before) is None:
        return [f"the result does not compile: {refusal}"]
    unbound = [f"the name {name!r} is used but bound nowhere" for name in sorted(_unbound(after) - _unbound(before))]
    early = sorted(read_too_early(after.tree) - read_too_early(before.tree))
    return unbound + [f"in `{function}` the name {name!r} is used before it is bound" for function, name in early]


def _refusal(source: Source) -> str | None:
    """Why the compiler refuses what the parser takes, such as a repeated keyword or a late `__future__`."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT if source.path.endswith(".ipynb") else 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(source.text, source.path, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return str(error)
    return None


def _unbound(source: Source) -> set[str]:
    """The names that are read in `source` and bound nowhere; none where a star import may bind anything."""
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(source.tree)):
        return set()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = symtable.symtable(source.text, source.path, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    bound, read = set(_GIVEN), set()
    for table in _tables(module):
        for symbol in table.get_symbols():
            of_module = table is module or symbol.is_global()
            if of_module and _binds(symbol):
                bound.add(symbol.get_name())
            elif of_module and symbol.is_referenced():
                read.add(symbol.get_name())
    return read - bound


def _binds(symbol: symtable.Symbol) -> bool:
    return symbol.is_assigned() or symbol.is_imported() or symbol.is_namespace()


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)
