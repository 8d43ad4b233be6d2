"""Moves that ask whether another tensor is on CUDA: they take the value to the current card, not to that tensor's."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement, RemoveStatement, ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_sites import Site
from devfix_codemods.rules._devices import sounds_like_options
from devfix_codemods.rules._tensor_words import sounds_like_model


def that_ask_a_tensor(program: Program, found: list[Site]) -> Iterator[tuple[Site, Fix]]:
    """`if x.is_cuda: y = y.cuda()` and `y = y.cuda() if x.is_cuda else y`, with the edits that follow `x`."""
    for site in found:
        fix = _of_expression(program, site) or _of_statement(program, site)
        if fix is not None:
            yield site, fix


def is_moved_if_asked(program: Program, node: ast.expr) -> bool:
    """Whether a value is, or got its name from, `y.cuda() if x.is_cuda else y` or `placed(y, x.is_cuda)`."""
    if b"is_cuda" not in program.source.data:
        return False
    node = scope.indexed(node)
    if _depends_on_cuda(node):
        return True
    function, text = scope.function_around(program, node), dotted(node)
    if function is None or text is None:
        return False
    return any(
        isinstance(one, ast.Assign)
        and _depends_on_cuda(one.value)
        and text in scope.stored(one)
        and one.lineno <= node.lineno
        for one in ast.walk(function)
    )


def _depends_on_cuda(value: ast.expr) -> bool:
    match value:
        case ast.IfExp(test=test):
            return _asked(test) is not None
        case ast.Call(args=given, keywords=named):
            return any(_asked(one) is not None for one in (*given, *(one.value for one in named)))
    return False


def _of_expression(program: Program, site: Site) -> Fix | None:
    choice, statement = program.names.parent(site.call), program.names.statement(site.call)
    if not isinstance(choice, ast.IfExp) or choice.body is not site.call or not _is_plain(site):
        return None
    asked, receiver = _asked(choice.test), dotted(site.receiver) if site.receiver is not None else None
    if asked is None or receiver is None or receiver != dotted(choice.orelse) or receiver == asked:
        return None
    edit = ReplaceExpression(program.source.span(choice), f"{receiver}.to({asked}.device)")
    return Fix(_safety(program, statement, site), f"Follow `{asked}` to any device", (edit,))


def _of_statement(program: Program, site: Site) -> Fix | None:
    statement = program.names.statement(site.call)
    branch = program.names.parent(statement)
    if not isinstance(branch, ast.If) or branch.orelse or len(branch.body) != 1 or not _is_plain(site):
        return None
    asked = _asked(branch.test)
    plain = isinstance(statement, ast.Assign) and statement.value is site.call
    itself = site.receiver is not None and dotted(site.receiver) == asked
    if asked is None or itself or not plain or _holds_comment(program, branch):
        return None
    text = program.source.segment(program.source.span(statement))
    text = f"{text.removesuffix('.cuda()')}.to({asked}.device)"
    whole = program.source.span(branch)
    edits = (InsertStatement(whole, "before", text), RemoveStatement(whole))
    return Fix(_safety(program, branch, site), f"Follow `{asked}` to any device", edits) if "\n" not in text else None


def _is_plain(site: Site) -> bool:
    return site.receiver is not None and not site.call.args and not site.call.keywords


def _asked(test: ast.expr) -> str | None:
    """`x` in `x.is_cuda`; in `self.is_cuda` and `args.is_cuda` that is a flag, which modules and options keep."""
    asked = dotted(test.value) if isinstance(test, ast.Attribute) and test.attr == "is_cuda" else None
    if asked is None or asked in {"self", "cls"} or sounds_like_options(asked) or sounds_like_model(asked):
        return None
    return asked


def _holds_comment(program: Program, node: ast.stmt) -> bool:
    return "#" in program.source.segment(program.source.span(node))


def _safety(program: Program, statement: ast.stmt, site: Site) -> Safety:
    """Safe where the statement above gives the name a new tensor of torch."""
    block = scope.block_of(program, statement)
    above = block[block.index(statement) - 1] if block[0] is not statement else None
    if not isinstance(above, ast.Assign) or site.receiver is None:
        return Safety.UNSAFE
    if [dotted(one) for one in above.targets] != [dotted(site.receiver)]:
        return Safety.UNSAFE
    made = above.value.func if isinstance(above.value, ast.Call) else above.value
    return Safety.SAFE if (program.names.qualified(made) or "").startswith("torch.") else Safety.UNSAFE
