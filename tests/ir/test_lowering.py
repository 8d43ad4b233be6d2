"""Programs as values: what a name, an attribute or an item holds where it is read."""

import ast
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from devfix_codemods.ir import Op, lower

EVERY_SYNTAX = Path(__file__).with_name("every_syntax.txt").read_text()
LIBRARY = Path(sysconfig.get_path("stdlib"))

BRANCHES = {
    "what was bound before, and in one branch": ("x = 1\nif c:\n    x = 2\nprobe(x)", "(2 | 1)"),
    "both branches": ("if c:\n    x = 1\nelse:\n    x = 2\nprobe(x)", "(1 | 2)"),
    "the same in both": ("x = 1\nif c:\n    y = 2\nprobe(x)", "1"),
    "bound in one branch alone": ("if c:\n    x = 1\nprobe(x)", "1"),
    "a branch that raises": ("x = 1\nif c:\n    x = 2\n    raise E\nprobe(x)", "1"),
    "a chain of tests": ("if c:\n    x = 1\nelif d:\n    x = 2\nelse:\n    x = 3\nprobe(x)", "(1 | (2 | 3))"),
    "a choice": ("probe(a if c else b)", "(a | b)"),
    "and, or": ("probe(a or b)\nprobe(a and b)", "(a | b)", "(a | b)"),
    "try": ("try:\n    x = a()\nexcept E:\n    x = b()\nprobe(x)", "(a() | b())"),
    "what failed half way": ("x = 1\ntry:\n    x = 2\nexcept E:\n    probe(x)", "(1 | 2)"),
    "an import that may fail": ("try:\n    import m\nexcept ImportError:\n    m = None\nprobe(m)", "(m | None)"),
    "the else of try": ("try:\n    x = 1\nexcept E:\n    x = 2\nelse:\n    x = 3\nprobe(x)", "(3 | 2)"),
    "finally": ("try:\n    x = 1\nfinally:\n    y = 2\nprobe(x, y)", "1, 2"),
    "finally behind a return": ("def f(x):\n    try:\n        return x\n    finally:\n        probe(x)", "x"),
    "nothing is behind a return": ("def f(x):\n    return x\n    probe(x)",),
    "or behind two": ("def f(x):\n    if x:\n        return 1\n    else:\n        return 2\n    probe(x)",),
    "match": ("y = 0\nmatch x:\n    case 1:\n        y = 1\n    case _:\n        y = 2\nprobe(y)", "(1 | 2)"),
    "match without a default": ("y = 0\nmatch x:\n    case 1:\n        y = 1\nprobe(y)", "(0 | 1)"),
    "match with a condition": ("y = 0\nmatch x:\n    case z if z:\n        y = 1\nprobe(y)", "(0 | 1)"),
    "what match binds": ("match x:\n    case [a, *b]:\n        probe(a, b)", "unknown(x), unknown(x)"),
    "with": ("with f() as (a, b):\n    x = 1\nprobe(a, b, x)", "entered(f())[0], entered(f())[1], 1"),
    "walrus": ("if (y := f(x)):\n    probe(y)\nprobe(y)", "f(x)", "f(x)"),
    "del": ("x = 1\ndel x\nprobe(x)", "x"),
}

