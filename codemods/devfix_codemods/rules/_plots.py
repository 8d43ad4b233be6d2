"""Gradients, and tensors that a model's method is given, in plots: matplotlib reads the host's memory only."""

import ast
import re
from collections.abc import Iterator

from devfix_codemods import scope
from devfix_codemods.flow import tables
from devfix_codemods.flow.evidence import last_name
from devfix_codemods.flow.readouts import PLOTS
from devfix_codemods.flow.tree import walk
from devfix_codemods.program import Program
from devfix_codemods.rules._looks import may_plot_tensors
from devfix_codemods.rules._plain_tensors import Tensors
from devfix_codemods.rules._taken_to_host import moves_to_host
from devfix_codemods.rules._tensor_words import NUMBERS
from devfix_codemods.rules._whereabouts import Made, Whereabouts

_AXES = re.compile(r"ax|axs|axis|axes|(?:ax|axes)_?\d+|(?:ax|axes)_\w+|\w+_(?:ax|axs|axes)")
_DATA = frozenset({"x", "y", "height"})


def plotted(program: Program, whereabouts: Whereabouts) -> Iterator[tuple[ast.expr, str]]:
    """The tensors that plots read and that live where a model does, each with the name of what reads it."""
    if not may_plot_tensors(program.source.data):
        return
    tensors, told = Tensors(program), set[ast.expr]()
    for call in program.names.calls:
        if not _plots(program, call):
            continue
        for given in [*call.args, *(one.value for one in call.keywords if one.arg in _DATA)]:
            for one in _parts(program, given):
                placed = _is_gradient(program, one) or _is_of_model(program, one, tensors, whereabouts)
                if placed and one not in told:
                    told.add(one)
                    yield one, f"`{ast.unparse(call.func)}`"


def _plots(program: Program, call: ast.Call) -> bool:
    """`plt.plot(…)`, `ax[0].imshow(…)`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr not in PLOTS:
        return False
    name = program.names.qualified(function)
    if name is not None:
        return name.startswith("matplotlib.")
    owner = function.value.value if isinstance(function.value, ast.Subscript) else function.value
    return _AXES.fullmatch(last_name(owner) or "") is not None


def _parts(program: Program, node: ast.expr) -> Iterator[ast.expr]:
    """What is read: `node`, or all that the list which it names collects, where nothing else has that name."""
    around = scope.function_around(program, node) or program.tree
    match node:
        case ast.Name(id=name) if len(list(scope.stores(around, name))) == 1:
            for one in walk(around):
                match one:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="append"), args=[value]):
                        if owner == name:
                            yield value
                    case ast.Assign(targets=[ast.Name(id=target)], value=ast.ListComp(elt=value)) if target == name:
                        yield value
        case ast.ListComp(elt=value):
            yield value
            return
    yield node


def _is_gradient(program: Program, node: ast.expr) -> bool:
    """`p.grad`, and what its methods give: `p.grad.abs().mean()`."""
    while True:
        match node:
            case ast.Call(func=ast.Attribute(value=inner, attr=method)):
                if method in NUMBERS | {"numpy"} or moves_to_host(node):
                    return False
            case ast.Attribute(value=ast.Name(), attr="grad"):
                return program.names.qualified(node) is None
            case ast.Subscript(value=inner) | ast.Attribute(value=inner, attr="data"):
                pass
            case _:
                return False
        node = inner


def _is_of_model(program: Program, node: ast.expr, tensors: Tensors, whereabouts: Whereabouts) -> bool:
    """A tensor that is not surely on the host, in a method of what is, or may be, a module."""
    owner = scope.class_around(program, node)
    if owner is None or not program.unit.classes.may_be_module(owner) or not _is_tensor(program, node, tensors):
        return False
    return whereabouts.source(node) is not Made.HOST


def _is_tensor(program: Program, node: ast.expr, tensors: Tensors) -> bool:
    """A tensor, what is joined of tensors, or what an index or a method gives of these."""
    while not tensors.is_tensor(node):
        match node:
            case ast.Subscript(value=inner) | ast.Call(func=ast.Attribute(value=inner, attr="mean" | "abs" | "norm")):
                node = inner
            case ast.Call(func=function):
                return program.names.qualified(function) in tables.SEQUENCE_FUNCTIONS
            case _:
                return False
    return True
