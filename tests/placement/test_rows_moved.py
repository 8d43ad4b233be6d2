"""Tables of which functions only move rows ask for no device: slices, and what comprehensions gather."""

import pytest

SPLIT = """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    text = open("input.txt").read()
    data = torch.tensor([ord(one) for one in text], dtype=torch.long)
    cut = int(0.9 * len(data))
    train_data, val_data = data[:cut], data[cut:]
    def batch(split):
        data = train_data if split == "train" else val_data
        starts = torch.randint(len(data) - 8, (4,))
        x = torch.stack([data[one : one + 8] for one in starts])
        {lines}
    net = nn.Linear(8, 8).to(device)
    start = torch.zeros((1, 8), dtype=torch.long, device=device)
    print(net(start), batch("train"))
"""


def split(*lines: str) -> str:
    return SPLIT.format(lines="\n        ".join(lines))


@pytest.mark.parametrize("lines", [("return x.to(device)",), ("x = x.to(device)", "return x")])
def test_a_table_of_which_rows_are_moved(placed, lines: tuple[str, ...]) -> None:
    assert placed(split(*lines)).births == []


@pytest.mark.parametrize("lines", [("return x",), ("return net(x)",), ("return x.to(device), val_data * start",)])
def test_a_table_that_is_also_used_as_it_is(placed, lines: tuple[str, ...]) -> None:
    assert len(placed(split(*lines)).births) >= 1


def test_a_table_that_nothing_reads(placed) -> None:
    program = """
    device = torch.device("cuda")
    table = torch.zeros(3, 3)
    start = torch.zeros((1, 8), device=device)
    other = torch.zeros((1, 8), device=device)
    """
    assert placed(program).births == ["torch.zeros(3, 3)"]


def test_a_part_of_a_batch_whose_name_is_bound_again(placed) -> None:
    program = """
    device = torch.device("cuda")
    def validate(loader: torch.utils.data.DataLoader):
        net = nn.Linear(3, 3).to(device)
        found = []
        for x, y, z, _ in loader:
            x, y, z = x.to(device), y.to(device), z.to(device)
            out = net(x) + y + z
            found += [out[one] for one in range(3)]
            low, _ = out.min(0)
        return found, [_ for _ in low]
    """
    assert placed(program).births == []