LOOPS = {
    "what the body binds": ("x = a\nfor i in r:\n    probe(x)\n    x = f(x)\nprobe(x)", "(a | f(…))", "(a | f(…))"),
    "what it leaves alone": ("x = a\nfor i in r:\n    y = x\nprobe(x)", "a"),
    "bound inside, read behind": ("for i in r:\n    x = i\nprobe(x)", "each(r)"),
    "a turn at least": ("x = 1\nfor i in range(3):\n    x = 2\nprobe(x)", "2"),
    "a target behind its loop": ("x = 1\nfor x in q:\n    y = x\nprobe(x)", "each(q)"),
    "a target that is bound anew": ("x = 1\nfor x in q:\n    if c:\n        x = 2\nprobe(x)", "(2 | each(q))"),
    "a target that some turns bind anew": (
        "x = 1\nfor x in q:\n    if c:\n        break\n    x = 2\nprobe(x)",
        "(2 | each(q))",
    ),
    "perhaps no turn": ("x = 1\nfor i in range(n):\n    x = 2\nprobe(x)", "(1 | 2)"),
    "no end but by a break": ("x = 1\nwhile True:\n    x = 2\n    if c:\n        break\n    x = 3\nprobe(x)", "2"),
    "break": ("x = 1\nfor i in r:\n    x = 2\n    if c:\n        x = 3\n        break\nprobe(x)", "(1 | 2 | 3)"),
    "continue": ("x = 1\nfor i in r:\n    if c:\n        x = 2\n        continue\n    probe(x)", "(1 | 2)"),
    "else runs where nothing broke": (
        "x = 1\nfor i in r:\n    if c:\n        x = 2\n        break\nelse:\n    x = 3\nprobe(x)",
        "(3 | 2)",
    ),
    "else that raises": (
        "for i in r:\n    if c:\n        x = i\n        break\nelse:\n    raise E\nprobe(x)",
        "each(r)",
    ),
    "while": ("x = 1\nwhile c:\n    x = 2\nprobe(x)", "(1 | 2)"),
    "attributes": ("def f(s):\n    s.x = 1\n    for i in r:\n        probe(s.x)\n        s.x = 2", "(1 | 2)"),
    "items": ("d = f()\nd['k'] = 1\nfor i in r:\n    probe(d['k'])\n    d['k'] = 2", "(1 | 2)"),
    "a module moved in the body": ("n = f()\nfor i in r:\n    n.to(d)\nprobe(n)", "(f() | after(…))"),
    "enumerate": ("for i, (x, y) in enumerate(q):\n    probe(x, y)", "each(q)[0], each(q)[1]"),
    "zip": ("for x, y in zip(p, q):\n    probe(x, y)", "each(p), each(q)"),
    "zip in enumerate": ("for i, (x, y) in enumerate(zip(p, q)):\n    probe(x, y)", "each(p), each(q)"),
    "items()": ("for k, v in d.items():\n    probe(v)", "each(d)"),
    "values()": ("for v in d.values():\n    probe(v)", "each(d)"),
    "tqdm": ("from tqdm import tqdm\nfor i, x in enumerate(tqdm(q)):\n    probe(x)", "each(q)"),
    "list": ("for x in list(q):\n    probe(x)", "each(q)"),
    "async": ("async def f(q):\n    async for x in q:\n        probe(x)", "each(q)"),
}

