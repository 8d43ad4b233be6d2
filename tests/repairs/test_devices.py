"""Which expression a repair writes for the device, and under which condition."""

import pytest
from devfix_codemods.findings import Safety

EXPRESSIONS = {
    "that of the sibling": (
        """
        def main(batch, net: nn.Module, gpu):
            x, y = batch
            x = x.to(gpu)
            return F.mse_loss(net(x), y)
        """,
        "y = y.to(gpu)",
    ),
    "with its arguments": (
        """
        def main(batch, net: nn.Module, device):
            x, y = batch
            x = x.to(device, non_blocking=True)
            return F.mse_loss(net(x), y)
        """,
        "y = y.to(device, non_blocking=True)",
    ),
    "without its type": (
        """
        def main(x: torch.Tensor, array, device):
            x = x.to(device, torch.float16)
            return x.mm(torch.from_numpy(array))
        """,
        "return x.mm(torch.from_numpy(array).to(device))",
    ),
    "cuda()": (
        """
        def main(x: torch.Tensor, array):
            x = x.cuda()
            return x.mm(torch.from_numpy(array))
        """,
        "return x.mm(torch.from_numpy(array).cuda())",
    ),
    "cuda() as a device": (
        """
        def main(x: torch.Tensor):
            x = x.cuda()
            return x.mm(torch.eye(3))
        """,
        'return x.mm(torch.eye(3, device="cuda"))',
    ),
    "that of another factory": (
        """
        def main(gpu):
            x = torch.ones(3, device=gpu)
            return x.mm(torch.eye(3))
        """,
        "return x.mm(torch.eye(3, device=gpu))",
    ),
    "a name in scope": (
        """
        def main(x: torch.Tensor, name):
            device = torch.device(name)
            x = x.to(device)
            return x.mm(torch.eye(3))
        """,
        "return x.mm(torch.eye(3, device=device))",
    ),
    "a name around the function": (
        """
        device = torch.device("cuda")
        net = nn.Linear(3, 3).to(device)
        def main():
            return net(torch.zeros(3))
        """,
        "return net(torch.zeros(3, device=device))",
    ),
    "a name that a closure sees": (
        """
        def main(gpu):
            x = torch.ones(3).to(gpu)
            def inner():
                return x.mm(torch.eye(3))
            return inner
        """,
        "return x.mm(torch.eye(3, device=gpu))",
    ),
    "self.device": (
        """
        class Trainer:
            def __init__(self, name):
                self.device = torch.device(name)
                self.net = nn.Linear(3, 3).to(self.device)
            def step(self):
                return self.net(torch.zeros(3))
        """,
        "return self.net(torch.zeros(3, device=self.device))",
    ),
    "the parameter in the constructor itself": (
        """
        class Trainer:
            def __init__(self, gpu):
                net = nn.Linear(3, 3).to(gpu)
                self.first = net(torch.zeros(3))
                self.device = gpu
        """,
        "self.first = net(torch.zeros(3, device=gpu))",
    ),
    "the device of a tensor at hand": (
        """
        def main(x: torch.Tensor, n):
            x = x.cuda(n.gpu)
            n = 3
            return x.mm(torch.eye(n))
        """,
        "return x.mm(torch.eye(n, device=x.device))",
    ),
    "that of the sibling, beside it, where it is not known before": (
        """
        def main(x: torch.Tensor, pick):
            far = torch.zeros(3)
            gpu = pick()
            near = x.to(gpu)
            return near @ far
        """,
        "far = far.to(gpu)",
    ),
    "that of the caller, for what a helper makes that is told nothing": (
        """
        def make(n):
            return torch.zeros(n)
        def main(x: torch.Tensor, device):
            return x.to(device) @ make(3)
        """,
        "return x.to(device) @ make(3).to(device)",
    ),
    "that of the input": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, x: torch.Tensor):
                return self.one(x) + torch.zeros(3)
        def main(x, gpu):
            return Net().to(gpu)(x.to(gpu))
        """,
        "return self.one(x) + torch.zeros(3, device=x.device)",
    ),
    "that of the module": (
        """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def sample(self, n):
                return self.one(torch.zeros(n))
        def main(x, gpu):
            return Net().to(gpu)(x.to(gpu))
        """,
        "return self.one(torch.zeros(n, device=self.one.weight.device))",
    ),
    "as the object keeps it, where another method has a name for it": (
        """
        class Trainer:
            def __init__(self, place):
                self.place = place
                self.one = nn.Linear(3, 3).to(self.place)
                self.two = nn.Linear(3, 3)
            def step(self, x: torch.Tensor):
                where = self.place
                return self.one(x.to(where)) + self.two(x.to(where))
        """,
        "self.two = nn.Linear(3, 3).to(self.place)",
    ),
    "behind the line that sets it": (
        """
        class Trainer:
            def __init__(self, place):
                self.two = nn.Linear(3, 3)
                self.place = torch.device(place)
                del place
            def step(self, x: torch.Tensor):
                where = self.place
                return self.two(x.to(where))
    """,
        "self.two.to(self.place)",
    ),
    "as the caller calls it": (
        """
        def step(x: torch.Tensor, where, net):
            return net(x.to(where))
        def main(x, place):
            net = nn.Linear(3, 3)
            return step(x, place, net)
        """,
        "net = nn.Linear(3, 3).to(place)",
    ),
}

UNNAMEABLE = {
    "in the function that is called, from two places": """
        def step(x: torch.Tensor, where, net):
            return net(x.to(where))
        def main(x, one, other):
            net = nn.Linear(3, 3)
            return step(x, one, net) + step(x, other, net)
    """,
}


@pytest.mark.parametrize(("program", "line"), EXPRESSIONS.values(), ids=EXPRESSIONS.keys())
def test_the_device_that_is_written(repairs, program: str, line: str) -> None:
    assert repairs.added(program) == [line]


@pytest.mark.parametrize("program", UNNAMEABLE.values(), ids=UNNAMEABLE.keys())
def test_where_none_can_be_named_nothing_is_written(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []


def test_what_a_module_gets_that_is_moved_under_a_flag_follows_it(repairs) -> None:
    program = """
        def main(use_cuda):
            net = nn.Linear(3, 3)
            if use_cuda:
                net.cuda()
            return net(torch.zeros(3))
    """
    added = repairs.added(program, Safety.UNSAFE)
    assert added == ['return net(torch.zeros(3, device="cuda" if use_cuda else None))']


CHOSEN = """
    def train(data, net: nn.Module):
        for x, y in torch.utils.data.DataLoader(data):
            F.mse_loss(net(x), y).backward()
    def main(data, card):
        net = nn.Linear(3, 3).to({choice})
        {there}
