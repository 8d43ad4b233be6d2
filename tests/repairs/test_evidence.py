"""What the code around a value says of it: devices that are asked for, twins of one class, options, neighbours."""

import pytest
from devfix_codemods.findings import Safety

LEFT = {
    "a factory beside one that is told no tensor's device": """
        def solve(x, n, device):
            left = torch.zeros(n, 3)
            right = torch.zeros(n, 3, device=device)
            return left, right.sum(), x
    """,
    "an object of a class of which none is moved": """
        from bodies import Body
        def main(path, x):
            neutral, male = Body(path), Body(path, gender="male")
            return neutral(x), male(x)
    """,
    "a module that is told its options, which name a device": """
        from nets import Net
        def main(kind, loader, device):
            options = {"width": 3, "device": device}
            if kind == "a":
                net = Net(deep=False, **options)
            else:
                net = Net(deep=True, **options).to(device)
            for x in loader:
                net(x.to(device))
    """,
    "what numpy reads far from what is copied": """
        def save(box, path):
            first = box.mean.cpu().numpy()
            print(path)
            print(first)
            second = box.std.numpy()
            return first, second
    """,
    "what wraps a module that was moved where it stands": """
        import learning
        from models.nets import Net
        def main(loader, device):
            net = Net(3)
            net.to(device)
            wrapped = learning.Wrapped(net, lr=0.1)
            for x in loader:
                wrapped(x.to(device)).sum().backward()
    """,
    "what a method gave that is no tensor": """
        from engine import Engine
        class Trainer(Engine):
            def step(self, data):
                images, name = self.parsed(data)
                images = images.cuda()
                print(name)
                return self.model(images)
    """,
    "a tensor that meets a bound": """
        def embedding(dim: int, steps: torch.Tensor):
            half = dim // 2
            return torch.exp(torch.arange(start=0, end=half) / half)
    """,
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT)
def test_stays(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []


CHANGED = {
    "a factory beside others that follow a parameter": (
        """
        def solve(x, n):
            left = torch.zeros(n, 3)
            right = torch.zeros(n, 3, device=x.device)
            middle = torch.zeros(n, 3, device=x.device)
            return torch.cat([left, right, middle, x])
        """,
        "left = torch.zeros(n, 3, device=x.device)",
    ),
    "an object of a class of which others are moved": (
        """
        from bodies import Body
        def main(path, loader, device):
            neutral = Body(path)
            male = Body(path, gender="male").to(device)
            for x in loader:
                x = x.to(device)
                male(x), neutral(x)
        """,
        "neutral = Body(path).to(device)",
    ),
    "one of several that are told the same options": (
        """
        from nets import Net
        def main(kind, loader, device):
            options = {"width": 3, "depth": 2}
            if kind == "a":
                net = Net(deep=False, **options)
            else:
                net = Net(deep=True, **options).to(device)
            for x in loader:
                net(x.to(device))
        """,
        "net = Net(deep=False, **options).to(device)",
    ),
    "what numpy reads beside what is copied": (
        """
        class Box:
            def __init__(self, size, device):
                self.mean = torch.zeros(size, device=device)
                self.std = torch.ones(size, device=device)
            def state(self):
                return {"mean": self.mean.numpy(), "std": self.std.cpu().numpy()}
        """,
        'return {"mean": self.mean.cpu().numpy(), "std": self.std.cpu().numpy()}',
    ),
    "what an assignment of moves leaves, also where it is needed in a loss": (
        """
        def adapt(batch, model, loss, device):
            data, labels = batch
            data, labels = data.to(device), labels
            (data, other), (labels, more) = split(data=data, labels=labels)
            loss(model(data), labels).backward()
        """,
        "data, labels = data.to(device), labels.to(device)",
    ),
    "what meets a tensor, and not the bound that it is computed of": (
        """
        def embedding(steps, dim):
            half = dim // 2
            rates = torch.exp(torch.arange(start=0, end=half) / half)
            return steps[:, None].float().to(steps.device) * rates[None]
        """,
        "rates = torch.exp(torch.arange(start=0, end=half, device=steps.device) / half)",
    ),
}


@pytest.mark.parametrize(("program", "line"), CHANGED.values(), ids=CHANGED)
def test_is_repaired(repairs, program: str, line: str) -> None:
    assert line in repairs.added(program, Safety.UNSAFE)


SUGGESTED = {
    "what a method gave beside what is moved": """
        from engine import Engine
        class Trainer(Engine):
            def step(self, data):
                images, labels = self.parsed(data)
                images = images.cuda()
                loss = self.compute_loss(self.model(images), labels)
                loss.backward()
    """,
}


@pytest.mark.parametrize("program", SUGGESTED.values(), ids=SUGGESTED)
def test_is_suggested(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []
    assert repairs.added(program) == ["labels = labels.cuda()"]
