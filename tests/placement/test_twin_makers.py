"""Modules that one function of the file makes at several calls: what one caller moves, the others mean to."""

import pytest

PROGRAM = """
    class Worker:
        def build(self, size):
            net = nn.Linear(size, 3)
            return net
        def load(self, size, path):
            net = self.build(size)
            net.load_state_dict(torch.load(path))
            {moved}
            return net
        def train(self, size):
            net = self.build(size)
            {then}
            {given}
"""


@pytest.mark.parametrize(
    ("moved", "then", "given"),
    [
        ("pass", "net.eval()", "return net"),
        ("net = net.to(self.device)", "net = net.to(self.device)", "return net"),
        ("net = net.cpu()", "net.eval()", "return net"),
        ("net = net.to(self.device)", "pass", "return fit(net.to(self.device))"),
    ],
)
def test_callers_that_move_theirs_or_show_nothing(placed, moved: str, then: str, given: str) -> None:
    found = placed(PROGRAM.format(moved=moved, then=then, given=given))
    assert "self.build(size)" not in found.births


def test_what_one_caller_returns_moved_another_returns_as_it_is(placed) -> None:
    found = placed(PROGRAM.format(moved="net = net.to(self.device)", then="net.eval()", given="return net"))
    assert found.births == ["self.build(size)"]
    assert found.of("self.build(size)").links == ("module-made", "twin-made")


KEEPER = """
    import {base} as lib
    class Agent(lib.Base):
        def __init__(self, *args):
            super().__init__(*args)
            self.net = lib.Net(3)
            {kept}
        def update(self, x, y):
            loss = self.net(x.to(self.device)) - y.to(self.device)
            {then}
"""


@pytest.mark.parametrize(
    ("kept", "then"),
    [
        ("self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)", "return loss"),
        ("self.rate = 0.1", "return loss"),
        ("self.optimizer = lib.make(self.net.parameters())", "return loss"),
    ],
)
def test_an_object_of_an_unread_class_may_be_a_module(placed, kept: str, then: str) -> None:
    assert "lib.Net(3)" not in placed(KEEPER.format(base="common", kept=kept, then=then)).births


@pytest.mark.parametrize(
    "kept",
    [
        "self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)",
        "self.optimizer = torch.optim.Adam(list(self.net.parameters()))",
        "self.optimizer = torch.optim.Adam([{'params': self.net.parameters(), 'lr': 0.1}])",
    ],
)
def test_an_object_that_keeps_an_optimizer_of_its_parts_is_none(placed, kept: str) -> None:
    found = placed(KEEPER.format(base="common", kept=kept, then="self.optimizer.zero_grad()"))
    assert found.births == ["lib.Net(3)"]