"""
DECLARED = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
HERE = "for x, y in torch.utils.data.DataLoader(data): F.mse_loss(net(x), y).backward()"


@pytest.mark.parametrize("form", ["{}", "torch.device({})"])
def test_what_is_chosen_on_the_spot_is_declared(repairs, form: str) -> None:
    program = CHOSEN.format(choice=form.format('"cuda" if torch.cuda.is_available() else "cpu"'), there=HERE)
    added = repairs.added(program, Safety.SAFE)
    assert DECLARED in added
    assert "net = nn.Linear(3, 3).to(device)" in added


@pytest.mark.parametrize("word", ["", "device="])
def test_all_that_is_moved_by_the_same_choice_is_moved_by_the_name(repairs, word: str) -> None:
    choice = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    program = f"""
        def turn(x):
            x = x.to({word}{choice})
            return x @ torch.eye(3)
    """
    assert repairs.added(program) == [
        DECLARED,
        f"x = x.to({word}device)",
        "return x @ torch.eye(3, device=device)",
    ]


def test_a_function_that_is_given_a_module_asks_that(repairs) -> None:
    program = CHOSEN.format(choice='"cuda" if torch.cuda.is_available() else "cpu"', there="train(data, net)")
    moves = [f"{name} = {name}.to(next(net.parameters()).device, non_blocking=True)" for name in "xy"]
    assert sorted(repairs.added(program, Safety.UNSAFE)) == sorted(moves)


def test_another_choice_is_not_declared(repairs) -> None:
    program = CHOSEN.format(choice='"cuda" if card else "cpu"', there=HERE)
    assert DECLARED not in repairs.added(program, Safety.UNSAFE)


def test_a_name_that_means_another_thing_is_not_written(repairs) -> None:
    program = """
        def main(x: torch.Tensor, gpu):
            x = x.to(gpu)
            gpu = x.sum()
            return x.mm(torch.eye(3))
    """
    assert repairs.added(program) == ["return x.mm(torch.eye(3, device=x.device))"]


class TestGuards:
    def test_a_move_under_a_flag_is_copied_into_it(self, repairs) -> None:
        program = """
            def main(batch, net: nn.Module, use_cuda):
                x, y = batch
                if use_cuda:
                    net = net.cuda()
                    x = x.cuda()
                return F.mse_loss(net(x), y)
        """
        written = repairs.written(program, Safety.UNSAFE)
        assert "        y = y.cuda()\n" in written
        assert written.index("if use_cuda") < written.index("y.cuda()") < written.index("    return")

    def test_the_flag_itself_is_copied_where_the_value_is_made_elsewhere(self, repairs) -> None:
        program = """
            def main(use_cuda):
                net = nn.Linear(3, 3)
                if use_cuda:
                    net.cuda()
                z = torch.zeros(3)
                return net(z)
        """
        written = repairs.written(program)
        assert "    z = torch.zeros(3)\n    if use_cuda:\n        z = z.cuda()\n" in written

    def test_a_move_under_two_flags_is_copied_under_both(self, repairs) -> None:
        program = """
            def main(net: nn.Module, a, b):
                z = torch.zeros(3)
                if a:
                    if b:
                        net = net.cuda()
                return net(z + 1)
        """
        assert "            net = net.cuda()\n            z = z.cuda()\n" in repairs.written(program)

    def test_what_is_under_the_flag_already_needs_it_no_more(self, repairs) -> None:
        program = """
            def main(net: nn.Module, use_cuda):
                if use_cuda:
                    net = net.cuda()
                    z = torch.zeros(3)
                    return net(z)
        """
        assert repairs.added(program) == ['z = torch.zeros(3, device="cuda")']

    def test_a_device_that_was_chosen_needs_no_flag(self, repairs) -> None:
        program = """
            def main(use_cuda):
                device = torch.device("cuda" if use_cuda else "cpu")
                net = nn.Linear(3, 3).to(device)
                return net(torch.zeros(3))
        """
        assert repairs.added(program) == ["return net(torch.zeros(3, device=device))"]


KEPT = """
class Runner:
    def __init__(self, net, device):
        self.target = device
        self.net = net.to(device)
        self.net.eval()
    def run(self):
        return self.net(torch.zeros(1, 3))
    def {method}(self, device):
        self.{attribute} = device