STORES = {
    "tuples": ("a, b = 1, 2\na, b = b, a\nprobe(a, b)", "2, 1"),
    "what is unpacked": ("a, (b, c) = f()\nprobe(a, b, c)", "f()[0], f()[1][0], f()[1][1]"),
    "with a star": ("a, *b = f()\nprobe(a, b)", "f()[0], f()[None]"),
    "behind a star": ("a, *b, c, d = f()\nprobe(c, d)", "f()[-2], f()[-1]"),
    "behind a star, of more": ("a, *b, c = x(), y(), z(), w()\nprobe(c)", "w()"),
    "deleted in brackets": ("a = f()\ndel (a, b)\nprobe(a)", "a"),
    "several targets": ("a = b = f()\nprobe(a, b)", "f(), f()"),
    "annotated": ("x: int = 1\nprobe(x)", "1"),
    "augmented": ("x = 1\nx += 2\nprobe(x)\na.b += 1\nprobe(a.b)", "Add(1, 2)", "Add(a.b, 1)"),
    "an attribute": ("def f(s, x):\n    s.x = x\n    probe(s.x)", "x"),
    "of an attribute": ("def f(s, x):\n    s.a.b = x\n    probe(s.a.b, s.a.c)", "x, s.a.c"),
    "of another object": ("def f(s, t, x):\n    s.x = x\n    probe(t.x)", "t.x"),
    "an attribute in one branch": ("def f(s):\n    if c:\n        s.x = 1\n    probe(s.x)", "(1 | s.x)"),
    "an attribute of a new object": ("s = f()\ns.x = 1\ns = g()\nprobe(s.x)", "g().x"),
    "an item": ("def f(d):\n    d['k'] = 1\n    probe(d['k'], d['l'], d[i])", "1, d['l'], d[i]"),
    "an item of a display": ("d = {'k': 1}\nprobe(d['k'])\nd['k'] = 2\nprobe(d['k'])", "1", "2"),
    "an element of a display": ("d = [1, 2]\nprobe(d[1])\nd[1] = 3\nprobe(d[1])", "2", "3"),
    "an item of dict()": ("d = dict(k=1, l=2)\nprobe(d['l'])", "2"),
    "one of a display with a star": ("d = [*x, 1]\nprobe(d[0])", "list(each(x), 1)[0]"),
    "a name of the module": ("x = 1\ndef f():\n    probe(x)", "1"),
    "a name that is bound later": ("def f():\n    probe(x)\nx = 1", "1"),
    "a name that is bound twice": ("x = 1\ndef f():\n    probe(x)\nx = 2", "2"),
    "a name of nobody": ("def f():\n    probe(x)", "x"),
    "global": ("x = 1\ndef f():\n    global x\n    x = 2\n    probe(x)", "2"),
    "what others bind by global": ("x = None\ndef f():\n    probe(x)\ndef g():\n    global x\n    x = 2", "(None | 2)"),
    "bound by global alone, and again": (
        "def f():\n    global x\n    x = 1\n    x = 2\ndef g():\n    probe(x)",
        "(1 | 2)",
    ),
    "bound by global alone": ("def g():\n    global x\n    x = 2\ndef f():\n    probe(x)", "2"),
}

FUNCTIONS = {
    "a closure": ("def f(x):\n    def g():\n        probe(x)\n    return g", "x"),
    "a closure over what changes": (
        "def f(x):\n    def g():\n        probe(x)\n    x = h(x)\n    return g",
        "h(x)",
    ),
    "a lambda": ("def f(x):\n    return lambda y: probe(x, y)", "x, y"),
    "a parameter of the same name": ("x = 1\ndef f(x):\n    probe(x)", "x"),
    "stars": ("def f(*a, **k):\n    probe(a, k)", "*a, **k"),
    "a method": ("class A:\n    def f(self, x):\n        probe(self, x)", "self, x"),
    "a class is no scope of its methods": (
        "x = 1\nclass A:\n    x = 2\n    def f(self):\n        probe(x)",
        "1",
    ),
    "a comprehension": ("probe([g(x) for x in q])", "list of g(each(q))"),
    "of two loops": ("probe({x for y in q for x in y})", "set of each(each(q))"),
    "of a mapping": ("probe({k: f(v) for k, v in d.items()})", "dict of f(each(d))"),
    "its names stay inside": ("x = 1\n[x for x in q]\nprobe(x)", "1"),
    "await": ("async def f(x):\n    probe(await x)", "x"),
    "nonlocal": ("def f():\n    x = 1\n    def g():\n        nonlocal x\n        x = 2\n        probe(x)", "2"),
}

MOVES = {
    "a statement that moves": ("net = f()\nnet.to(d)\nprobe(net)", "after(f())"),
    "with a chain": ("net = f()\nnet.eval().cuda()\nprobe(net)", "after(f())"),
    "followed by another method": ("net = f()\nnet.to(d).eval()\nprobe(net)", "after(f())"),
    "an attribute": ("def f(self):\n    self.net.to(d)\n    probe(self.net)", "after(self.net)"),
    "one that does not": ("net = f()\nnet.eval()\nprobe(net)", "f()"),
    "an assignment": ("net = f()\nnet = net.to(d)\nprobe(net)", "f().to(d)"),
    "in one branch": ("net = f()\nif c:\n    net.cuda()\nprobe(net)", "(after(f()) | f())"),
    "each of a display": ("for net in (a, self.b):\n    net.to(d)\nprobe(a, self.b)", "after(a), after(self.b)"),
}

