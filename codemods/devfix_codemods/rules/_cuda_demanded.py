"""Functions of the project that refuse what is on the host: code that hands values to them cannot do without CUDA.

A function refuses by a condition that raises, by an assertion, by a call of one that does, by an extension that is
built for CUDA alone, or as part of a file that imports what needs CUDA. One that asks where its input is and goes on
either way refuses nothing.
"""

import ast
import posixpath
import re
from collections.abc import Iterator, Sequence

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.project import Project
from devfix_codemods.flow.units import Unit
from devfix_codemods.program import Program
from devfix_codemods.rules._cuda_only import imports_cuda, is_guarded

_DEEPEST = 6
"""How many calls are followed from what a file hands on to the check."""

_CHOICES = re.compile(
    r"(?i)cuda|gpu|device|backend|triton|kernel|fused|impl\b|native|avail|has_|fallback|compiled"
    r"|(?<![a-z])(?:cpu|mps|xpu)(?![a-z])"
)
_LEFT_OUT = re.compile(r"\w*device is (?:not )?None")
_NOT_CUDA = re.compile(
    r"\bnot (?:all\(\(?)?(?:[\w.\[\]]+\.is_cuda\b|torch\.cuda\.is_available\(\))|\.is_cuda is False"
    r"|\.device\.type != 'cuda'|\.device\.type == 'cpu'|\.device == torch\.device\('cpu'\)|\.is_cpu\b"
    r"|'cuda' not in str\([\w.]*device\)|not str\([\w.]*device\)\.startswith\('cuda'\)"
)
_CUDA = re.compile(
    r"(?<!not )\b(?:[\w.\[\]]+\.is_cuda\b|torch\.cuda\.is_available\(\))|\.device\.type == 'cuda'"
    r"|\.device\.type != 'cpu'|'cuda' in str\([\w.]*device\)|(?<!not )\bstr\([\w.]*device\)\.startswith\('cuda'\)"
)
_EXTENSION = re.compile(rb"\bCUDAExtension\(\s*(?:name\s*=\s*)?f?[\"']([\w.]+)[\"']")
_CONSTRUCTION = frozenset({"__init__", "__new__", "__post_init__", "__call__", "forward"})
_Block = list[ast.stmt]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def hands_to_cuda(program: Program) -> bool:
    """Whether the file calls anything of its project that refuses what is on the host."""
    if program.project is None:
        return False
    demands = _Demands(program.project)
    calls = (one for one in program.names.calls if demands.of_call(program.unit, None, one, 0))
    return any(not is_guarded(program, one) for one in calls)


