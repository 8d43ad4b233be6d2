"""What a factory makes that is better left on the host: by where it stands, and by what is done with it."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import attributes_set, dotted
from devfix_codemods.program import Program
from devfix_codemods.rules._host_reads import is_of_dataset, is_only_model, is_plain_number, is_read_later
from devfix_codemods.rules._lengths import is_packed_as_lengths
from devfix_codemods.rules._moving_helpers import is_moved_inside, moves

# Where tensors are on the host on purpose


_HOST_FUNCTIONS = re.compile(
    r"_*(?:__(?!call)\w+__|collate\w*|\w*collate(?:_fn)?|test\w*|setup\w*|reset_parameters|init"
    r"\w*|\w*_init|build\w*|make\w*|create\w*|load\w*|read\w*|plot\w*|draw\w*|visuali\w*|export\w*|process"
    r"|download|\w*dummy\w*|\w*example\w*|\w*dataset\w*|\w*dataloader\w*|\w*sampler)"
)
_HOST_CLASSES = re.compile(
    r".*(?:Data|Dataset|Loader|DataModule|Sampler|Collator|Collate|Test|Tests|TestCase|Reader)\d*"
)


_HOST_FILES = re.compile(r"(?:dataset|dataloader|datamodule|collat\w*|preprocess\w*)s?\.py$")


def runs_on_the_host(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether a function builds, loads, tests or shows: what it makes is moved later, or never."""
    if _HOST_FILES.search(program.source.path.replace("\\", "/")):
        return True
    owners = [one for one in program.names.ancestors(call) if isinstance(one, ast.ClassDef)]
    names = [one.name for one in program.names.ancestors(call) if isinstance(one, scope.Function)]
    if any(_HOST_FUNCTIONS.fullmatch(one) for one in names) or any(_HOST_CLASSES.fullmatch(one.name) for one in owners):
        return True
    if any(context.worker for context in program.facts.births.get(call, ())):
        return True
    if any(base.endswith(("Dataset", "Sampler", "TestCase")) for one in owners for base in _bases(program, one)):
        return True
    tests = (one.test for one in program.names.ancestors(call) if isinstance(one, (ast.If, ast.IfExp)))
    return any(_PLACES.search(ast.unparse(one)) for one in tests)


_PLACES = re.compile(r"is_available|cuda|cpu|device")


def _bases(program: Program, owner: ast.ClassDef) -> tuple[str, ...]:
    return tuple(program.classes.named_bases(owner))


# What happens to the value


LEAVES = frozenset(
    {"to", "cuda", "cpu", "type_as", "to_device", "numpy", "tolist", "item", "pin_memory", "is_cuda", "device"}
    | {"backward", "data_ptr", "share_memory_", "element_size"}
)
_LEGACY_SPARSE = re.compile(r"torch\.sparse\.\w+Tensor")
_HOST_READERS = re.compile(r"(?:np|numpy|plt|axe?s?\d*|math|json|pickle|cv2|Image|PIL|pd|os|dist|random)\..*")
_HOST_CALLS = frozenset(
    {"int", "float", "bool", "str", "list", "print", "range", "sorted", "set", "dict", "tuple", "isinstance", "save"}
    | {"allclose", "assert_close", "assertEqual", "pack_padded_sequence", "ctc_loss", "CTCLoss", "from_dlpack"}
    | {"register_buffer", "Parameter", "Buffer", "move_to", "send_to_device", "to_device", "prepare"}
    | {"all_reduce", "broadcast", "split", "chunk", "multinomial", "TensorDataset", "DataLoader", "from_pretrained"}
    | {"copy_", "set_timesteps", "retrieve_timesteps"}
)


