"""Two values that one function makes on the host, and that meet there: both are moved, or none."""

import pytest
from devfix_codemods import testing
from devfix_codemods.findings import Safety

HALVES = """
    import torch
    def order(rows, kept, layer):
        weight = layer.weight.data
        first, second = torch.zeros(3), torch.zeros(3)
        {between}
        both = torch.where(first * second != 0, first, second)
        return both * weight[:, 0].to(torch.float32)
"""


def safeties(between: str) -> set[Safety | None]:
    found = testing.findings(HALVES.format(between=between), "DVF104", suggestions=True)
    return {one.fix.safety for one in found if one.fix is not None}


@pytest.mark.parametrize("between", ["pass", "low = torch.linalg.cholesky(kept.H) @ second", "print(first)"])
def test_both_are_trusted_alike(between: str) -> None:
    assert len(safeties(between)) == 1


TOGETHER = """
    def meta(net, loss_of, device, count):
        supports, queries = [], []
        for i in range(count):
            supports.append(torch.randn(3))
            queries.append({query})
        net = net.to(device)
        for support, query in zip(supports, queries):
            predicted = net(support, query)
            loss_of(predicted, torch.ones(3, device=device)).backward()
"""


def test_what_is_misplaced_does_not_follow_what_is(repairs) -> None:
    text = repairs.written(TOGETHER.format(query="torch.randn(3)"), Safety.SUGGESTION)
    assert "support.device" not in text
    assert "query.device" not in text
