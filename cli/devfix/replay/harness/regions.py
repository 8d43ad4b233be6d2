"""Which lines of a function or a file can be run alone for a patch: the smallest that hold what a finding tells of."""

import ast
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace

from devfix_codemods.findings import Finding

from devfix.replay.harness.known_places import KnownPlaces
from devfix.replay.harness.targets import Target, functions
from devfix.replay.patches import Patch
from devfix.replay.probe.harness.alone import inner_blocks

MOST_PARTS = 4
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def with_parts(
    target: Target, tree: ast.Module, patch: Patch, findings: Sequence[Finding], known: KnownPlaces
) -> Target:
    """The target, with the lines that may be run alone, those first that hold most of the reason for a fix.

    `known` says where the names of the original are.
    """
    scope: ast.AST | None = tree
    if target.name:
        scope = next((node for name, node in functions(tree) if name == target.name), None)
    body: list[ast.stmt] = getattr(scope, "body", [])
    if not body:
        return target
    own = range(body[0].lineno, (body[-1].end_lineno or 0) + 1)
    reasons = [_smallest(body, [line for line in told if line in own]) for told in _reasons(patch, findings)]
    alone = [_smallest(body, [line]) for line in target.lines]
    parts = [*reasons, *(_loop_around(body, line) for line in target.lines), *alone]
    moved = {after: line for line in range(1, patch.before.count(b"\n") + 2) if (after := patch.moved(line))}
    before = tuple(moved.get(line, 0) for line in range(1, patch.after.count(b"\n") + 2))
    whole = dict.fromkeys(_whole(one, before) for one in parts if one is not None)
    chosen = [one for one in whole if _holds(one, target.lines) and not _is_new(one, before)]
    first = next((line for line in before[min(target.lines) - 1 :] if line), len(before))
    owner = target.name.rpartition(".")[0]
    constructor = f"{owner}.__init__"
    return replace(
        target,
        parts=tuple(chosen[:MOST_PARTS]),
        before=before,
        checksum=zlib.crc32(patch.before),
        local_host=tuple(sorted(host_names(patch, findings))),
        made_on_host=tuple(sorted(known.on_host(target.name, first))),
        init_host=tuple(sorted(known.on_host(constructor, 0))) if owner else (),
        on_device=tuple(sorted(known.on_device(target.name, first) | known.on_device(constructor, 0))),
        new_names=_read_anew(target.name, tree, patch, ast.Name),
        new_attributes=_read_anew(target.name, tree, patch, ast.Attribute),
    )


def _read_anew(
    function: str, tree: ast.Module, patch: Patch, sort: type[ast.Name] | type[ast.Attribute]
) -> tuple[str, ...]:
    """The names or attributes of a function, or without a name of the file, that it had not before the patch."""

    def read(whole: ast.Module) -> set[str]:
        scopes = [node for name, node in functions(whole) if name == function] if function else [whole]
        found = (one for scope in scopes for one in ast.walk(scope) if isinstance(one, sort))
        return {one.id if isinstance(one, ast.Name) else one.attr for one in found}

    return tuple(sorted(read(tree) - read(ast.parse(patch.before))))


def holds_reasons(part: tuple[int, ...], patch: Patch, findings: Sequence[Finding]) -> bool:
    """Whether a part holds all that the findings tell of whose fixes are in it."""
    first, last = part
    told = [
        (step.path, patch.moved(step.span.line))
        for finding in findings
        if finding.fix is not None
        and any(first <= place.first <= last for place in patch.coverage((), finding.fix).missed)
        for step in finding.trail
    ]
    return bool(findings) and all(path is None and (line is None or first <= line <= last) for path, line in told)


def host_names(patch: Patch, findings: Sequence[Finding]) -> set[str]:
    """The names of which a finding says that what they hold is on the host."""
    lines = patch.before.decode("utf-8", "replace").splitlines()
    steps = [step for finding in findings for step in finding.trail if step.path is None and "on the host" in step.note]
    starts = [lines[step.span.line - 1][step.span.column :] for step in steps]
    imports = [one for one in ast.walk(ast.parse(patch.before)) if isinstance(one, ast.Import | ast.ImportFrom)]
    imported = {(alias.asname or alias.name).partition(".")[0] for one in imports for alias in one.names}
    return {found.group() for start in starts if (found := re.match(r"\w+", start))} - imported


