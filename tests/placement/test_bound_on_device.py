"""Names that are bound to what may be on a device."""

import ast

import pytest
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.bound_on_device import bound_on_device


def names(body: str, calls: str = "") -> set[str]:
    text = f"import numpy as np\nimport torch\ndef f(n, device, x, net):\n{body}\n    return y\n{calls}\n"
    return set(bound_on_device(Analysis(ast.parse(text)), "f", 100)) - {"device"}


@pytest.mark.parametrize(
    "body",
    [
        "    y = torch.zeros(n)",
        "    y = x + 1",
        "    y = torch.zeros(n).cuda().cpu()",
        "    x = x.cuda()\n    x = net(x).detach().cpu()\n    y = x",
        "    y = read(n)",
        "    y = torch.zeros(n).cuda()\n    y = torch.zeros(n)",
    ],
)
def test_nothing_puts_it_there(body: str) -> None:
    assert names(body) == set()


@pytest.mark.parametrize(
    "body",
    [
        "    y = torch.zeros(n, device=device)",
        "    y = torch.zeros(n).to(device)",
        "    y = torch.zeros(n)\n    y = y.cuda()",
        "    y = torch.zeros(n).cuda() if n else x",
        "    a = torch.zeros(n).cuda()\n    y = a[1:] * 2",
        "    a = torch.zeros(n).cuda()\n    y = torch.zeros(n, device=a.device)",
    ],
)
def test_the_function_puts_it_there(body: str) -> None:
    assert "y" in names(body)


@pytest.mark.parametrize(
    "calls",
    [
        "",
        "f(1, 'cuda', torch.zeros(3), None)",
        "f(1, 'cuda', read(), None)",
        "g(1, 'cuda', torch.zeros(3).cuda(), None)",
    ],
)
def test_no_caller_puts_it_there(calls: str) -> None:
    assert "x" not in names("    y = x", calls)


@pytest.mark.parametrize(
    "calls",
    [
        "f(1, 'cuda', torch.zeros(3).cuda(), None)",
        "f(1, 'cuda', x=torch.zeros(3, device='cuda'), net=None)",
        "f(1, 'cuda', torch.zeros(3), None)\nf(1, 'cuda', torch.zeros(3).cuda(), None)",
        "for x in rows:\n    x = x.cuda()\n    f(1, 'cuda', x, None)",
        "def g(z):\n    return f(1, 'cuda', z, None)\ng(torch.zeros(3).cuda())",
    ],
)
def test_a_caller_puts_it_there(calls: str) -> None:
    assert {"x", "y"} <= names("    y = x * 2", calls)
