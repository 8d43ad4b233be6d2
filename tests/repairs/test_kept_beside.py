"""An object keeps two values that came together, one of them moved: the other one is moved where it is kept."""

import pytest

LAYER = """
    from graphs import adjacency, normalised

    class Block(torch.nn.Module):
        def __init__(self, layer, data, device):
            super().__init__()
            self.layer = layer(data, device)
            {given}
            {first}
            {second}
"""
GIVEN = "index, weight = adjacency(data.edges, weight=data.weights)"
CHOSEN = (
    "if data.random:\n"
    "                index, weight = adjacency(data.edges, weight=data.weights)\n"
    "            else:\n"
    "                index, weight = normalised(data.edges, weight=data.weights)"
)
INDEX, WEIGHT = "self.layer.index = index", "self.layer.weight = weight"


def _moved(line: str) -> str:
    return f"{line}.to(device)"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (INDEX, WEIGHT),
        (_moved(INDEX), _moved(WEIGHT)),
        (_moved(INDEX), "data.weight = weight"),
        (_moved(INDEX), "self.layer.weight = weight.numpy()"),
    ],
)
@pytest.mark.parametrize("given", [GIVEN, CHOSEN])
def test_what_is_kept_elsewhere_or_moved(repairs, given: str, first: str, second: str) -> None:
    assert repairs.findings(LAYER.format(given=given, first=first, second=second)) == ()


@pytest.mark.parametrize("given", [GIVEN, CHOSEN])
@pytest.mark.parametrize(
    ("first", "second", "added"),
    [(INDEX, _moved(WEIGHT), _moved(INDEX)), (_moved(INDEX), WEIGHT, _moved(WEIGHT))],
)
def test_it_is_moved_where_it_is_kept(repairs, given: str, first: str, second: str, added: str) -> None:
    """A new value of the name, behind the statement that keeps the old one, would change nothing."""
    assert repairs.added(LAYER.format(given=given, first=first, second=second)) == [added]


def test_a_value_of_two_branches_is_told_once(repairs) -> None:
    assert len(repairs.findings(LAYER.format(given=CHOSEN, first=_moved(INDEX), second=WEIGHT))) == 1
