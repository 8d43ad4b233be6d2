"""Names that are bound to what is made on the host."""

import ast

import pytest
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.bound_on_host import bound_on_host


def names(body: str) -> set[str]:
    text = f"import numpy as np\nimport torch\ndef f(n, device, x, net):\n{body}\n"
    return set(bound_on_host(Analysis(ast.parse(text)), "f", 100))


@pytest.mark.parametrize(
    "body",
    [
        "    y = torch.zeros(n, device=device)",
        "    y = torch.zeros(n).to(device)",
        "    y = x + 1",
        "    y = torch.zeros(n)\n    y = y.cuda()",
        "    y = torch.zeros(n) if n else x",
        "    y = read(n)",
        "    y = np.zeros(3)",
        "    y = net(torch.zeros(n, 3))",
        "    y, z = read(n), x",
    ],
)
def test_not_surely_on_the_host(body: str) -> None:
    assert names(body) == set()


@pytest.mark.parametrize(
    "body",
    [
        "    y = torch.zeros(n)",
        "    y = torch.from_numpy(np.zeros(3)).float()",
        "    a = torch.zeros(n)[1:]\n    y = torch.stack([a, a])",
        "    y, z = torch.zeros(n), read(n)",
        "    y = torch.zeros(n) * 2 + torch.ones(n)",
    ],
)
def test_made_on_the_host(body: str) -> None:
    assert "y" in names(body)


def test_what_is_bound_behind_the_line_does_not_count() -> None:
    tree = ast.parse("import torch\nx = torch.zeros(3)\nprint(x)\nx = torch.zeros(3).cuda()\ny = torch.zeros(2)\n")
    assert bound_on_host(Analysis(tree), "", 3) == {"x"}


@pytest.mark.parametrize(
    ("calls", "is_host"),
    [
        ("f(torch.zeros(3))", True),
        ("f(torch.zeros(3))\nf(torch.ones(3))", True),
        ("f(torch.zeros(3))\nf(read())", False),
        ("f(torch.zeros(3).cuda())", False),
        ("x = read().detach().cpu()\nf(x)", True),
        ("torch.utils.data.DataLoader(rows, collate_fn=f)", True),
        ("options = dict(collate_fn=f)\ntorch.utils.data.DataLoader(rows, **options)", True),
        ("torch.utils.data.DataLoader(rows, collate_fn=g)", False),
        ("make_loader(rows, collate_fn=lambda b: f(b))", True),
        ("def g(b):\n    return f(b)\nmake_loader(rows, collate_fn=g)", True),
        ("g = (lambda b: f(b)) if rows else (lambda b: b)\nmake_loader(rows, collate_fn=g)", True),
        ("import functools\nmake_loader(rows, collate_fn=functools.partial(f, n=3))", True),
        ("class G:\n    def __call__(self, b):\n        return f(b)\nmake_loader(rows, collate_fn=G())", True),
        ("make_loader(rows, collate_fn=lambda b: f(read(b)))", False),
        ("make_loader(rows, worker_fn=lambda b: f(b))", False),
        ("", False),
    ],
)
def test_what_all_calls_give(calls: str, is_host: bool) -> None:
    tree = ast.parse(f"import torch\ndef f(x):\n    return x\n{calls}\n")
    assert bound_on_host(Analysis(tree), "f", 3) == ({"x"} if is_host else set())


@pytest.mark.parametrize(
    ("loop", "found"),
    [
        ("for one in rows:\n        y = one + 1", {"rows", "one"}),
        ("y = [one + 1 for one in rows]", {"rows", "one"}),
        ("for one in read(rows):\n        y = one + 1", {"rows"}),
    ],
)
def test_what_loops_go_through_samples_with(loop: str, found: set[str]) -> None:
    text = f"import torch\ndef f(rows):\n    {loop}\n    return y\ntorch.utils.data.DataLoader(d, collate_fn=f)\n"
    assert found <= bound_on_host(Analysis(ast.parse(text)), "f", 100) <= {*found, "y"}


def test_what_loops_go_through_other_parameters_with() -> None:
    tree = ast.parse("def f(rows):\n    for one in rows:\n        y = one + 1\n    return y\n")
    assert bound_on_host(Analysis(tree), "f", 100) == set()


@pytest.mark.parametrize(
    ("calls", "found"),
    [
        ("f(torch.zeros(3))", {"x", "y"}),
        ("def g(z):\n    return f(z)\ng(torch.zeros(3))", {"x", "y"}),
        ("def g(z):\n    return f(z)\ng(read())", set()),
        ("def g(z):\n    return f(z)", set()),
        ("f(torch.zeros(3).cuda())", set()),
    ],
)
def test_what_is_computed_of_what_all_calls_give(calls: str, found: set[str]) -> None:
    text = f"import torch\ndef f(x):\n    x = x.unsqueeze(0)\n    y = x * 2 + x[:, 1:]\n    return y\n{calls}\n"
    assert bound_on_host(Analysis(ast.parse(text)), "f", 5) == found


METHOD = """
import torch
class Solver:
    def run(self, x, net, device):
        y = net(x.to(device))
        y = y{copied}
        return self.measure(y, length=3)
    def measure(self, y, length):
        return y.numpy()[:length]
"""


@pytest.mark.parametrize(("copied", "found"), [(".detach().to(device)", set()), (".detach().cpu()", {"y"})])
def test_what_a_method_is_given_by_another_one(copied: str, found: set[str]) -> None:
    found_there = bound_on_host(Analysis(ast.parse(METHOD.format(copied=copied))), "Solver.measure", 100)
    assert found_there & {"y"} == found
