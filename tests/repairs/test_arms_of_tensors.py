"""A tensor that one arm of a choice makes where it is, and that the other arm moves."""

import pytest
from devfix_codemods.findings import Safety

ARMS = """
    class Head:
        def prepared(self, rows, key, device, shape):
            found = {{}}
            print(device)
            if {test}:
                {first}
            else:
                {second}
            return found
"""
TENSOR, MOVED, MADE = "torch.is_tensor(rows)", "rows.to(device)", "torch.as_tensor(rows, dtype=torch.long)"


def _program(first: str, second: str, test: str = TENSOR) -> str:
    return ARMS.format(first=first, second=second, test=test)


@pytest.mark.parametrize(
    ("first", "second", "test"),
    [
        (f"found[key] = {MOVED}", f"found[key] = {MADE}", "device.type == 'cuda'"),
        (f"found[key] = {MOVED}", f"found[shape] = {MADE}", TENSOR),
        (f"found[key] = {MOVED}", f"self.found = {MADE}", TENSOR),
        ("found[key] = rows", f"found[key] = {MADE}", TENSOR),
        ("found[key] = rows.cpu()", f"found[key] = {MADE}", TENSOR),
        (f"found[key] = {MOVED}", f"found[key] = {MADE}.to(device)", TENSOR),
        (f"found[key] = {MOVED}", "found[key] = np.asarray(rows)", TENSOR),
        (f"found[key] = {MOVED}", f"found[key] = {MADE}.tolist()", TENSOR),
    ],
)
def test_arms_that_are_meant(repairs, first: str, second: str, test: str) -> None:
    assert repairs.findings(_program(first, second, test)) == ()


@pytest.mark.parametrize(
    ("first", "second", "line"),
    [
        (
            f"found[key] = {MOVED}",
            f"found[key] = {MADE}",
            "found[key] = torch.as_tensor(rows, dtype=torch.long, device=device)",
        ),
        (
            f"found = {MOVED}.long()",
            f"found = {MADE}",
            "found = torch.as_tensor(rows, dtype=torch.long, device=device)",
        ),
        (
            "self.kept = rows.to(self.device)",
            "self.kept = torch.zeros(shape)",
            "self.kept = torch.zeros(shape, device=self.device)",
        ),
    ],
)
def test_the_arm_that_is_left(repairs, first: str, second: str, line: str) -> None:
    assert repairs.added(_program(first, second), Safety.UNSAFE) == [line]