def stays(program: Program, function: scope.Function, call: ast.Call) -> bool:
    """Whether the value, or the name it gets, is kept on the host, moved, or only an index or a scalar."""
    if is_scalar(call) or is_plain_number(program, function, call) or _is_reduced(program, call):
        return True
    if _is_taken_out(program, call):
        return True
    if is_index(program, call) or not _is_open(program, call) or is_read_later(program, function, call):
        return True
    if is_of_dataset(call) or is_only_model(program, function, call) or is_packed_as_lengths(program, function, call):
        return True
    statement = program.names.statement(call)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    targets = [statement.target] if isinstance(statement, ast.AnnAssign) else targets
    if isinstance(statement, ast.Assign) and any(attributes_set(statement)):
        return True
    names = {one for each in targets for one in scope.stored(each)}
    words = [*names, *(one.value for each in targets for one in ast.walk(each) if isinstance(one, ast.Constant))]
    if any(isinstance(one, str) and tables.sounds_like_length(one) for one in words):
        return True
    uses = [one for one in scope.loads(function, names) if _may_follow(program, one, call)]
    if any(not _is_open(program, one) or _is_added_to_attribute(program, one) for one in uses):
        return True
    read = [one for one in uses if not _is_measured(program, one)]
    return bool(read) and all(is_index(program, one) for one in read)


def _may_follow(program: Program, use: ast.Name, call: ast.Call) -> bool:
    """Whether a use can come after the call: below it, in its own statement, or in a loop around both."""
    if use.lineno >= program.names.statement(call).lineno:
        return True
    loops = [one for one in program.names.ancestors(call) if isinstance(one, ast.For | ast.AsyncFor | ast.While)]
    return any(one in loops for one in program.names.ancestors(use))


def _is_added_to_attribute(program: Program, node: ast.Name) -> bool:
    """`module.total += x`: the sum stays where it is, and that was made elsewhere."""
    parent = program.names.parent(node)
    return isinstance(parent, ast.AugAssign) and parent.value is node and isinstance(parent.target, ast.Attribute)


def _is_measured(program: Program, node: ast.Name) -> bool:
    """`x.shape`, `x.numel()`: the same wherever the tensor is."""
    parent = program.names.parent(node)
    return isinstance(parent, ast.Attribute) and parent.attr in tables.TENSOR_SHAPE_METHODS | {"shape", "ndim"}


def is_scalar(call: ast.Call) -> bool:
    """`torch.tensor(0.5)`: a 0-dim tensor may stay on the host."""
    last = (dotted(call.func) or "").rpartition(".")[2]
    if last == "scalar_tensor" or any(one.arg == "generator" for one in call.keywords):
        return True
    plain = (ast.Name, ast.List, ast.Tuple, ast.ListComp)
    return last == "tensor" and bool(call.args) and not isinstance(call.args[0], plain)


def _is_taken_out(program: Program, call: ast.Call) -> bool:
    """`torch.randint(9, (1,))[0]`: a 0-dim tensor."""
    parent = program.names.parent(call)
    sizes = [one.value for one in call.keywords if one.arg == "size"] or call.args[-1:]
    return (
        isinstance(parent, ast.Subscript)
        and isinstance(parent.slice, ast.Constant)
        and any(
            isinstance(one, (ast.Tuple, ast.List)) and [ast.unparse(each) for each in one.elts] == ["1"]
            for one in sizes
        )
    )


def _is_reduced(program: Program, call: ast.Call) -> bool:
    """`torch.tensor([h, w]).max()`, `torch.prod(torch.tensor([h, w]))`: one number is asked for."""
    method = program.names.parent(call)
    if isinstance(method, ast.Call) and method.args == [call] and not method.keywords:
        return (program.names.qualified(method.func) or "").removeprefix("torch.") in _REDUCTIONS
    while isinstance(method, ast.Attribute):
        reduced = program.names.parent(method)
        if not isinstance(reduced, ast.Call) or reduced.args or reduced.keywords:
            return False
        if method.attr in _REDUCTIONS:
            return True
        method = program.names.parent(reduced)
    return False


_REDUCTIONS = frozenset({"max", "amax", "min", "amin", "sum", "prod", "mean", "argmax", "argmin"})


