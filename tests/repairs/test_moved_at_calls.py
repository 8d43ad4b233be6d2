"""What a function makes and gives is moved at each of its calls that meet a device, or at none."""

import pytest
from devfix_codemods.findings import Safety

HEAD = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
    def table(self, shifts, at):
        rows = torch.zeros(shifts.size(0), 2, 3)
        rows[:, :, -1] = shifts
        return rows
    def sampled(self, x, rows):
        return F.grid_sample(x, F.affine_grid(rows, x.size()))
"""
FINE = {
    "moved at each call": HEAD
    + """
    def forward(self, x):
        theta = self.layer(x)
        x = self.sampled(x, self.table(theta[:, 0], 0).to(x.device))
        return self.sampled(x, self.table(theta[:, 1], 1).to(x.device))
""",
    "made there": HEAD.replace("2, 3)", "2, 3, device=shifts.device)")
    + """
    def forward(self, x):
        theta = self.layer(x)
        return self.sampled(x, self.table(theta[:, 0], 0))
""",
}
ONE = """
    def forward(self, x):
        theta = self.layer(x)
        first = self.table(theta[:, 0], 0)
        return self.sampled(x, first)
"""
TWO = """
    def forward(self, x):
        theta = self.layer(x)
        first = self.table(theta[:, 0], 0)
        y = self.sampled(x, first)
        second = self.table(theta[:, 1], 1)
        return self.sampled(y, second)
"""
OTHER = """
    def forward(self, x):
        theta = self.layer(x)
        first = self.table(theta[:, 0], 0)
        return self.sampled(x, first)
    def shown(self, x):
        return self.table(x, 0).numpy()
"""


@pytest.mark.parametrize("program", FINE.values(), ids=FINE)
def test_what_is_there_already(repairs, program: str) -> None:
    assert repairs.findings(program) == ()


def test_a_call_whose_result_is_read_on_the_host_stays(repairs) -> None:
    assert "return self.table(x, 0).numpy()" in repairs.written(HEAD + OTHER, Safety.UNSAFE)


@pytest.mark.parametrize(("program", "count"), [(ONE, 1), (TWO, 2)])
def test_each_call_is_moved(repairs, program: str, count: int) -> None:
    added = repairs.added(HEAD + program, Safety.UNSAFE)
    assert len(added) == count
    assert all(".to(x.device)" in line or "device=" in line for line in added)


def test_calls_in_other_functions_do_not_leave_the_file_out(repairs) -> None:
    """Each function has an `x` of its own: a move at the calls of one would leave what the others give."""
    program = """
        def kernel(size):
            steps = torch.arange(size, dtype=torch.float)
            return (steps / steps.sum()).unsqueeze(0)
        def blurred(x, window):
            return F.conv1d(x, weight=window)
        def first(x, window=None):
            if window is None:
                window = kernel(3)
                window = window.repeat(x.shape[1], 1, 1)
            return blurred(x, window)
        def second(x, window=None):
            if window is None:
                window = kernel(3)
                window = window.repeat(x.shape[1], 1, 1)
            return blurred(x, window)
        class Loss(nn.Module):
            def forward(self, x):
                return first(x) + second(x)
    """
    added = repairs.added(program, Safety.UNSAFE)
    assert len([line for line in added if ".to(x.device)" in line]) in {0, 2}


BRANCHES = """
def step(net, loss, xs, ys, old, {flag}):
    for x, y in zip(xs, ys):
        new = torch.tensor([int(one) for one in x])
        if {test}:
            labels = new
        else:
            known = torch.tensor([int(one) for one in old]).cuda()
            labels = torch.cat([new, known])
        loss(net(labels.float()), y)
"""


def test_a_move_in_one_branch_is_no_repair_of_what_the_other_one_uses(repairs) -> None:
    added = repairs.added(BRANCHES.format(flag="first", test="first"), Safety.UNSAFE)
    assert added == ["labels = torch.cat([new.to(known.device), known])"]


def test_a_move_under_a_flag_for_the_device_stays_under_it(repairs) -> None:
    program = BRANCHES.format(flag="use_cuda", test="not use_cuda")
    assert repairs.added(program, Safety.UNSAFE) == ["new = new.cuda()"]