NAMES = {
    "import": ("import a.b\nprobe(a.b.c)", "a.b.c"),
    "import as": ("import a.b as c\nprobe(c.d)", "a.b.d"),
    "from": ("from a.b import c as d\nprobe(d)", "a.b.c"),
    "relative": ("from . import a\nfrom .b import c\nfrom .. import d\nprobe(a, c, d)", ".a, .b.c, ..d"),
    "builtins": ("probe(len)", "builtins.len"),
    "shadowed": ("def f(len):\n    probe(len)", "len"),
    "a star": ("from x import *\nprobe(nn, np, other)", "torch.nn, numpy, other"),
}


@pytest.mark.parametrize(
    ("program", "values"),
    [
        pytest.param(program, values, id=name)
        for table in (BRANCHES, LOOPS, STORES, FUNCTIONS, MOVES, NAMES)
        for name, (program, *values) in table.items()
    ],
)
def test_what_is_read(lowered, program: str, values: list[str]) -> None:
    assert lowered(program).values == values


@pytest.mark.parametrize(
    ("method", "element"),
    [("append(x)", "x"), ("add(x)", "x"), ("insert(0, x)", "x"), ("extend(x)", "each(x)"), ("setdefault(k, x)", "x")],
)
def test_what_is_put_into_a_container(told, method: str, element: str) -> None:
    (store,) = lower(ast.parse(f"def f(x):\n    q.{method}")).functions[1].stores
    assert (told(store.base), told(store.value), store.is_attribute) == ("q", element, False)


def test_an_item_under_a_variable_key_is_a_store(told) -> None:
    (store,) = lower(ast.parse("def f(d, k, x):\n    d[k] = x")).functions[1].stores
    assert (store.key, told(store.index), told(store.value)) == (None, "k", "x")


@pytest.mark.parametrize(
    ("body", "returns"),
    [
        ("return x", ["x"]),
        ("if x:\n        return 1\n    return 2", ["1", "2"]),
        ("return (x, 1)", ["tuple(x, 1)"]),
        ("return", []),
        ("yield x\n    yield from y", ["x", "each(y)"]),
        ("def g():\n        return 1\n    return g", ["g"]),
    ],
)
def test_what_a_function_gives(told, body: str, returns: list[str]) -> None:
    function = lower(ast.parse(f"def f(x):\n    {body}")).functions[1]
    assert [told(value) for value, _ in function.returns] == returns


class TestClasses:
    PROGRAM = """
        class Base:
            size = 3

            def __init__(self, x):
                self.x = x

            def shared(self):
                return self.x

        class Derived(Base, torch.nn.Module):
            def __init__(self, y):
                self.y = y
                other.z = 1

            @staticmethod
            def build(config):
                config.w = 1

            def closes(self):
                def inner(me):
                    me.v = 1
                return inner
    """

    @pytest.fixture
    def classes(self, lowered) -> tuple:
        return tuple(lowered(self.PROGRAM).module.classes)

    def test_methods_and_members(self, classes) -> None:
        base, derived = classes
        assert (set(base.methods), set(derived.methods)) == (
            {"__init__", "shared"},
            {"__init__", "build", "closes"},
        )
        assert "size" in base.members

    def test_bases(self, classes, told) -> None:
        base, derived = classes
        assert [told(one) for one in derived.bases] == ["Base", "torch.nn.Module"]
        assert list(derived.lineage()) == [derived, base]

    def test_what_is_set(self, classes) -> None:
        base, derived = classes
        assert base.sets("x")
        assert derived.sets("x")
        assert derived.sets("y")
        assert not base.sets("y")
        assert not any(derived.sets(name) for name in "zwv")

    def test_an_attribute_is_one_for_all_classes_that_have_it(self, classes) -> None:
        base, derived = classes
        assert derived.field_of("x") is base.field_of("x")
        assert derived.field_of("y") is not base.field_of("y")

    def test_who_self_is(self, classes) -> None:
        _, derived = classes
        assert derived.methods["closes"].self_node is derived.methods["closes"].parameters["self"]
        assert derived.methods["build"].self_node is None

    def test_a_circle_of_bases_ends(self, lowered) -> None:
        (one, other) = lowered("class A(B): pass\nclass B(A): pass").module.classes
        assert list(other.lineage()) == [other, one]
        assert not one.sets("x")


