"""Numbers by their names meet nothing."""

import pytest

FILLED = """
    import math
    def show(x: torch.Tensor, y: torch.Tensor, mask: torch.Tensor, n, axes):
        x[mask] = {value}
        y[mask] = {value}
        axes.plot(x.numpy())
        for one in range(n):
            axes.plot(y.cpu().numpy()[one])
"""


@pytest.mark.parametrize("value", ["np.nan", "np.inf", "math.e", "torch.nan", "math.hypot(3, 4)", "math.log1p(n)"])
def test_two_that_are_filled_with_one_number(placed, value: str) -> None:
    found = placed(FILLED.format(value=value)).conflicts
    assert all("operation" not in one.links for one in found)


def test_two_that_are_filled_with_one_tensor(placed) -> None:
    found = placed(FILLED.format(value="tools.value")).conflicts
    assert "operation" in found[0].links
