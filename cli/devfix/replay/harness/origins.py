"""Which names of a function decide where what a line reads lives: what a move or a factory gives is where it says."""

import ast
from collections.abc import Iterable, Iterator, Sequence

from devfix.replay.probe.harness.alone import inner_blocks

Env = dict[str, frozenset[str]]
_NOWHERE: frozenset[str] = frozenset()
_PLAIN = frozenset(("shape", "ndim", "dtype", "requires_grad", "is_cuda", "layout", "itemsize"))
_LEAVING = frozenset(("cuda", "cpu", "numpy", "item", "tolist", "size", "dim", "numel", "stride", "keys"))
_COUNTS = frozenset(("len", "range", "int", "float", "bool", "str", "isinstance", "type", "print", "hasattr"))
_FACTORIES = frozenset(
    (
        *("zeros", "ones", "empty", "full", "rand", "randn", "randint", "randperm", "arange", "linspace", "logspace"),
        *("eye", "tensor", "as_tensor", "from_numpy", "FloatTensor", "LongTensor", "Tensor", "device"),
    )
)
_DTYPES = frozenset(
    (
        *("float", "float16", "float32", "float64", "half", "double", "bfloat16", "int", "int8", "int16", "int32"),
        *("int64", "long", "short", "bool", "uint8"),
    )
)


def origins(block: Sequence[ast.stmt], line: int) -> frozenset[str]:
    """The names bound before a block, `self.name` among them, by which the values live that its statement at a line
    reads."""
    flow = _Flow(line)
    for _ in range(2):  # what a loop binds at its end, it reads at its begin
        flow.pass_(block)
    return flow.found


def statements_within(block: Sequence[ast.stmt], first: int, last: int) -> list[ast.stmt]:
    """The outermost statements that stand between two lines, in the innermost block that has all of them."""
    inside = [one for one in block if first <= one.lineno and (one.end_lineno or 0) <= last]
    around = [one for one in block if one.lineno <= first and last <= (one.end_lineno or 0)]
    if inside or not around:
        return inside
    return next((found for part in inner_blocks(around[0]) if (found := statements_within(part, first, last))), [])


class _Flow:
    """What each name's place comes from, statement by statement; branches are taken one after the other."""

    def __init__(self, line: int) -> None:
        self._line = line
        self._env: Env = {}
        self.found: frozenset[str] = _NOWHERE

    def pass_(self, block: Sequence[ast.stmt]) -> None:
        for one in block:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if one.lineno <= self._line <= _end_of_head(one):
                self.found |= self._of_all(_read_by(one))
                self.found |= self._of(one.target) if isinstance(one, ast.AugAssign) else _NOWHERE
            self._bind(one)
            for inner in inner_blocks(one):
                before = dict(self._env)
                self.pass_(inner)
                for name, value in self._env.items():
                    self._env[name] = value | before.get(name, frozenset((name,)))

    def _bind(self, one: ast.stmt) -> None:
        if isinstance(one, ast.Assign):
            value = self._of(one.value)
            for target in one.targets:
                self._put(target, value)
        elif isinstance(one, ast.AnnAssign) and one.value is not None:
            self._put(one.target, self._of(one.value))
        elif isinstance(one, ast.AugAssign):
            self._put(one.target, self._of(one.value), is_sure=False)
        elif isinstance(one, ast.For | ast.AsyncFor):
            self._put(one.target, self._of(one.iter))
        elif isinstance(one, ast.With | ast.AsyncWith):
            for item in one.items:
                if item.optional_vars is not None:
                    self._put(item.optional_vars, self._of(item.context_expr))

    def _put(self, target: ast.expr, value: frozenset[str], *, is_sure: bool = True) -> None:
        if isinstance(target, ast.Tuple | ast.List):
            for one in target.elts:
                self._put(one, value, is_sure=is_sure)
            return
        if isinstance(target, ast.Subscript | ast.Starred):
            self._put(target.value, value, is_sure=False)
            return
        name = ast.unparse(target)
        self._env[name] = value if is_sure else value | self._env.get(name, frozenset((name,)))

    def _of(self, node: ast.expr) -> frozenset[str]:
        """What the place of an expression's value comes from."""
        if isinstance(node, ast.Name):
            return self._env.get(node.id, frozenset((node.id,)))
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node)
        if isinstance(node, ast.Call):
            return self._of_call(node)
        if isinstance(node, ast.Subscript):
            return self._of(node.value)
        if isinstance(node, ast.IfExp):
            return self._of(node.body) | self._of(node.orelse)
        return self._of_all(one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))

    def _of_attribute(self, node: ast.Attribute) -> frozenset[str]:
        if node.attr in _PLAIN:
            return _NOWHERE
        name = ast.unparse(node)
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return self._env.get(name, frozenset((name,)) if is_own else self._of(node.value))

    def _of_call(self, call: ast.Call) -> frozenset[str]:
        device = next((one.value for one in call.keywords if one.arg == "device"), None)
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if device is not None:
            return self._of(device)
        if name in _LEAVING | _COUNTS:
            return _NOWHERE
        if name in _FACTORIES and (not isinstance(call.func, ast.Attribute) or _is_torch(call.func.value)):
            return _NOWHERE
        if isinstance(call.func, ast.Attribute) and name == "to" and call.args and not _is_dtype(call.args[0]):
            return self._of(call.args[0])
        owner = [call.func] if isinstance(call.func, ast.Attribute) and not _is_torch(call.func.value) else []
        return self._of_all([*owner, *call.args, *(one.value for one in call.keywords)])

    def _of_all(self, nodes: Iterable[ast.expr]) -> frozenset[str]:
        return _NOWHERE.union(*map(self._of, nodes))


def _read_by(one: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement, of a compound one those of its head."""
    for name, value in ast.iter_fields(one):
        if name not in ("targets", "target", "body", "orelse", "finalbody", "handlers", "cases"):
            nodes = value if isinstance(value, list) else [value]
            yield from (node.context_expr for node in nodes if isinstance(node, ast.withitem))
            yield from (node for node in nodes if isinstance(node, ast.expr))


def _end_of_head(one: ast.stmt) -> int:
    body: list[ast.stmt] = getattr(one, "body", [])
    return max(one.lineno, body[0].lineno - 1) if body else one.end_lineno or one.lineno


def _is_torch(node: ast.expr) -> bool:
    return ast.unparse(node).partition(".")[0] in ("torch", "F", "np", "nn")


def _is_dtype(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _DTYPES
