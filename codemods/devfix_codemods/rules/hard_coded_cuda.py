"""CUDA is spelled out where a device is at hand.

## What it does

Finds `.cuda()`, `.to("cuda")`, `device="cuda"`, `torch.Generator("cuda")`, `torch.cuda.FloatTensor(…)` and
`.type(torch.cuda.FloatTensor)` that nothing guards, where a tensor, a device or a model is at hand that says where to
go, and lets the value follow it. A script that chooses no device anywhere gets one.

## Why it fails

On a machine without CUDA:

    AssertionError: Torch not compiled with CUDA enabled
    RuntimeError: Found no NVIDIA driver on your system.

With several cards, `.cuda()` is the current one, which need not be the card of the other operand:

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:1 and cuda:0!

## Before

    def forward(self, x):
        noise = torch.randn(x.shape[0], 8).cuda()
        return self.decode(torch.cat([x, noise], dim=1))

## After

    def forward(self, x):
        noise = torch.randn(x.shape[0], 8).to(x.device)
        return self.decode(torch.cat([x, noise], dim=1))

## Fix safety

Safe where the value meets the tensor that it now follows in an operation which needs one place: a program that works
today has both on the same card. Unsafe where the device is chosen otherwise: one in scope, a parameter that is a
tensor, the parameters of a model, a new `device` in a script. Advice only in code that Lightning places. What a
function computes on the host of a tensor that it was given goes back to where that is: `solve(x.cpu()).cuda()` is
unsafe, and safe under `if x.is_cuda`.

`x.type(y.type())` follows `y` by the name of a type: `.to(y)` does that on every device, and is safe. These are unsafe:
`x.to(y.device.type)`, which names no card, takes `y.device`; a call that leaves out a `device` whose default is CUDA
gets the device that is in scope, or that of a tensor it is given; `if torch.cuda.is_available(): x = x.cuda()` and
`options={"device": "cuda"}` take a device that was chosen otherwise; a class keeps the `device` of its constructor as
`self.device` for methods that go to CUDA.

Found as well, with unsafe fixes: `str(device) == "cuda"` and `device == torch.device("cuda")`, which fail for `cuda:0`
(advice only where a device may be text); `"cuda" in device`, which raises for a `torch.device`; `x.device == "cuda"`,
`device == "cpu"` of a `torch.device`, or where it guards a move, and `lib.device == "gpu"`, which never hold;
`device = y.device.type` that is only given as a device; a script's `"cuda:1" if … else "cpu"`; and a method
`cuda(device=None)` that makes `device or 0` of the current card. To repair `torch.device("gpu")`, which raises, is
safe.

Left alone: whatever else asks for CUDA before, code for CUDA by its name or its imports (kernels, extensions, NCCL),
scripts that call what refuses the host in their project, tests and benchmarks, defaults of parameters, process-wide
settings, and cards other than the first.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.edits.operations import (
    Argument,
    Edit,
    ReplaceExpression,
    RewriteCall,
)
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._amp import quoted
from devfix_codemods.rules._arguments import kept as kept_arguments
from devfix_codemods.rules._comparisons import (
    asks_for_gpu,
    asks_tensor_for_cuda,
    called_gpu,
    chain,
    compares_with_cards,
    searched,
)
from devfix_codemods.rules._cuda_and_back import comes_back, is_one_of_both, is_remembered
from devfix_codemods.rules._cuda_asked import asked, moved_to, takes_cuda_where_it_is
from devfix_codemods.rules._cuda_kept import ADVICE, kept
from devfix_codemods.rules._cuda_only import is_cuda_only, is_guarded, is_test
from devfix_codemods.rules._cuda_options import options
from devfix_codemods.rules._cuda_policy import Policy, constants, later_cards
from devfix_codemods.rules._cuda_shared import halves, shared_devices, siblings
from devfix_codemods.rules._cuda_sites import Site, goes_on, placed_on, sites
from devfix_codemods.rules._cuda_targets import Managed, Target, Targets
from devfix_codemods.rules._cuda_types import followings_by_type
from devfix_codemods.rules._device_equality import (
    compared_with_text,
    compared_without_number,
    guards_by_text,
    guards_of_moves,
)
from devfix_codemods.rules._devices import Devices
from devfix_codemods.rules._looks import spells_cuda
from devfix_codemods.rules._moves import text_of
from devfix_codemods.rules._omitted_devices import omissions
from devfix_codemods.rules._streams import makes_streams, other_streams
from devfix_codemods.rules._taken_back import came_from_cuda
from devfix_codemods.rules._tensor_asked import that_ask_a_tensor
from devfix_codemods.rules._type_as_device import gives_types, names_of_types, types_as_devices

_ASKS_TENSOR = re.compile(rb"\.device\s*[!=]=\s*[\"']cuda")
_ASKS_FOR_GPU = re.compile(rb"\w\s*[!=]=\s*[\"']gpu[\"']")
_CALLED_GPU = re.compile(rb"device\(\s*[fF]?[\"']gpu")
_FIRST_CARD = re.compile(rb"\bor 0\b")
_OPTION = re.compile(rb"[\"']device[\"']\s*:\s*(?:torch\.device\()?[\"']cuda")
_SEARCHES = re.compile(rb"[\"']cuda[\"'] (?:not )?in [\w.]*device\b")
_COMPARES = re.compile(rb"str\([\w.]*device\)\s*[!=]=")


def check(program: Program) -> Iterator[Finding]:
    found = list(sites(program))
    literals = list(constants(program))
    yield from _of_guards(program)
    if is_test(program):
        return
    yield from _of_types_as_devices(program)
    if is_cuda_only(program):
        return
    yield from _of_texts(program)
    yield from _of_comparisons(program)
    yield from _of_searches(program)
    yield from _of_tensors_asked(program)
    yield from _of_gpu(program)
    yield from _of_current_cards(program)
    yield from _of_streams(program)
    yield from _of_types(program)
    yield from _of_omissions(program)
    yield from _of_later_cards(program)
    yield from _of_options(program)
    found = [one for one in found if not is_remembered(program, one) and not is_one_of_both(program, one)]
    open_sites = [one for one in found if not is_guarded(program, one.call)]
    if open_sites:
        yield from _of_sites(program, open_sites)
    yield from _that_ask_a_tensor(program, found)
    yield from _that_ask_for_cuda(program, found)
    yield from _of_constants(program, [one for one in literals if not is_guarded(program, one)])


def _of_sites(program: Program, found: list[Site]) -> Iterator[Finding]:
    """What follows something at hand first; the rest by a policy for the script or the function."""
    managed, left = Managed(program), []
    found = [one for one in found if not goes_on(program, one, found)]
    targets = Targets(program, [one for one in found if managed.advice(one) is None])
    followed: dict[Site, Target] = {}
    for site in found:
        if (advice := managed.advice(site)) is not None:
            yield _finding(program, site, _kept(program, site) if advice == ADVICE else None, advice)
        elif (target := targets.of(site)) is None:
            left.append(site)
        elif not comes_back(program, site, target.device):
            followed[site] = target
    followed |= siblings(program, followed, left)
    left = [one for one in left if one not in followed]
    policy = Policy(program, left)
    shared = shared_devices(program, followed)
    half = halves(program, followed, [one for one in left if policy.fix(one) is None])
    for site, target in followed.items():
        if site not in shared:
            edit = placed_on(program, site, target.device) if site not in half else None
            fix = Fix(target.safety, f"Follow `{target.device}`", (edit,)) if edit is not None else None
            yield _finding(program, site, fix, None if fix else f"use `{target.device}`")
    for site, one in shared.items():
        edit = placed_on(program, site, "device")
        fix = Fix(Safety.UNSAFE, f"Follow `{one.device}`", (one.binding, edit)) if edit is not None else None
        yield _finding(program, site, fix, None if fix else f"use `{one.device}`")
    for site in left:
        if not managed.is_file and (fix := policy.fix(site)) is not None:
            yield _finding(program, site, fix, None)


def _kept(program: Program, site: Site) -> Fix | None:
    """The device of the constructor, kept for the method that needs it."""
    line, edit = kept(program, site), placed_on(program, site, "self.device")
    if line is None or edit is None:
        return None
    return Fix(Safety.UNSAFE, "Keep the `device` of the constructor, and follow it", (line, edit))


def _that_ask_a_tensor(program: Program, found: list[Site]) -> Iterator[Finding]:
    asking = dict(that_ask_a_tensor(program, found))
    yield from (_finding(program, site, fix, None) for site, fix in asking.items())
    for site in found:
        name = came_from_cuda(program, site) if site not in asking else None
        edit = placed_on(program, site, f"{name}.device") if name is not None else None
        if edit is not None:
            yield _finding(program, site, Fix(Safety.SAFE, f"Go back to where `{name}` is", (edit,)), None)


def _that_ask_for_cuda(program: Program, found: list[Site]) -> Iterator[Finding]:
    """`if torch.cuda.is_available(): x = x.cuda()`, though a device has been chosen, which may be another."""
    conditions = list(asked(program, found))
    if not conditions:
        return
    managed = Managed(program)
    targets = Targets(program, [site for one in conditions for site in one.sites])
    for one in conditions:
        statement = one.statement or program.names.statement(one.node)
        device = targets.chosen(statement)
        if device is None or takes_cuda_where_it_is(program, device) or any(map(managed.advice, one.sites)):
            continue
        edits = moved_to(program, one, device)
        fix = Fix(Safety.UNSAFE, f"Follow `{device}`", edits) if edits is not None else None
        yield _finding(program, one.sites[0], fix, None if fix else f"use `{device}`")


def _of_constants(program: Program, literals: list[ast.expr]) -> Iterator[Finding]:
    """`device = "cuda"` at the top of a script."""
    policy = Policy(program, [])
    for literal in literals:
        inner = literal.args[0] if isinstance(literal, ast.Call) else literal
        if policy.allows_constants and inner is not None:
            written = program.source.segment(program.source.span(inner))
            host = "'cpu'" if written.startswith("'") else '"cpu"'
            edit = ReplaceExpression(program.source.span(inner), f"__node__ if torch.cuda.is_available() else {host}")
            fix = Fix(Safety.UNSAFE, "Take CUDA only where it is there", (edit,))
            yield _told(program, literal, "the device is CUDA, whether it is there or not", fix)


def _of_later_cards(program: Program) -> Iterator[Finding]:
    for literal in later_cards(program):
        message = f"`{literal.value!s}` is not on every machine: CUDA error: invalid device ordinal"
        edit = ReplaceExpression(program.source.span(literal), quoted(program.source, "cuda"))
        fix = Fix(Safety.UNSAFE, "Take the current card; CUDA_VISIBLE_DEVICES chooses another", (edit,))
        yield _told(program, literal, message, fix)


def _of_options(program: Program) -> Iterator[Finding]:
    """`run(options={"device": "cuda"})`, beside a device or the options of the whole program."""
    if _OPTION.search(program.source.data) is None:
        return
    targets = Targets(program, [])
    for one in options(program):
        if is_guarded(program, one.literal):
            continue
        text = program.source.segment(program.source.span(one.literal))
        device = targets.chosen(program.names.statement(one.literal))
        device = device or (f'{one.options}.get("device", {text})' if one.options is not None else None)
        if device is not None:
            edit = ReplaceExpression(program.source.span(one.literal), device)
            fix = Fix(Safety.UNSAFE, f"Follow `{one.options or device}`", (edit,))
            yield _told(program, one.literal, "CUDA is spelled out among options, wherever the rest is", fix)


def _of_texts(program: Program) -> Iterator[Finding]:
    """`str(device) == "cuda"`, which is False for `cuda:0`."""
    if _COMPARES.search(program.source.data) is None:
        return
    for node in ast.walk(program.tree):
        match node:
            case ast.Compare(
                left=ast.Call(func=ast.Name(id="str"), args=[device]) as left,
                ops=[ast.Eq() | ast.NotEq() as comparison],
                comparators=[ast.Constant(value="cuda")],
            ) if "device" in (dotted(device) or "") and not compares_with_cards(program, left):
                text = program.source.segment(program.source.span(left))
                negated = "not " if isinstance(comparison, ast.NotEq) else ""
                edit = ReplaceExpression(
                    program.source.span(node), f"{negated}{text}.startswith({quoted(program.source, 'cuda')})"
                )
                fix = Fix(Safety.UNSAFE, "Compare without the number of the card", (edit,))
                message = f"`{text}` may be `cuda:0`: this comparison takes such a device for the host"
                yield _told(program, node, message, fix)


def _of_comparisons(program: Program) -> Iterator[Finding]:
    """`device == torch.device("cuda")`, which is False for `cuda:0`; `device == "cuda"`, which is False for all."""
    for one in compared_without_number(program):
        fix = Fix(Safety.UNSAFE, "Compare the types", one.edits) if one.edits else None
        message = (
            f"`{text_of(program, one.device)}` may be `{one.kind}:0`, which does not equal a device without a number"
        )
        yield _told(program, one.node, message, fix, "compare the types of the devices")
    for each in compared_with_text(program):
        text = text_of(program, each.device)
        fix = Fix(Safety.UNSAFE, f"Compare the type of `{text}`", (each.edit(program),))
        yield _told(program, each.node, f"`{text}` is a `torch.device`, which equals no string", fix)


def _of_guards(program: Program) -> Iterator[Finding]:
    """`if model.device == "cpu": model.to(device)`, which is False for every `torch.device`."""
    for device in guards_of_moves(program):
        text = text_of(program, device)
        fix = Fix(
            Safety.UNSAFE,
            f"Compare the text of `{text}`",
            (ReplaceExpression(program.source.span(device), f"str({text})"),),
        )
        message = f"`{text}` of what can be moved is a `torch.device`, which equals no string: this decides nothing"
        yield _told(program, device, message, fix)


def _of_searches(program: Program) -> Iterator[Finding]:
    """`"cuda" in device`, which raises where the caller gives a `torch.device`."""
    if _SEARCHES.search(program.source.data) is None:
        return
    for node, device in searched(program):
        text = text_of(program, device)
        edit = ReplaceExpression(program.source.span(device), f"str({text})")
        fix = Fix(Safety.UNSAFE, f"Search the text of `{text}`", (edit,))
        message = f"`{text}` may be a `torch.device`: argument of type 'torch.device' is not iterable"
        yield _told(program, node, message, fix)


def _of_tensors_asked(program: Program) -> Iterator[Finding]:
    """`x.device == "cuda"`, which is False for every tensor."""
    if _ASKS_TENSOR.search(program.source.data) is None:
        return
    for node in asks_tensor_for_cuda(program):
        text, fix = text_of(program, node.left), None
        edit: Edit | None
        if len(node.ops) == 1 and ast.unparse(node.comparators[0]) == "'cuda'":
            edit = ReplaceExpression(program.source.span(node.left), "__node__.type")
            fix = Fix(Safety.UNSAFE, f"Compare the type of `{text}`", (edit,))
        elif (edit := chain(program, node)) is not None:
            fix = Fix(Safety.UNSAFE, "Ask a tensor whether it is on CUDA", (edit,))
        message = f"`{text}` is a `torch.device`, which equals no string"
        yield _told(program, node, message, fix, "ask each tensor for `is_cuda`, or compare `device.type`")


def _of_gpu(program: Program) -> Iterator[Finding]:
    """A comparison of a device with `"gpu"`, which torch calls none, or a device that is made under this name."""
    if _CALLED_GPU.search(program.source.data) is not None:
        for call, edit in called_gpu(program):
            fix = Fix(Safety.SAFE, "Name CUDA", (edit,))
            yield _told(program, call, "torch has no device called `gpu`: this raises a RuntimeError", fix)
    if _ASKS_FOR_GPU.search(program.source.data) is None:
        return
    for node, edit in asks_for_gpu(program):
        fix = Fix(Safety.UNSAFE, "Ask for CUDA", (edit,))
        yield _told(program, node, f"`{text_of(program, node.left)}` is never `gpu`: torch has no such device", fix)


def _of_current_cards(program: Program) -> Iterator[Finding]:
    """`torch.device("cuda", device or 0)` in a method `cuda(device=None)`: None is the current card there."""
    if _FIRST_CARD.search(program.source.data) is None:
        return
    for call in program.names.calls:
        function = scope.function_around(program, call)
        if function is None or function.name != "cuda" or program.names.qualified(call.func) != "torch.device":
            continue
        given = scope.given_to(call)
        match given:
            case [
                ast.Constant(value="cuda"),
                ast.BoolOp(op=ast.Or(), values=[ast.Name(id=name), ast.Constant(value=0)]) as index,
            ] if name in scope.parameters(function):
                edit = ReplaceExpression(
                    program.source.span(index), f"torch.cuda.current_device() if {name} is None else {name}"
                )
                fix = Fix(Safety.UNSAFE, "Take the current card where none is given", (edit,))
                message = f"without `{name}` this is card 0, where `cuda()` of torch takes the current one"
                yield _told(program, call, message, fix)


def _of_streams(program: Program) -> Iterator[Finding]:
    for one in other_streams(program) if makes_streams(program.source.data) else ():
        message = "this stream is of the current card, which need not be that of `self.device`"
        yield _told(program, one.made, message, Fix(Safety.UNSAFE, "Take streams of `self.device`", one.edits))


def _of_types(program: Program) -> Iterator[Finding]:
    for one in followings_by_type(program):
        message = f"the type of `{one.followed}` has a name on the host and on CUDA only, and names no card"
        yield _told(program, one.call, message, Fix(Safety.SAFE, f"Follow `{one.followed}`", (one.edit,)))


def _of_types_as_devices(program: Program) -> Iterator[Finding]:
    """`x.to(y.device.type)`, which is the current card, whatever that of `y` is."""
    for one in types_as_devices(program):
        text = text_of(program, one.value)
        message = f"the type of `{text}` names no card: this is the current one, whatever that of `{text}` is"
        edit = ReplaceExpression(program.source.span(one), text)
        yield _told(program, one, message, Fix(Safety.UNSAFE, f"Give `{text}` itself", (edit,)))
    for one, by_torch in names_of_types(program):
        text = text_of(program, one.value)
        message = f"the type of `{text}` names no card, and is given as a device: the current one, whatever `{text}` is"
        edit = ReplaceExpression(program.source.span(one), text if by_torch else f"str({text})")
        yield _told(program, one, message, Fix(Safety.UNSAFE, f"Keep the number of `{text}`", (edit,)))


def _of_omissions(program: Program) -> Iterator[Finding]:
    """A call of a function here that leaves out its device, which is CUDA then."""
    devices: Devices | None = None
    for one in omissions(program):
        devices = devices or Devices(program)
        statement = program.names.statement(one.call)
        device = devices.first(statement)
        beside = next(devices.of_values(statement), None)
        known = beside is not None or one.given_elsewhere or one.tensor is not None
        if device is None and (not known or is_guarded(program, one.call)):
            continue
        fix, text = None, device.text if device is not None else f"{one.tensor}.device" if one.tensor else None
        if text is not None:
            given, count = kept_arguments(one.call), len(one.call.args)
            arguments = (*given[:count], Argument(text, one.parameter), *given[count:])
            edit = RewriteCall(program.source.span(one.call), None, arguments)
            fix = Fix(Safety.UNSAFE, f"Say that the device is `{text}`", (edit,))
        message = f"`{one.function.name}` takes CUDA here, by the default of its `{one.parameter}`"
        advice = f"give it `{one.parameter}={text or beside or '…'}`"
        yield _told(program, one.call, message, fix, advice)


def _finding(program: Program, site: Site, fix: Fix | None, advice: str | None) -> Finding:
    value = text_of(program, site.receiver) if site.receiver is not None else text_of(program, site.call.func)
    return _told(program, site.call, f"CUDA is spelled out for `{_short(value)}`, wherever the rest is", fix, advice)


def _told(program: Program, node: ast.expr, message: str, fix: Fix | None, advice: str | None = None) -> Finding:
    return Finding(RULE.code, RULE.name, message, program.source.span(node), fix=fix, advice=advice)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."


def _looks(data: bytes) -> bool:
    if spells_cuda(data) or makes_streams(data) or gives_types(data) or guards_by_text(data):
        return True
    return _ASKS_FOR_GPU.search(data) is not None or _CALLED_GPU.search(data) is not None


RULE = Rule(
    "DVF501",
    "hard-coded-cuda",
    (
        (b".cuda(",),
        (b'"cuda',),
        (b"'cuda",),
        (b"torch.cuda.", b"Tensor"),
        (b".type(", b".type())"),
        (b"gpu", b".device"),
        (b"cuda.Stream()", b"self.device"),
        (b"device.type",),
        (b".device", b"cpu", b".to("),
    ),
    check,
    looks=_looks,
)
