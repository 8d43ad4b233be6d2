"""The workers of a loader do work on a device.

## What it does

Finds loaders with `num_workers` above 0 whose dataset (in `__getitem__`, and the methods that it calls) or collate
function moves tensors to a device or makes them there, and those over a `TensorDataset` that lives on a device.

## Why it fails

Workers are forked, and a forked process cannot use the CUDA of its parent:

    RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the
    'spawn' start method

or, where the tensors were on the device before, `CUDA error: initialization error`.

## Before

    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index].to(device), self.labels[index]

    loader = DataLoader(Images(), batch_size=32, num_workers=4)
    for image, label in loader:
        loss = criterion(model(image.to(device)), label.to(device))

## After

    class Images(Dataset):
        def __getitem__(self, index):
            return self.images[index], self.labels[index]

    loader = DataLoader(Images(), batch_size=32, num_workers=4)
    for image, label in loader:
        loss = criterion(model(image.to(device)), label.to(device))

## Fix safety

Unsafe: where the loops over loaders move their batches, the move in the worker goes; elsewhere the loader works in the
main process, `num_workers=0`. Better than either is often to move whole batches in the loop. Loaders without workers,
and programs that choose another start method, are left alone: there, all of this works.

## Since torch

Any.
"""

import ast
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, RemoveStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety, Step
from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.tables import FACTORIES, LOADERS, canonical
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._moves import text_of

_NEED_WORKERS = frozenset({"persistent_workers", "prefetch_factor", "timeout", "worker_init_fn"})
_OTHER_START = frozenset({"set_start_method", "get_context"})


def check(program: Program) -> Iterator[Finding]:
    loaders = [call for call in program.names.calls if _works_in_workers(program, call)]
    if not loaders or _starts_otherwise(program):
        return
    classes = program.classes
    told: set[ast.AST] = set()
    for loader in loaders:
        for work in _work(program, classes, loader):
            told.add(loader)
            if work not in told:
                told.add(work)
                yield _finding(program, loader, work)
    for pin in program.facts.pins:
        if pin.loads and pin.node in loaders and pin.node not in told:
            yield _of_tensors(program, pin.node)


# -- loaders


def _works_in_workers(program: Program, call: ast.Call) -> bool:
    if canonical(program.names.qualified(call.func) or "") not in LOADERS:
        return False
    given = {one.arg: one.value for one in call.keywords}
    return "multiprocessing_context" not in given and _is_positive(program, given.get("num_workers"))


def _is_positive(program: Program, node: ast.expr | None) -> bool:
    """Whether a number of workers is above 0 for certain: a number, a constant of the module, all processors."""
    match node:
        case ast.Constant(value=int(number)):
            return number > 0
        case ast.Call(func=function):
            return program.names.qualified(function) in {"os.cpu_count", "multiprocessing.cpu_count"}
        case ast.Name(id=name):
            values = [
                one.value for one in ast.walk(program.tree) if isinstance(one, ast.Assign) and name in scope.stored(one)
            ]
            return len(values) == 1 and isinstance(values[0], ast.Constant) and _is_positive(program, values[0])
    return False


def _starts_otherwise(program: Program) -> bool:
    return any(
        (dotted(call.func) or "").rpartition(".")[2] in _OTHER_START and "fork'" not in ast.unparse(call)
        for call in program.names.calls
    )


# -- what runs in a worker


def _work(program: Program, classes: ClassTable, loader: ast.Call) -> Iterator[ast.Call]:
    """The calls on a device in the loader's dataset and collate function."""
    given = {one.arg: one.value for one in loader.keywords}
    dataset = loader.args[0] if loader.args else given.get("dataset")
    for owner in _classes_in(program, dataset) if dataset is not None else ():
        if classes.is_dataset(owner):
            for function in _in_worker(classes.methods(owner)):
                yield from _device_calls(program, function)
    collate = given.get("collate_fn")
    if isinstance(collate, ast.Lambda):
        yield from _device_calls(program, collate)
    elif isinstance(collate, ast.Name):
        for node in program.tree.body:
            if isinstance(node, scope.Function) and node.name == collate.id:
                yield from _device_calls(program, node)


def _classes_in(program: Program, node: ast.expr, depth: int = 3) -> Iterator[ast.ClassDef]:
    """The file's classes whose objects an expression may be built from: `Images(…)`, `split(dataset, …)[0]`."""
    function = scope.function_around(program, node) or program.tree
    for name in dict.fromkeys(scope.reads(node)):
        yield from (one for one in program.names.classes if one.name == name)
        if depth:
            for one in ast.walk(function):
                if isinstance(one, ast.Assign) and name in scope.stored(one) and one.lineno < node.lineno:
                    yield from _classes_in(program, one.value, depth - 1)