def test_what_is_bound_around_a_statement(lowered, told) -> None:
    module = lowered("x = 1\nx = 2").module
    first, second = module.tree.body
    before, after = module.top.before[second]["x"], module.top.after[second]["x"]
    assert (told(before), told(after)) == ("1", "2")
    assert module.top.after[first]["x"] is before


def test_calls_know_the_managers_around_them(lowered) -> None:
    one = lowered("with a, b:\n    probe(1)\nprobe(2)")
    inside, outside = one.probes
    assert [node.extra for node in one.module.managed[inside]] == ["a", "b"]
    assert outside not in one.module.managed


class TestEverySyntax:
    TREE = ast.parse(EVERY_SYNTAX)
    DEPRECATED = frozenset("Num Str Bytes NameConstant Ellipsis Param AugLoad AugStore Index ExtSlice Suite".split())

    def test_the_sample_has_all_of_it(self) -> None:
        wanted, pending = set(), [ast.stmt, ast.expr, ast.pattern, ast.operator, ast.unaryop, ast.boolop, ast.cmpop]
        pending += [ast.expr_context, ast.excepthandler]
        for one in pending:  # grows
            derived = [each for each in one.__subclasses__() if each.__module__ == "ast"]
            pending += derived
            if not derived:
                wanted.add(one)
        missing = {one.__name__ for one in wanted - {type(node) for node in ast.walk(self.TREE)}}
        newer = {"TypeAlias", "TemplateStr", "Interpolation"}
        assert missing <= self.DEPRECATED | newer

    def test_each_call_that_is_reached_is_a_value_once(self) -> None:
        calls = [
            node.syntax.args[0].value
            for node in lower(self.TREE).nodes()
            if node.op is Op.CALL and node.args[0].extra == "probe"
        ]
        annotation = 1
        assert Counter(calls) == Counter(range(annotation + 1, 94))


def _some_of_the_library() -> list[Path]:
    packages = ("", "asyncio", "email", "json", "logging", "unittest", "xml/dom", "concurrent/futures")
    files = [file for name in packages for file in sorted((LIBRARY / name).glob("*.py"))]
    return [file for file in files if file.stat().st_size < 60_000][::6]


class TestLibrary:
    @pytest.mark.parametrize("file", _some_of_the_library(), ids=lambda file: f"{file.parent.name}/{file.name}")
    def test_no_file_is_too_much(self, file: Path) -> None:
        module = lower(ast.parse(file.read_bytes()))
        nodes = list(module.nodes())
        assert len({node.index for node in nodes}) == len(nodes)
        for node in nodes:
            if node.op is Op.PHI:
                assert len(node.args) == len(node.extra) > 0

    def test_they_are_enough(self) -> None:
        assert len(_some_of_the_library()) >= 35


def test_a_method_with_overloads_is_the_one_behind_them() -> None:
    stubs = "    @overload\n    def f(self, x: int): ...\n    @overload\n    def f(self, x: str): ...\n"
    (owner,) = lower(ast.parse(f"class A:\n{stubs}    def f(self, x):\n        return x\n")).classes
    assert owner.methods["f"].syntax.lineno == 6
