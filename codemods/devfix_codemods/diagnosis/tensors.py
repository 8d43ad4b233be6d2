"""Repairs of a tensor in the wrong place, by what stands where it was born or got its name."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.diagnosis.batches import batch_repairs, is_batch_part
from devfix_codemods.diagnosis.devices import Mover, holds_module, mover_at
from devfix_codemods.diagnosis.live import Live, movable, moved
from devfix_codemods.diagnosis.project import Project, calls_on
from devfix_codemods.diagnosis.records import HOST, Diagnosis, Operand, Repair, Stop
from devfix_codemods.diagnosis.trace import Site, Tracer, Way, is_birth
from devfix_codemods.diagnosis.written import is_written
from devfix_codemods.edits.operations import (
    AddImport,
    Edit,
    InsertStatement,
    ReplaceExpression,
    ReplaceStatement,
)
from devfix_codemods.ir import Function
from devfix_codemods.program import Program
from devfix_codemods.project.tree import dotted
from devfix_codemods.repairs.cut import with_keyword


def tensor_repairs(project: Project, diagnosis: Diagnosis, operand: Operand) -> Iterator[Repair]:
    """What can be done for a misplaced tensor or batch away from the sink, the place of its birth first."""
    if operand.is_host_by_design or operand.wanted == HOST:
        return
    born = _born(operand)
    sites = _sites(project, diagnosis, operand)
    if born is not None:
        at_birth = [one for one in sites if _is_at(one, born)]
        for site in _parts_of(at_birth, sites) or at_birth:
            yield from _of_site(project, diagnosis, operand, site)
        yield from _of_calls(project, diagnosis, operand, born)
        yield from _all_births(project, diagnosis, operand, sites)
        sites = [one for one in sites if one not in at_birth]
    for site in reversed(sites):
        yield from _of_site(project, diagnosis, operand, site)


def _born(operand: Operand) -> Stop | None:
    """Where a value began as far as the training code is concerned: a loader's batch begins at the loop."""
    loaded = [stop for stop in operand.history if "loader" in stop.how]
    stop = loaded[-1] if loaded else operand.origin
    return stop if stop is not None and stop.file is not None and stop.line is not None else None


def _sites(project: Project, diagnosis: Diagnosis, operand: Operand) -> list[Site]:
    """The stops of the operand's way, nearest first; and of the same value under other names in outer frames."""
    tracer = Tracer(project)
    found = tracer.sites(operand.expression, operand.frame) if diagnosis.frames else []
    return [one for one in _up_to_loader(found) if not _in_worker(project, one.file, one.statement)]


def _up_to_loader(sites: list[Site]) -> list[Site]:
    """The stops after a loader: its batches are moved beside the loop, whatever its dataset is made of."""
    loaders = [index for index, one in enumerate(sites) if _is_loader(one.value)]
    loops = [index for index, one in enumerate(sites) if one.way is Way.LOOP]
    if not loaders or not loops or loops[0] > loaders[-1]:
        return sites
    over_loaders = [index for index in loops if index in loaders]
    return sites[: (over_loaders or loops)[0] + 1]


def _is_loader(node: ast.expr) -> bool:
    """Whether an expression speaks of a loader."""
    names = (one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in ast.walk(node))
    return any("loader" in name.lower() for name in names)


def _is_at(site: Site, born: Stop) -> bool:
    last = site.statement.end_lineno or site.statement.lineno
    if site.way is Way.LOOP:
        last = site.statement.lineno
    return site.file == born.file and born.line is not None and site.statement.lineno <= born.line <= last


def _parts_of(loops: list[Site], sites: list[Site]) -> list[Site]:
    """Where an item is taken out of a batch that one of the loops yields: `y = batch[1]`, `x, y = batch`."""
    names = {one.target for one in loops}
    return [one for one in sites if is_batch_part(one) and names & set(scope.reads(one.value)) and one not in loops]


def _in_worker(project: Project, file: str, node: ast.stmt) -> bool:
    """Whether code runs in a loader's worker: a dataset, a collate function. Nothing is moved there."""
    program = project.program(file)
    if program is None:
        return True
    function = project.function(file, node)
    return "collate" in function.name or (function.owner is not None and "__getitem__" in function.owner.methods)


# By the kind of stop


