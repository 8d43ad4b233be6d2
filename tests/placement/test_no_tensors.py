"""What is no tensor, by what else the program does with it: it has no `.cpu()`, and no `.to`."""

import pytest


def test_what_transposes_three_axes_is_an_array(placed) -> None:
    program = "def flat(scores: torch.Tensor):\n    return np.reshape({}, [3, -1])"
    assert placed(program.format("scores.transpose(1, 2, 0)")).births == []
    assert placed(program.format("scores.transpose(1, 2)")).births


def test_what_is_asked_for_its_items_is_no_tensor(placed) -> None:
    program = """
        import pandas as pd
        def tell(measure, x):
            found = measure(x)
            for name, value in found.items():
                print(name, value.cpu())
            return pd.DataFrame([found])
    """
    assert placed(program).births == []
    assert placed("def tell(measure, x: torch.Tensor):\n    x.cuda()\n    return np.asarray(x.cuda())").births


KINDS = """
    def read(net: nn.Module, x):
        given = net.cuda()(x)
        if isinstance(given, {kind}):
            return np.asarray(given)
        return given + 1
"""


@pytest.mark.parametrize("kind", ["str", "(str, bytes)", "np.ndarray"])
def test_in_a_branch_that_asks_for_another_type_nothing_is_copied(placed, kind: str) -> None:
    assert placed(KINDS.format(kind=kind)).births == []


@pytest.mark.parametrize("kind", ["torch.Tensor", "(torch.Tensor, np.ndarray)"])
def test_in_a_branch_that_asks_for_a_tensor_it_is(placed, kind: str) -> None:
    assert placed(KINDS.format(kind=kind)).births


TWINS = """
    def train(model, loader, device):
        model.to(device)
        rows = {rows}
        forcing = get_forcing(3).to(device)
        for one in rows:
            model(forcing)
        return rows
"""


@pytest.mark.parametrize("rows", ["range(3)", "sample(loader)"])
def test_ranges_and_iterators_have_no_place(placed, rows: str) -> None:
    program = TWINS.format(rows=rows)
    if "sample" in rows:
        program += "    def sample(loader):\n        while True:\n            yield from loader\n"
    assert placed(program).births == []


def test_a_twin_that_may_be_a_tensor_has(placed) -> None:
    assert placed(TWINS.format(rows="get_rows(3)")).births == ["get_rows(3)"]
