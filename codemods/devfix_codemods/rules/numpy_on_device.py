"""A tensor that may be on a device is given to numpy, to what plots, or to another reader of the host's memory.

## What it does

Finds `.numpy()`, functions of numpy and of libraries that read as it does (scipy, scikit-learn, pandas, OpenCV …), and
plots on tensors that are on a device, or may be: what a model gives, what a function is given, what is detached, what
a loop has collected, what the same function copies to the host elsewhere. Puts `.cpu()` before, or one copy above a
loop that reads part after part. Lists of such tensors are copied one by one, and gradients where they are collected
for a plot. The lengths of `pack_padded_sequence` are read on the host too.

## Why it fails

numpy reads the host's memory only:

    TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory
    first.
    RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor

## Before

    scores = model(images).detach().numpy()

## After

    scores = model(images).detach().cpu().numpy()

## Fix safety

Safe: `.cpu()` of a tensor on the host is that tensor itself. Unsafe where a loop converts what it goes over, too late
for its items: that is done before it. Advice only in the `forward` of an autograd function whose `backward` knows no
device: its gradient would be on the host. Nothing is said of tensors that are made on the host, or brought there
before; of data in datasets, collate functions and transforms; of files that import another framework whose tensors have
`.numpy()`, too; and of tests.

## Since torch

Any.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache, partial

from devfix_codemods import scope
from devfix_codemods.edits.operations import InsertStatement, ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.flow.classes import ClassTable
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.flow.facts import Readout
from devfix_codemods.flow.places import may_be_device
from devfix_codemods.flow.readouts import METHODS_FIRST
from devfix_codemods.flow.values import Birth, Kind
from devfix_codemods.placement import graph
from devfix_codemods.placement.search import Conflict
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule
from devfix_codemods.rules._asked_types import is_no_tensor
from devfix_codemods.rules._conversions import conversions_beside, converted, is_moved, is_written_to
from devfix_codemods.rules._converted_inside import ConvertedInside, converted_inside, converts_inside
from devfix_codemods.rules._copied_beside import copied_beside, may_copy_beside
from devfix_codemods.rules._copied_once import copied_before_loop
from devfix_codemods.rules._host_branches import is_guarded, pins_host
from devfix_codemods.rules._host_functions import is_for_host, is_in_host_lambda, is_said_of_host
from devfix_codemods.rules._lengths import lengths_off_host, packs
from devfix_codemods.rules._looks import LIBRARIES, may_plot_tensors, reads_on_host
from devfix_codemods.rules._mixed_parameters import may_have_no_device
from devfix_codemods.rules._moves import text_of
from devfix_codemods.rules._plots import plotted
from devfix_codemods.rules._said_host import sounds_like_host
from devfix_codemods.rules._tensor_words import DEVICES
from devfix_codemods.rules._whereabouts import Made, Whereabouts

_TESTS = re.compile(r"(?:^|/)(?:tests?|testing)/|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")
_OTHER_FRAMEWORKS = frozenset(
    {"tensorflow", "paddle", "jax", "mindspore", "mxnet", "oneflow", "flax", "tinygrad", "keras"}
)
_AROUND_TORCH = frozenset(
    {"torch", "torchvision", "torchaudio", "torch_geometric", "pytorch_lightning", "lightning", "ignite", "accelerate"}
    | {"transformers", "diffusers", "sentence_transformers", "timm", "monai", "kornia", "fastai", "dgl", "pyro"}
    | {"gpytorch", "botorch"}
)
"""Where the tensors of a file come from. Without one of these, `.numpy()` may be a method of somebody's own class."""
_DATA_FILES = re.compile(
    r"(?i)(?:^|/)(?:data|datasets|loaders?|transforms)/[^/]*$"
    r"|(?:process(?:ing|or)|transform|dataset|loader|image|audio|video|seriali[sz])[^/]*$"
)
_DATA = re.compile(
    r"(?i)dataset|transform|augment|collat|datamodule|preprocess|sampler|tokeniz|(?:^|_)(?:load|read|save|write)"
)
_SAYS_HOST = re.compile(r"""(["'])device\1\s*:\s*(["'])cpu\2|device\s*=\s*(["'])cpu\3|torch\.device\((["'])cpu\4\)""")


def check(program: Program) -> Iterator[Finding]:
    if _TESTS.search(program.source.path.replace("\\", "/")):
        return
    if converts_inside(program.source.data):
        yield from (_of_loop(program, one) for one in converted_inside(program))
    if reads_on_host(program.source.data) or may_copy_beside(program.source.data):
        yield from _whole_statements(program, dict(_found(program)))


def _looks(data: bytes) -> bool:
    return reads_on_host(data) or converts_inside(data) or may_copy_beside(data)