def _of_site(project: Project, diagnosis: Diagnosis, operand: Operand, site: Site) -> Iterator[Repair]:
    program = project.program(site.file)
    if program is None or site.way is Way.COMPREHENDED:
        return
    if is_written(project, diagnosis, operand) and not site.target.startswith("self."):
        # A copy under that name would get what is written.
        yield from _births_inside(project, diagnosis, operand, site)
    elif site.way is Way.LOOP or is_batch_part(site):
        yield from batch_repairs(project, program, diagnosis, operand, site)
    elif site.way is Way.ARGUMENT:
        yield from _at_expression(
            project, diagnosis, operand, site, f"Move `{_text(program, site.value)}` where it is passed"
        )
    elif (
        site.target.startswith("self.")
        and isinstance(site.statement, ast.Assign)
        and holds_module(project, site.file, site.statement)
    ):
        yield from _as_buffer(program, site)
        yield from _births_inside(project, diagnosis, operand, site)
    else:
        births = list(_births_inside(project, diagnosis, operand, site))
        yield from births
        if not births and not _is_told(program, site.value):
            yield from _at_name(project, program, diagnosis, operand, site)


def _at_name(
    project: Project, program: Program, diagnosis: Diagnosis, operand: Operand, site: Site
) -> Iterator[Repair]:
    """The expression that a name is bound to; of a sequence that is taken apart the name, in a line below."""
    title = f"Move `{site.target}` where it is made"
    if site.way is not Way.UNPACKED or site.value is not getattr(site.statement, "value", None):
        yield from _at_expression(project, diagnosis, operand, site, title)
        return
    mover = mover_at(project, site.file, site.statement, operand.wanted, diagnosis.at(operand.wanted))
    code = moved(site.target, Live(project, diagnosis).form(site), mover.suffix) if mover is not None else None
    if mover is not None and code is not None:
        insert = InsertStatement(program.source.span(site.statement), "after", f"{site.target} = {code}")
        yield Repair(title, ((site.file, (*mover.edits, insert)),))


def _at_expression(
    project: Project, diagnosis: Diagnosis, operand: Operand, site: Site, title: str
) -> Iterator[Repair]:
    program = project.program(site.file)
    mover = mover_at(project, site.file, site.statement, operand.wanted, diagnosis.at(operand.wanted))
    if program is None or mover is None or not movable(site.value):
        return
    code = moved("__node__", Live(project, diagnosis).form(site), mover.suffix)
    if code is not None:
        edit = ReplaceExpression(program.source.span(site.value), code)
        yield Repair(title, ((site.file, (*mover.edits, edit)),))


# Factories


def _of_calls(project: Project, diagnosis: Diagnosis, operand: Operand, born: Stop) -> Iterator[Repair]:
    """The call at the line of birth that made the tensor, wherever that is."""
    program, statement = project.program(born.file), project.statement(born.file, born.line)
    if program is None or statement is None or born.file is None or born.line is None:
        return
    if _in_worker(project, born.file, statement):
        return
    made = born.how.rpartition(" ")[2].rpartition(".")[2]
    calls = [one for one in calls_on(program, born.line) if (dotted(one.func) or "").rpartition(".")[2] == made]
    calls = calls or [one for one in calls_on(program, born.line) if _is_made(program, one)]
    yield from _on_device(project, diagnosis, operand, born.file, statement, calls)


def _births_inside(project: Project, diagnosis: Diagnosis, operand: Operand, site: Site) -> Iterator[Repair]:
    """The factories in the expression that the site binds."""
    program = project.program(site.file)
    if program is None:
        return
    calls = [one for one in ast.walk(site.value) if isinstance(one, ast.Call) and _is_made(program, one)]
    born = _born(operand)
    if born is not None and born.file == site.file:
        calls = [one for one in calls if one.lineno <= (born.line or 0) <= (one.end_lineno or 0)] or calls
    yield from _on_device(project, diagnosis, operand, site.file, site.statement, calls)


def _all_births(project: Project, diagnosis: Diagnosis, operand: Operand, sites: list[Site]) -> Iterator[Repair]:
    """All factories of a function that a value is made of, at once: what meets there is made in one place."""
    functions: dict[tuple[str, Function], list[Repair]] = {}
    for site in sites:
        if project.program(site.file) is not None:
            found = functions.setdefault((site.file, project.function(site.file, site.statement)), [])
            found += _births_inside(project, diagnosis, operand, site)
    for (file, _), made in functions.items():
        edits = tuple(dict.fromkeys(edit for one in made for _, some in one.edits for edit in some))
        lines = sorted({edit.span.line for edit in edits if not isinstance(edit, InsertStatement | AddImport)})
        if len(lines) > 1:
            title = f"Make what is made at lines {', '.join(map(str, lines))} on the device"
            yield Repair(title, ((file, edits),))


