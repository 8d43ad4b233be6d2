"""Buffers instead of plain attributes: whether a module can register one, and what that would change."""

import ast

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression, ReplaceStatement
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.library import is_module_api
from devfix_codemods.program import Program
from devfix_codemods.rules._attributes import Kept, assignments, lineage, own_attribute, targets

SINCE = (1, 6)
"""The torch that brought `persistent=` to `register_buffer`."""

_MODULES_OF_OTHERS = ("LightningModule", "PreTrainedModel", "ModelMixin", "MessagePassing")


def is_surely_module(program: Program, owner: ast.ClassDef) -> bool:
    """Derived from `torch.nn.Module` for certain: by its bases, or because it registers buffers or parts of its own."""
    for base in program.classes.named_bases(owner):
        if base in tables.MODULE_BASES or base.startswith("torch.nn.") or base.endswith(_MODULES_OF_OTHERS):
            return True
    return _has_parts(program, owner) or any(
        isinstance(node, ast.Call) and dotted(node.func) in {"self.register_buffer", "self.register_parameter"}
        for node in ast.walk(owner)
    )


def _has_parts(program: Program, owner: ast.ClassDef) -> bool:
    """Whether a class with a base elsewhere and a `forward` sets up that base first, then parameters or layers."""
    constructor = scope.constructor(owner)
    if constructor is None or not program.classes.is_module(owner):
        return False
    return any(
        isinstance(one, ast.Assign)
        and isinstance(one.value, ast.Call)
        and _is_part(program.names.qualified(one.value.func) or "")
        and any(own_attribute(each) is not None for each in targets(one))
        and is_after_super(constructor, one)
        for one in ast.walk(constructor)
    )


def _is_part(name: str) -> bool:
    """A parameter or a layer. A loss may be kept by what is no module."""
    return name == "torch.nn.Parameter" or (is_module_api(name) and not name.endswith("Loss"))


def as_buffer(program: Program, kept: Kept) -> tuple[Edit, ...] | None:
    """The edits that register the attribute in the constructor instead; None where that may break something."""
    constructor = scope.constructor(kept.owner)
    if constructor is None or not is_surely_module(program, kept.owner) or _is_class_attribute(program, kept):
        return None
    parameters = as_parameter(program, kept)
    known = [one for one in assignments(program, kept) if one not in parameters]
    here = [one for one in known if scope.function_around(program, one) is constructor]
    if not here or any(not _gives_tensor(program, one) for one in known):
        return None
    if any(not _excluded(program, one, other) for one in known for other in parameters):
        return None
    edits: list[Edit] = []
    for one in here:
        added = _registered(program, one, kept.name) if is_after_super(constructor, one) else None
        if added is None:
            return None
        edits.extend(added)
    return tuple(edits)


def as_parameter(program: Program, kept: Kept) -> list[ast.stmt]:
    """The statements that make the attribute a parameter instead, as options of the constructor may do."""
    return [
        one
        for one in assignments(program, kept)
        if isinstance(one, (ast.Assign, ast.AnnAssign))
        and isinstance(one.value, ast.Call)
        and program.names.qualified(one.value.func) in tables.PARAMETER_CLASSES
    ]


