"""Deletions after which nothing can fail, so that nobody could find them. What reading cannot decide is kept.

- every later use takes a value from either side: it is an index, is moved again, or ends as a number, list or shape;
- a module of torch, or a class of the file, that has no parameters and no buffers;
- another move, or `device=`, has put the value there already, or does so at once;
- a tensor without dimensions, made of a number, that is an operand beside other tensors;
- the device is the host.
"""

import ast
from collections.abc import Iterator
from typing import TypeGuard

from scopes import Function, Scopes, dotted, is_move, is_of_torch, is_parameter, keyword, move_target, names_device

WITHOUT_TENSORS = frozenset(
    """
    AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AvgPool1d AvgPool2d
    AvgPool3d BCELoss BCEWithLogitsLoss CELU CTCLoss ConstantPad1d ConstantPad2d CosineEmbeddingLoss CosineSimilarity
    CrossEntropyLoss Dropout Dropout2d Dropout3d ELU Flatten GELU GaussianNLLLoss Hardtanh HingeEmbeddingLoss HuberLoss
    Identity KLDivLoss L1Loss LeakyReLU LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d
    MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PairwiseDistance PixelShuffle PoissonNLLLoss
    ReLU ReLU6 ReflectionPad2d SELU SiLU Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmin Softplus Tanh
    TripletMarginLoss Unfold Upsample UpsamplingBilinear2d UpsamplingNearest2d ZeroPad2d
    """.split()  # noqa: SIM905
)
"""Modules of torch.nn that hold no tensor, unless they are given one as a weight."""

_WEIGHTS = frozenset({"weight", "pos_weight"})
_ENDS = frozenset("shape dtype ndim size dim numel item tolist cpu numpy".split())  # noqa: SIM905
_READS = frozenset({"len", "print", "int", "float", "bool"})
_LIKE = frozenset("zeros_like ones_like empty_like full_like rand_like randn_like".split())  # noqa: SIM905
_WRAPPERS = frozenset({"DataParallel", "DistributedDataParallel"})


