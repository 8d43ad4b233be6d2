"""Masks that a layer computes of one table, as shifted windows are, and gives to its blocks in a loop."""

import pytest

LAYER = """
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
        def forward(self, x, mask):
            return self.layer(x) * mask

    class Layer(nn.Module):
        def __init__(self, depth, saves):
            super().__init__()
            self.saves = saves
            self.blocks = nn.ModuleList([Block() for _ in range(depth)])
        def forward(self, x, H, W):
            {size}
            mask = torch.zeros((1, high, 3))
            rows = mask.view(-1, 3)
            other = rows.unsqueeze(1) - rows.unsqueeze(2)
            for block in self.blocks:
                {called}
            return self.last(x, H, W)
"""
SIZE = "high = int(np.ceil(H / 7)) * 7"
BRANCHES = """if self.saves:
                    x = checkpoint(block, x, other)
                else:
                    x = block(x, other)"""
MADE = "mask = torch.zeros((1, high, 3), device=x.device)"


@pytest.mark.parametrize("called", ["x = block(x, other)", BRANCHES])
def test_the_table_is_made_where_the_input_is(repairs, called: str) -> None:
    assert repairs.added(LAYER.format(size=SIZE, called=called)) == [MADE]


def test_not_where_nothing_meets_it(repairs) -> None:
    assert MADE not in repairs.added(LAYER.format(size=SIZE, called="x = block(x, None)"))


@pytest.mark.parametrize("size", [SIZE, "high = H", "high = round(H / 2)", "high = math.floor(H * 2)"])
def test_never_where_a_size_is(repairs, size: str) -> None:
    program = "\n    import math\n" + LAYER.format(size=size, called="x = block(self.start, other)")
    assert not any("H.device" in one for one in repairs.added(program))


def test_never_where_itself_is(repairs) -> None:
    program = LAYER.format(size=SIZE, called="self.kept = block(self.start, other)")
    assert not any("rows.device" in one for one in repairs.added(program))
