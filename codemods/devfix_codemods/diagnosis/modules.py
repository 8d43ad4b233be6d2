"""Repairs of a module in the wrong place: never moved, moved too early, or kept where `.to` does not find it."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.diagnosis.devices import dotted_root, holds_module, mover_at
from devfix_codemods.diagnosis.live import Live
from devfix_codemods.diagnosis.project import Project
from devfix_codemods.diagnosis.records import HOST, Diagnosis, Kind, Operand, Repair
from devfix_codemods.diagnosis.trace import Site, Tracer, Way
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.findings import Safety
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted
from devfix_codemods.repairs.containers import spelled

_CONTAINERS = {ast.List: "ModuleList", ast.ListComp: "ModuleList", ast.Tuple: "ModuleList", ast.Dict: "ModuleDict"}


def module_repairs(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """What can be done for a misplaced module: a part replaced late, a hidden part, the whole."""
    if operand.wanted == HOST:
        return
    if operand.odd:
        yield from _late_parts(project, diagnosis, operand)
    sites = _sites(project, operand)
    yield from _in_containers(project, sites)
    for site in reversed(sites):
        yield from _at_construction(project, diagnosis, operand, site)
    yield from _before_use(project, diagnosis, operand)


def _sites(project: Project, operand: Operand) -> list[Site]:
    return Tracer(project, through_self=True).sites(operand.expression, operand.frame) if project.frames else []


# Built too late


def _late_parts(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """`model.to(device)` once more after the last part that was put in."""
    attributes = {part for name, _ in operand.odd for part in name.split(".") if part}
    found: list[tuple[str, ast.Assign, str]] = []
    for file, program in project.mentioning(*(f".{attribute}" for attribute in attributes)):
        for node in ast.walk(program.tree):
            owner = _gets_a_part(program, node, attributes)
            if owner is not None and isinstance(node, ast.Assign):
                found.append((file, node, owner))
    for file, statement, owner in sorted(found, key=lambda one: -one[1].lineno):
        yield from _move_after(project, diagnosis, operand, file, statement, owner)


def _gets_a_part(program: Program, node: ast.AST, attributes: set[str]) -> str | None:
    """`model.head = …`: the expression whose part is replaced. Constructors of modules do not count."""
    if not isinstance(node, ast.Assign) or len(node.targets) != 1 or not isinstance(node.value, ast.Call):
        return None
    target = node.targets[0]
    if isinstance(target, ast.Subscript):  # model.classifier[6] = …
        target = target.value
    if not isinstance(target, ast.Attribute) or target.attr not in attributes:
        return None
    text, function = dotted(target.value), scope.function_around(program, node)
    constructs = function is not None and function.name == "__init__"
    return None if text is None or (constructs and text == "self") else text


def _move_after(
    project: Project, diagnosis: Diagnosis, operand: Operand, file: str, statement: ast.Assign, owner: str
) -> Iterator[Repair]:
    program = project.program(file)
    mover = mover_at(project, file, statement, operand.wanted, diagnosis.at(operand.wanted))
    if program is None or mover is None:
        return
    function = scope.function_around(program, statement)
    if owner == "self" and function is not None and function.name == "forward":
        edit = ReplaceExpression(program.source.span(statement.value), f"__node__{mover.suffix}")
        yield Repair("Move the new part where it is built", ((file, (*mover.edits, edit)),))
        return
    root = owner if function is None or owner.startswith("self.") else owner.partition(".")[0]
    insert = InsertStatement(program.source.span(statement), "after", f"{root}{mover.suffix}")
    yield Repair(f"Move `{root}` once more after the new part", ((file, (*mover.edits, insert)),))


# Hidden from `.to`


def _in_containers(project: Project, sites: list[Site]) -> Iterator[Repair]:
    """`self.layers = [nn.Linear(…), …]`: modules in a plain container are no part of the module that holds them."""
    for site in sites:
        program = project.program(site.file)
        container = _CONTAINERS.get(type(site.value))
        if program is None or container is None or not site.target.startswith("self."):
            continue
        if not holds_module(project, site.file, site.statement):
            continue
        name, imports = spelled(project.index(site.file).analysis, container)
        edit = ReplaceExpression(program.source.span(site.value), f"{name}(__node__)")
        title = f"Hold `{site.target}` in `{name}`, so that it moves with its module"
        effect = f"the parameters in `{site.target}` are trained and saved with their module from now on"
        yield Repair(title, ((site.file, (edit, *imports)),), Safety.UNSAFE, effect=effect)


# Never moved


def _at_construction(project: Project, diagnosis: Diagnosis, operand: Operand, site: Site) -> Iterator[Repair]:
    """`Net()` becomes `Net().to(device)`; where the device gets its name later, a line of its own after that."""
    program = project.program(site.file)
    if program is None or site.way is not Way.ASSIGNED or not isinstance(site.value, ast.Call):
        return
    form = Live(project, diagnosis).form(site)
    if form is not None and not form.moves:
        return
    own_part = site.target.startswith("self.") and holds_module(project, site.file, site.statement)
    if isinstance(site.statement, ast.Return) or own_part:  # the module is to be moved, not each of its parts
        return
    title = f"Move `{site.target}` where it is built"
    mover = mover_at(project, site.file, site.statement, operand.wanted, diagnosis.at(operand.wanted))
    if mover is not None and not mover.edits:
        edit = ReplaceExpression(program.source.span(site.value), f"__node__{mover.suffix}")
        yield Repair(title, ((site.file, (edit,)),))
        return
    for later in (one for one in scope.block_of(program, site.statement) if one.lineno > site.statement.lineno):
        mover = mover_at(project, site.file, later, operand.wanted, diagnosis.at(operand.wanted))
        if mover is not None and not mover.edits:
            insert = InsertStatement(program.source.span(later), "before", f"{site.target}{mover.suffix}")
            yield Repair(f"Move `{site.target}` once the device is known", ((site.file, (insert,)),))
            return
    if mover is not None:
        edit = ReplaceExpression(program.source.span(site.value), f"__node__{mover.suffix}")
        yield Repair(title, ((site.file, (*mover.edits, edit)),))


def _before_use(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """A line right before the module is used, outside of the loops around that."""
    if operand.kind is not Kind.MODULE or not diagnosis.frames:
        return
    frame = diagnosis.frames[operand.frame]
    program, statement = project.program(frame.file), project.statement(frame.file, frame.line)
    root = dotted_root(operand.expression)
    if program is None or statement is None or root is None or frame.function == "forward":
        return
    while True:
        outer = program.names.parent(statement)
        if not isinstance(outer, (ast.For, ast.AsyncFor, ast.While, ast.With)):
            break
        statement = outer
    if root not in project.bound_at(frame.file, statement):
        return
    mover = mover_at(project, frame.file, statement, operand.wanted, diagnosis.at(operand.wanted))
    if mover is None or mover.edits:
        return
    insert = InsertStatement(program.source.span(statement), "before", f"{operand.expression}{mover.suffix}")
    yield Repair(f"Move `{operand.expression}` before it is used", ((frame.file, (insert,)),))
