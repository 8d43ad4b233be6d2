"""Modules beside a device: one to which nothing else goes says nothing of where a module belongs."""

import pytest

FUNCTION = """
    device = torch.device("cuda")
    def main(x):
        net = nn.Linear(3, 3)
        {shown}
        return net(torch.rand(2, 3))
"""
METHOD = """
    class Predictor:
        def __init__(self):
            self.device = torch.device("cuda")
        def fit(self, rows):
            net = nn.Linear(3, 3)
            {shown}
            return net(torch.rand(2, 3))
"""


@pytest.mark.parametrize(
    ("program", "shown"),
    [(FUNCTION, "pass"), (METHOD, "pass"), (METHOD, "print(rows[0].device)")],
)
def test_beside_a_device_that_nothing_reads(placed, program: str, shown: str) -> None:
    assert placed(program.format(shown=shown)).births == []


@pytest.mark.parametrize(("program", "shown"), [(FUNCTION, "print(device)"), (METHOD, "print(self.device)")])
def test_beside_one_that_is_read(placed, program: str, shown: str) -> None:
    assert placed(program.format(shown=shown)).births == ["nn.Linear(3, 3)"]


MADE = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
        def forward(self, x):
            return self.layer(x)
    def build(x):
        net = Net()
        {last}
    if __name__ == "__main__":
        net = Net()
        net.cuda()
"""


@pytest.mark.parametrize("last", ["return net", "return net, x"])
def test_a_module_that_a_function_gives_is_placed_by_whoever_gets_it(placed, last: str) -> None:
    assert placed(MADE.format(last=last)).births == []


@pytest.mark.parametrize("last", ["return net(x)", "net.eval()\n        return net(x)"])
def test_one_that_it_calls_is_not(placed, last: str) -> None:
    assert placed(MADE.format(last=last)).births == ["Net()"]


FILLED = """
    def parts(net, x):
        kept = nn.ModuleList()
        kept.append({part})
        kept.append(nn.Linear(3, 3))
        x = x.cuda()
        for one in kept:
            x = one(x)
        return x
"""


def test_what_is_filled_with_parts_that_are_moved(placed) -> None:
    assert "nn.ModuleList()" not in placed(FILLED.format(part="net.head.cuda()")).births


def test_what_is_filled_with_parts_that_are_not(placed) -> None:
    assert "nn.ModuleList()" in placed(FILLED.format(part="net.head")).births


ON_PATHS = """
    from models import Net
    def train(args, loader, device):
        net = Net()
        if args.parallel:
            net = nn.DataParallel(net).to(device)
        {other}
        for x in loader:
            net(x.to(device)).sum().backward()
"""


@pytest.mark.parametrize("other", ["else:\n            net = net.to(device)", "else:\n            net.to(device)"])
def test_a_module_that_all_paths_move(placed, other: str) -> None:
    assert placed(ON_PATHS.format(other=other)).births == []


def test_a_module_that_one_path_moves(placed) -> None:
    found = placed(ON_PATHS.format(other="")).of("Net()")
    assert not any(holds for _, holds in found.guard)