def _of_loop(program: Program, one: ConvertedInside) -> Finding:
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{one.name}` is converted while the loop goes over it: the items it gives stay where they are",
        span=program.source.span(one.statement),
        fix=Fix(Safety.UNSAFE, f"Convert `{one.name}` before the loop", one.edits),
    )


def _whole_statements(program: Program, found: dict[ast.expr, Finding]) -> Iterator[Finding]:
    """The findings, and one for each other tensor that their statements convert: those fail at any that is left.

    Nothing where one of them cannot be copied.
    """
    where, imported, left = Whereabouts(program), scope.packages(program), set[ast.stmt]()
    repaired = {tensor for tensor, one in found.items() if one.fix is not None}
    for call, tensor in conversions_beside(program, repaired):
        if tensor in found or _is_settled(program, call) or sounds_like_host(tensor):
            continue
        if is_moved(tensor) or where.source(tensor) is Made.HOST:
            continue
        if is_written_to(program, call) or not _is_of_torch(tensor, imported):
            left.add(program.names.statement(call))
        found[tensor] = _finding(program, tensor, "`.numpy()`")
    yield from (one for tensor, one in found.items() if program.names.statement(tensor) not in left)


def _found(program: Program) -> Iterator[tuple[ast.expr, Finding]]:
    """The tensors that may be on a device, each with what is to be said of it."""
    told: set[ast.expr] = set()
    for tensor, reader in (*_by_syntax(program), *_copied_beside(program)):
        if tensor not in told:
            told.add(tensor)
            yield tensor, _finding(program, tensor, reader)
    if not (program.outline.moves_loop_items or program.outline.builds_free_modules):
        return
    read = {one.operand.node for one in program.facts.readouts}
    vain = {dotted(one.receiver) for one in program.facts.moves if not one.result_used}
    where = cache(partial(Whereabouts, program))
    for readout in program.facts.readouts:
        operand = readout.operand
        if dotted(operand.node) in vain:
            continue  # another rule's bug
        if _says_host(program, readout.node) or sounds_like_host(operand.node):
            continue
        if _is_size(program, operand.node) or is_written_to(program, readout.node):
            continue
        if not _is_moved_tensor(program, readout) or operand.node in told or _is_settled(program, operand.node):
            continue
        of_self = ast.unparse(operand.node).startswith("self.")  # its parameters are made on the host, too
        if of_self or readout.listed or where().source(operand.node) is not Made.HOST:
            told.add(operand.node)
            yield operand.node, _of_readout(program, readout, read)


def _of_readout(program: Program, readout: Readout, read: set[ast.expr]) -> Finding:
    operand = readout.operand
    if readout.listed:
        return _of_list(program, readout)
    if readout.reader != "numpy" and (_may_be_number(program, operand.node) or _may_be_array(program, operand.node)):
        return _advised(program, readout, "copy it to the host first, if it is a tensor")
    if operand.value.of_host:
        return _advised(program, readout, "compute it on one device, and copy it to the host first")
    once = copied_before_loop(program, operand.node, read)
    return _finding(program, operand.node, f"`{dotted(readout.node.func) or readout.reader}`", once)


def _is_size(program: Program, node: ast.expr) -> bool:
    """Whether a name holds a sum with `torch.Size(...)`."""
    function = scope.function_around(program, node)
    if function is None or not isinstance(node, ast.Name):
        return False
    values = [
        one.value for one in ast.walk(function) if isinstance(one, ast.Assign) and node.id in set(scope.stored(one))
    ]
    parts = [part for one in values if isinstance(one, ast.BinOp) for part in (one.left, one.right)]
    return any(isinstance(one, ast.Call) and program.names.qualified(one.func) == "torch.Size" for one in parts)


def _is_moved_tensor(program: Program, readout: Readout) -> bool:
    """On a device, and a tensor: by its kind, by `.numpy()`, as an element of a batch that was moved, or as all that a
    module gives."""
    value = readout.operand.value
    sure = value.kind is Kind.TENSOR or readout.reader == "numpy" or value.batch is not None
    return may_be_device(readout.operand.place) and (sure or _is_whole_result(program, readout))


def _is_whole_result(program: Program, readout: Readout) -> bool:
    """`model(x)`, or a name that gets that and nothing else: what is read as an array is no tuple, and no number."""
    node, origin = readout.operand.node, readout.operand.value.origin
    if origin is None or origin.birth is not Birth.OPERATION or not isinstance(origin.node, ast.Call):
        return False
    if not isinstance(node, ast.Name):
        return node is origin.node
    found = program.bindings.seen(node.id, node)
    return len(found) == 1 and found[0].value is origin.node


def _by_syntax(program: Program) -> Iterator[tuple[ast.expr, str]]:
    """Tensors of which no flow is needed to say that they may be on a device, and what reads them."""
    calls = [one for one in program.names.calls if converted(one) is not None or _reads_arguments(program, one)]
    packing, plots = packs(program), may_plot_tensors(program.source.data)
    imported = scope.packages(program)
    if not (calls or packing or plots) or imported & _OTHER_FRAMEWORKS:
        return
    whereabouts, classes = Whereabouts(program), program.unit.classes
    for one, reader in plotted(program, whereabouts):
        if not _is_data(program, classes, one) and not _is_settled(program, one) and not sounds_like_host(one):
            yield one, reader
    for lengths in lengths_off_host(program, packing, whereabouts):
        if not _is_settled(program, lengths) and not sounds_like_host(lengths):
            yield lengths, "`pack_padded_sequence`"
    has_devices = _speaks_of_devices(program.source.text)
    for call in calls:
        if _is_data(program, classes, call) or _is_settled(program, call):
            continue
        if _trains_on_the_host(program, call):
            continue
        tensor = converted(call)
        if tensor is None:
            read = (one for one in call.args if _is_computed(whereabouts.source(one), one))
            yield from ((one, f"`{dotted(call.func)}`") for one in read)
            continue
        if not _is_of_torch(tensor, imported) or is_written_to(program, call):
            continue
        if _may_be_elsewhere(whereabouts.source(tensor), tensor, has_devices) and not sounds_like_host(tensor):
            yield tensor, "`.numpy()`"


def _copied_beside(program: Program) -> Iterator[tuple[ast.expr, str]]:
    """Tensors that are read as they are, and copied to the host beside it."""
    if scope.packages(program) & _OTHER_FRAMEWORKS:
        return
    for tensor, reader in copied_beside(program):
        if not _is_settled(program, tensor) and not sounds_like_host(tensor):
            yield tensor, reader


def _speaks_of_devices(text: str) -> bool:
    """Whether code has to do with a device that is not the host."""
    return DEVICES.search(_SAYS_HOST.sub("", text)) is not None


def _says_host(program: Program, call: ast.Call) -> bool:
    """Whether a docstring says that the function takes tensors of the host."""
    function = scope.function_around(program, call)
    return function is not None and is_said_of_host(program, function)


def _trains_on_the_host(program: Program, call: ast.Call) -> bool:
    """Whether the function builds the model that it trains, and has no word of a device."""
    function = scope.function_around(program, call)
    if function is None or b"optim" not in program.source.data or _speaks_of_devices(ast.unparse(function)):
        return False
    given = scope.parameters(function)
    trained = [
        (dotted(one.args[0].func) or "").removesuffix(".parameters")
        for one in ast.walk(function)
        if isinstance(one, ast.Call) and (program.names.qualified(one.func) or "").startswith("torch.optim.")
        if one.args and isinstance(one.args[0], ast.Call)
    ]
    built = {
        name
        for one in ast.walk(function)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)
        for name in scope.stored(one)
    }
    return bool(trained) and all(one in built and one not in given for one in trained)


def _reads_arguments(program: Program, call: ast.Call) -> bool:
    """A function of numpy, or a plot."""
    name = program.names.qualified(call.func) if isinstance(call.func, ast.Attribute) and call.args else None
    if name is None or METHODS_FIRST.fullmatch(name):
        return False
    return name.startswith(("numpy.", "matplotlib."))


def _is_computed(source: Made, node: ast.expr) -> bool:
    """Certainly a tensor, and no array, that a model gave."""
    return source is Made.COMPUTED or (source is Made.MODEL and _is_detached(node))


def _may_be_elsewhere(source: Made, tensor: ast.expr, has_devices: bool) -> bool:
    if source is Made.HOST:
        return False
    detached = _is_detached(tensor)
    if not has_devices:
        return detached and source in {Made.GIVEN, Made.OWNED}
    return detached or source in {Made.GIVEN, Made.MODEL, Made.COMPUTED}


def _is_of_torch(tensor: ast.expr, imported: set[str]) -> bool:
    """Whether what has a `.numpy()` is one of torch's, which take no text for a type: `x.to("float32")` is none."""
    if any(isinstance(one, ast.Call) and _names_type(one) for one in scope.chain(tensor)):
        return False
    if "torchio" in imported and any(
        isinstance(one, ast.Attribute) and one.attr == "data" for one in scope.chain(tensor)
    ):
        return False  # of an image, which is read and changed on the host
    return _is_detached(tensor) or not imported.isdisjoint(_AROUND_TORCH)


def _names_type(call: ast.Call) -> bool:
    given = call.args[0] if last_name(call.func) == "to" and call.args else None
    return isinstance(given, ast.Constant) and _TYPES.match(str(given.value)) is not None


_TYPES = re.compile(r"(?:b?float|u?int|bool|half|double|complex)\d*$")


def _is_detached(tensor: ast.expr) -> bool:
    """`.detach()` or `.data` in the chain: only what takes part in training needs it."""
    parts = (one for one in scope.chain(tensor) if isinstance(one, ast.Attribute))
    return any(one.attr in {"detach", "data"} and dotted(one) != "self.data" for one in parts)


def _is_data(program: Program, classes: ClassTable, node: ast.AST) -> bool:
    """In code that makes or reads data: what runs there runs on the host."""
    function, owner = scope.function_around(program, node), scope.class_around(program, node)
    if _DATA_FILES.search(program.source.path.replace("\\", "/")):
        return True
    named = [owner.name, *classes.named_bases(owner)] if owner is not None else []
    if owner is not None and (classes.is_dataset(owner) or any(map(_DATA.search, named))):
        return True
    return function is not None and (function.name == "__getitem__" or _DATA.search(function.name) is not None)


def _is_settled(program: Program, node: ast.expr) -> bool:
    """Whether the code around says that the tensor is on the host, or no tensor."""
    function = scope.function_around(program, node)
    if (function is not None and is_for_host(program, function)) or is_in_host_lambda(program, node):
        return True
    return is_guarded(program, node) or pins_host(program, node) or is_no_tensor(program, converted(node) or node)


def _finding(program: Program, tensor: ast.expr, reader: str, once: InsertStatement | None = None) -> Finding:
    while isinstance(tensor, ast.UnaryOp):
        tensor = tensor.operand
    text = text_of(program, tensor)
    edit = once or ReplaceExpression(program.source.span(tensor), "__node__.cpu()")
    half = _leaves_gradient(program, tensor)
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}` may be on a device, which {reader} cannot read",
        span=program.source.span(tensor),
        fix=Fix(Safety.SAFE, f"Copy `{text}` to the host first", (edit,)) if not half else None,
        advice="copy it to the host first, and what `backward` gives back to the device" if half else None,
    )