class _Demands:
    """What the functions of a project refuse, each read once."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._known: dict[ast.AST, bool] = {}

    def of_call(self, unit: Unit, owner: ast.ClassDef | None, call: ast.Call, depth: int) -> bool:
        """Whether the function that is called refuses the host. `owner` is the class around the call."""
        if depth > _DEEPEST:
            return False
        text = dotted(call.func)
        if text is None:
            return False
        if text.startswith("self.") and owner is not None:
            return self._method(unit, owner, {text.removeprefix("self.")}, depth)
        target = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr == "apply" else call.func
        imported = unit.names.imported(target)
        if imported is not None:
            found = self._project.lookup(unit, imported)
            if found is None or found.definition is None:
                return self._of_extension(unit, imported)
            return self._definition(found.unit, found.definition, depth)
        bindings = unit.top_level.get(text.removesuffix(".apply"), [])
        definition = bindings[0].definition if len(bindings) == 1 else None
        return definition is not None and self._definition(unit, definition, depth)

    def _definition(self, unit: Unit, definition: ast.AST, depth: int) -> bool:
        if definition not in self._known:
            self._known[definition] = False  # while it is read: a function that calls itself
            self._known[definition] = self._read(unit, definition, depth)
        return self._known[definition]

    def _read(self, unit: Unit, definition: ast.AST, depth: int) -> bool:
        if isinstance(definition, ast.ClassDef):
            return self._method(unit, definition, _CONSTRUCTION, depth)
        if not isinstance(definition, _Function) or _chooses(definition):
            return False
        return imports_cuda(unit.source.tree) or self._block(unit, definition.body, depth)

    def _method(self, unit: Unit, owner: ast.ClassDef, names: set[str] | frozenset[str], depth: int) -> bool:
        methods = [one for one in owner.body if isinstance(one, _Function) and one.name in names]
        return any(self._definition(unit, one, depth) for one in methods)

    def _block(self, unit: Unit, body: _Block, depth: int) -> bool:
        return any(self._statement(unit, one, depth) for one in body)

    def _statement(self, unit: Unit, statement: ast.stmt, depth: int) -> bool:
        match statement:
            case ast.If(test=test, body=[*_, ast.Raise()], orelse=[]) if refuses(test):
                return True
            case ast.Assert(test=test):
                return _CUDA.search(ast.unparse(test)) is not None and not _is_either(test, ast.Or)
            case ast.If(test=test, body=body, orelse=orelse):
                both = [self._block(unit, one, depth) or None for one in (body, orelse) if not scope.raises(one)]
                return self._expressions(unit, [test], depth) or (bool(both) and bool(orelse) and None not in both)
            case ast.For(iter=head, body=body) | ast.AsyncFor(iter=head, body=body):
                return self._expressions(unit, [head], depth) or self._block(unit, body, depth)
            case ast.With(items=items, body=body):
                heads = [one.context_expr for one in items]
                return self._expressions(unit, heads, depth) or self._block(unit, body, depth)
            case ast.Try(body=body, handlers=[]):
                return self._block(unit, body, depth)
            case ast.Expr() | ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return():
                return self._expressions(unit, [statement], depth)
        return False

    def _expressions(self, unit: Unit, nodes: Sequence[ast.AST], depth: int) -> bool:
        for node in nodes:
            owner = next((one for one in unit.names.ancestors(node) if isinstance(one, ast.ClassDef)), None)
            if any(self.of_call(unit, owner, one, depth + 1) for one in _calls(node)):
                return True
        return False

    def _of_extension(self, unit: Unit, imported: str) -> bool:
        """Whether `imported` is of an extension that the project's `setup.py` builds for CUDA and nothing else."""
        parts = imported.split(".")
        return any(name in parts[:-1] for name in self._extensions(unit))

    def _extensions(self, unit: Unit) -> Iterator[str]:
        folder = posixpath.dirname(unit.path)
        top = self._project.files.top
        while folder.startswith(top) and folder != posixpath.dirname(folder):
            data = self._project.files.read(posixpath.join(folder, "setup.py"))
            if data is not None:
                unit.uses.add(posixpath.join(folder, "setup.py"))
                if b"CppExtension" not in data:
                    yield from (one.decode().rpartition(".")[2] for one in _EXTENSION.findall(data))
                return
            folder = posixpath.dirname(folder)


def refuses(test: ast.expr) -> bool:
    """Whether a condition holds wherever something is on the host."""
    return _NOT_CUDA.search(ast.unparse(test)) is not None and not _is_either(test, ast.And)


def _is_either(test: ast.expr, operator: type[ast.boolop]) -> bool:
    return any(isinstance(one, ast.BoolOp) and isinstance(one.op, operator) for one in ast.walk(test))


def _chooses(function: _Function) -> bool:
    """Whether a function asks for a device, or for a way to compute, and goes on either way."""
    for node in ast.walk(function):
        match node:
            case ast.If(body=[*_, ast.Raise()], orelse=[]):
                continue
            case ast.If(test=test) | ast.IfExp(test=test):
                if _CHOICES.search(_LEFT_OUT.sub("", ast.unparse(test))) is not None:
                    return True
    return False


def _calls(node: ast.AST) -> Iterator[ast.Call]:
    """The calls in an expression, those of functions that are only made there left out."""
    if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    if isinstance(node, ast.Call):
        yield node
    for child in ast.iter_child_nodes(node):
        yield from _calls(child)
