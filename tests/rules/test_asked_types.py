"""DVF104: names of which a function asks whether they are tensors have a device only where that is settled."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

HEAD = "import torch\ndef f(n, s):\n"

OPEN = {
    "asked below": """
    x = torch.arange(n).float()
    if torch.is_tensor(s) and s.dim() > 0:
        s = s[..., None]
    return x / (2 * s ** 2)
""",
    "only the tensor is changed": """
    if isinstance(s, torch.Tensor):
        s = s.unsqueeze(-1)
    x = torch.arange(n).float()
    return torch.exp(-x / (2 * s ** 2))
""",
    "a choice": """
    t = s.dim() if isinstance(s, torch.Tensor) else 0
    x = torch.arange(n).float()
    return torch.exp(-x / (2 * s ** t))
""",
}

REPLACED = """
    for key, item in n.items():
        item = s[key]
        {}
        sizes.append(size)
        item = torch.full((size,), 1)
        rows.append(item)
"""

ASKING = [
    "size = item.size(0) if torch.is_tensor(item) else 1",
    "size = len(item) if hasattr(item, 'device') else item.size()",
    "if type(item) is torch.Tensor:\n            size = item.size(0)\n        else:\n            size = 1",
    "size = 1 if isinstance(item, (int, float)) else item.size(0)",
]

SETTLED = {
    "made a tensor": """
    if not isinstance(s, torch.Tensor):
        s = torch.tensor(s)
    x = torch.arange(n{})
    return x * s.view(3)
""",
    "a list is joined": """
    if isinstance(s, (list, tuple)):
        s = torch.stack(s)
    x = torch.arange(n{})
    return x * s.view(3)
""",
    "numbers have left": """
    if isinstance(s, float):
        return s
    x = torch.arange(n{})
    return torch.cat([x, s])
""",
    "in the branch of tensors": """
    if isinstance(s, torch.Tensor):
        x = torch.arange(n{})
        return torch.cat([x, s])
    return s
""",
    "an assertion": """
    assert torch.is_tensor(s)
    x = torch.arange(n{})
    return torch.cat([x, s])
""",
    "asked of another value": """
    x = torch.arange(n{})
    y = torch.cat([x, s])
    s = n(y)
    if isinstance(s, tuple):
        s = s[0]
    return s
""",
}


@pytest.mark.parametrize("body", OPEN.values(), ids=OPEN)
def test_what_may_be_a_number_is_not_followed(rule, body: str) -> None:
    assert [one for one in rule.safeties(HEAD + body) if one is not None] == []


@pytest.mark.parametrize("line", ASKING)
def test_what_may_be_a_number_gives_its_name_to_a_tensor_of_the_host(rule, line: str) -> None:
    assert [one for one in rule.safeties(HEAD + REPLACED.format(line)) if one is not None] == []


@pytest.mark.parametrize("body", SETTLED.values(), ids=SETTLED)
def test_what_is_a_tensor_by_then_is_followed(rule, body: str) -> None:
    assert rule.fixed(HEAD + body.format(""), unsafe=True) == HEAD + body.format(", device=s.device")


SPANS = """
import torch
def steps({size}):
    {more}return torch.arange(0, size, dtype=torch.long)
def widths(starts: torch.Tensor, ends: torch.Tensor):
    spans = ends - starts
    return steps(spans.max() + 1) <= spans
"""
PLAIN = [("size: int", ""), ("size: float", ""), ("size", "for _ in range(size): print(_)\n    ")]


@pytest.mark.parametrize(("size", "more"), PLAIN)
def test_a_number_by_its_annotation_or_its_use_has_no_device(rule, size: str, more: str) -> None:
    assert [one for one in rule.safeties(SPANS.format(size=size, more=more)) if one is not None] == []


STATES = """
import torch
from torch import nn
def flatten(states):
    return {flat}
def run(n, states):
    x = torch.randn(n, 3)
    net = nn.LSTM(3, 3)
    state = flatten(states)
    return net(x, state)
"""


def test_a_list_that_a_helper_gives_has_no_device(rule) -> None:
    program = STATES.format(flat="[torch.stack(one) for one in zip(*states)]")
    assert [one for one in rule.safeties(program) if one is not None] == []