def _leaves_gradient(program: Program, tensor: ast.expr) -> bool:
    """Whether it is read in the `forward` of an autograd function whose `backward` knows nothing of devices.

    Its gradient must be where the tensor is.
    """
    function, owner = scope.function_around(program, tensor), scope.class_around(program, tensor)
    if function is None or owner is None or function.name != "forward":
        return False
    if "torch.autograd.Function" not in program.unit.classes.named_bases(owner):
        return False
    backward = program.unit.classes.methods(owner).get("backward")
    return backward is not None and not _speaks_of_devices(ast.unparse(backward))


def _may_be_array(program: Program, node: ast.expr) -> bool:
    """Whether some caller gives the parameter an array, which has no `.cpu()`."""
    return isinstance(node, ast.Name) and may_have_no_device(program, node.id, node)


def _may_be_number(program: Program, node: ast.expr) -> bool:
    """`accuracy * 100`, of what a call gave beside others: models return numbers with their tensors."""
    match node:
        case (
            ast.BinOp(left=ast.Name(id=name), right=ast.Constant())
            | ast.BinOp(left=ast.Constant(), right=ast.Name(id=name))
        ):
            around = scope.function_around(program, node) or program.tree
            statements = {program.names.statement(one) for one in scope.stores(around, name)}
            return bool(statements) and all(
                isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Call)
                and isinstance(one.targets[0], (ast.Tuple, ast.List))
                for one in statements
            )
    return False


