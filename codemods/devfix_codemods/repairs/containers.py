"""Cuts of modules and parameters in plain containers: a container of `torch.nn` in their place."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import annotated
from devfix_codemods.edits.operations import AddImport, Edit, ReplaceExpression
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.search import Conflict
from devfix_codemods.repairs.attributes import is_set_up
from devfix_codemods.repairs.cut import Cut
from devfix_codemods.source import Source


def registered(analysis: Analysis, source: Source, conflict: Conflict) -> Iterator[Cut]:
    """`self.layers = nn.ModuleList([…])`"""
    holder = analysis.births.unregistered.get(conflict.birth.node)
    if holder is None or any(_is_on_purpose(source, store) for store, _ in holder.made):
        return
    if not all(is_set_up(store.value.function, store) for store, _ in holder.made):
        return  # the constructor of the base has not run, and never may: that fails by itself
    name, imports = spelled(analysis, holder.container)
    edits: list[Edit] = [*imports]
    for store, made in holder.made:
        edits += _wrapped(source, store, made, name)
    for one in holder.inner:
        inner = "ModuleDict" if isinstance(one.syntax, ast.Dict | ast.DictComp) else "ModuleList"
        if isinstance(one.syntax, ast.expr):
            edits.append(ReplaceExpression(source.span(one.syntax), f"{spelled(analysis, inner)[0]}(__node__)"))
    kept = f"self.{holder.attribute}"
    parts = f"{holder.sort.lower()}s"
    title = f"Keep `{kept}` in `nn.{holder.container}`: parameters() and state_dict() then include its {parts}"
    effect = f"the parameters in `{kept}` are trained and saved with their module from now on"
    if not holder.has_sure_keys:
        effect += "; its keys have to be strings without a dot"
    yield Cut(tuple(edits), title, sure=False, effect=effect)


def _is_on_purpose(source: Source, store: Store) -> bool:
    """Whether a comment says that the modules are not to be registered."""
    statement = store.statement
    if statement is None:
        return False
    lines = source.lines[max(statement.lineno - 3, 0) : statement.end_lineno]
    return any(map(_ON_PURPOSE.search, lines))


def _wrapped(source: Source, store: Store, made: Node, name: str) -> Iterator[Edit]:
    syntax, statement = made.syntax, store.statement
    if made.statement is not statement and isinstance(statement, ast.Assign):
        syntax = statement.value  # a local list
    if not isinstance(syntax, ast.expr):
        return
    span = source.span(syntax)
    bare = isinstance(syntax, ast.Tuple) and not source.segment(span).startswith("(")
    empty = made.statement is statement and _is_empty(made)
    yield ReplaceExpression(span, f"{name}()" if empty else f"{name}((__node__))" if bare else f"{name}(__node__)")
    if isinstance(statement, annotated.Assign) and ast.unparse(statement.annotation).startswith(_PLAIN_TYPES):
        yield ReplaceExpression(source.span(statement.annotation), name)


def _is_empty(made: Node) -> bool:
    """`[]`, `list()`, `{}`."""
    return not (made.args[1:] if made.op is Op.CALL else made.args)


def spelled(analysis: Analysis, container: str) -> tuple[str, tuple[Edit, ...]]:
    """The container's name as the file writes such names, and the import that it needs."""
    bound = {"torch.nn": f".{container}", "torch": f".nn.{container}", f"torch.nn.{container}": ""}
    top = analysis.module.top.finals
    named = {str(one.extra): key for key, one in top.items() if isinstance(key, str) and one.op is Op.REF}
    for whole in (f"torch.nn.{container}", "torch.nn", "torch"):
        if whole in named:
            return f"{named[whole]}{bound[whole]}", ()
    if "nn" not in top:
        return f"nn.{container}", () if analysis.module.starred else (AddImport("torch", "nn"),)
    return container, (AddImport("torch.nn", container),)


_ON_PURPOSE = re.compile(r"#.*(?i:regist|hid(?:e|den)\b|state.?dict|on purpose|intention|deliberate|parameters)")
_PLAIN_TYPES = ("list", "List", "tuple", "Tuple", "dict", "Dict", "Sequence", "Mapping")
