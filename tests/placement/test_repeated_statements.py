"""What a file writes twice, in different functions, and moves once."""

import pytest

PROGRAM = """
    class Trainer:
        def __init__(self, net, device):
            self.net, self.device = net, device
        def critic(self, n):
            {first}
            return self.net(z)
        def actor(self, n):
            {second}
            return self.net(z)
"""
BARE = "z = torch.randn(n, 8).normal_()"
MOVED = [
    "z = torch.randn(n, 8).normal_().to(self.device)",
    "z = torch.randn(n, 8, device=self.device).normal_()",
    "z = torch.randn(n, 8).to(self.device).normal_()",
]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (BARE, BARE),
        ("z = torch.randn(n, 8)", MOVED[0]),
        ("z = torch.randn(n, 9).normal_()", MOVED[0]),
        ("y = torch.randn(n, 8).normal_(); z = y", MOVED[0]),
        (f"{BARE}; z = z.to(self.device)", MOVED[0]),
    ],
)
def test_other_words_say_nothing(placed, first: str, second: str) -> None:
    found = placed(PROGRAM.format(first=first, second=second)).conflicts
    assert all("repeated-statement" not in one.links for one in found)


EMBEDDERS = """
    from embedders import Grid, Harmonics
    def grid(n, device):
        net = Grid(3).to(device)
        z = torch.randn(n, 8).to(device)
        return net(z)
    def harmonics(n, device):
        net = Harmonics(3){moved}
        z = torch.randn(n, 8)
        return net(z)
"""


def test_what_a_model_gets_that_is_left_as_well(placed) -> None:
    assert placed(EMBEDDERS.format(moved="")).births == []


def test_what_a_model_gets_that_is_moved(placed) -> None:
    assert placed(EMBEDDERS.format(moved=".to(device)")).births == ["torch.randn(n, 8)"]


@pytest.mark.parametrize("moved", MOVED)
def test_the_same_words_say_where_it_belongs(placed, moved: str) -> None:
    found = placed(PROGRAM.format(first=BARE, second=moved)).conflicts
    assert any("repeated-statement" in one.links for one in found)


READ = """
    def first(entry):
        {first}
        return x
    def second(entry):
        {second}
        return x
"""
COPY = 'x = entry["codes"].float().cpu().numpy()'


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('x = entry["codes"].float().numpy()', 'x = entry["codes"].float().numpy()'),
        ('x = entry["other"].float().numpy()', COPY),
        ('y = entry["codes"].float().numpy(); x = y', COPY),
        (COPY, COPY),
    ],
)
def test_what_is_read_in_other_words(placed, first: str, second: str) -> None:
    found = placed(READ.format(first=first, second=second)).conflicts
    assert all("read-again" not in one.links for one in found)


def test_what_is_read_in_the_same_words_and_copied(placed) -> None:
    found = placed(READ.format(first='x = entry["codes"].float().numpy()', second=COPY))
    assert found.births == ["entry['codes'].float()"]
    assert found.conflicts[0].links[-1] == "read-again"