class Harmless:
    """Which deletions of one file change nothing."""

    def __init__(self, scopes: Scopes) -> None:
        self._scopes = scopes

    def move(self, call: ast.Call, statement: ast.stmt | None) -> bool:
        """`x.to(device)` becomes `x`; a `statement` that does no more is gone."""
        assert isinstance(call.func, ast.Attribute)
        value = call.func.value
        return (
            self._is_host(move_target(call))
            or self._holds_no_tensor(value)
            or self._is_placed(value, move_target(call))
            or self._is_moved_beside(value, statement)
            or self._uses_do_not_matter(call, value, statement)
        )

    def factory(self, call: ast.Call) -> bool:
        """`torch.zeros(3, device=device)` loses `device=`."""
        return self._is_host(keyword(call, "device")) or self._uses_do_not_matter(call, call, None)

    def _is_host(self, device: ast.expr | None) -> bool:
        """A name that is only ever `"cpu"` or `torch.device("cpu")`."""
        name = dotted(device) if device is not None else ""
        function = self._scopes.function(device) if device is not None else None
        if not name or "." in name or (function is not None and is_parameter(function, name)):
            return False
        assert device is not None
        assigned = self._scopes.assigned(device, name)
        return bool(assigned) and all(one is not None and _is_cpu(one) for one in assigned)

    def _holds_no_tensor(self, value: ast.expr) -> bool:
        """Modules without parameters and buffers, wherever the value is made."""
        if isinstance(value, ast.Call):
            return self._makes_no_tensor(value)
        name = dotted(value)
        function = self._scopes.function(value)
        if not name or (function is not None and is_parameter(function, name)):
            return False
        made = [_unmoved(one, name) for one in self._scopes.assigned(value, name)]
        made = [one for one in made if not isinstance(one, ast.Name | ast.Attribute) or dotted(one) != name]
        return bool(made) and all(isinstance(one, ast.Call) and self._makes_no_tensor(one) for one in made)

    def _makes_no_tensor(self, call: ast.Call) -> bool:
        name = dotted(call.func).rsplit(".", 1)[-1]
        own = [one for one in self._scopes.tree.body if isinstance(one, ast.ClassDef) and one.name == name]
        if own:
            return _is_bare_class(own[0])
        positional = name.endswith("Loss") and bool(call.args)
        weighs = positional or any(one.arg is None or one.arg in _WEIGHTS for one in call.keywords)
        return name in WITHOUT_TENSORS and not weighs

    def _is_placed(self, value: ast.expr, device: ast.expr | None) -> bool:
        """Another move stands in the same expression, or each value of the name is put on a device where it is made."""
        if any(is_move(one) or _is_made_there(one, device) for one in _chain(value)):
            return True
        function, name = self._scopes.function(value), dotted(value)
        if function is None or not name or "." in name or is_parameter(function, name):
            return False
        assigned = self._scopes.assigned(value, name)
        others = [one for one in assigned if one is None or not _is_own_move(one, value)]
        return bool(others) and all(one is not None and _puts_there(one) for one in others)

    def _is_moved_beside(self, value: ast.expr, statement: ast.stmt | None) -> bool:
        """The statement before or after moves the same value."""
        name = dotted(value)
        if statement is None or not name:
            return False
        block = self._scopes.block(statement)
        place = block.index(statement)
        beside = [*block[max(place - 1, 0) : place], *block[place + 1 : place + 2]]
        return any(_moves_whole(one, name) for one in beside)

    def _uses_do_not_matter(self, call: ast.Call, value: ast.expr, statement: ast.stmt | None) -> bool:
        uses = [*self._uses(call, value, statement)]
        scalar = isinstance(value, ast.Call) and _is_scalar(value)
        return bool(uses) and all(self._does_not_matter(one, scalar=scalar) for one in uses)

    def _uses(self, call: ast.Call, value: ast.expr, statement: ast.stmt | None) -> Iterator[ast.expr]:
        """Where a value is read: at the call itself, or wherever the local name is that it is given."""
        parent = self._scopes.parent(call)
        if statement is None and not isinstance(parent, ast.Assign):
            yield call
            return
        targets = parent.targets if isinstance(parent, ast.Assign) else []
        function = self._scopes.function(call)
        if len(targets) != 1 or not isinstance(targets[0], ast.Name) or function is None:
            return
        yield from (
            one
            for one in self._scopes.mentions(call, targets[0].id)
            if (isinstance(one.ctx, ast.Load) and one is not value) or self._is_added_to(one)
        )

    def _is_added_to(self, name: ast.expr) -> bool:
        """`x += y` stores, and reads."""
        above = self._scopes.parent(name)
        return isinstance(above, ast.AugAssign) and above.target is name

    def _does_not_matter(self, use: ast.expr, *, scalar: bool) -> bool:
        parent = self._scopes.parent(use)
        match parent:
            case ast.Subscript(slice=place):
                return place is use
            case ast.Tuple():
                above = self._scopes.parent(parent)
                return isinstance(above, ast.Subscript) and above.slice is parent
            case ast.UnaryOp(op=ast.Invert()):
                return self._does_not_matter(parent, scalar=scalar)
            case ast.Attribute(attr=name):
                return name in _ENDS or self._is_moved_on(parent)
            case ast.Call(func=ast.Name(id=name), args=given):
                return name in _READS and use in given
            case ast.BinOp(left=left, right=right) if scalar:
                other = right if left is use else left
                return not _is_number(other)
        return False

    def _is_moved_on(self, attribute: ast.Attribute) -> bool:
        """`x.float().to(device)`"""
        call = self._scopes.parent(attribute)
        if not isinstance(call, ast.Call) or call.func is not attribute:
            return False
        above = self._scopes.parent(call)
        return is_move(call) or (isinstance(above, ast.Attribute) and self._is_moved_on(above))


