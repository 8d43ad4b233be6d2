"""A file read as if some of its moves left their values where they were."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods.ir import Op
from devfix_codemods.placement.analysis import Analysis
from devfix_codemods.placement.graph import Birth, Source
from devfix_codemods.placement.places import CUDA, Where

MET = {
    "an operand": "h = torch.zeros(3).cuda()\n    return x.view(3) + h",
    "made there": "h = torch.zeros(3, device='cuda')\n    return torch.cat([x, h])",
    "by a type": "h = torch.zeros(3).type(torch.cuda.FloatTensor)\n    return x * h",
    "by a legacy constructor": "h = torch.cuda.FloatTensor(3)\n    return x * h",
}
NOT_MET = {
    "nothing": "h = torch.zeros(3).cuda()\n    return h",
    "taken to the host": "h = torch.zeros(3).cuda()\n    return x.cpu() + h",
    "another name": "h = torch.zeros(3).cuda()\n    x = 3\n    return x + h",
}


def callers_met(body: str) -> bool:
    """Whether the first value that is spelled CUDA for would meet what the caller gives, if nothing moved it."""
    tree = ast.parse(f"import torch\ndef f(x: torch.Tensor):\n    {body}\n")
    moves = [one for one in ast.walk(tree) if isinstance(one, ast.Call) and "cuda" in ast.unparse(one).lower()]
    call = min(moves, key=lambda one: (one.lineno, one.col_offset, -(one.end_col_offset or 0)))
    analysis = Analysis(tree).without({call})
    node = next(one for one in analysis.module.nodes() if one.syntax is call and one.op is Op.CALL)
    found = analysis.ends(Source(node, CUDA, Birth.MOVE, ("certain",)))
    return any(one.end.place.where is Where.CALLER for one in found)


@pytest.mark.parametrize("body", MET.values(), ids=MET)
def test_what_a_value_would_meet(body: str) -> None:
    assert callers_met(body)


@pytest.mark.parametrize("body", NOT_MET.values(), ids=NOT_MET)
def test_what_it_would_not(body: str) -> None:
    assert not callers_met(body)


def exit_of(body: str) -> set[bool]:
    """Whether the tests hold under which the end of a function is reached."""
    tree = ast.parse(dedent(body))
    function = Analysis(tree).module.functions[1]
    return {holds for _, holds in function.exit or ()}


def test_what_holds_at_the_end_of_a_function() -> None:
    assert exit_of("def f(x):\n    if not x.is_cuda:\n        raise ValueError\n    g(x)\n") == {True}
    assert exit_of("def f(x):\n    if not x.is_cuda:\n        x = x + 1\n    g(x)\n") == set()
