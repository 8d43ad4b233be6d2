"""Tensors that factories make on the host: what they meet, and what else says where they belong."""

import pytest
from devfix_codemods.placement.search import Conflict

MEETS = {
    "written to in place, though it is a number": """
        def total(x: torch.Tensor):
            loss = torch.tensor(0.0)
            for one in x:
                loss += one
            return loss
    """,
    "joined with what is known by that alone": """
        def joined(x):
            return torch.cat((x, torch.zeros(3)))
    """,
    "copied to the places that a comparison picks": """
        def filled(x: torch.Tensor):
            x[x > 0] = torch.arange(3)
    """,
    "gradients of a row": """
        def slopes(x: torch.Tensor):
            return torch.autograd.grad([x * x], [x], [torch.ones(3)])
    """,
    "what an object has that is not read": """
        def shifted(batch):
            return batch.pos.unsqueeze(0) + torch.ones(3)
    """,
    "what a function gives that is not read": """
        def shifted(n):
            rows = load(n).unsqueeze(0)
            return rows + torch.ones(3)
    """,
    "in a method of a module": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(3, 3, 3)
            def size(self):
                return self.conv(torch.zeros(1, 3, 8)).numel()
    """,
    "in a data set that moves": """
        from torch.utils.data import Dataset
        class Rows(Dataset):
            def __init__(self, x: torch.Tensor, device):
                self.x = x.to(device)
            def __getitem__(self, i):
                return self.x + torch.zeros(3)
    """,
    "sized by an input, and returned": """
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                return x, torch.zeros(x.shape[0])
    """,
    "of the dtype of an input, and given away": """
        class Net(nn.Module):
            def forward(self, x: torch.Tensor, n):
                return spread(torch.zeros(n, dtype=x.dtype))
    """,
    "summed over processes": """
        import torch.distributed as dist
        def mean(value):
            total = torch.tensor([value, 1.0])
            dist.all_reduce(total)
            return total[0] / total[1]
    """,
    "a legacy constructor with a device": """
        def row(x: torch.Tensor):
            return torch.Tensor([1.0], device=x.device)
    """,
}
APART = {
    "a number beside a tensor, in place": """
        def total(x: torch.Tensor):
            x += torch.tensor(1.0)
            return x
    """,
    "joined with what is on the host": """
        def joined(n):
            return torch.cat((torch.ones(n), torch.zeros(3)))
    """,
    "an index": """
        def picked(x: torch.Tensor):
            return x[torch.arange(3)]
    """,
    "the gradient of a number": """
        def slopes(x: torch.Tensor):
            loss = (x * x).sum()
            loss.backward(torch.tensor(1.0))
    """,
    "what is called after the host": """
        def shifted(batch):
            return batch.pos_cpu.unsqueeze(0) + torch.ones(3)
    """,
    "what a function makes of a tensor of the host": """
        def shifted(n):
            rows = spread(torch.ones(n)).unsqueeze(0)
            return rows + torch.ones(3)
    """,
    "while the module is made": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = nn.Conv1d(3, 3, 3)
                self.count = self.size()
            def size(self):
                return self.conv(torch.zeros(1, 3, 8)).numel()
    """,
    "in a data set": """
        from torch.utils.data import Dataset
        class Rows(Dataset):
            def __init__(self, x: torch.Tensor):
                self.x = x
            def __getitem__(self, i):
                return self.x + torch.zeros(3)
    """,
    "in what collates": """
        from torch.utils.data import DataLoader
        def collate(rows: list[torch.Tensor]):
            return torch.cat(rows) + torch.zeros(3)
        loader = DataLoader(data, collate_fn=collate)
    """,
    "in a test": """
        import pytest
        def shift(x: torch.Tensor):
            return x + torch.zeros(3)
    """,
    "in an assertion": """
        def check(x: torch.Tensor):
            assert torch.equal(x, torch.ones(3))
    """,
    "drawn with a generator": """
        def noisy(x: torch.Tensor, generator):
            return x + torch.randn(x.shape, generator=generator)
    """,
    "sized by an input, and read on the host": """
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                rows = torch.zeros(x.shape[0])
                return x, rows.tolist()
    """,
    "lengths of an input": """
        class Net(nn.Module):
            def forward(self, x: torch.Tensor):
                lengths = torch.full((x.shape[0],), 7)
                return x, lengths
    """,
    "sums of processes that exchange on the host": """
        import torch.distributed as dist
        def mean(value):
            dist.init_process_group("gloo")
            total = torch.tensor([value, 1.0])
            dist.all_reduce(total)
            return total[0] / total[1]
    """,
    "a legacy constructor for the host": """
        def row():
            return torch.Tensor([1.0], device="cpu")
    """,
    "made by the class itself": """
        class Net(nn.Module):
            def __init__(self, weight):
                super().__init__()
                self.weight = nn.Parameter(weight)
            @classmethod
            def build(cls, n):
                return cls(torch.eye(n))
    """,
}


@pytest.mark.parametrize("program", MEETS.values(), ids=MEETS)
def test_what_belongs_elsewhere(placed, program: str) -> None:
    assert placed(program).conflicts


@pytest.mark.parametrize("program", APART.values(), ids=APART)
def test_what_may_stay(placed, program: str) -> None:
    assert not placed(program).conflicts


@pytest.mark.parametrize(
    ("program", "together"),
    [(MEETS["joined with what is known by that alone"], True), (MEETS["sized by an input, and returned"], False)],
)
def test_whether_they_meet_or_only_fit(placed, program: str, together: bool) -> None:
    conflict: Conflict = placed(program).conflicts[0]
    assert conflict.is_supported is not together
    assert (conflict.together > 0.9) is together


REBOUND = """
    net = nn.Linear(3, 3)
    {between}
    net = load("net.pt")
    net = net.to("cuda:0")
    print(net(torch.rand(3, device="cuda:0")))
"""


@pytest.mark.parametrize("between", ["", "print(net.in_features)"])
def test_a_module_that_nothing_runs(placed, between: str) -> None:
    assert "nn.Linear(3, 3)" not in placed(REBOUND.format(between=between)).births


@pytest.mark.parametrize("between", ["print(net(torch.rand(3).cuda()))", "print(net(torch.rand(3, device='cuda:0')))"])
def test_a_module_that_is_run_before(placed, between: str) -> None:
    assert "nn.Linear(3, 3)" in placed(REBOUND.format(between=between)).births


TYPED = """
    def feed(x: torch.Tensor, n):
        noise = {made}
        return torch.cat([x, noise], dim=1)
"""


@pytest.mark.parametrize("made", ["torch.rand(n).type(x.type())", "(2 * torch.rand(n) - 1).type(x.type())"])
def test_a_type_of_a_tensor_says_its_place(placed, made: str) -> None:
    assert placed(TYPED.format(made=made)).births == []


@pytest.mark.parametrize("made", ["torch.rand(n).type(x.dtype)", "torch.rand(n).type(torch.float16)"])
def test_a_type_of_elements_says_none(placed, made: str) -> None:
    assert placed(TYPED.format(made=made)).births == ["torch.rand(n)"]