def _on_device(
    project: Project, diagnosis: Diagnosis, operand: Operand, file: str, statement: ast.stmt, calls: list[ast.Call]
) -> Iterator[Repair]:
    """`device=` for factories; `.to(…)` for constructors that take none. All of one expression go together."""
    program = project.program(file)
    mover = mover_at(project, file, statement, operand.wanted, diagnosis.at(operand.wanted))
    unmoved = [one for one in calls if not _is_moved_on(project, file, one)]
    edits = [] if program is None or mover is None else [_made_there(program, one, mover) for one in unmoved]
    made = [one for one in edits if one is not None]
    if made and mover is not None:
        names = ", ".join(dict.fromkeys(f"`{dotted(one.func) or 'it'}(…)`" for one in calls))
        is_load = program is not None and all(_load_of(program, one) for one in calls)
        title = f"Load to `{mover.device}`" if is_load else f"Make {names} at line {calls[0].lineno} on the device"
        yield Repair(title, ((file, (*mover.edits, *made)),))


def _is_made(program: Program, call: ast.Call) -> bool:
    """Whether a call makes tensors, or loads them."""
    return is_birth(program, call) or _load_of(program, call) is not None


def _load_of(program: Program, call: ast.Call) -> str | None:
    """The function that a call loads a file with."""
    name = canonical(program.names.qualified(call.func) or "")
    return name if name in rows.MAP_LOCATION else None


def _is_told(program: Program, made: ast.expr) -> bool:
    """Whether what is made goes where a variable says: then that is wrong, or who gave it."""
    calls = (one for one in ast.walk(made) if isinstance(one, ast.Call) and is_birth(program, one))
    given = (one.value for call in calls for one in call.keywords if one.arg == "device")
    return any(not isinstance(one, ast.Constant) for one in given)


def _is_moved_on(project: Project, file: str, call: ast.Call) -> bool:
    """Whether what a call makes is moved in the same expression: `torch.from_numpy(x).float().to(device)`."""
    index = project.index(file)
    births, node, parent = index.analysis.births, call, index.parents.get(call)
    while isinstance(parent, ast.Attribute) and isinstance(outer := index.parents.get(parent), ast.Call):
        made = index.nodes.get(outer)
        if outer.func is not parent or parent.value is not node:
            return False
        if made is not None and births.is_move(made) and births.is_elsewhere(made):
            return True
        node, parent = outer, index.parents.get(outer)
    return False


def _made_there(program: Program, call: ast.Call, mover: Mover) -> Edit | None:
    """The factory with the device; None where the program itself chose another by name."""
    if (load := _load_of(program, call)) is not None:
        return _loaded_there(program, call, mover, rows.MAP_LOCATION[load])
    given = next((one for one in call.keywords if one.arg == "device"), None)
    if given is None:
        return _with_device(program, call, mover)
    if not isinstance(given.value, ast.Constant):
        return None
    return ReplaceExpression(program.source.span(given.value), mover.device)


def _loaded_there(program: Program, call: ast.Call, mover: Mover, position: int) -> Edit | None:
    """The load with a `map_location`; None where it has one already, or may have."""
    given = {one.arg for one in call.keywords}
    if given & {"map_location", None} or len(call.args) > position:
        return None
    return with_keyword(program.source, call, mover.device, "map_location")


def _with_device(program: Program, call: ast.Call, mover: Mover) -> Edit:
    span = program.source.span(call)
    takes_device = effect(canonical(program.names.qualified(call.func) or "")) in {Effect.FACTORY, Effect.CONVERSION}
    if not takes_device or any(one.arg is None for one in call.keywords):
        return ReplaceExpression(span, f"__node__{mover.suffix}")
    return with_keyword(program.source, call, mover.device, "device")


# Attributes


def _as_buffer(program: Program, site: Site) -> Iterator[Repair]:
    """`self.mask = …` in the constructor of a module, as a buffer that the module carries along."""
    statement = site.statement
    function = scope.function_around(program, statement)
    name = site.target.removeprefix("self.")
    if function is None or function.name != "__init__" or not name.isidentifier():
        return
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not _after_super(function, statement):
        return
    value = program.source.segment(program.source.span(statement.value))
    if "\n" in value or "register_buffer" in value:
        return
    code = f'self.register_buffer("{name}", {value}, persistent=False)'
    edit = ReplaceStatement(program.source.span(statement), code)
    yield Repair(f"Register `{site.target}` as a buffer, which moves with its module", ((site.file, (edit,)),))


def _after_super(function: scope.Function, statement: ast.stmt) -> bool:
    """Buffers can be registered once `Module.__init__` has run."""
    above = (one for one in function.body if one.lineno < statement.lineno)
    return any(_is_super_init(node) for one in above for node in ast.walk(one))


def _is_super_init(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "__init__"


def _text(program: Program, node: ast.AST) -> str:
    return " ".join(program.source.segment(program.source.span(node)).split())
