"""Repairs that would do half of it, or bind what is kept to the device of one call."""

import pytest
from devfix_codemods.findings import Safety

RATES = """
class Rates:
    def __init__(self, index):
        self.index = index.long()
    def counted(self, n):
        counts = {counts}
        counts.scatter_add_(0, self.index, torch.ones(8))
        return counts
def start(n):
    return torch.zeros(n)
"""


def test_a_tensor_that_the_object_keeps_is_followed(repairs) -> None:
    added = repairs.added(RATES.format(counts="torch.zeros(n)"), Safety.UNSAFE)
    assert added == [
        "counts = torch.zeros(n, device=self.index.device)",
        "counts.scatter_add_(0, self.index, torch.ones(8, device=self.index.device))",
    ]


def test_nothing_goes_there_where_another_one_has_to_stay(repairs) -> None:
    assert repairs.added(RATES.format(counts="start(n)"), Safety.UNSAFE) == []


KEPT = """
LEVELS = None
KNOWN = {{}}
def levels(x: torch.Tensor):
    global LEVELS
    {made}
    return torch.bucketize(x, {used})
"""


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("if LEVELS is None:\n        LEVELS = torch.tensor([0.5, 1.5])", "LEVELS"),
        ("if 3 not in KNOWN:\n        KNOWN[3] = torch.tensor([0.5, 1.5])", "KNOWN[3]"),
    ],
)
def test_what_all_calls_share_is_made_on_the_host(repairs, made: str, used: str) -> None:
    assert "device=" not in repairs.written(KEPT.format(made=made, used=used), Safety.UNSAFE)


def test_what_one_call_makes_is_made_there(repairs) -> None:
    made = "levels = torch.tensor([0.5, 1.5])"
    assert "device=x.device" in repairs.written(KEPT.format(made=made, used="levels"), Safety.UNSAFE)


def test_a_list_of_what_a_helper_makes_is_not_moved_as_one(repairs) -> None:
    program = """
        def rows(n):
            return [{made}]
        class Net(nn.Module):
            def __init__(self, inner: nn.Module):
                super().__init__()
                self.inner = inner
            def forward(self, x: torch.Tensor):
                return self.inner(x, {used})
    """
    assert ").to(" not in repairs.written(program.format(made="torch.zeros(n)", used="rows(3)"), Safety.SUGGESTION)
    assert "self.inner(x, " in repairs.written(program.format(made="n", used="torch.zeros(3)"), Safety.SUGGESTION)


JOINED = """
    def observed(system, rows: torch.Tensor):
        loss = energy(system, rows)
        {other}
        return torch.autograd.grad(loss, [rows], [torch.ones(1)])
"""


def test_a_value_that_hardly_joins_is_no_other_half(repairs) -> None:
    program = JOINED.format(other="print(unread(other(torch.tensor([1.0]), system), 3))")
    assert any("torch.ones(1, device=" in one for one in repairs.added(program, Safety.SAFE))


def test_a_value_that_surely_joins_is_one(repairs) -> None:
    program = JOINED.format(other="table = TABLE * rows").replace(
        "    def observed", "    TABLE = torch.zeros(3)\n    def observed"
    )
    assert not any("torch.ones(1, device=" in one for one in repairs.added(program, Safety.SAFE))


ROWS = """
    def waves(pos):
        return np.sin({read})
    def run(x, device):
        return waves({given}), waves(torch.arange(4).to(device))
"""


@pytest.mark.parametrize("read", ["pos", "pos.reshape(-1)", "pos[:, 0]"])
def test_what_a_caller_gives_as_an_array_has_no_cpu(repairs, read: str) -> None:
    assert not any(".cpu()" in one for one in repairs.added(ROWS.format(read=read, given="np.arange(4)")))


def test_what_all_callers_give_as_tensors_has_one(repairs) -> None:
    assert any(".cpu()" in one for one in repairs.added(ROWS.format(read="pos", given="torch.ones(4, 4)")))