def _advised(program: Program, readout: Readout, advice: str) -> Finding:
    node, reader = readout.operand.node, dotted(readout.node.func) or readout.reader
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text_of(program, node)}` may be on a device, which `{reader}` cannot read",
        span=program.source.span(node),
        advice=advice,
    )


def _of_list(program: Program, readout: Readout) -> Finding:
    """`np.mean(losses)`, of losses that were collected where they are."""
    node, reader = readout.operand.node, dotted(readout.node.func) or readout.reader
    text = text_of(program, node)
    edit = ReplaceExpression(program.source.span(node), "[one.detach().cpu() for one in __node__]")
    return Finding(
        code=RULE.code,
        name=RULE.name,
        message=f"`{text}` holds tensors that may be on a device, which `{reader}` cannot read",
        span=program.source.span(node),
        fix=Fix(Safety.SAFE, f"Copy what `{text}` holds to the host first", (edit,)),
    )


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth is graph.Birth.READER


RULE = Rule(
    "DVF402",
    "numpy-on-device",
    (
        (b".numpy()",),
        (b"pack_padded_sequence(",),
        (b"sentence_transformers", b"np."),
        (b"np.", b".detach()"),
        (b"np.", b".data"),
        (b"plt", b".cuda("),
        (b"plt", b".to("),
        *((library, move) for library in (*LIBRARIES, b"numpy") for move in (b".cuda(", b".to(", b".cpu()")),
        (b"matplotlib", b".grad."),
        (b"matplotlib", b"Tensor"),
    ),
    check,
    looks=_looks,
    owns=_owns,
)
