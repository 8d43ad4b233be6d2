"""What the tests of the intermediate representation share: values told as text, at calls of `probe`."""

import ast
from collections.abc import Callable
from textwrap import dedent

import pytest
from devfix_codemods.ir import Guard, Module, Node, Op, lower


class Lowered:
    """A program, and what it gives to each call of `probe`, in the order of the text."""

    def __init__(self, program: str) -> None:
        self.module: Module = lower(ast.parse(dedent(program)))
        calls = [one for one in self.module.nodes() if _is_probe(one)]
        self.probes = sorted(calls, key=lambda one: (one.syntax.lineno, one.syntax.col_offset))

    @property
    def values(self) -> list[str]:
        """What the probes get, as text."""
        return [", ".join(text(one) for one in call.args[1:]) for call in self.probes]

    @property
    def guards(self) -> list[Guard]:
        return [call.guard for call in self.probes]

    def value(self, at: int = 0) -> Node:
        return self.probes[at].args[1]


def _is_probe(node: Node) -> bool:
    return node.op is Op.CALL and node.args[0].extra == "probe"


def text(node: Node, seen: tuple[Node, ...] = ()) -> str:
    """A value as text. `a | b` is a phi, `…` itself again, `after(x)` what a statement may have moved in place."""
    if node in seen:
        return "…"

    def inner(one: Node) -> str:
        return text(one, (*seen, node))

    args = [inner(one) for one in node.args]
    if node.op in _NAMED:
        return str(getattr(node.extra, "name", node.extra))
    form = _FORMS.get(node.op, "{op}({all})")
    return form.format(
        op=node.op.name.lower(),
        extra=node.extra,
        first=args[0] if args else "",
        key=args[1] if len(args) > 1 else repr(node.extra),
        all=", ".join(args),
        rest=", ".join(args[1:]),
        either=" | ".join(dict.fromkeys(args)),
    )


_NAMED = frozenset({Op.REF, Op.GLOBAL, Op.PARAM, Op.FUNCTION, Op.CLASS})
_FORMS = {
    Op.CONST: "{extra!r}",
    Op.PHI: "({either})",
    Op.ATTR: "{first}.{extra}",
    Op.ITEM: "{first}[{key}]",
    Op.ITER: "each({first})",
    Op.CALL: "{first}({rest})",
    Op.SEQUENCE: "{extra}({all})",
    Op.OPERATION: "{extra}({all})",
    Op.COMPARE: "{extra}({all})",
    Op.COMPREHENSION: "{extra} of {first}",
    Op.AFTER: "after({first})",
    Op.ENTER: "entered({first})",
}


@pytest.fixture
def lowered() -> Callable[[str], Lowered]:
    return Lowered


@pytest.fixture(name="told")
def _told() -> Callable[[Node], str]:
    return text
