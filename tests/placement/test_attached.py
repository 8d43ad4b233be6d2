"""Parts that are put into a module which was moved before."""

from textwrap import dedent

import pytest

SAFE, UNSAFE = 0.86, 0.6

FINE = """
    from lab import Trainer, build, run
    def fit(x, device):
        net = build().to(device)
        {attached}
        {used}
"""


def _placed(placed, attached: str, used: str):
    return placed(dedent(FINE.format(attached=attached, used=used)))


@pytest.mark.parametrize(
    ("attached", "used"),
    [
        ("net.fc = nn.Linear(3, 2)", "return net(x)"),
        ("net.top.fc = nn.Linear(3, 2)", "return net.eval()(x)"),
        ("net.layers[6] = nn.Linear(3, 2)", "return net.forward(x)"),
        ("setattr(net, 'fc', nn.Linear(3, 2))", "return net(x)"),
        ("net.add_module('fc', nn.Linear(3, 2))", "return net(x)"),
        ("net.fc = nn.Linear(3, 2)", "return torch.compile(net)(x)"),
    ],
)
def test_a_part_of_a_module_that_is_used_as_it_is(placed, attached: str, used: str) -> None:
    found = _placed(placed, attached, used)
    assert found.of("nn.Linear(3, 2)").confidence > SAFE


@pytest.mark.parametrize("used", ["return net", "run(net)"])
def test_a_module_that_is_handed_on_may_be_moved_there(placed, used: str) -> None:
    found = _placed(placed, "net.fc = nn.Linear(3, 2)", used).of("nn.Linear(3, 2)")
    assert UNSAFE < found.confidence < SAFE


@pytest.mark.parametrize(
    ("attached", "used"),
    [
        ("net.fc = nn.Linear(3, 2).to(device)", "return net(x)"),
        ("net.fc = nn.Linear(3, 2)", "return net.cuda()(x)"),
        ("net.fc = nn.ReLU()", "return net(x)"),
        ("net.fc = nn.Linear(3, 2)", "run(net, device)"),
        ("net.fc = nn.Linear(3, 2)", "Trainer(net, device=device).train()"),
        ("net.fc = nn.Linear(3, 2)", "return nn.DataParallel(net).cuda()(x)"),
        ("net.fc = nn.Linear(3, 2)", "print(net.state_dict())"),
        ("other = build(); other.fc = nn.Linear(3, 2)", "return net(x), other.cuda()(x)"),
    ],
)
def test_parts_that_are_moved_hold_nothing_or_are_not_used(placed, attached: str, used: str) -> None:
    assert _placed(placed, attached, used).births == []


KEPT = """
    from lab import build
    class Task:
        def __init__(self, device):
            self.net = build().to(device)
            self.net.fc = nn.Linear(3, 2)
            {again}
        def run(self, x):
            return self.net(x)
"""


@pytest.mark.parametrize(("again", "births"), [("pass", ["nn.Linear(3, 2)"]), ("self.net.to(device)", [])])
def test_a_module_that_an_object_keeps(placed, again: str, births: list[str]) -> None:
    assert placed(KEPT.format(again=again)).births == births


CALLED = """
    def load(device):
        net = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 3))
        net.to(device)
        {loaded}
        return net
    def adapt(net, device):
        net.fc = nn.Linear(3, 2)
        {adapted}
    def main(device, x):
        net = load(device)
        {called}
        net(x)
"""


@pytest.mark.parametrize(
    ("loaded", "adapted", "called"),
    [
        ("net.fc = nn.Linear(3, 2)", "pass", "pass"),
        ("pass", "pass", "net.fc = nn.Linear(3, 2)"),
        ("pass", "pass", "adapt(net, device)"),
        ("pass", "return net", "net = adapt(net, device)"),
    ],
)
def test_functions_that_move_give_or_use_the_module(placed, loaded: str, adapted: str, called: str) -> None:
    found = placed(dedent(CALLED.format(loaded=loaded, adapted=adapted, called=called)))
    assert found.of("nn.Linear(3, 2)").confidence > UNSAFE


@pytest.mark.parametrize(
    ("loaded", "adapted", "called"),
    [
        ("net.fc = nn.Linear(3, 2)", "pass", "net.to(device)"),
        ("pass", "pass", "net.fc = nn.Linear(3, 2); net.to(device)"),
        ("pass", "net.to(device)", "adapt(net, device)"),
        ("pass", "return net", "net = adapt(net, device).to(device)"),
        ("pass", "pass", "pass"),
    ],
)
def test_functions_that_move_the_module_again(placed, loaded: str, adapted: str, called: str) -> None:
    found = placed(dedent(CALLED.format(loaded=loaded, adapted=adapted, called=called)))
    assert all("nn.Linear(3, 2)" not in one for one in found.births)


ITSELF = """
    class Net(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.body = nn.Linear(4, 4)
            self.to(device)
            self.head = nn.Linear(3, 2)
            {then}
        def forward(self, x):
            return self.head(self.body(x))
        {method}
    net = Net(device){made}
    net(x)
"""


@pytest.mark.parametrize(
    ("then", "method", "made", "found"),
    [
        ("pass", "pass", "", True),
        ("self.to(device)", "pass", "", False),
        ("self.head.to(device)", "pass", "", False),
        ("pass", "pass", ".to(device)", False),
        ("pass", "def reset(self): self.cuda()", "", False),
    ],
)
def test_a_constructor_that_moves_its_object_too_early(placed, then: str, method: str, made: str, found: bool) -> None:
    births = placed(dedent(ITSELF.format(then=then, method=method, made=made))).births
    assert any("nn.Linear(3, 2)" in one for one in births) == found
