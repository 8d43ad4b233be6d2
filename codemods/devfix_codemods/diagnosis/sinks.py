"""Repairs at the line that failed: host-only functions, generators, loads, and the last resort, a move in place."""

import ast
from collections.abc import Callable, Iterator

from devfix_codemods import scope
from devfix_codemods.diagnosis.devices import dotted_root, mover_at
from devfix_codemods.diagnosis.messages import Category
from devfix_codemods.diagnosis.project import Project, expression_at, expressions_in
from devfix_codemods.diagnosis.records import HOST, Diagnosis, Kind, Operand, Repair
from devfix_codemods.diagnosis.trace import Tracer
from devfix_codemods.diagnosis.written import written_at
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted
from devfix_codemods.repairs.cut import with_keyword

_NUMPY_ROOTS = frozenset({"numpy", "matplotlib", "sklearn", "scipy", "pandas", "cv2", "PIL"})


def special_repairs(project: Project, diagnosis: Diagnosis) -> Iterator[Repair]:
    """What the class of the message asks for, whatever the operands are."""
    program = project.program(diagnosis.sink.file)
    handler = _HANDLERS.get(diagnosis.category)
    if program is not None and handler is not None:
        yield from handler(project, program, diagnosis)


def moves_at_sink(project: Project, diagnosis: Diagnosis) -> Iterator[Repair]:
    """The last resort: the misplaced operand is moved where it fails, beside what it meets."""
    program = project.program(diagnosis.sink.file)
    if program is None:
        return
    yield from _into_target(program, diagnosis)
    edits = [edit for one in diagnosis.misplaced if (edit := _move_at_sink(project, program, diagnosis, one))]
    if len(edits) > 1:
        yield Repair("Move all of them where they meet the others", ((diagnosis.sink.file, tuple(edits)),))
    for edit in edits:
        text = (
            program.source.segment(edit.span) if isinstance(edit, ReplaceExpression) else edit.code.partition(" = ")[0]
        )
        yield Repair(f"Move `{text}` where it meets the others", ((diagnosis.sink.file, (edit,)),))


def _into_target(program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """`total += x` cannot move `total`: what is added comes to it."""
    misplaced = {one.expression for one in diagnosis.misplaced}
    for statement in scope.statements_at(program, diagnosis.sink.span.line):
        target = dotted(statement.target) if isinstance(statement, ast.AugAssign) else None
        if isinstance(statement, ast.AugAssign) and target in misplaced:
            edit = ReplaceExpression(program.source.span(statement.value), f"__node__.to({target}.device)")
            yield Repair(f"Bring what is added to `{target}` to its device", ((diagnosis.sink.file, (edit,)),))


def _move_at_sink(
    project: Project, program: Program, diagnosis: Diagnosis, operand: Operand
) -> ReplaceExpression | InsertStatement | None:
    node = expression_at(program, operand.span) if operand.span is not None else None
    if node is None or operand.span is None or operand.kind is not Kind.TENSOR:
        return None
    if isinstance(node, ast.Starred) or not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return None
    if written_at(program, node):
        return _kept(program, diagnosis, node)
    if operand.wanted == HOST:
        return ReplaceExpression(operand.span, "__node__.cpu()")
    suffix = _beside_anchor(program, diagnosis, node)
    if suffix is None:
        mover = mover_at(
            project, diagnosis.sink.file, program.names.statement(node), operand.wanted, diagnosis.at(operand.wanted)
        )
        suffix = mover.suffix if mover is not None and not mover.edits else None
    return None if suffix is None else ReplaceExpression(operand.span, f"__node__{suffix}")


def _kept(program: Program, diagnosis: Diagnosis, node: ast.expr) -> InsertStatement | None:
    """`self.shadow[name] = self.shadow[name].to(weight.device)`, above what writes into it: an object keeps it."""
    suffix, statement = _beside_anchor(program, diagnosis, node), program.names.statement(node)
    text = program.source.segment(program.source.span(node))
    if suffix is None or not text.startswith("self.") or not isinstance(statement, ast.Expr):
        return None
    if not isinstance(node, ast.Attribute | ast.Subscript) or any(isinstance(one, ast.Call) for one in ast.walk(node)):
        return None
    return InsertStatement(program.source.span(statement), "before", f"{text} = {text}{suffix}")


def _beside_anchor(program: Program, diagnosis: Diagnosis, node: ast.expr) -> str | None:
    """`.to(logits.device)`, of a tensor with a plain name in the same expression that `node` can see."""
    hidden = _hidden_from(program, node)
    for anchor in diagnosis.anchors:
        root = dotted_root(anchor.expression)
        if anchor.kind is Kind.TENSOR and anchor.span is not None and root is not None and root not in hidden:
            return f".to({anchor.expression}.device)"
    return None


def _hidden_from(program: Program, node: ast.expr) -> set[str]:
    """The names of comprehensions in the statement that `node` is not part of."""
    around = {id(one) for one in program.names.ancestors(node)}
    hidden: set[str] = set()
    for one in ast.walk(program.names.statement(node)):
        if isinstance(one, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)) and id(one) not in around:
            hidden |= {name for part in one.generators for name in scope.stored(part.target)}
    return hidden


