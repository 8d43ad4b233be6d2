"""Flags that are handed on: what a function, a method or the module tests is what was tested where they were made."""

import pytest

DEVICE = """
        device = torch.device("cuda")"""
ONE_TEST = {
    "a flag that a function is given": """
        def step(net, use_cuda):
            x = torch.zeros(3)
            if use_cuda:
                x = x.to(device)
            return net(x)
        def main():
            use_cuda = torch.cuda.is_available()
            net = nn.Linear(3, 3)
            if use_cuda:
                net.to(device)
            step(net, use_cuda)
    """,
    "through two functions": """
        def step(net, flag):
            x = torch.zeros(3)
            if flag:
                x = x.to(device)
            return net(x)
        def epoch(net, use_cuda):
            return step(net, use_cuda)
        def main(args):
            net = nn.Linear(3, 3)
            if args.gpus > 0:
                net = net.to(device)
            epoch(net, args.gpus > 0)
    """,
    "a flag that an object keeps": """
        class Trainer:
            def __init__(self):
                self.use_cuda = torch.cuda.is_available()
                self.net = nn.Linear(3, 3)
                if self.use_cuda:
                    self.net = self.net.to(device)
            def step(self):
                x = torch.zeros(3)
                if self.use_cuda:
                    x = x.to(device)
                return self.net(x)
    """,
    "a flag that an object is given": """
        class Trainer:
            def __init__(self, net, use_cuda):
                self.net = net
                self.use_cuda = use_cuda
            def step(self):
                x = torch.zeros(3)
                if self.use_cuda:
                    x = x.to(device)
                return self.net(x)
        def main():
            net = nn.Linear(3, 3)
            if torch.cuda.is_available():
                net.to(device)
            Trainer(net, torch.cuda.is_available()).step()
    """,
    "a flag of the module": """
        use_cuda = torch.cuda.is_available()
        net = nn.Linear(3, 3)
        if torch.cuda.is_available():
            net = net.to(device)
        def step():
            x = torch.zeros(3)
            if use_cuda:
                x = x.to(device)
            return net(x)
    """,
}
SEVERAL = {
    "two flags": """
        def step(net, pinned):
            x = torch.zeros(3)
            if pinned:
                x = x.to(device)
            return net(x)
        def main(args):
            net = nn.Linear(3, 3)
            if torch.cuda.is_available():
                net = net.to(device)
            step(net, args.pinned)
    """,
    "a flag that callers choose": """
        def step(net, flag):
            x = torch.zeros(3)
            if flag:
                x = x.to(device)
            return net(x)
        def main(args):
            net = nn.Linear(3, 3)
            if torch.cuda.is_available():
                net = net.to(device)
            step(net, torch.cuda.is_available())
            step(net, args.flag)
    """,
    "a flag that a method sets anew": """
        class Trainer:
            def __init__(self):
                self.use_cuda = torch.cuda.is_available()
                self.net = nn.Linear(3, 3)
                if torch.cuda.is_available():
                    self.net = self.net.to(device)
            def stay(self):
                self.use_cuda = False
            def step(self):
                x = torch.zeros(3)
                if self.use_cuda:
                    x = x.to(device)
                return self.net(x)
    """,
    "the other value of the flag": """
        def step(net, use_cuda):
            x = torch.zeros(3)
            if not use_cuda:
                x = x.to(device)
            return net(x)
        def main():
            use_cuda = torch.cuda.is_available()
            net = nn.Linear(3, 3)
            if use_cuda:
                net.to(device)
            step(net, use_cuda)
    """,
}


@pytest.mark.parametrize("program", ONE_TEST.values(), ids=ONE_TEST)
def test_both_are_moved_under_one_condition(placed, program: str) -> None:
    assert placed(DEVICE + program).births == []


@pytest.mark.parametrize("program", SEVERAL.values(), ids=SEVERAL)
def test_one_may_be_moved_without_the_other(placed, program: str) -> None:
    assert "torch.zeros(3)" in placed(DEVICE + program).births
