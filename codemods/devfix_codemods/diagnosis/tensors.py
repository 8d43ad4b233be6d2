"""Repairs of a tensor in the wrong place, by what stands where it was born or got its name."""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.assumptions.index import Index
from devfix_codemods.catalogue import Effect, canonical, effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.diagnosis.devices import Mover, holds_module, mover_at
from devfix_codemods.diagnosis.project import Project, calls_on, dotted, parse
from devfix_codemods.diagnosis.records import HOST, Diagnosis, Kind, Operand, Repair, Stop
from devfix_codemods.diagnosis.trace import Site, Tracer, Way, is_birth
from devfix_codemods.edits.operations import (
    Edit,
    InsertStatement,
    ReplaceExpression,
    ReplaceStatement,
)
from devfix_codemods.program import Program
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
    return sites[: loops[0] + 1]


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
    return [one for one in sites if _is_batch_part(one) and names & set(scope.reads(one.value)) and one not in loops]


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
    if site.way is Way.LOOP or _is_batch_part(site):
        yield from _in_loop(project, program, diagnosis, operand, site)
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
        if not births:
            title = f"Move `{site.target}` where it is made"
            yield from _at_expression(project, diagnosis, operand, site, title)


def _is_batch_part(site: Site) -> bool:
    """`x, y = batch`, `x = batch["image"]`, `batch = next(iter(loader))`."""
    if not isinstance(site.statement, ast.Assign):
        return False
    value = site.value
    is_next = isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "next"
    item = isinstance(value, ast.Subscript) and isinstance(value.value, ast.Name)
    return is_next or item or (site.way is Way.UNPACKED and isinstance(value, ast.Name))


def _at_expression(
    project: Project, diagnosis: Diagnosis, operand: Operand, site: Site, title: str
) -> Iterator[Repair]:
    program = project.program(site.file)
    mover = mover_at(project, site.file, site.statement, operand.wanted, diagnosis.at(operand.wanted))
    if program is None or mover is None or isinstance(site.value, ast.Starred) or site.statement is None:
        return
    edit = ReplaceExpression(program.source.span(site.value), f"__node__{mover.suffix}")
    yield Repair(title, ((site.file, (*mover.edits, edit)),))


# Batches


def _in_loop(
    project: Project, program: Program, diagnosis: Diagnosis, operand: Operand, site: Site
) -> Iterator[Repair]:
    """A line of its own beside the siblings' moves, or where the item gets its name."""
    statement = site.statement
    block = statement.body if isinstance(statement, (ast.For, ast.AsyncFor)) else scope.block_of(program, statement)
    sibling = _sibling(project.index(site.file), statement, block)
    first = block[0] if isinstance(statement, (ast.For, ast.AsyncFor)) else statement
    where = "before" if isinstance(statement, (ast.For, ast.AsyncFor)) else "after"
    mover = mover_at(project, site.file, first, operand.wanted, diagnosis.at(operand.wanted))
    suffix = mover.relaxed if mover is not None else None
    edits: tuple[Edit, ...] = mover.edits if mover is not None else ()
    anchor = program.source.span(first)
    if sibling is not None:
        line, copied, names = sibling
        if names <= project.bound_at(site.file, line):
            suffix, edits, anchor, where = copied, (), program.source.span(line), "after"
    if suffix is None:
        return
    for code in _codes(site, operand, suffix):
        insert = InsertStatement(anchor, where, code)  # type: ignore[arg-type]
        yield Repair(f"Move `{code.partition(' = ')[0]}` beside its loop", ((site.file, (*edits, insert)),))


def _codes(site: Site, operand: Operand, suffix: str) -> Iterator[str]:
    """The statements that move an item: itself, its element, or every tensor of a mapping."""
    name = site.target
    part = _item_of(operand.expression, name)
    if part is not None:
        yield f"{part} = {part}{suffix}"
    elif operand.kind is Kind.BATCH and operand.expression == name:
        yield _of_whole(operand, suffix)
    else:
        yield f"{name} = {name}{suffix}"


def _of_whole(operand: Operand, suffix: str) -> str:
    """The statement that moves every tensor of a batch."""
    name = operand.expression
    if operand.type in {"list", "tuple"}:
        return f"{name} = [v{suffix} if hasattr(v, 'to') else v for v in {name}]"
    if operand.type in {"dict", "OrderedDict", "defaultdict"}:
        return f"{name} = {{k: v{suffix} if hasattr(v, 'to') else v for k, v in {name}.items()}}"
    return f"{name} = {name}{suffix}"


