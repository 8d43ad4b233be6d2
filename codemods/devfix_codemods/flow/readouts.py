"""Readers that know nothing of devices: numpy, and what plots."""

import ast
import re

from devfix_codemods.flow.api import Api
from devfix_codemods.flow.facts import Operand, Readout
from devfix_codemods.flow.machine import Arguments
from devfix_codemods.flow.places import Symbol, may_be_device
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.state import State
from devfix_codemods.flow.values import Kind, Value

_HOST_LIBRARIES = (
    "numpy.",
    "matplotlib.",
    "seaborn.",
    "sklearn.",
    "scipy.",
    "skimage.",
    "cv2.",
    "imageio.",
    "librosa.",
    "soundfile.write",
    "PIL.Image.fromarray",
    "pandas.DataFrame",
    "pandas.Series",
    "wandb.Histogram",
    "wandb.plot.confusion_matrix",
    "wandb.plot.pr_curve",
    "wandb.plot.roc_curve",
)
METHODS_FIRST = re.compile(
    r"numpy\.(?:mean|std|var|sum|prod|max|min|amax|amin|any|all|ptp|ndim|shape|size|copy|round|nonzero|squeeze)"
)
"""Functions that call the method of that name: wherever a tensor is, it answers itself or takes no such arguments.
A list has none."""


def reads_host(name: str) -> bool:
    """Whether a function of this name reads what it is given as arrays, in the host's memory."""
    return name.startswith(_HOST_LIBRARIES)


PLOTS = frozenset(
    {"imshow", "plot", "scatter", "hist", "hist2d", "bar", "boxplot", "violinplot", "stackplot", "errorbar", "semilogx"}
    | {"semilogy", "loglog", "quiver", "contour", "contourf", "pcolormesh", "fill_between"}
)
"""Functions of `matplotlib.pyplot`, and methods of its axes."""
_TENSORS = frozenset({Kind.TENSOR, Kind.UNKNOWN})


class Readouts(Api):
    """Records what is read on the host while it may live elsewhere."""

    def note_method_readout(
        self, node: ast.Call, function: ast.Attribute, base: Value, arguments: Arguments, state: State
    ) -> None:
        """`x.numpy()`, and `axes.plot(x)` of an object of which nothing is known."""
        if function.attr == "numpy" and "force" not in arguments.keywords:
            self._note(node, "numpy", function.value, base, state)
        elif function.attr in PLOTS and base.kind is Kind.UNKNOWN:
            self._note_all(node, function.attr, arguments, state)

    def note_api_readout(self, node: ast.Call, name: str, arguments: Arguments, state: State) -> None:
        """`np.mean(x)`, `plt.plot(x)`."""
        if reads_host(name):
            lists_only = METHODS_FIRST.fullmatch(name) is not None
            self._note_all(node, name, arguments, state, lists_only=lists_only)

    def _note_all(
        self, node: ast.Call, reader: str, arguments: Arguments, state: State, *, lists_only: bool = False
    ) -> None:
        for expression, value in arguments.all():
            if value.kind is Kind.SEQUENCE and not reader.startswith("pandas."):  # which keeps objects as they are
                self._note_elements(node, reader, expression, value, state)
            elif not lists_only:
                self._note(node, reader, expression, value, state)

    def _note_elements(self, node: ast.Call, reader: str, expression: ast.expr, value: Value, state: State) -> None:
        """What a list holds is read too: each element where it is spelled out, else the list itself."""
        if isinstance(expression, (ast.List, ast.Tuple)):
            for one, (_, held) in zip(expression.elts, value.items or ()):
                if held.kind is Kind.TENSOR:
                    self._note(node, reader, one, held, state)
        elif value.items is None and value.element is not None and value.element.kind is Kind.TENSOR:
            self._note(node, reader, expression, replace(value.element, batch=None), state, listed=True)

    def _note(
        self, node: ast.Call, reader: str, expression: ast.expr, value: Value, state: State, *, listed: bool = False
    ) -> None:
        place = state.place_of(value)
        if value.kind not in _TENSORS or not (may_be_device(place) or isinstance(place, Symbol)):
            return
        if self.is_meant_to_fail(node):
            return
        fact = Readout(node, reader, Operand(expression, value, place), self.frame.context, listed)
        known = ((one.node, one.operand.node, one.operand.place) for one in self.facts.readouts)
        if (node, expression, place) not in known:
            self.facts.readouts.append(fact)
