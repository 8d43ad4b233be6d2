"""What the values beside a value say of its place: twins, siblings, the device that a function is told."""

import pytest
from devfix_codemods.findings import Safety

PREFETCHER = """
        class Prefetcher:
            def __init__(self, loader):
                self.batches = iter(loader)
            def load(self):
                try:
                    self.x, self.y = next(self.batches)
                except StopIteration:
                    self.x = self.y = None
                    return
                self.x = self.x.to(device)
                {moved}
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(3, 3).to(device)
        def train(loader):
            batches = Prefetcher(loader)
            batches.load()
            while batches.x is not None:
                F.mse_loss(net(batches.x), batches.y).backward()
                batches.load()
"""
PAIRS = """
    class Pairs(nn.Module):
        def __init__(self, encoder, other, device):
            super().__init__()
            self.encoder, self.other, self.device = encoder, other, device
        def forward(self, batch):
            first = batch["first"]["x"]
            second = batch["second"]["x"]
            if first.dim() == 2:
                first = first.unsqueeze(1)
                second = second.unsqueeze(1)
            first = first.to(self.device).float()
            second = second.float()
            return self.encoder(first), self.{second}(second)
"""
REPAIRED = {
    "attributes of one batch": (PREFETCHER.format(moved=""), "        self.y = self.y.to(device)\n"),
    "a twin of which another method is called": (
        """
        def sample(rows, weights, device):
            rows = torch.from_numpy(rows).long().to(device)
            weights = torch.from_numpy(weights).float()
            return rows, weights
        """,
        "    weights = torch.from_numpy(weights).to(device).float()\n",
    ),
    "a twin that goes through the same model by itself": (
        PAIRS.format(second="encoder"),
        "        second = second.float().to(self.device)\n",
    ),
    "a twin that is computed of what came together": (
        """
        def join(batch, device):
            ids = batch["ids"].repeat(2, 1).to(device)
            mask = batch["mask"].repeat(2, 1)
            return ids, mask
        """,
        '    mask = batch["mask"].repeat(2, 1).to(device)\n',
    ),
    "the input of a module, beside one that is moved where it is needed": (
        """
        from torch.utils.data import DataLoader
        def train(net: nn.Module, data, device):
            for x, y in DataLoader(data):
                F.mse_loss(net(x), y.to(device)).backward()
        """,
        "        x = x.to(device)\n",
    ),
    "what a function makes that is told a device": (
        "def grid(n, gpu_device):\n    return torch.linspace(0, 1, n)\n",
        "torch.linspace(0, 1, n, device=gpu_device)",
    ),
    "what a forward pass gives on one path": (
        """
        class Loss(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, x, y):
                if not y.any():
                    return torch.tensor(0.0, requires_grad=True)
                return F.mse_loss(self.one(x), y)
        """,
        "return torch.tensor(0.0, requires_grad=True, device=x.device)",
    ),
}


@pytest.mark.parametrize(("program", "lines"), REPAIRED.values(), ids=REPAIRED.keys())
def test_what_is_written(repairs, program: str, lines: str) -> None:
    assert lines in repairs.written(program, Safety.UNSAFE)


