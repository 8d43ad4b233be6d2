"""Moves to an accelerator stand under the condition of what they follow, by whatever name the device goes."""

import pytest
from devfix_codemods.findings import Safety

AVAILABLE = "torch.cuda.is_available()"
FOLLOWED = {
    "a parameter that is CUDA": (
        f"""
        def train(net: nn.Module, device):
            if {AVAILABLE}:
                net.to(device)
            z = torch.rand(3)
            return net(z)
        train(nn.Linear(3, 3), torch.device("cuda"))
        """,
        ["z = z.to(device)"],
    ),
    "an attribute that is CUDA": (
        f"""
        class Trainer:
            def __init__(self):
                self.device = "cuda"
                self.net = nn.Linear(3, 3)
                if {AVAILABLE}:
                    self.net.to(self.device)
                self.weight = torch.rand(3)
                self.loss = nn.CrossEntropyLoss(weight=self.weight)
            def train(self, x: torch.Tensor, y: torch.Tensor):
                if {AVAILABLE}:
                    x, y = x.to(self.device), y.to(self.device)
                return self.loss(self.net(x), y)
        """,
        ["self.weight = self.weight.to(self.device)"],
    ),
    "what a helper moves on condition": (
        f"""
        def place(x, device):
            if {AVAILABLE}:
                return x.to(device)
            return x
        device = torch.device("cuda")
        net = nn.Linear(3, 3)
        for x, y in torch.utils.data.DataLoader(data):
            x, y = place(x, device), place(y, device)
            F.cross_entropy(net(x), y)
        """,
        [f"if {AVAILABLE}:", "net = net.to(device)"],
    ),
    "a factory in the midst of an expression": (
        """
        def main(use_cuda):
            net = nn.Linear(3, 3)
            if use_cuda:
                net.cuda()
            return net(torch.zeros(3))
        """,
        ['return net(torch.zeros(3, device="cuda" if use_cuda else None))'],
    ),
    "another tensor, where nothing is known of the device or of the flag": (
        """
        def train(device, flag, loader: torch.utils.data.DataLoader, net: nn.Module):
            for x, y in loader:
                if flag:
                    x, y = x.to(device), y.to(device)
                hidden = torch.zeros(3)
                F.cross_entropy(net(x, hidden), y).backward()
        """,
        ["hidden = torch.zeros(3, device=y.device)"],
    ),
}
FREE = {
    "a device that was chosen": (
        f"""
        def train(net: nn.Module, device):
            if {AVAILABLE}:
                net.to(device)
            z = torch.rand(3)
            return net(z)
        train(nn.Linear(3, 3), torch.device("cuda" if {AVAILABLE} else "cpu"))
        """,
        ["z = torch.rand(3, device=device)"],
    ),
    "a parameter of which nothing is known, without a flag": (
        """
        def train(device, loader: torch.utils.data.DataLoader, net: nn.Module):
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                hidden = torch.zeros(3)
                F.cross_entropy(net(x, hidden), y).backward()
        """,
        ["hidden = torch.zeros(3, device=device)"],
    ),
}


@pytest.mark.parametrize(("program", "lines"), FOLLOWED.values(), ids=FOLLOWED)
def test_the_condition_is_written(repairs, program: str, lines: list[str]) -> None:
    assert repairs.added(program, Safety.UNSAFE) == lines


@pytest.mark.parametrize(("program", "lines"), FREE.values(), ids=FREE)
def test_none_is_needed(repairs, program: str, lines: list[str]) -> None:
    assert repairs.added(program, Safety.UNSAFE) == lines


def test_the_caller_has_the_flag_of_what_it_calls(repairs) -> None:
    program = """
        def train(use_cuda, loader: torch.utils.data.DataLoader, net):
            for x, y in loader:
                if use_cuda:
                    x, y = [one.cuda() for one in (x, y)]
                F.cross_entropy(net(x), y).backward()
        def main(data):
            use_cuda = torch.cuda.is_available()
            net = nn.Linear(3, 3)
            train(use_cuda, torch.utils.data.DataLoader(data), net)
    """
    assert repairs.added(program, Safety.UNSAFE) == ["if use_cuda:", "net = net.cuda()"]


def test_what_a_comprehension_makes_several_times_is_told_once(repairs) -> None:
    program = "net = nn.Linear(3, 3).cuda()\nrows = [net(torch.zeros(3) + one) for one in (1, 2)]\n"
    assert len(repairs.findings(program)) == 1


STORED = """
    class Graphs:
        def __init__(self, {flag}=False):
            self.{flag} = {flag}
            self.device = torch.device({device})
        def make(self, adjacency, count):
            edges = self.convert(adjacency)
            if self.{flag}:
                edges = edges.to(self.device)
            y = torch.tensor([count])
            return edges + y
"""
CHOSEN = '"cuda" if torch.cuda.is_available() else "cpu"'


@pytest.mark.parametrize(
    ("flag", "device", "wanted"),
    [
        ("store_there", CHOSEN, "edges.device"),
        ("use_cuda", CHOSEN, "self.device"),
        ("fast", '"cuda" if fast else "cpu"', "self.device"),
    ],
)
def test_a_flag_that_chooses_no_device_may_be_off(repairs, flag: str, device: str, wanted: str) -> None:
    added = repairs.added(STORED.format(flag=flag, device=device))
    assert added == [f"y = torch.tensor([count], device={wanted})"]
