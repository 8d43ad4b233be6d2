"""An assignment with an annotation says of its value what one without says."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods import engine, rules
from devfix_codemods.annotated import Assign, unified
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODES = frozenset(one.code for one in rules.own_rules())
PROGRAMS = {
    "a statement beside its twin": """
        def linear(n, device):
            sigmas{a} = torch.zeros(n, device=device)
            return sigmas
        def cosine(n, device):
            sigmas{a} = torch.zeros(n)
            return sigmas
    """,
    "beside what is moved": """
        def run(p, q, device):
            a{a} = torch.from_numpy(np.asarray(p)).to(device)
            b{a} = torch.from_numpy(np.asarray(q))
            return a @ b
    """,
    "an attribute": """
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.real{a} = torch.ones(3)
                self.net{a} = nn.Linear(3, 3)
            def forward(self, x):
                return self.net(x) * self.real
    """,
    "a batch": """
        def train(loader, net, device):
            net{a} = net.to(device)
            for batch in loader:
                x{a} = batch["x"].to(device)
                y{a} = batch["y"]
                loss{a} = (net(x) - y).sum()
                loss.backward()
    """,
}


HEAD = "import numpy as np\nimport torch\nfrom torch import nn\n"


def found(text: str) -> list[tuple[str, int, str | None]]:
    done = engine.check(Source("a.py", (HEAD + text).encode()), OPTIONS)
    assert isinstance(done, Checked)
    return [(one.code, one.span.line, one.fix and one.fix.title) for one in done.findings]


OPTIONS = Options(CODES, unsafe=True, suggestions=True)


@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_else_is_found(text: str) -> None:
    plain = found(dedent(text).format(a=""))
    assert plain
    assert found(dedent(text).format(a=": Any")) == plain


@pytest.mark.parametrize(
    "text",
    [
        "class A:\n    x: int = 3\n",
        "class A:\n    try:\n        x: int = 3\n    finally:\n        pass\n",
        "def f():\n    x: int\n",
    ],
)
def test_declarations_stay(text: str) -> None:
    assert ast.dump(unified(ast.parse(text))) == ast.dump(ast.parse(text))


@pytest.mark.parametrize(
    "text", ["x: int = 3\n", "def f():\n    x: int = 3\n", "class A:\n    def f(self):\n        self.x: int = 3\n"]
)
def test_assignments_are_found(text: str) -> None:
    (one,) = (node for node in ast.walk(unified(ast.parse(text))) if isinstance(node, ast.Assign))
    assert isinstance(one, Assign)
    assert ast.unparse(one.annotation) == "int"
    assert ast.unparse(one) in {"x = 3", "self.x = 3"}
