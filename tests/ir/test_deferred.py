"""Bodies that are lowered when they are read say what they say where all are lowered at once."""

import ast
from pathlib import Path
from textwrap import dedent

import pytest
from devfix_codemods.ir import Class, Function, Module, Node, lower, lower_on_demand
from devfix_codemods.ir.nodes import forget

CORPUS = Path(__file__).parents[2] / "corpus"

PROGRAMS = {
    "methods": """
        class Net(Base):
            size = 3
            def __init__(self, x, *rest, flag=None, **more):
                self.x = x
                self.register_buffer("table", make(x))
            def forward(self, y):
                self.last = y
                return [self.x + one for one in y if flag]
            @property
            def late(self): return self.kept
            @late.setter
            def late(self, value): self.kept = value
    """,
    "what functions bind for the module": """
        device = None
        def choose():
            global device
            device = "cuda"
        def use(): return device
    """,
    "what functions bind for the one around them": """
        def train(steps):
            best = None
            def note(value):
                nonlocal best
                best = value
            for one in range(steps):
                note(one)
            return best
    """,
    "classes inside of functions": """
        def build(x):
            class Inner:
                def set(self): self.value = x
            return Inner()
        made = build(1)
    """,
    "lambdas and defaults": """
        def outer(f=lambda a: a.b, *, g=make()):
            return (lambda c: f(c) + g)(1)
    """,
    "generators": """
        async def batches(loader):
            async for one in loader:
                yield one.cuda()
    """,
}


def _said(value: object) -> object:
    """A value without what counts values, so that two lowerings can be compared."""
    match value:
        case Node():
            return value.op, getattr(value.syntax, "lineno", 0), getattr(value.syntax, "col_offset", 0)
        case Function() | Class():
            return type(value).__mro__[-2].__name__, value.name, getattr(value.syntax, "lineno", 0)
        case tuple():
            return tuple(map(_said, value))
    return value if isinstance(value, str | int | None) else type(value)


def _function(one: Function) -> object:
    nodes = [(_said(node), [_said(arg) for arg in node.args], _said(node.extra)) for node in one.nodes]
    stores = [(_said(store.base), store.key, _said(store.value)) for store in one.stores]
    finals = {_said(key): _said(value) for key, value in one.finals.items()}
    returns = [_said(value) for value, _ in one.returns]
    parameters = {name: _said(node) for name, node in one.parameters.items()}
    return nodes, stores, finals, returns, parameters, one.yields, _said(one.self_node), len(one.before)


def _where(one: Function | Class) -> tuple[str, int, int]:
    return one.name, getattr(one.syntax, "lineno", 0), getattr(one.syntax, "col_offset", 0)


def _module(module: Module) -> object:
    functions = {_where(one): _function(one) for one in reversed(module.functions)}
    classes = {_where(one): (sorted(one.stored), sorted(one.methods), sorted(one.members)) for one in module.classes}
    return functions, classes


def _alone(tree: ast.Module) -> dict[str, object]:
    """Each function of the top level, read where nothing else is."""
    names = [name for name, one in lower(tree).top.finals.items() if isinstance(one.extra, Function)]
    return {str(name): _function(lower_on_demand(tree).top.finals[name].extra) for name in names}


def _together(tree: ast.Module) -> dict[str, object]:
    finals = lower(tree).top.finals.items()
    return {str(name): _function(one.extra) for name, one in finals if isinstance(one.extra, Function)}


def _deferred(code: str) -> Module:
    return lower_on_demand(ast.parse(dedent(code)))


@pytest.mark.parametrize("code", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_lowered_differently(code: str) -> None:
    tree = ast.parse(dedent(code))
    assert _module(lower_on_demand(tree)) == _module(lower(tree))
    assert _alone(tree) == _together(tree)


def test_nor_in_any_program_of_the_corpus() -> None:
    for path in sorted(CORPUS.glob("*/*/before.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert _module(lower_on_demand(tree)) == _module(lower(tree)), path
        assert _alone(tree) == _together(tree), path


def test_a_body_that_nobody_reads_is_not_lowered() -> None:
    module = _deferred("def f(x): return x.a.b\ndef g(x): return x.c")
    known = module.count
    f = module.top.finals["f"].extra
    assert isinstance(f, Function)
    assert f.defaults == {}
    assert module.count == known
    assert len(f.nodes) == 3
    assert module.count == known + 3


def test_methods_are_not_lowered_for_the_bases_of_their_class() -> None:
    module = _deferred("class Net(Base):\n    def f(self): self.x = 1")
    known = module.count
    net = module.top.finals["Net"].extra
    assert isinstance(net, Class)
    assert len(net.lineage()) == 1
    assert list(net.methods) == ["f"]
    assert module.count == known
    assert net.sets("x")
    assert not net.sets("y")
    assert module.count > known


def test_what_binds_names_of_the_module_is_lowered_with_that() -> None:
    module = _deferred(PROGRAMS["what functions bind for the module"])
    assert len(module.top.finals["device"].args) == 2


def test_a_file_that_is_forgotten_lowers_nothing_more() -> None:
    module = _deferred("def f(x): return x.a")
    f = module.top.finals["f"].extra
    known = module.count
    forget(module)
    assert isinstance(f, Function)
    assert f.nodes == []
    assert module.count == known


def test_what_a_function_does_not_have_is_an_error_as_ever() -> None:
    module = _deferred("def f(x): return x\nclass C: pass")
    for name in ("f", "C"):
        with pytest.raises(AttributeError):
            _ = module.top.finals[name].extra.absent  # type: ignore[union-attr]