def _in_worker(methods: dict[str, scope.Function]) -> Iterator[scope.Function]:
    """`__getitem__`, and the methods that it calls."""
    pending: list[str] = [name for name in ("__getitem__", "__getitems__", "__iter__") if name in methods]
    seen: set[str] = set()
    while pending:
        name = pending.pop(0)
        if name in seen:
            continue
        seen.add(name)
        yield methods[name]
        pending += [
            node.func.attr
            for node in ast.walk(methods[name])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in methods
        ]


def _device_calls(program: Program, function: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_on_device(program, node):
            yield node


def _is_on_device(program: Program, call: ast.Call) -> bool:
    device = next((one.value for one in call.keywords if one.arg == "device"), None)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "cuda":
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr == "to":
        return _names_accelerator(program, device or (call.args[0] if call.args else None))
    is_factory = canonical(program.names.qualified(call.func) or "") in FACTORIES
    return is_factory and _names_accelerator(program, device)


def _names_accelerator(program: Program, node: ast.expr | None) -> bool:
    """`"cuda"`, or a device that the module chose: its own name for it, wherever it came from."""
    match node:
        case ast.Constant(value=str(text)):
            return text.startswith(("cuda", "mps", "xpu"))
        case ast.Call(args=[inner, *_]) if program.names.qualified(node.func) == "torch.device":
            return _names_accelerator(program, inner)
        case ast.Name(id=name):
            values = [
                one.value for one in program.tree.body if isinstance(one, ast.Assign) and name in scope.stored(one)
            ]
            return bool(values) and all("cuda" in ast.unparse(one) for one in values)
    return False


# -- findings


def _finding(program: Program, loader: ast.Call, work: ast.Call) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text_of(program, work)}` runs in a worker of the loader, which cannot use the device",
        span=program.source.span(work),
        origin=program.source.span(loader),
        trail=(Step(program.source.span(loader), "the loader forks its workers here"),),
        fix=_without_move(program, work) or _without_workers(program, loader),
        advice="keep the dataset and its collation on the host, and move whole batches in the loop",
    )


def _of_tensors(program: Program, loader: ast.Call) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message="the loader's workers read tensors that live on a device",
        span=program.source.span(loader),
        fix=_without_workers(program, loader),
        advice="keep the dataset on the host and move whole batches in the loop, or load without workers",
    )


def _without_move(program: Program, work: ast.Call) -> Fix | None:
    """The move goes, where the loops over loaders move what they get."""
    if not isinstance(work.func, ast.Attribute) or work.func.attr not in {"to", "cuda"} or not _loops_move(program):
        return None
    if len(work.args) > 1 or any(one.arg not in {"device", "non_blocking"} for one in work.keywords):
        return None
    code = program.source.segment(program.source.span(work.func.value))
    statement = program.names.statement(work)
    edit: Edit = ReplaceExpression(program.source.span(work), code)
    if isinstance(statement, ast.Assign) and statement.value is work and ast.unparse(statement.targets[0]) == code:
        if isinstance(program.names.parent(statement), ast.If):
            return None
        edit = RemoveStatement(program.source.span(statement))
    elif "\n" in code or isinstance(statement, ast.Expr):
        return None
    return Fix(Safety.UNSAFE, "Leave the move to the loop over the loader", (edit,))


def _loops_move(program: Program) -> bool:
    """Whether every loop over a loader moves what it yields."""
    loops = [one for one in program.names.loops if _goes_over_loader(program, one)]
    return bool(loops) and all(_moves_its_items(one) for one in loops)


def _goes_over_loader(program: Program, loop: ast.For | ast.AsyncFor) -> bool:
    calls = [node for node in ast.walk(loop.iter) if isinstance(node, ast.Call)]
    built = any(canonical(program.names.qualified(one.func) or "") in LOADERS for one in calls)
    return built or any("loader" in name.lower() for name in scope.reads(loop.iter))


def _moves_its_items(loop: ast.For | ast.AsyncFor) -> bool:
    items = scope.stored(loop.target)
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in {"to", "cuda"}
        and not items.isdisjoint(scope.reads(node.value))
        for node in ast.walk(loop)
    )


def _without_workers(program: Program, loader: ast.Call) -> Fix | None:
    value = next((one.value for one in loader.keywords if one.arg == "num_workers"), None)
    if value is None or any(one.arg in _NEED_WORKERS | {None} for one in loader.keywords):
        return None
    edit: Edit = ReplaceExpression(program.source.span(value), "0")
    return Fix(Safety.UNSAFE, "Load in the main process", (edit,))


RULE = Rule(
    "DVF405",
    "cuda-in-worker",
    ((b"num_workers", b".to("), (b"num_workers", b".cuda("), (b"num_workers", b"device=")),
    check,
)
