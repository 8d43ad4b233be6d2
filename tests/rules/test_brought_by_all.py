"""DVF402: what a function detaches of what its callers bring, all of which stand in the file."""

import pytest

CODE = "DVF402"

DRAW = """
    import torch

    def _array(rows, device=None):
        return rows.detach().clone().numpy()

    def first(model, rows, device):
        rows = rows.cpu()
        return _array({first})

    def second(model, rows, device):
        return _array({second})
"""


@pytest.mark.parametrize("first", ["rows", "rows[..., 0]", "torch.ones(3)"])
@pytest.mark.parametrize("second", ["rows.cpu()", "torch.zeros(4)"])
def test_callers_that_all_bring_it_on_the_host(rule, first: str, second: str) -> None:
    assert rule.findings(DRAW.format(first=first, second=second)) == ()


@pytest.mark.parametrize("second", ["rows", "model(rows)", "rows.to(device)"])
def test_a_caller_that_may_not(rule, second: str) -> None:
    assert ".clone().cpu().numpy()" in rule.fixed(DRAW.format(first="rows", second=second), unsafe=True)


def test_a_function_that_others_may_call(rule) -> None:
    program = DRAW.format(first="rows", second="rows.cpu()") + "\n    draw = {'array': _array}\n"
    assert ".clone().cpu().numpy()" in rule.fixed(program, unsafe=True)
