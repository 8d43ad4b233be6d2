"""From a post-mortem to a diagnosis: the same facts in the words of the library."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from devfix_codemods.diagnosis import Diagnosis, Form, Frame, Kind, Operand, Sink, Stop, misplaced_among, read_message
from devfix_codemods.diagnosis.messages import Category
from devfix_codemods.diagnosis.records import HOST
from devfix_codemods.source import Source, SourceError, Span

from devfix.replay.postmortem import (
    BatchValue,
    Member,
    ModuleValue,
    OptimizerValue,
    OtherValue,
    PostMortem,
    Step,
    TensorValue,
    Value,
)
from devfix.replay.postmortem import Form as LiveForm


def diagnosis_of(postmortem: PostMortem, sources: Mapping[str, Source]) -> Diagnosis:
    """The diagnosis of a crash; its operands are those that the post-mortem blames."""
    read = read_message(postmortem.message.splitlines())
    category = Category.OTHER if read is None else read.category
    sink = _sink(postmortem, sources)
    culprits = [one for value in postmortem.culprits for one in _operands(value)]
    blamed = [_placed(one, sink, sources) for one in culprits]
    wrong, anchors = misplaced_among(blamed)
    frames = tuple(Frame(one.file, one.line, one.function) for one in postmortem.frames)
    around = tuple(one for value in postmortem.values if not value.culprit for one in _operands(value))
    live = {(one.frame, one.expression): _form(one.form) for one in postmortem.forms}
    return Diagnosis(postmortem.message, category, sink, wrong, anchors or _on(wrong, around), around, frames, live)


def _form(form: LiveForm) -> Form:
    return Form(form.type, form.moves, form.is_dict, tuple(map(_form, form.parts)))


def _on(wrong: tuple[Operand, ...], around: tuple[Operand, ...]) -> tuple[Operand, ...]:
    """Values in reach that are where the misplaced ones should be, where none of them is part of the mismatch."""
    wanted = {one.wanted for one in wrong}
    return tuple(one for one in around if one.place in wanted and one.kind is Kind.TENSOR)


def bare_diagnosis(message: str, file: str, line: int, sources: Mapping[str, Source]) -> Diagnosis:
    """What a message and a line tell where there is no post-mortem."""
    return diagnosis_of(PostMortem(message, file, line), sources)


def _sink(postmortem: PostMortem, sources: Mapping[str, Source]) -> Sink:
    line = postmortem.line
    span = Span(line, 0, line, 1_000_000)
    source = sources.get(postmortem.file)
    node = _failing_node(postmortem, source) if source is not None else None
    if source is not None and node is not None:
        span = source.span(node)
    return Sink(postmortem.file, span, postmortem.code, postmortem.operation)


def _failing_node(postmortem: PostMortem, source: Source) -> ast.AST | None:
    """The node at the post-mortem's columns, else the statement of its line."""
    try:
        nodes = [node for node in ast.walk(source.tree) if isinstance(node, (ast.expr, ast.stmt))]
    except SourceError:
        return None
    wanted = (postmortem.line, postmortem.column, postmortem.end_line, postmortem.end_column)
    for node in nodes:
        if (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == wanted:
            return node
    simple = [node for node in nodes if isinstance(node, ast.stmt) and not _holds_statements(node)]
    return next((one for one in simple if one.lineno <= postmortem.line <= (one.end_lineno or one.lineno)), None)


def _holds_statements(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _placed(operand: Operand, sink: Sink, sources: Mapping[str, Source]) -> Operand:
    """`operand` with the span at which it stands in the sink."""
    source = sources.get(sink.file)
    wanted = _normal(operand.expression)
    if source is None or wanted is None:
        return operand
    try:
        tree = source.tree
    except SourceError:
        return operand
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and sink.span.contains(span := source.span(node)) and ast.unparse(node) == wanted:
            return replace(operand, span=span)
    return operand


def _normal(expression: str) -> str | None:
    try:
        return ast.unparse(ast.parse(expression.strip(), mode="eval"))
    except (SyntaxError, ValueError):
        return None


# Operands, by the kind of value


def _operands(value: Value) -> Iterator[Operand]:
    match value:
        case TensorValue(facts=facts):
            yield Operand(
                value.expression, Kind.TENSOR, facts.place, frame=value.frame, history=_history(facts.history)
            )
        case ModuleValue():
            yield from _module(value)
        case OptimizerValue():
            yield from _optimizer(value)
        case BatchValue():
            yield from _batch(value)
        case OtherValue(type=kind) if kind in {"generator", "array"}:
            yield Operand(value.expression, Kind(kind), value.place, frame=value.frame)


def _module(value: ModuleValue) -> Iterator[Operand]:
    """A module with parts on a device belongs there; its other parts are odd."""
    devices = {place: count for place, count in value.places.items() if place != HOST}
    if not value.places:
        return
    place = max(devices, key=lambda one: devices[one]) if devices else HOST
    odd = tuple((one.name, _history(one.facts.history)) for one in value.odd if one.facts.place != place)
    if len(value.places) > 1 and not odd:
        odd = (("", _history(value.history)),)
    yield Operand(value.expression, Kind.MODULE, place, frame=value.frame, history=_history(value.history), odd=odd)


def _optimizer(value: OptimizerValue) -> Iterator[Operand]:
    states = [place for place in value.state_places if place not in value.places]
    for place in states:
        yield Operand(value.expression, Kind.OPTIMIZER, place, frame=value.frame)


def _batch(value: BatchValue) -> Iterator[Operand]:
    """A batch that is in one place as a whole, else each of its tensors."""
    places = {item.facts.place for item in value.items}
    if len(places) == 1 and len(value.items) > 1:
        first = value.items[0].facts
        history = _history(first.history)
        yield Operand(value.expression, Kind.BATCH, first.place, frame=value.frame, history=history, type=value.type)
        return
    for item in value.items:
        yield Operand(
            _spelled(value, item),
            Kind.TENSOR,
            item.facts.place,
            frame=value.frame,
            history=_history(item.facts.history),
        )


def _spelled(value: BatchValue, item: Member) -> str:
    return item.expression or f"{value.expression}[{item.name!r}]"


def _history(steps: tuple[Step, ...]) -> tuple[Stop, ...]:
    return tuple(Stop(step.place, step.how, step.file, step.line) for step in steps)
