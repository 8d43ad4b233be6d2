"""What meets the elements of a list that a caller gives."""

import pytest
from devfix_codemods.findings import Safety

PICK = "torch.index_select(x, dim=1, index=torch.tensor(channels))"
MOVED = "torch.index_select(x, dim=1, index=torch.tensor(channels, device=x.device))"

ON_HOST = {
    "all callers make the list on the host": f"""
        def pick(xs, channels):
            return [{PICK} for x in xs]
        def main():
            return pick([torch.zeros(3, 3), torch.ones(3, 3)], [1, 2])
    """,
    "numpy reads the elements": """
        def total(xs):
            found = torch.zeros(3)
            for x in xs:
                print(x.numpy())
                found = found + torch.relu(x)
            return found
    """,
    "the elements are numbers": """
        def scaled(sizes):
            return [torch.zeros(3) * size for size in sizes]
    """,
    "the elements only say how large": """
        def grids(xs):
            return [torch.zeros(x.shape) for x in xs]
    """,
}


@pytest.mark.parametrize("name", ON_HOST)
def test_what_meets_nothing_of_a_device_stays(repairs, name: str) -> None:
    assert repairs.findings(ON_HOST[name]) == ()


@pytest.mark.parametrize("given", ["xs", "*xs"])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"return [{PICK} for x in xs]", f"return [{MOVED} for x in xs]"),
        (f"for x in xs: yield {PICK}", f"for x in xs: yield {MOVED}"),
    ],
)
def test_what_meets_an_element_follows_it(repairs, given: str, before: str, after: str) -> None:
    program = f"""
        def pick({given}, channels):
            {before}
    """
    assert repairs.added(program, Safety.UNSAFE) == [after]