# By the class of the message


def _for_numpy(_project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """`.cpu()` before `.numpy()`, or around what numpy and plotting functions get."""
    for suffix in (".cpu()", ".detach().cpu()"):
        edits = tuple(
            ReplaceExpression(program.source.span(node), f"__node__{suffix}") for node in _to_numpy(program, diagnosis)
        )
        if edits:
            yield Repair(f"Bring the tensor to the host: `{suffix}`", ((diagnosis.sink.file, edits),))


def _to_numpy(program: Program, diagnosis: Diagnosis) -> list[ast.expr]:
    receivers = [
        call.func.value
        for call in _calls(program, diagnosis)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr in {"numpy", "__array__"}
        and not _is_on_host(call.func.value)
        and (program.names.qualified(call.func) is None)
    ]
    if receivers:
        return receivers
    spans = {one.span for one in (*diagnosis.misplaced, *diagnosis.anchors) if one.place != HOST and one.span}
    nodes = (node for node in _nodes(program, diagnosis) if isinstance(getattr(node, "ctx", ast.Load()), ast.Load))
    known = [node for node in nodes if program.source.span(node) in spans]
    if known:
        return known
    calls = [one for one in _calls(program, diagnosis) if _takes_arrays(program, one)]
    return [one.args[0] for one in calls if one.args and dotted(one.args[0]) is not None][:1]


def _takes_arrays(program: Program, call: ast.Call) -> bool:
    return (program.names.qualified(call.func) or "").partition(".")[0] in _NUMPY_ROOTS


def _is_on_host(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cpu"


def _for_lengths(_project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """The lengths of `pack_padded_sequence` stay on the host."""
    for call in _calls(program, diagnosis):
        if (dotted(call.func) or "").rpartition(".")[2] != "pack_padded_sequence":
            continue
        lengths = next((one.value for one in call.keywords if one.arg == "lengths"), None)
        lengths = lengths or (call.args[1] if len(call.args) > 1 else None)
        if lengths is not None and not isinstance(lengths, ast.Starred):
            edit = ReplaceExpression(program.source.span(lengths), "__node__.cpu()")
            yield Repair("Give `pack_padded_sequence` its lengths on the host", ((diagnosis.sink.file, (edit,)),))


def _for_load(project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """`map_location=` for `torch.load`: a device at hand, else the host."""
    for call in _calls(program, diagnosis):
        name = (program.names.qualified(call.func) or dotted(call.func) or "").rpartition(".")[2]
        given = {one.arg for one in call.keywords}
        if name not in {"load", "load_state_dict_from_url", "load_from_checkpoint"} or given & {"map_location", None}:
            continue
        mover = mover_at(project, diagnosis.sink.file, program.names.statement(call), None)
        device = mover.device if mover is not None and not mover.edits else '"cpu"'
        edit = with_keyword(program.source, call, device, "map_location")
        yield Repair(f"Load to `{device}`", ((diagnosis.sink.file, (edit,)),))


def _for_generator(project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """A generator on the device of what it fills, where it is built."""
    file = diagnosis.sink.file
    wanted = "cuda" if "found 'cpu'" in diagnosis.message else HOST
    for node in _generators(program, diagnosis):
        sites = Tracer(project).sites(ast.unparse(node), len(diagnosis.frames) - 1) if diagnosis.frames else []
        for at, statement, call in [
            *((site.file, site.statement, site.value) for site in sites),
            (file, program.names.statement(node), node),
        ]:
            owner = project.program(at)
            if owner is None or not isinstance(call, ast.Call):
                continue
            if owner.names.qualified(call.func) == "torch.Generator":
                yield from _generator_on(project, owner, at, statement, call, wanted)


def _generator_on(
    project: Project, program: Program, file: str, statement: ast.stmt, call: ast.Call, wanted: str
) -> Iterator[Repair]:
    mover = mover_at(project, file, statement, wanted)
    if mover is None:
        return
    given = [*call.args, *(one.value for one in call.keywords if one.arg == "device")]
    edit: Edit = with_keyword(program.source, call, mover.device, "device")
    if given:
        edit = ReplaceExpression(program.source.span(given[0]), mover.device)
    yield Repair("Make the generator for the device of what it fills", ((file, (*mover.edits, edit)),))


def _generators(program: Program, diagnosis: Diagnosis) -> Iterator[ast.expr]:
    for call in _calls(program, diagnosis):
        yield from (one.value for one in call.keywords if one.arg == "generator")


def _for_gradient(_project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """`p.grad = g` becomes `p.grad = g.to(p.device)`."""
    for node in ast.walk(program.tree):
        if not isinstance(node, ast.Assign) or not node.lineno <= diagnosis.sink.span.line <= (node.end_lineno or 0):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Attribute) and target.attr == "grad" and (owner := dotted(target.value)) is not None:
            edit = ReplaceExpression(program.source.span(node.value), f"__node__.to({owner}.device)")
            yield Repair(f"Assign the gradient on the device of `{owner}`", ((diagnosis.sink.file, (edit,)),))


def _for_state(_project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """A generator's state is kept on the host."""
    for call in _calls(program, diagnosis):
        if "rng_state" in (dotted(call.func) or "") and call.args and not isinstance(call.args[0], ast.Starred):
            edit = ReplaceExpression(program.source.span(call.args[0]), "__node__.cpu()")
            yield Repair("Give the state on the host", ((diagnosis.sink.file, (edit,)),))


def _for_pinning(project: Project, _program: Program, _diagnosis: Diagnosis) -> Iterator[Repair]:
    """A loader of device tensors does not pin."""
    for file, program in project.mentioning("pin_memory"):
        for call in program.names.calls:
            pinned = next((one.value for one in call.keywords if one.arg == "pin_memory"), None)
            if isinstance(pinned, ast.Constant) and pinned.value is True:
                edit = ReplaceExpression(program.source.span(pinned), "False")
                yield Repair(f"Do not pin what is on a device already, at line {call.lineno}", ((file, (edit,)),))


def _for_index(_project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """The index beside the tensor that it is taken from."""
    for node in _nodes(program, diagnosis):
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, (ast.Name, ast.Attribute, ast.Compare)):
            continue
        owner = dotted(node.value)
        suffix = ".cpu()" if owner is None else f".to({owner}.device)"
        edit = ReplaceExpression(program.source.span(node.slice), f"__node__{suffix}")
        yield Repair("Bring the index to the tensor that it is taken from", ((diagnosis.sink.file, (edit,)),))


def _for_wrapper(project: Project, program: Program, diagnosis: Diagnosis) -> Iterator[Repair]:
    """The module is moved before it is wrapped."""
    for call in _calls(program, diagnosis):
        module = dotted(call.args[0]) if call.args else None
        statement = program.names.statement(call)
        mover = mover_at(project, diagnosis.sink.file, statement, "cuda:0")
        if (dotted(call.func) or "").endswith("Parallel") and module is not None and mover is not None:
            insert = InsertStatement(program.source.span(statement), "before", f"{module}{mover.suffix}")
            yield Repair(f"Move `{module}` before it is wrapped", ((diagnosis.sink.file, (*mover.edits, insert)),))


_HANDLERS: dict[Category, Callable[[Project, Program, Diagnosis], Iterator[Repair]]] = {
    Category.TO_NUMPY: _for_numpy,
    Category.LENGTHS: _for_lengths,
    Category.LOAD: _for_load,
    Category.GENERATOR: _for_generator,
    Category.GRADIENT: _for_gradient,
    Category.RNG_STATE: _for_state,
    Category.PIN_MEMORY: _for_pinning,
    Category.WRAPPER: _for_wrapper,
}

LAST: dict[Category, Callable[[Project, Program, Diagnosis], Iterator[Repair]]] = {Category.INDEX: _for_index}
"""What may still be done where nothing better is at hand."""


def _nodes(program: Program, diagnosis: Diagnosis) -> list[ast.expr]:
    """The expressions of the sink: inside its span, or of its line where that is all that is known."""
    found = list(expressions_in(program, diagnosis.sink.span))
    if found:
        return found
    found_at = scope.statements_at(program, diagnosis.sink.span.line)
    return [one for one in ast.walk(found_at[-1]) if isinstance(one, ast.expr)] if found_at else []


def _calls(program: Program, diagnosis: Diagnosis) -> list[ast.Call]:
    return [one for one in _nodes(program, diagnosis) if isinstance(one, ast.Call)]
