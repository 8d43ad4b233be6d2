"""Tensors of what numpy gives: of numbers they have no dimensions, and may meet what is on a device."""

import pytest

PROGRAM = """
    def run(net, values, q):
        net = nn.Linear(3, 3).cuda()
        x = net(load().cuda())
        return x * torch.tensor({made})
"""
NUMBERS = [
    "np.mean(values)",
    "np.quantile(values, 0.9)",
    "np.percentile(values, q=90)",
    "np.median(np.array(values))",
    "np.array(values).mean()",
    "np.array([1.0, 2.0]).max()",
    "np.sqrt(3)",
    "np.float32(0.1)",
    "np.sqrt(np.mean(values))",
]
ARRAYS = [
    "np.mean(values, axis=0)",
    "np.mean(values, 0)",
    "np.quantile(values, [0.1, 0.9])",
    "np.quantile(values, 0.5, axis=0)",
    "np.percentile(values, q=np.arange(3))",
    "np.array([1.0, 2.0])",
    "np.sqrt(np.arange(3))",
    "np.sqrt(np.mean(values, axis=0))",
    "np.quantile(values, q)[1:]",
    "values[:2]",
]


@pytest.mark.parametrize("made", NUMBERS)
def test_numbers_meet_anything(placed, made: str) -> None:
    assert placed(PROGRAM.format(made=made)).births == []


@pytest.mark.parametrize("made", ARRAYS)
def test_arrays_do_not(placed, made: str) -> None:
    found = placed(PROGRAM.format(made=made)).of(f"torch.tensor({made})")
    assert found.confidence > 0.9


@pytest.mark.parametrize("made", ["np.quantile(values, q)", "values", "values[0]"])
def test_what_may_be_either_is_only_suggested(placed, made: str) -> None:
    assert 0.35 < placed(PROGRAM.format(made=made)).of(f"torch.tensor({made})").confidence < 0.6


@pytest.mark.parametrize("made", ["np.quantile(values, q)", "values", "values[0]"])
def test_what_a_module_gets_is_no_number(placed, made: str) -> None:
    program = PROGRAM.replace("x * torch.tensor({made})", "net(torch.tensor({made}))").format(made=made)
    assert placed(program).of(f"torch.tensor({made})").confidence > 0.6


CONVERTED = """
    class ToTensor(nn.Module):
        def forward(self, rows, columns):
            if {test}:
                rows = torch.from_numpy(rows)
            return rows, columns
"""


def test_on_the_other_path_it_is_none(placed) -> None:
    assert placed(CONVERTED.format(test="rows is not None")).births == []


def test_on_the_other_path_it_is_a_tensor(placed) -> None:
    assert placed(CONVERTED.format(test="not torch.is_tensor(rows)")).births == ["torch.from_numpy(rows)"]