"""


def test_what_the_constructor_keeps_of_a_device_names_it_elsewhere(repairs) -> None:
    written = repairs.written(KEPT.format(method="to_other", attribute="other"), Safety.SUGGESTION)
    assert "torch.zeros(1, 3, device=self.target)" in written


def test_what_another_method_sets_anew_does_not(repairs) -> None:
    written = repairs.written(KEPT.format(method="aim", attribute="target"), Safety.SUGGESTION)
    assert "device=self.target" not in written
    assert "self.device" not in written  # which nothing sets


SOLVER = """
    from base import Solver
    class Mine({base}):
        def forward(self, x):
            return self.model(x)
        def sample(self, n):
            {body}z = torch.randn(n, 3)
            return self.model(z)
"""


@pytest.mark.parametrize(
    ("base", "body", "told"),
    [
        ("nn.Module", "", True),
        ("Solver", "self.train()\n            ", True),
        ("Solver", "self.head = nn.Linear(3, 3)\n            ", False),
        ("Solver", "", False),
        ("Solver", "self.head = make(3)\n            ", False),
        ("Solver", "self.forward(n)\n            ", False),
    ],
)
def test_own_parameters_are_asked_for_where_there_surely_are_some(repairs, base: str, body: str, told: bool) -> None:
    """A class whose base is not read may be no module at all, `forward` or not."""
    added = repairs.added(SOLVER.format(base=base, body=body))
    assert any("next(self.parameters()).device" in line for line in added) is told


LOOPED = """
    def evaluate(net: nn.Module, loader):
        {block}
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net.to(device)
            print(net(next(loader).to(device)))
        probe = torch.zeros(3)
        return net(probe)