LEFT = {
    "attributes of one batch, both of which are moved": PREFETCHER.format(moved="self.y = self.y.to(device)"),
    "a twin that is computed of another thing": """
        def join(batch, sizes, device):
            ids = batch["ids"].repeat(2, 1).to(device)
            rows = sizes.repeat(2, 1)
            return ids, rows
    """,
    "what goes through another model": PAIRS.format(second="other"),
    "a neighbour that nothing is done with": """
        from torch.utils.data import DataLoader
        def train(net: nn.Module, data, device):
            for x, y in DataLoader(data):
                net(y.to(device)).sum().backward()
                print(describe(x))
    """,
    "what may be told no device": "def grid(rows, device=None):\n    return torch.from_numpy(rows)\n",
    "a batch that a decorated function moves": """
        from tools import recursive
        from torch.utils.data import DataLoader
        @recursive
        def to_cuda(value):
            return value.cuda() if isinstance(value, torch.Tensor) else value
        def train(data):
            net = nn.Linear(3, 3).cuda()
            for i, sample in enumerate(DataLoader(data)):
                sample = to_cuda(sample)
                net(sample["x"]).sum().backward()
    """,
    "a list, whose first tensor has the size of the batch": """
        from torch.utils.data import DataLoader
        def train(data, device):
            net = nn.Linear(3, 3).to(device)
            for i, views in enumerate(DataLoader(data)):
                net(views).sum().backward()
                print(views[0].size(0))
    """,
    "a module whose wrapper is moved": """
        from nets import Glow
        def main(z, device):
            inner = Glow(3)
            net = nn.DataParallel(inner)
            net = net.to(device)
            optimizer = torch.optim.SGD(inner.parameters())
            print(net(z.to(device)), inner(z.to(device)))
    """,
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_what_is_left(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []


def test_a_test_around_the_whole_loop_is_none_of_the_move(repairs) -> None:
    program = """
        from torch.utils.data import DataLoader
        def train(net: nn.Module, data, rank):
            for x in DataLoader(data):
                print(net(x))
            if rank == 0:
                for x in DataLoader(data):
                    x = x.cuda()
                    print(net(x))
    """
    assert "    for x in DataLoader(data):\n        x = x.cuda()\n        print(net(x))\n    if rank" in (
        repairs.written(program, Safety.UNSAFE)
    )


def test_what_is_made_with_the_dtype_of_another_follows_it(repairs) -> None:
    program = "def steps(x: torch.Tensor, n):\n    row = torch.arange(n, dtype=x.dtype)\n    return row.view(-1, 1)\n"
    assert "torch.arange(n, dtype=x.dtype, device=x.device)" in repairs.written(program, Safety.UNSAFE)


def test_what_has_the_dtype_of_another_and_is_read_by_numpy_stays(repairs) -> None:
    program = "def steps(x: torch.Tensor, n):\n    row = torch.arange(n, dtype=x.dtype)\n    return row.numpy()\n"
    assert repairs.added(program, Safety.UNSAFE) == []


def test_what_is_filled_part_by_part_stays(repairs) -> None:
    program = "def steps(rows, n, device):\n    out = torch.zeros(n)\n    out[0] = rows.sum()\n    return out\n"
    assert repairs.added(program, Safety.UNSAFE) == []


def test_what_an_unread_call_gets_may_be_placed_there(repairs) -> None:
    program = "from lab import act\ndef steps(n, device):\n    row = torch.zeros(n)\n    return act(row)\n"
    assert repairs.added(program, Safety.UNSAFE) == []


ARGUMENTS = {
    "behind its type": ("torch.float16, device=gpu", "y.to(device=gpu)"),
    "behind its type by keyword": ("dtype=torch.float16, device=gpu", "y.to(device=gpu)"),
    "behind a flag": ("non_blocking=True, device=gpu", "y.to(non_blocking=True, device=gpu)"),
    "before what may be a type": ("gpu, options.precision", "y.to(gpu)"),
    "behind what may be a type": ("options.precision, device=gpu", "y.to(device=gpu)"),
    "before what stars may say": ("gpu, **options", "y.to(gpu)"),
    "before a type and a flag": ("gpu, torch.float16, non_blocking=True", "y.to(gpu, non_blocking=True)"),
}


@pytest.mark.parametrize(("given", "moved"), ARGUMENTS.values(), ids=ARGUMENTS)
def test_a_sibling_goes_to_the_device_alone(repairs, given: str, moved: str) -> None:
    program = f"""
        def main(batch, net: nn.Module, gpu, options):
            x, y = batch
            x = x.to({given})
            return F.cross_entropy(net(x), y)
    """
    assert repairs.added(program) == [f"y = {moved}"]


@pytest.mark.parametrize("given", [given for given, _ in ARGUMENTS.values()], ids=ARGUMENTS)
def test_a_factory_is_told_the_device_alone(repairs, given: str) -> None:
    program = f"""
        def main(x: torch.Tensor, gpu, options):
            x = x.to({given})
            return x.mm(torch.eye(3))
    """
    assert repairs.added(program) == ["return x.mm(torch.eye(3, device=gpu))"]


OPTIONAL = """
    def fit(net, x, y, weight=None, device="cuda"):
        {ahead}
        return F.cross_entropy({x}, {y}, weight=weight)
"""
ROW = {"x": "net(x.to(device))", "y": "y.to(device)"}
MOVED = {"x": "net(x)", "y": "y"}
BEFORE = "x = x.to(device)\n        y = y.to(device)"


@pytest.mark.parametrize(
    ("ahead", "words", "added"),
    [
        ("pass", ROW, ["weight=weight.to(device) if weight is not None else None)"]),
        (BEFORE, MOVED, ["if weight is not None:", "weight = weight.to(device)"]),
        ("assert weight is not None", ROW, ["weight=weight.to(device))"]),
        (f"assert weight is not None\n        {BEFORE}", MOVED, ["weight = weight.to(device)"]),
    ],
)
def test_what_a_caller_may_leave_out_is_moved_where_it_is_there(
    repairs, ahead: str, words: dict[str, str], added: list[str]
) -> None:
    found = repairs.added(OPTIONAL.format(ahead=ahead, **words), Safety.SAFE)
    assert [line.rpartition(", ")[2] for line in found] == added


ON_PATHS = """
    def train(loader, net, device, mean, everywhere, loss_of):
        mean = mean.to(device)
        net = net.to(device)
        for batch in loader:
            x, y = batch
            {moves}
            loss_of(net(x), y - mean).backward()
"""


@pytest.mark.parametrize(
    "moves",
    [
        "if not everywhere: x, y = x.to(device).float(), y.to(device).float()",
        "if not everywhere: x = x.to(device); y = y.to(device)",
    ],
)
def test_a_value_is_not_moved_again_where_it_is_moved(repairs, moves: str) -> None:
    text = repairs.written(ON_PATHS.format(moves=moves), Safety.SUGGESTION)
    assert text.index("y = y.to(device)") < text.index("if not everywhere")


def test_a_value_is_moved_beside_its_sibling_on_the_same_path(repairs) -> None:
    added = repairs.added(ON_PATHS.format(moves="if everywhere: print(1)\n            x = x.to(device)"), Safety.UNSAFE)
    assert added == ["y = y.to(device)"]
