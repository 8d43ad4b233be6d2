"""Values that take CUDA though a device was chosen: by a default, among options, as it is there."""

import ast
from collections.abc import Callable, Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.availability_tests import is_guarded
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.assumptions.spelled_cuda import SpelledCuda, names_cuda
from devfix_codemods.catalogue import Effect, Kind, method_effect
from devfix_codemods.edits.operations import (
    Argument,
    Edit,
    InsertStatement,
    RemoveStatement,
    ReplaceExpression,
    RewriteCall,
)
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.calls import bound, function_of
from devfix_codemods.placement.places import sounds_like_device

Chosen = Callable[[Node], str | None]
"""The device that was chosen where a value is computed."""


def omissions(index: Index, chosen: Chosen) -> Iterator[Answer]:
    """Calls of functions of the file that leave out `device`, whose default is CUDA."""
    calls = {one: function_of(one.args[0]) for one in index.calls}
    for call, function in calls.items():
        device = _cuda_by_default(function) if function is not None else None
        if device is None or function is None or _may_give(call, function, device):
            continue
        tensor = _tensor_given(index, call, function)
        text = chosen(call) or (f"{tensor}.device" if tensor is not None else None)
        elsewhere = any(each is function and _may_give(one, function, device) for one, each in calls.items())
        if text is None and (not elsewhere or is_guarded(index, call)):
            continue
        fix, syntax = None, call.syntax
        assert isinstance(syntax, ast.Call)
        if text is not None:
            plain = [Argument(at) for at in range(len(syntax.args))]
            named = [Argument(at, one.arg) for at, one in enumerate(syntax.keywords, len(syntax.args))]
            edit = RewriteCall(index.source.span(syntax), None, (*plain, Argument(text, device), *named))
            fix = Fix(Safety.UNSAFE, f"Pass the device `{text}`", (edit,))
        message = f"`{function.name}` runs on CUDA here: that is the default of its `{device}`"
        yield Answer(syntax, message, fix, f"give it `{device}={text or '…'}`")


def _cuda_by_default(function: Function) -> str | None:
    """The parameter of a function of the module that is a device, and CUDA by default."""
    if function.owner is not None or function.parent is not function.module.top:
        return None
    found = (one for one, value in function.defaults.items() if sounds_like_device(one) and names_cuda(value))
    return next(found, None)


def _may_give(call: Node, function: Function, parameter: str) -> bool:
    node = function.parameters[parameter]
    return bool({"*", "**"}.intersection(call.extras)) or any(one is node for _, one in bound(call, function))


def _tensor_given(index: Index, call: Node, function: Function) -> str | None:
    """The first name among the arguments whose parameter is surely a tensor, and is not moved there."""
    analysis = index.analysis
    for argument, parameter in bound(call, function):
        default = function.defaults.get(str(parameter.extra))
        if not _is_tensor(index, parameter) or analysis.births.moves_of(parameter):
            continue
        names = [one.id for one in ast.walk(call.syntax) if isinstance(one, ast.Name)] if call.syntax else []
        text = argument.syntax.arg if isinstance(argument.syntax, ast.arg) else getattr(argument.syntax, "id", None)
        if default is None and text in names:
            return str(text)
    return None


def _is_tensor(index: Index, node: Node) -> bool:
    """Whether a value is a tensor, by what is known or by a method that nothing else has."""
    used = {str(one.extra) for one in index.users[node] if one.op is Op.ATTR}
    methods = {one for one in used if not any(hasattr(each, one) for each in (str, list, dict))}
    computed = any(method_effect(one) in {Effect.SAME, Effect.ARITHMETIC, Effect.MEET} for one in methods)
    return index.analysis.kinds.of(node) is Kind.TENSOR or (computed and index.analysis.kinds.of(node) is None)


def options(index: Index, chosen: Chosen) -> Iterator[Answer]:
    """`run(options={"device": "cuda"})`, beside a device or the options of the whole program."""
    for call in index.calls:
        for given, word in zip(call.args[1:], call.extras):
            at = given.extras.index("device") if given.op is Op.MAPPING and "device" in given.extras else None
            literal = given.args[at] if at is not None else None
            if literal is None or not isinstance(literal.syntax, ast.expr) or given.statement is not call.statement:
                continue
            if not names_cuda(literal) or is_guarded(index, call):
                continue
            text = index.text(literal.syntax)
            shared = word if word is not None and _is_given_elsewhere(index, call, word) else None
            device = chosen(call) or (f'{shared}.get("device", {text})' if shared is not None else None)
            if device is not None:
                edit = ReplaceExpression(index.source.span(literal.syntax), device)
                fix = Fix(Safety.UNSAFE, f"Follow `{shared or device}`", (edit,))
                yield Answer(literal.syntax, "an option is hard-coded to CUDA, whatever device the rest is on", fix)


def _is_given_elsewhere(index: Index, call: Node, word: str) -> bool:
    """Whether another call around gets `options=options`, and the name is bound here."""
    here = call.function.before.get(call.statement, {}) if call.statement is not None else {}
    return any(
        one.function is call.function and one is not call and word in here and keyword(one, word) is here[word]
        for one in index.calls
    )


# Moves that ask


