"""Attributes whose names a program makes: `setattr(self, f"conv{i}", layer)`, and `getattr` to read them back."""

import pytest
from devfix_codemods.findings import Safety

PROGRAM = """
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        for i in range(3):
            {set}
    def forward(self, x):
        x = self.fc(x)
        for i in range(3):
            {use}
        return x

net = Net().to(device)
net(torch.zeros(3, device=device))
"""
NAMES = {
    "formatted": 'f"conv{i}"',
    "joined": '"conv" + str(i)',
    "by a sign": '"conv%d" % i',
    "by a method": '"conv{}".format(i)',
    "plain": '"conv"',
}


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("adds", ["setattr(self, {}, nn.Linear(3, 3))", "self.add_module({}, nn.Linear(3, 3))"])
def test_registered_modules_are_moved_with_the_model(repairs, adds: str, name: str) -> None:
    """So what they are given belongs on the device, and they themselves are in place."""
    program = PROGRAM.format(set=adds.format(name), use=f"h = torch.ones(3); x = x + getattr(self, {name})(h)")
    assert repairs.added(program, Safety.UNSAFE) == [
        f"h = torch.ones(3, device=x.device); x = x + getattr(self, {name})(h)"
    ]
    program = PROGRAM.format(set=adds.format(name), use=f"x = getattr(self, {name})(x)")
    assert repairs.added(program, Safety.UNSAFE) == []


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_tensors_are_not(repairs, name: str) -> None:
    program = PROGRAM.format(set=f"setattr(self, {name}, torch.zeros(3))", use=f"x = x - getattr(self, {name})")
    assert repairs.added(program, Safety.UNSAFE) == [f"x = x - getattr(self, {name}).to(x.device)"]


OTHERS = {
    "another name": ('setattr(self, f"conv{i}", torch.zeros(3))', 'x = x - getattr(self, f"mean{i}")'),
    "any name": ("setattr(self, str(i), torch.zeros(3))", 'x = x - getattr(self, f"mean{i}")'),
    "what may be missing": ('setattr(self, f"conv{i}", torch.zeros(3))', 'x = x - getattr(self, f"conv{i}", 0)'),
    "another object": ('setattr(net, f"conv{i}", torch.zeros(3))', 'x = x - getattr(self, f"conv{i}")'),
}


@pytest.mark.parametrize(("sets", "use"), OTHERS.values(), ids=OTHERS)
def test_what_is_read_is_another_thing(repairs, sets: str, use: str) -> None:
    assert repairs.added(PROGRAM.format(set=sets, use=use), Safety.UNSAFE) == []


def test_objects_that_are_no_modules_leave_theirs_behind(repairs) -> None:
    program = """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Agent:
            def __init__(self):
                for name in ("actor", "critic"):
                    setattr(self, f"{name}_net", nn.Linear(3, 3))
            def act(self, x):
                x = x.to(device)
                return getattr(self, "actor" + "_net")(x) if x is None else getattr(self, f"{x}_net")(x)
    """
    assert repairs.added(program, Safety.UNSAFE) == ['setattr(self, f"{name}_net", nn.Linear(3, 3).to(device))']