def _is_cpu(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=str() as text):
            return text == "cpu"
        case ast.Call(func=ast.Attribute(attr="device"), args=[only]):
            return _is_cpu(only)
    return False


def _chain(value: ast.expr) -> Iterator[ast.expr]:
    """`x.float().view(3)`, then `x.float()`, then `x`."""
    yield value
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr != "cpu":
        yield from _chain(value.func.value)


def _is_made_there(value: ast.expr, device: ast.expr | None) -> bool:
    """`torch.zeros(3, device=device)`, and `torch.zeros_like(x)` beside `x.device`."""
    if not _is_torch_call(value):
        return False
    given = keyword(value, "device")
    if given is not None:
        return names_device(given)
    like = dotted(value.args[0]) if dotted(value.func).rsplit(".", 1)[-1] in _LIKE and value.args else ""
    return bool(like) and device is not None and dotted(device) == f"{like}.device"


def _is_torch_call(node: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and is_of_torch(node.func.value)


def _puts_there(value: ast.expr) -> bool:
    return any(is_move(one) or _is_made_there(one, None) for one in _chain(value))


def _is_own_move(assigned: ast.expr, value: ast.expr) -> bool:
    """The very call of which `value` is the owner."""
    return isinstance(assigned, ast.Call) and isinstance(assigned.func, ast.Attribute) and assigned.func.value is value


def _unmoved(value: ast.expr | None, name: str) -> ast.expr | None:
    """What is moved; of a move of the name itself, the name."""
    while isinstance(value, ast.Call) and is_move(value) and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return value


def _moves_whole(statement: ast.stmt, name: str) -> bool:
    """`x = x.cuda()`, `net.cuda()` or `net = DataParallel(net).cuda()`."""
    call = statement.value if isinstance(statement, ast.Assign | ast.Expr) else None
    if not isinstance(call, ast.Call) or not is_move(call) or not isinstance(call.func, ast.Attribute):
        return False
    moved = call.func.value
    if isinstance(moved, ast.Call) and dotted(moved.func).rsplit(".", 1)[-1] in _WRAPPERS and moved.args:
        moved = moved.args[0]
    keeps = isinstance(statement, ast.Expr) or (
        isinstance(statement, ast.Assign) and [dotted(one) for one in statement.targets] == [name]
    )
    return keeps and dotted(moved) == name


def _is_scalar(call: ast.Call) -> bool:
    """`torch.tensor(0.5, …)`"""
    makes = _is_torch_call(call) and dotted(call.func).endswith("tensor")
    return makes and bool(call.args) and _is_number(call.args[0])


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.Attribute(value=ast.Name(id="math" | "np" | "numpy")):
            return True
        case ast.Call(func=func):
            return dotted(func).split(".")[0] in ("math", "np", "numpy", "len", "int", "float")
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
    return False


def _is_bare_class(owner: ast.ClassDef) -> bool:
    """A module whose construction stores nothing but numbers and words, and calls nothing."""
    if [dotted(base).rsplit(".", 1)[-1] for base in owner.bases] != ["Module"]:
        return False
    making = [one for one in owner.body if isinstance(one, Function) and one.name == "__init__"]
    others = [one for one in owner.body if isinstance(one, ast.Assign | ast.AnnAssign)]
    return not others and all(_stores_nothing(one) for one in making)


def _stores_nothing(making: Function) -> bool:
    constants = ((one.arg, default) for one, default in _defaults(making) if isinstance(default, ast.Constant))
    plain = {name for name, default in constants if default.value is not None}
    for statement in making.body:
        match statement:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                continue
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super"))))):
                continue
            case ast.Assign(value=ast.Constant()):
                continue
            case ast.Assign(value=ast.Name(id=name)) if name in plain:
                continue
        return False
    return True


def _defaults(function: Function) -> Iterator[tuple[ast.arg, ast.expr | None]]:
    given = [*function.args.posonlyargs, *function.args.args]
    late = function.args.defaults
    yield from zip(given[len(given) - len(late) :], late, strict=True)
    yield from zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