def _excluded(program: Program, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether two statements stand in the two branches of one condition."""
    around = set(program.names.ancestors(second))
    for outer in program.names.ancestors(first):
        if isinstance(outer, ast.If) and outer in around:
            branches = (_within(outer.body, first), _within(outer.body, second))
            return branches[0] is not branches[1]
    return False


def _within(body: list[ast.stmt], statement: ast.stmt) -> bool:
    return any(statement is one for each in body for one in ast.walk(each))


def _is_class_attribute(program: Program, kept: Kept) -> bool:
    """A name that the class has already cannot be registered, nor can one that Python mangles."""
    if kept.name.startswith("__"):
        return True
    for one in lineage(program, kept.owner):
        for node in one.body:
            names = {target.id for target in targets(node) if isinstance(target, ast.Name)}
            if isinstance(node, ast.AnnAssign) and node.value is None:
                continue
            if kept.name in names or (isinstance(node, scope.Function) and node.name == kept.name):
                return True
    return False


def _gives_tensor(program: Program, statement: ast.stmt) -> bool:
    """Whether a statement surely assigns a plain tensor, to this attribute alone."""
    match statement:
        case ast.AugAssign():
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return len(targets(statement)) == 1 and is_tensor(program, value)
    return False


def is_tensor(program: Program, node: ast.expr, known: frozenset[str] = frozenset()) -> bool:
    """Whether an expression is a tensor by its syntax: factories, and operations and methods on them.

    `known` are local names that are tensors if this expression is one.
    """
    match node:
        case ast.Call():
            return _is_tensor_call(program, node, known)
        case ast.BinOp(left=left, right=right) | ast.Compare(left=left, comparators=[right]):
            return is_tensor(program, left, known) or is_tensor(program, right, known)
        case ast.UnaryOp(operand=inner, op=ast.USub() | ast.Invert()) | ast.Subscript(value=inner):
            return is_tensor(program, inner, known)
        case ast.IfExp(body=body, orelse=orelse):
            return is_tensor(program, body, known) and is_tensor(program, orelse, known)
        case ast.Name():
            return node.id in known or _is_tensor_name(program, node, known)
    return False


def _is_tensor_call(program: Program, node: ast.Call, known: frozenset[str]) -> bool:
    name = program.names.qualified(node.func)
    if name is None and isinstance(node.func, ast.Attribute):
        return node.func.attr not in _NO_TENSOR and is_tensor(program, node.func.value, known)
    leaf = any(one.arg == "requires_grad" for one in node.keywords)
    return not leaf and tables.canonical(name or "") in _GIVE_TENSORS


_GIVE_TENSORS = (
    tables.FACTORIES
    | tables.LIKE_FACTORIES
    | tables.HOST_FACTORIES
    | tables.LEGACY_CONSTRUCTORS
    | tables.ONE_PLACE
    | tables.SAME_PLACE
) - {f"torch.{name}" for name in ("meshgrid", "max", "min", "sort", "topk", "median", "linalg.svd", "unique", "equal")}
_NO_TENSOR = tables.TENSOR_SHAPE_METHODS | {"numpy", "tolist", "chunk", "split", "unbind", "requires_grad_"}
_NO_TENSOR |= {"max", "min", "sort", "topk", "median"}


def _is_tensor_name(program: Program, node: ast.Name, known: frozenset[str]) -> bool:
    """A local name every binding of which is a tensor."""
    function = scope.function_around(program, node)
    if function is None:
        return False
    known |= {node.id}
    bindings = {
        program.names.statement(one)
        for one in ast.walk(function)
        if isinstance(one, ast.Name) and one.id == node.id and not isinstance(one.ctx, ast.Load)
    }
    if node.id in scope.parameters(function):
        given = _is_tensor_parameter(program, function, node.id)
        return given and all(isinstance(one, ast.Assign) and is_tensor(program, one.value, known) for one in bindings)
    plain = [one for one in bindings if isinstance(one, ast.Assign)]
    fresh = [one for one in plain if not _reads(one.value, node.id)]
    made = all(is_tensor(program, one.value, known) and len(targets(one)) == 1 for one in fresh)
    kept = all(_stays_tensor(one, node.id) for one in plain if one not in fresh)
    return bool(fresh) and made and kept and all(isinstance(one, (ast.Assign, ast.AugAssign)) for one in bindings)


def _is_tensor_parameter(program: Program, function: scope.Function, name: str) -> bool:
    """Whether a parameter is a tensor or None, by its annotation: a buffer may be None."""
    annotation = scope.annotation(function, name)
    return annotation is not None and _is_tensor_annotation(program, annotation)


def _is_tensor_annotation(program: Program, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(left=left, right=ast.Constant(value=None), op=ast.BitOr()):
            return _is_tensor_annotation(program, left)
        case ast.Subscript(value=head, slice=inner) if (program.names.qualified(head) or "") == "typing.Optional":
            return _is_tensor_annotation(program, inner)
    return tables.canonical(program.names.qualified(node) or "") in {"torch.Tensor", "torch.FloatTensor"}


def _reads(node: ast.expr, name: str) -> bool:
    return name in scope.reads(node)


def _stays_tensor(statement: ast.Assign, name: str) -> bool:
    """`x = x.unsqueeze(0)`, `x = x[None] * 2`."""
    node: ast.expr = statement.value
    while len(targets(statement)) == 1:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=method)) if method not in _NO_TENSOR:
                node = inner
            case ast.Subscript(value=inner) | ast.BinOp(left=inner):
                node = inner
            case _:
                return isinstance(node, ast.Name) and node.id == name
    return False


def is_after_super(constructor: ast.stmt, statement: ast.stmt) -> bool:
    """Whether the module exists when a statement of its constructor runs."""
    assert isinstance(constructor, ast.FunctionDef)
    return any(
        isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Attribute)
        and one.value.func.attr == "__init__"
        and one.lineno < statement.lineno
        for one in constructor.body
    )


def _registered(program: Program, statement: ast.stmt, name: str) -> list[Edit] | None:
    """`self.x = value` as `self.register_buffer("x", value, persistent=False)`."""
    if isinstance(statement, ast.AugAssign):
        return []
    assert isinstance(statement, (ast.Assign, ast.AnnAssign))
    value = statement.value
    if value is None or (isinstance(statement, ast.Assign) and len(statement.targets) != 1):
        return None
    text = program.source.segment(program.source.span(value))
    if "\n" not in text:
        code = f'self.register_buffer("{name}", {text}, persistent=False)'
        return [ReplaceStatement(program.source.span(statement), code)]
    return _registered_after(program, statement, name)


def _registered_after(program: Program, statement: ast.stmt, name: str) -> list[Edit] | None:
    """The same in two statements, so that a value of several lines stays as it is written."""
    function = scope.function_around(program, statement)
    taken = {one.id for one in ast.walk(function or program.tree) if isinstance(one, ast.Name)}
    if function is None or name in taken | set(scope.parameters(function)) or not isinstance(statement, ast.Assign):
        return None
    code = f'self.register_buffer("{name}", {name}, persistent=False)'
    return [
        ReplaceExpression(program.source.span(statement.targets[0]), name),
        InsertStatement(program.source.span(statement), "after", code),
    ]


# Whether a conversion of the module's dtype would change it


def is_integral(program: Program, kept: Kept) -> bool:
    """Whether every value of the attribute surely holds whole numbers or truth values: `.half()` leaves it alone."""
    values = [getattr(one, "value", None) for one in assignments(program, kept)]
    return all(one is not None and _is_whole(program, one) for one in values)


def _is_whole(program: Program, node: ast.expr) -> bool:
    match node:
        case ast.Compare():
            return True
        case ast.UnaryOp(op=ast.Invert()):
            return True
        case ast.UnaryOp(operand=operand) | ast.Subscript(value=operand):
            return _is_whole(program, operand)
        case ast.BinOp(left=left, right=right, op=op):
            return not isinstance(op, ast.Div) and all(_is_whole_operand(program, one) for one in (left, right))
        case ast.Call():
            return _is_whole_call(program, node)
    return False


def _is_whole_operand(program: Program, node: ast.expr) -> bool:
    return _whole_literal(node) or _is_whole(program, node)


def _may_be_fraction(node: ast.expr) -> bool:
    """Of a bound of `arange`: whether it is written as anything but a count."""
    return any(
        isinstance(one, ast.Div | ast.Pow) or (isinstance(one, ast.Constant) and not isinstance(one.value, int))
        for one in ast.walk(node)
    )


def _is_whole_call(program: Program, node: ast.Call) -> bool:
    for one in node.keywords:
        if one.arg == "dtype":
            return (program.names.qualified(one.value) or "").rpartition(".")[2] in _WHOLE
    name = tables.canonical(program.names.qualified(node.func) or "").removeprefix("torch.")
    if name in {"LongTensor", "IntTensor", "BoolTensor", "ByteTensor", "tril_indices", "triu_indices", "randperm"}:
        return True
    if name == "arange":
        return bool(node.args) and not any(_may_be_fraction(one) for one in node.args)
    if name == "tensor":
        return bool(node.args) and _whole_literal(node.args[0])
    if isinstance(node.func, ast.Attribute) and not name:
        return node.func.attr in {"long", "bool", "int", "byte", "eq", "ne", "argsort"} or (
            node.func.attr in _SHAPING and _is_whole(program, node.func.value)
        )
    return False


_WHOLE = frozenset({"long", "int", "int8", "int16", "int32", "int64", "uint8", "bool", "short"})
_SHAPING = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "flatten", "repeat", "expand", "contiguous", "clone", "transpose"}
)


def _whole_literal(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int)
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts) and all(_whole_literal(one) for one in parts)
        case ast.UnaryOp(operand=operand):
            return _whole_literal(operand)
        case ast.Call(func=ast.Name(id="len")):
            return True
    return False