def names_devices_alone(tree: ast.Module, part: tuple[int, ...]) -> bool:
    """Whether the lines of a part only say what a device is called: that computes nothing."""
    inside = _inside(tree, part)
    return bool(inside) and all(
        isinstance(one, ast.Assign) and not any(_computes(node) for node in ast.walk(one.value)) for one in inside
    )


def binds_alone(tree: ast.Module, part: tuple[int, ...]) -> bool:
    """Whether the lines of a part only import, load, or make a loader or a lambda: what the patch changes shows at its
    use."""
    inside = _inside(tree, part)
    return bool(inside) and all(isinstance(one, ast.Import | ast.ImportFrom) or _loads(one) for one in inside)


def _inside(tree: ast.Module, part: tuple[int, ...]) -> list[ast.stmt]:
    first, last = part
    return [one for one in ast.walk(tree) if isinstance(one, ast.stmt) and first <= one.lineno <= last]


def _loads(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return isinstance(value, ast.Lambda) or called == "torch.load" or called.rpartition(".")[2] == "DataLoader"


def _computes(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return not ast.unparse(node.func).endswith(("device", "is_available"))
    return not isinstance(node, ast.Constant | ast.IfExp | ast.Name | ast.Attribute | ast.expr_context)


def _reasons(patch: Patch, findings: Sequence[Finding]) -> Iterator[list[int]]:
    """For each fix the first lines of its statements, with the lines of what its finding tells."""
    for finding in findings:
        if finding.fix is not None:
            told = [finding.span.line, *(step.span.line for step in finding.trail if step.path is None)]
            moved = [after for line in told if (after := patch.moved(line)) is not None]
            yield [*(place.first for place in patch.coverage((), finding.fix).missed), *moved]


def _smallest(block: Sequence[ast.stmt], lines: Sequence[int]) -> tuple[int, int] | None:
    """The first and last line of the statements that hold the lines, in the innermost block that has them all."""
    touched = [one for one in block if any(_first(one) <= line <= (one.end_lineno or 0) for line in lines)]
    if not touched:
        return None
    if len(touched) == 1 and not isinstance(touched[0], _SCOPES):
        for inner in inner_blocks(touched[0]):
            if all(_first(inner[0]) <= line <= (inner[-1].end_lineno or 0) for line in lines):
                return _smallest(inner, lines)
    return _first(touched[0]), touched[-1].end_lineno or 0


def _loop_around(block: Sequence[ast.stmt], line: int) -> tuple[int, int] | None:
    """The innermost loop around a line: what it goes over may come from elsewhere than the line."""
    around = [one for one in block if _first(one) <= line <= (one.end_lineno or 0) and not isinstance(one, _SCOPES)]
    inner = next((found for one in around for part in inner_blocks(one) if (found := _loop_around(part, line))), None)
    if inner is not None or not around or not isinstance(around[0], ast.For) or line == around[0].lineno:
        return inner
    return around[0].lineno, around[0].end_lineno or 0


def _first(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _whole(part: tuple[int, int], before: Sequence[int]) -> tuple[int, int]:
    """A part with all of the changes that it has some of. `before` are the original lines, 0 for those that changed."""
    first, last = part
    while first > 1 and not before[first - 1] and not before[first - 2]:
        first -= 1
    while last < len(before) and not before[last - 1] and not before[last]:
        last += 1
    return first, last


def _is_new(part: tuple[int, int], before: Sequence[int]) -> bool:
    """Whether the original has nothing in the place of a part, so that running it would compare it with nothing."""
    first, last = part
    above = next((line for line in reversed(before[: first - 1]) if line), 0)
    below = next((line for line in before[last:] if line), above + 2)
    return below - above <= 1


def _holds(part: tuple[int, int], lines: Sequence[int]) -> bool:
    return any(part[0] <= line <= part[1] for line in lines)