def that_ask_for_cuda(index: Index, sites: list[SpelledCuda], chosen: Chosen) -> Iterator[Answer]:
    """`if torch.cuda.is_available(): x = x.cuda()`, where nothing else is done and a device was chosen."""
    for node, moves in _asking(index, sites):
        test = index.nodes.get(node.test)
        if test is None or not called(test, "torch.cuda.is_available"):
            continue
        device = chosen(moves[0].call)
        if device is None:
            continue
        texts = [_moved_to(index, one, device) for one in moves]
        edits = _without_test(index, node, texts)
        fix = Fix(Safety.UNSAFE, f"Follow `{device}`", edits) if edits else None
        yield Answer(moves[0].syntax, spelled_message(index, moves[0]), fix, None if fix else f"use `{device}`")


def that_ask_a_tensor(index: Index, sites: list[SpelledCuda]) -> Iterator[Answer]:
    """`if x.is_cuda: y = y.cuda()` and `y = y.cuda() if x.is_cuda else y`: `y` goes to the current card."""
    for node, moves in _asking(index, sites):
        test, site = node.test, moves[0]
        if len(moves) > 1 or not isinstance(test, ast.Attribute) or test.attr != "is_cuda" or site.syntax.keywords:
            continue
        if not isinstance(test.value, ast.Name):
            continue
        here = site.call.function.before.get(site.call.statement, {}) if site.call.statement is not None else {}
        base = here.get(test.value.id)
        if base is None or base is base.function.self_node or index.analysis.kinds.is_module(base):
            continue
        if base is site.moved or index.analysis.kinds.of(base) not in {Kind.TENSOR, None} or base.op is Op.ATTR:
            continue
        text = index.text(test.value)
        edits = _without_test(index, node, [_moved_to(index, site, f"{text}.device")])
        made = (
            site.moved is not None and site.moved.op is Op.CALL and index.analysis.kinds.of(site.moved) is Kind.TENSOR
        )
        if edits:
            fix = Fix(Safety.SAFE if made else Safety.UNSAFE, f"Follow `{text}` to any device", edits)
            yield Answer(site.syntax, spelled_message(index, site), fix)


def _asking(index: Index, sites: list[SpelledCuda]) -> Iterator[tuple[ast.If | ast.IfExp, list[SpelledCuda]]]:
    """Each condition under which moves are made, and nothing else."""
    plain = {one.syntax: one for one in sites if one.literal is None and one.moved is not None}
    seen: set[ast.AST] = set()
    for call in plain:
        node = next((one for one in index.ancestors(call) if isinstance(one, ast.If | ast.IfExp)), None)
        if node is None or node in seen:
            continue
        seen.add(node)
        if isinstance(node, ast.IfExp):
            moved = node.body.func if isinstance(node.body, ast.Call) else None
            site = plain.get(node.body) if isinstance(node.body, ast.Call) else None
            same = isinstance(moved, ast.Attribute) and ast.unparse(node.orelse) == ast.unparse(moved.value)
            if site is not None and same:
                yield node, [site]
        elif not node.orelse:
            moves = [_move_of(index, one, plain) for one in node.body]
            whole = [one for one in moves if one is not None]
            if len(whole) == len(moves):
                yield node, whole


def _move_of(index: Index, statement: ast.stmt, plain: dict[ast.Call, SpelledCuda]) -> SpelledCuda | None:
    """The site of `x = x.cuda()`, of `model.cuda()`."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(value=moved)) as call):
            return plain.get(call) if ast.unparse(target) == ast.unparse(moved) else None
        case ast.Expr(value=ast.Call() as call):
            return plain.get(call)
    return None


def _moved_to(index: Index, site: SpelledCuda, device: str) -> str:
    """The statement, or the expression, that makes the move to another device."""
    assert isinstance(site.syntax.func, ast.Attribute)
    value = index.text(site.syntax.func.value)
    given = [device, *(f"{one.arg}={index.text(one.value)}" for one in site.syntax.keywords)]
    move = f"{value}.to({', '.join(given)})"
    return f"{value} = {move}" if isinstance(index.parents.get(site.syntax), ast.Assign) else move


def _without_test(index: Index, node: ast.If | ast.IfExp, texts: list[str]) -> tuple[Edit, ...]:
    """The moves without the question; nothing where that would lose a comment."""
    span = index.source.span(node)
    if isinstance(node, ast.IfExp):
        return (ReplaceExpression(span, texts[0].rpartition(" = ")[2]),)
    parent = index.parents.get(node)
    is_elif = isinstance(parent, ast.If) and parent.orelse == [node] and parent.col_offset == node.col_offset
    if "#" in index.source.segment(span) or any("\n" in one for one in texts) or is_elif:
        return ()
    return (InsertStatement(span, "before", "\n".join(texts)), RemoveStatement(span))


def spelled_message(index: Index, site: SpelledCuda) -> str:
    """What is wrong with a place at which CUDA is spelled out."""
    written = site.syntax.func
    if site.moved is not None and isinstance(written, ast.Attribute):
        written = written.value
    text = index.text(written)
    short = text if len(text) <= 40 else f"{text[:37]}..."
    return f"`{short}` is hard-coded to CUDA, whatever device the rest is on"
