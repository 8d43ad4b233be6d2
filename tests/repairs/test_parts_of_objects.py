"""The device of a tensor that an object of others keeps, and that the program reads before: `layer.weight.device`."""

import pytest
from devfix_codemods.findings import Safety

MASK = """
    def prune(layer, rows):
        {before}
        mask = torch.zeros({shape})
        {after}
"""


@pytest.mark.parametrize(
    ("before", "shape", "after"),
    [
        ("pass", "len(layer.weight)", "return layer.weight * mask"),
        ("pass", "layer.weight.shape", "return layer.weight * mask"),
        ("pass", "3", "return mask, layer.weight.size()"),
        ("pass", "3", "return (layer.weight.view(-1) * mask).size()"),
        ("pass", "layer.weight.size()", "layer = rows[0]; return layer.weight * mask"),
        ("assert layer.weight is None", "layer.weight.size()", "return layer.weight * mask"),
    ],
)
def test_what_may_be_an_array_or_is_met_by_nobody(repairs, before: str, shape: str, after: str) -> None:
    program = MASK.format(before=before, shape=shape, after=after)
    assert "layer.weight.device" not in repairs.written(program, Safety.UNSAFE)


@pytest.mark.parametrize("read", ["layer.weight", "layer.weight.data"])
def test_a_tensor_that_an_object_keeps(repairs, read: str) -> None:
    program = MASK.format(before="pass", shape=f"{read}.size()", after=f"return {read}.mul(mask)")
    assert repairs.added(program, Safety.SAFE) == [f"mask = torch.zeros({read}.size(), device={read}.device)"]