"""


@pytest.mark.parametrize(
    ("block", "told"),
    [("for _ in range(3):", False), ("while loader:", False), ("with torch.no_grad():", True), ("if True:", True)],
)
def test_a_name_that_only_a_loop_binds_has_no_value_behind_it_for_certain(repairs, block: str, told: bool) -> None:
    added = repairs.added(LOOPED.format(block=block))
    assert any("torch.zeros(3, device=device)" in line for line in added) is told


COLOURED = """
    def coloured(seg: torch.Tensor, kind):
        seg = seg{copied}.detach()
        table = torch.rand(9, 3)
        seg[seg == 255] = len(table) - 1
        found = torch.embedding(indices=seg.long(), weight=table)
        return found.permute(2, 0, 1).long()
    def overlay(seg: torch.Tensor, image: torch.Tensor, kind, alpha):
        return alpha * coloured(seg, kind) + (1.0 - alpha) * image
"""


def test_what_the_program_has_copied_to_the_host_tells_no_device(repairs) -> None:
    assert repairs.added(COLOURED.format(copied=".cpu()"), Safety.SUGGESTION) == []


def test_what_it_has_left_where_it_was_tells_one(repairs) -> None:
    added = repairs.added(COLOURED.format(copied=""), Safety.SUGGESTION)
    assert added == ["table = torch.rand(9, 3, device=seg.device)"]


LOSS = """
    class Loss(nn.Module):
        def forward(self, features, labels=None, mask=None):
            device = {choice}
            if labels is not None:
                mask = torch.eq(labels, labels.T).float().to(device)
            else:
                mask = mask.float().to(device)
            first = torch.cat(torch.unbind(features, dim=1), dim=0)
            ones = torch.ones_like(mask).scatter(1, torch.arange(len(first)).view(-1, 1).to(device), 0)
            return (torch.exp(torch.matmul(first, first.T)) * ones * mask).sum()
"""


@pytest.mark.parametrize(
    "choice",
    [
        'torch.device("cuda") if features.is_cuda else torch.device("cpu")',
        'features.device if features.is_cuda else torch.device("cpu")',
        '"cuda" if features.is_cuda else "cpu"',
    ],
)
def test_what_is_asked_whether_it_is_on_cuda_is_where_the_answer_says(repairs, choice: str) -> None:
    assert repairs.findings(LOSS.format(choice=choice)) == ()


@pytest.mark.parametrize(
    "lines",
    [
        'if not x.is_cuda: return x\n        device = "cuda" if flag else "cpu"',
        'device = "cuda" if flag and not x.is_cuda else "cpu"',
        'device = "cuda" if not x.is_cuda else "cpu"',
        'device = "cuda" if next(flag.parameters()).is_cuda else "cpu"',
        'device = "cuda" if flag.is_cuda else "cpu"',
        'device = x.device if flag else "cpu"',
    ],
)
def test_other_choices_are_named(repairs, lines: str) -> None:
    program = f"""
    def main(x: torch.Tensor, y: torch.Tensor, flag):
        {lines}
        y = y.to(device)
        return y.mm(torch.eye(3))
    """
    assert not any("x.device" in one for one in repairs.added(program) if "torch.eye" in one)


def test_what_is_not_asked_may_be_elsewhere(repairs) -> None:
    program = LOSS.format(choice='torch.device("cuda" if torch.cuda.is_available() else "cpu")')
    assert any("`features`" in one.message for one in repairs.findings(program))


COMPUTED = """
    class Net(nn.Module):
        def __init__(self, device):
            super().__init__()
            self.first = torch.zeros(3).to(device)
            self.second = {second}
        def forward(self, x):
            return self.first * self.second * x