def _item_of(expression: str, name: str) -> str | None:
    """`batch["labels"]` or `batch.labels` of the name `batch`, as the source spells it."""
    node, called = parse(expression), False
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        inner = node.func if isinstance(node, ast.Call) else node.value
        if isinstance(inner, ast.Name) and inner.id == name:
            if isinstance(node, ast.Subscript):
                return ast.unparse(node) if isinstance(node.slice, ast.Constant) else None
            is_field = isinstance(node, ast.Attribute) and not called and node.attr not in _OF_TENSORS
            return ast.unparse(node) if is_field else None
        called = isinstance(node, ast.Call)
        node = inner
    return None


_OF_TENSORS = rows.TENSOR_ATTRIBUTES | rows.PLAIN_ATTRIBUTES


def _sibling(index: Index, statement: ast.stmt, block: list[ast.stmt]) -> tuple[ast.stmt, str, set[str]] | None:
    """The last line of the block that moves another item of the same batch, and the move as text."""
    items = _items(statement)
    for one in block:
        value = getattr(one, "value", None)
        if isinstance(one, ast.Assign) and isinstance(value, ast.Name) and value.id in items:
            items |= {name for target in one.targets for name in scope.stored(target)}
    found: tuple[ast.stmt, str, set[str]] | None = None
    for one in _with_guarded(block):
        if not isinstance(one, ast.Assign) or one.lineno <= statement.lineno:
            continue
        calls = one.value.elts if isinstance(one.value, ast.Tuple) else [one.value]
        for call in calls:
            moved = _moved(index, call)
            if moved is not None and moved[0] in items:
                found = (one, *moved[1:])
    return found


def _with_guarded(block: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block, and those of the guards that lie in it: `if use_cuda:`."""
    for one in block:
        yield one
        if isinstance(one, ast.If):
            yield from one.body


def _items(statement: ast.stmt) -> set[str]:
    if isinstance(statement, (ast.For, ast.AsyncFor)):
        return scope.stored(statement.target)
    return {name for target in getattr(statement, "targets", ()) for name in scope.stored(target)}


def _moved(index: Index, call: ast.expr) -> tuple[str, str, set[str]] | None:
    """The name that a call moves to a device, the move as text, and the names that it reads."""
    node = index.nodes.get(call)
    births = index.analysis.constraints.births
    if node is None or not isinstance(call, ast.Call) or not births.is_move(node) or not births.is_elsewhere(node):
        return None
    given = [*call.args[:1], *(one.value for one in call.keywords)]
    texts = [index.text(one) for one in call.args[:1]]
    texts += [f"{one.arg}={index.text(one.value)}" for one in call.keywords if one.arg in {"device", "non_blocking"}]
    root = next((one.id for one in ast.walk(call.func) if isinstance(one, ast.Name)), None)
    suffix = f".{node.args[0].extra}({', '.join(texts)})"
    return (root, suffix, {word for one in given for word in scope.reads(one)}) if root is not None else None


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
    calls = calls or [one for one in calls_on(program, born.line) if is_birth(program, one)]
    yield from _on_device(project, diagnosis, operand, born.file, statement, calls)


def _births_inside(project: Project, diagnosis: Diagnosis, operand: Operand, site: Site) -> Iterator[Repair]:
    """The factories in the expression that the site binds."""
    program = project.program(site.file)
    if program is None:
        return
    calls = [one for one in ast.walk(site.value) if isinstance(one, ast.Call) and is_birth(program, one)]
    yield from _on_device(project, diagnosis, operand, site.file, site.statement, calls)


def _on_device(
    project: Project, diagnosis: Diagnosis, operand: Operand, file: str, statement: ast.stmt, calls: list[ast.Call]
) -> Iterator[Repair]:
    """`device=` for factories; `.to(…)` for constructors that take none. All of one expression go together."""
    program = project.program(file)
    mover = mover_at(project, file, statement, operand.wanted, diagnosis.at(operand.wanted))
    edits = [] if program is None or mover is None else [_made_there(program, one, mover) for one in calls]
    made = [one for one in edits if one is not None]
    if made and mover is not None:
        names = ", ".join(dict.fromkeys(f"`{dotted(one.func) or 'it'}(…)`" for one in calls))
        yield Repair(f"Make {names} at line {calls[0].lineno} on the device", ((file, (*mover.edits, *made)),))


def _made_there(program: Program, call: ast.Call, mover: Mover) -> Edit | None:
    """The factory with the device; None where the program itself chose another by name."""
    given = next((one for one in call.keywords if one.arg == "device"), None)
    if given is None:
        return _with_device(program, call, mover)
    if not isinstance(given.value, ast.Constant):
        return None
    return ReplaceExpression(program.source.span(given.value), mover.device)


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
