"""What runs while a module is made meets parameters that are on the host yet."""

import pytest

PROBES = {
    "in the constructor": """
        class Net(nn.Module):
            def __init__(self, shape, device):
                super().__init__()
                self.conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten())
                with torch.inference_mode():
                    size = self.conv(torch.zeros(1, *shape)).shape[1]
                self.head = nn.Linear(size, 2)
            def forward(self, x):
                return self.head(self.conv(x))
        def main(shape, device):
            net = Net(shape, device).to(device)
            return net(torch.zeros(1, *shape, device=device))
    """,
    "in a method that the constructor runs": """
        class Conv(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.weight = nn.Parameter(torch.empty(8, count, 3, 3))
            def forward(self, x):
                return F.conv2d(x, self.weight)
        class Block(nn.Module):
            def __init__(self, shape, device):
                super().__init__()
                self.shape, self.device = shape, device
                self.build()
            def build(self):
                out = torch.zeros(self.shape)
                self.conv = Conv(out.shape[1])
                out = self.conv(out)
                print(out.shape)
            def forward(self, x):
                return self.conv(x)
    """,
}
LATER = {
    "in forward": """
        class Net(nn.Module):
            def __init__(self, shape):
                super().__init__()
                self.shape = shape
                self.conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten())
            def forward(self, x):
                return self.conv(torch.zeros(1, *self.shape)) + self.conv(x)
    """,
    "kept by the constructor": """
        class Net(nn.Module):
            def __init__(self, shape):
                super().__init__()
                self.conv = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Flatten())
                self.probe = torch.zeros(1, *shape)
            def forward(self, x):
                return self.conv(self.probe) + self.conv(x)
    """,
}


@pytest.mark.parametrize("program", PROBES.values(), ids=PROBES)
def test_a_probe_is_made_on_the_host(placed, program: str) -> None:
    assert placed(program).births == []


@pytest.mark.parametrize("program", LATER.values(), ids=LATER)
def test_what_is_met_later_is_misplaced(placed, program: str) -> None:
    assert placed(program).births