"""


@pytest.mark.parametrize("second", ["torch.sqrt(torch.ones(3).to(device))", "torch.sqrt(torch.ones(3)).to(device)"])
def test_what_is_computed_on_a_device_stays_there(repairs, second: str) -> None:
    assert repairs.findings(COMPUTED.format(second=second)) == ()


@pytest.mark.parametrize("second", ["torch.sqrt(torch.ones(3))", "torch.cumsum(torch.ones(3), 0)"])
def test_what_is_computed_is_moved_and_told_no_device(repairs, second: str) -> None:
    assert repairs.added(COMPUTED.format(second=second)) == [f"self.second = {second}.to(device)"]


FLAGGED = """
    def main(x: torch.Tensor, use_cuda):
        if use_cuda:
            x = x.cuda({given})
        return torch.cat((torch.zeros(1), torch.cumsum(x, dim=0)))
"""


@pytest.mark.parametrize(("given", "device"), [("", '"cuda"'), ("non_blocking=True", '"cuda"'), ("device=1", "1")])
def test_a_move_under_a_flag_tells_the_device_alone(repairs, given: str, device: str) -> None:
    (added,) = repairs.added(FLAGGED.format(given=given))
    assert f"torch.zeros(1, device={device} if use_cuda else None)" in added


DISCARDED = """
    def make(n):
        rows = torch.zeros(n, 3)
        wanted = torch.zeros(n, dtype=torch.long)
        for row in range(n):
            rows[row] = torch.ones(3)
            wanted[row] = 1
        return rows, wanted, n
    def main(n, net, device):
        rows, {name}, _ = make(n)
        net = net.to(device)
        return net(rows.to(device))
"""


def test_what_nobody_wants_is_not_moved(repairs) -> None:
    assert not any(one.startswith("_ =") for one in repairs.added(DISCARDED.format(name="_")))


def test_what_has_a_name_is_moved(repairs) -> None:
    program = DISCARDED.format(name="wanted").replace("net(rows.to(device))", "net(rows.to(device), wanted)")
    assert "wanted = wanted.to(device)" in repairs.added(program)


CHOSEN_BEFORE = """
    def main(x: torch.Tensor, flag, other):
        {choice}
        x = x.to(where)
        return x.mm(torch.eye(3))
"""


@pytest.mark.parametrize("choice", ['where = "cpu"', 'where = "cpu" if flag else torch.device("cpu")'])
def test_a_choice_of_hosts_is_none(repairs, choice: str) -> None:
    assert repairs.added(CHOSEN_BEFORE.format(choice=choice)) == []


@pytest.mark.parametrize(
    "choice",
    [
        'where = "cuda" if flag else "cpu"',
        'where = ("cuda" if other else "cuda:1") if flag else "cpu"',
        'where = "cpu"\n        if flag: where = "cuda:1"\n        if other: where = "cuda"',
    ],
)
def test_a_choice_of_devices_is_a_device(repairs, choice: str) -> None:
    added = repairs.added(CHOSEN_BEFORE.format(choice=choice))
    assert added == ["return x.mm(torch.eye(3, device=where))"]
