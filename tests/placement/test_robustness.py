"""No program makes the analysis fail."""

import ast
import sys
import threading
import time
from types import FrameType

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Failed, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .random_programs import program

SELECT = frozenset(rule.code for rule in all_rules())
HEAD = "import torch\nfrom torch import nn\nnet.eval()\nfor x in torch.utils.data.DataLoader(d):\n  x = x.to('cuda')\n"

DEEP = {
    "operators": "z = " + " + ".join(["x"] * 3000),
    "parentheses": "z = " + "(" * 150 + "x" + ")" * 150,
    "attributes": "z = x" + ".a" * 300,
    "calls": "z = x" + ".f()" * 1500,
    "ifs": "".join(" " * i + "if a:\n" for i in range(90)) + " " * 90 + "pass",
    "elifs": "if a: pass\n" + "".join(f"elif a == {i}: pass\n" for i in range(2000)),
    "fors": "".join(" " * i + f"for a{i} in b{i}:\n" for i in range(19)) + " " * 19 + "pass",
    "whiles": "".join(" " * i + f"while a{i}:\n" for i in range(19)) + " " * 19 + "pass",
    "functions": "".join(" " * i + f"def f{i}():\n" for i in range(90)) + " " * 90 + "pass",
    "classes": "".join(" " * i + f"class C{i}:\n" for i in range(90)) + " " * 90 + "pass",
    "lists": "z = " + "[" * 150 + "x" + "]" * 150,
    "lambdas": "z = " + "lambda: " * 150 + "x",
    "conditions": "z = " + "x if a else " * 150 + "y",
    "a chain of helpers": "".join(f"def f{i}(a): return f{i + 1}(a) + f{i + 1}(a)\n" for i in range(40)) + "f0(x)",
}


@pytest.mark.parametrize("program", DEEP.values(), ids=DEEP)
def test_depth(program: str) -> None:
    outcome = check(Source("deep.py", f"{HEAD}{program}\n".encode()), Options(SELECT))
    assert isinstance(outcome, Checked) or (isinstance(outcome, Failed) and not outcome.internal), outcome


def test_twice_the_operators_are_about_twice_the_work() -> None:
    once, twice = (calls_in_reading(f"{HEAD}z = {' + '.join(['x'] * count)}\n") for count in (400, 800))
    assert twice < 3 * once