def _takes_type_of_other(program: Program, node: ast.Attribute) -> bool:
    """`.type(x.type())`, which takes a tensor to CUDA if `x` is there."""
    call = program.names.parent(node)
    given = call.args[0] if node.attr == "type" and isinstance(call, ast.Call) and call.args else None
    return isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and given.func.attr == "type"


def _is_open(program: Program, node: ast.expr) -> bool:
    """Whether nothing on the way from `node` to its statement moves the value or reads it on the host."""
    inner: ast.AST = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, ast.Attribute) and outer.attr == "item" and isinstance(inner, ast.Subscript):
            return True  # one element is read
        if isinstance(outer, ast.Attribute) and outer.attr in LEAVES and moves(program, outer):
            return False
        if isinstance(outer, ast.Attribute) and _takes_type_of_other(program, outer):
            return False
        if isinstance(outer, ast.keyword) and tables.sounds_like_length(outer.arg or ""):
            return False
        if isinstance(outer, ast.Call) and inner is not outer.func and _takes_away(program, outer, inner):
            return False
        if isinstance(outer, ast.Subscript) and inner is outer.value and _on_host(outer.slice):
            return False
        if isinstance(outer, ast.Subscript) and inner is outer.slice and program.names.parent(node) is outer:
            return isinstance(outer.ctx, ast.Load)
        if isinstance(outer, (ast.For, ast.AsyncFor)) and inner is outer.iter:
            return False
        if isinstance(outer, (ast.comprehension, ast.If, ast.While, ast.Assert, ast.FormattedValue)):
            return not isinstance(outer, ast.comprehension)
        if isinstance(outer, ast.stmt):
            return True
        inner = outer
    return True


def _constructs(program: Program, call: ast.Call) -> bool:
    """`torch.FloatTensor(x)`, which takes tensors of the host, or a function of the file that gives nothing else."""
    if program.names.qualified(call.func) in tables.LEGACY_CONSTRUCTORS:
        return True
    name = call.func.id if isinstance(call.func, ast.Name) else None
    named = (one for one in program.unit.evidence if isinstance(one, scope.Function) and one.name == name)
    given = [one.body[0].value for one in named if isinstance(one.body[0], ast.Return)]
    return any(
        isinstance(part, ast.Call) and program.names.qualified(part.func) in tables.LEGACY_CONSTRUCTORS
        for one in given
        if one is not None
        for part in ast.walk(one)
    )


def _takes_away(program: Program, call: ast.Call, argument: ast.AST) -> bool:
    """Whether a call reads what it is given on the host, or moves it."""
    given = argument.value if isinstance(argument, ast.keyword) else argument
    return _takes_to_host(program, call) or (isinstance(given, ast.expr) and is_moved_inside(program, call, given))


def _takes_to_host(program: Program, call: ast.Call) -> bool:
    if _constructs(program, call):
        return True
    text = dotted(call.func) or ""
    last = call.func.attr if isinstance(call.func, ast.Attribute) else text
    if last in _HOST_CALLS | LEAVES or last.endswith("_to_device"):
        return True
    by_name = _HOST_READERS.fullmatch(text) or _LEGACY_SPARSE.fullmatch(text)
    return by_name is not None or "ctc" in text.lower()


def _on_host(index: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in {"cpu", "numpy"} for one in ast.walk(index))


def is_index(program: Program, node: ast.expr) -> bool:
    """An index on the host suits every tensor, as do views of one: `x[torch.arange(3)[:, None], y.unsqueeze(1)]`."""
    parent = program.names.parent(node)
    while isinstance(parent, ast.expr):
        if isinstance(parent, ast.Subscript) and parent.value is not node:
            return True
        if isinstance(parent, ast.Call) and parent.func is not node:
            return False
        if not isinstance(parent, (ast.Subscript, ast.Attribute, ast.Call, ast.Tuple)):
            return False
        node, parent = parent, program.names.parent(parent)
    return False
