"""Moves that ask only whether CUDA is there, in code that has chosen a device: they may take another one."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, RemoveStatement, ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site


@dataclass(frozen=True, slots=True)
class Asked:
    """`if torch.cuda.is_available(): x = x.cuda()`, or the same as an expression: all that is moved there."""

    node: ast.If | ast.IfExp
    sites: tuple[Site, ...]

    @property
    def statement(self) -> ast.stmt | None:
        return self.node if isinstance(self.node, ast.If) else None


def asked(program: Program, found: list[Site]) -> Iterator[Asked]:
    """Each such condition once, where it does nothing but move."""
    by_call = {one.call: one for one in found if one.literal is None and one.receiver is not None}
    seen: set[ast.AST] = set()
    for call in by_call:
        for outer in program.names.ancestors(call):
            if isinstance(outer, ast.If | ast.IfExp):
                if outer not in seen and _asks(program, outer.test) and (one := _only_moves(outer, by_call)):
                    yield one
                seen.add(outer)
                break


def _asks(program: Program, test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and program.names.qualified(test.func) == "torch.cuda.is_available"


def _only_moves(node: ast.If | ast.IfExp, by_call: dict[ast.Call, Site]) -> Asked | None:
    if isinstance(node, ast.IfExp):
        site = by_call.get(node.body) if isinstance(node.body, ast.Call) else None
        same = site is not None and site.receiver is not None and ast.dump(site.receiver) == ast.dump(node.orelse)
        return Asked(node, (site,)) if site is not None and same else None
    sites = [_moved(one, by_call) for one in node.body]
    whole = [one for one in sites if one is not None]
    return Asked(node, tuple(whole)) if not node.orelse and len(whole) == len(sites) else None


def _moved(statement: ast.stmt, by_call: dict[ast.Call, Site]) -> Site | None:
    """The site of `x = x.cuda()`, of `model.cuda()`."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() as call):
            site = by_call.get(call)
            own = site is not None and site.receiver is not None and dotted(target) == dotted(site.receiver)
            return site if own and dotted(target) is not None else None
        case ast.Expr(value=ast.Call() as call):
            return by_call.get(call)
    return None


def takes_cuda_where_it_is(program: Program, device: str) -> bool:
    """Whether a name is bound by nothing but the same question: `torch.device("cuda" if … else "cpu")`."""
    values = [
        node.value
        for node in ast.walk(program.tree)
        if isinstance(node, ast.Assign) and any(dotted(one) == device for one in node.targets)
    ]
    return bool(values) and all("is_available()" in ast.unparse(one) or _by_flag(program, one) for one in values)


def _by_flag(program: Program, value: ast.expr) -> bool:
    """`"cuda" if use_cuda else "cpu"`, the flag being the answer."""
    flags = [one.test for one in ast.walk(value) if isinstance(one, ast.IfExp)]
    names = {dotted(one) for one in flags}
    return bool(flags) and any(
        isinstance(node, ast.Assign)
        and any(dotted(one) in names for one in node.targets)
        and "is_available()" in ast.unparse(node.value)
        for node in ast.walk(program.tree)
    )


def moved_to(program: Program, one: Asked, device: str) -> tuple[Edit, ...] | None:
    """The moves without the question; None where that would lose a comment."""
    span = program.source.span(one.node)
    if "#" in program.source.segment(span):
        return None
    texts = [_text(program, site, device) for site in one.sites]
    if isinstance(one.node, ast.IfExp):
        return (ReplaceExpression(span, texts[0]),)
    lines = []
    for site, text in zip(one.sites, texts):
        statement = program.names.statement(site.call)
        target = f"{dotted(statement.targets[0])} = " if isinstance(statement, ast.Assign) else ""
        lines.append(target + text)
    if any("\n" in line for line in lines) or _is_elif(program, one.node):
        return None
    return (InsertStatement(span, "before", "\n".join(lines)), RemoveStatement(span))


def _is_elif(program: Program, node: ast.If) -> bool:
    parent = program.names.parent(node)
    return isinstance(parent, ast.If) and parent.orelse == [node] and node not in scope.block_of(program, parent)


def _text(program: Program, site: Site, device: str) -> str:
    assert site.receiver is not None
    given = [program.source.segment(program.source.span(one)) for one in site.call.args]
    given += [f"{one.arg}={program.source.segment(program.source.span(one.value))}" for one in site.call.keywords]
    return f"{program.source.segment(program.source.span(site.receiver))}.to({', '.join([device, *given])})"