def calls_in_reading(text: str) -> int:
    """How many functions are called while a program is read: the work, whatever else the machine does."""
    calls = 0

    def count(frame: FrameType, event: str, argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    threading.setprofile(count)
    try:
        assert isinstance(check(Source("long.py", text.encode()), Options(SELECT)), Checked)
    finally:
        threading.setprofile(None)
    return calls


ODD = {
    "moves without arguments": "x.to()\nx.cuda()\nx.cpu(1)\nx.to(*a)\nx.to(**k)\nx.cuda(*a)\nx.to(None)\nx.to(...)",
    "moves of constants": "''.to('cuda')\n(1).to('cuda')\nNone.to(x)\n{}.to('cuda')\n[x].cuda()\n(lambda: 0).cpu()",
    "torch without arguments": (
        "torch.device()\ntorch.device(*a)\ntorch.tensor()\ntorch.cat()\ntorch.utils.data.DataLoader()\n"
        "torch.utils.data.TensorDataset()\nnn.DataParallel()\ntorch.set_default_device()\ntorch.full(**k)\n"
        "nn.Sequential(*a)\nnn.Parameter()\ntorch.autograd.Variable()\nx.lerp_()\nx.copy_()\nx.mul_().add_()"
    ),
    "builtins without arguments": "list()\nzip()\nenumerate()\nmap()\nnext()\niter()\ndict()\nsuper()\ngetattr(x)",
    "unpacking": "a, *b = x\n*a, b = x, y\n(a, (b, *c)) = x\n[a.b, c[0]] = y\nfor a.b, c[0] in x: pass",
    "walrus": "while (z := f(x)) is not None: print((w := z.to('cuda')))",
    "match": "match x:\n  case [a, *b]: pass\n  case {'a': a, **r}: pass\n  case A(b=c) as d if d.to('cuda'): pass",
    "async": "async def f():\n  async for a, b in loader:\n    a = a.to('cuda')\n  async with z as q: q.to('cuda')",
    "exception groups": "try:\n  pass\nexcept* ValueError as e:\n  e.to('cuda')\nfinally:\n  x.cuda()",
    "parameters": "def f(a, c=1, /, b=2, *d, e, **g): return a, d, g\nf(1, 2, 3, 4, 5, e=x, z=y)\nf(*x, **y)\nf()",
    "class bodies": (
        "class A(nn.Module, metaclass=M):\n  y = torch.zeros(3).to('cuda')\n  @property\n  def p(self): return self.p\n"
        "  @classmethod\n  def c(cls, z): return cls(z).to('cuda')\n  @staticmethod\n  def s(z): return A.c(z)\nA(1).p"
    ),
    "scopes": "def a():\n  def b():\n    nonlocal z\n    z = z.to('cuda')\n  z = torch.zeros(3)\n  b()\na()",
    "global at the top": "global q\nq = torch.zeros(3)\nq.to('cuda')",
    "deletion": "del x\nx.to('cuda')\ndel y[0], y.a",
    "f-strings": "f'{x.to(\"cuda\")!r:>{y}}'",
    "growing values": "for i in a:\n  x = [x]\n  y = {1: y, 'b': [y]}\n  z = (x, y, z)\n  q = q.a\n  r = r[0]",
    "keywords that are keys": (
        "def f(model):\n  named = {'a': 1, 'return_tensors': 'pt'}\n  model(**named)\n"
        "model(**{'return_tensors': 'pt'})\ntorch.zeros(2, **{'device': 'cuda', 'dtype': d})\n"
        "x.to(**{'device': 'cuda'})\ntorch.load(p, **{'map_location': 'cpu'})"
    ),
    "keys of any kind": "d = {1: x, 'a': x, None: x, **k}\nd[1.5] = x\nd[True] = y\nd[...] = x\nd[1:2] = x",
    "a lone yield": "def f():\n  x = yield\n  yield from f()\n  return x.to('cuda')\nfor a in f(): a.cuda()",
}


@pytest.mark.parametrize("program", ODD.values(), ids=ODD)
def test_odd_code(program: str) -> None:
    outcome = check(Source("odd.py", f"{HEAD}{program}\n".encode()), Options(SELECT))
    assert isinstance(outcome, Checked), outcome


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the syntax is newer")
def test_type_parameters() -> None:
    program = "type A[T] = list[T]\ndef f[T](x: T) -> T: return x.to('cuda')\nclass C[T](nn.Module): pass\n"
    assert isinstance(check(Source("new.py", (HEAD + program).encode()), Options(SELECT)), Checked)


NAMES = st.sampled_from(["x", "y", "model", "device", "self", "batch", "loader", "torch", "nn", "f"])
ATOMS = NAMES | st.sampled_from(
    [
        "1",
        "None",
        "'cuda'",
        "'a'",
        "torch.zeros(3)",
        "nn.Linear(1, 2)",
        "[]",
        "{}",
        "torch.device('cuda')",
        "True",
        "d()",
    ]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    methods = st.sampled_from(
        [
            "to",
            "cuda",
            "cpu",
            "append",
            "items",
            "values",
            "lerp_",
            "copy_",
            "mul_",
            "add_",
            "backward",
            "train",
            "view",
            "float",
            "numpy",
        ]
    )
    return st.one_of(
        st.builds("{}.{}({})".format, inner, methods, inner),
        st.builds("{}({})".format, inner, inner),
        st.builds("{}.a".format, inner),
        st.builds("{}[{}]".format, inner, inner),
        st.builds("({} + {})".format, inner, inner),
        st.builds("({}, {})".format, inner, inner),
        st.builds("[{} for x, y in {}]".format, inner, inner),
        st.builds("{{'a': {}, **{}}}".format, inner, inner),
        st.builds("({} if {} else {})".format, inner, inner, inner),
        st.builds("(lambda x: {})".format, inner),
        st.builds("torch.cat([{}, {}])".format, inner, inner),
        st.builds("f(*{}, k={})".format, inner, inner),
    )


EXPRESSIONS = st.recursive(ATOMS, _larger, max_leaves=6)
SIMPLE = st.one_of(
    EXPRESSIONS,
    st.builds("{} = {}".format, NAMES, EXPRESSIONS),
    st.builds("{}, {} = {}".format, NAMES, NAMES, EXPRESSIONS),
    st.builds("{}.a = {}".format, NAMES, EXPRESSIONS),
    st.builds("{}['a'] = {}".format, NAMES, EXPRESSIONS),
    st.builds("{} += {}".format, NAMES, EXPRESSIONS),
    st.builds("del {}".format, NAMES),
    st.builds("global {}".format, NAMES),
    st.just("pass"),
)


def _block(lines: list[str]) -> str:
    return "".join(f"    {line}\n" for one in lines for line in one.splitlines())


def _nested(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map(_block)
    return st.one_of(
        st.builds("for {}, {} in {}:\n{}".format, NAMES, NAMES, EXPRESSIONS, body),
        st.builds("while {}:\n{}".format, EXPRESSIONS, body),
        st.builds("if {}:\n{}else:\n{}".format, EXPRESSIONS, body, body),
        st.builds("with {} as {}:\n{}".format, EXPRESSIONS, NAMES, body),
        st.builds("try:\n{}except E as {}:\n{}finally:\n{}".format, body, NAMES, body, body),
        st.builds("def f(x, y={}, *self):\n{}    return {}\n".format, ATOMS, body, EXPRESSIONS),
        st.builds("class f(nn.Module):\n    def forward(self, x):\n        pass\n{}".format, body),
    )


PROGRAMS = st.lists(st.recursive(SIMPLE, _nested, max_leaves=8), min_size=1, max_size=6).map("\n".join)


@pytest.mark.slow
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(PROGRAMS)
def test_random_programs(program: str) -> None:
    text = f"{HEAD}{program}\n"
    try:
        ast.parse(text)
    except SyntaxError:
        return
    outcome = check(Source("random.py", text.encode()), Options(SELECT))
    assert isinstance(outcome, Checked), outcome


@pytest.mark.parametrize("first", range(0, 100, 25))
def test_programs_whose_loops_bind_everything_anew(first: int) -> None:
    options = Options(SELECT, unsafe=True, suggestions=True)
    for seed in range(first, first + 25):
        outcome = check(Source("train.py", program(seed).encode()), options)
        assert isinstance(outcome, Checked), (seed, outcome)


def test_a_function_that_asks_for_its_devices_hundreds_of_times_is_read_in_seconds() -> None:
    asked = "".join(
        f"    if x.device.type == 'cpu' and 'cuda' in str(device{i % 3}):\n        x = net(x.to(device{i % 3}))\n"
        for i in range(300)
    )
    text = f"import torch\ndef f(net, x, device0=None, device1=None, device2=None):\n{asked}    return x\n"
    start = time.process_time()
    outcome = check(Source("long.py", text.encode()), Options(SELECT))
    assert isinstance(outcome, Checked), outcome
    assert time.process_time() - start < 15
