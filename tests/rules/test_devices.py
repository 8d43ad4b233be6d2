"""Which expressions surely name a device at a statement."""

from textwrap import dedent

import pytest
from devfix_codemods import scope
from devfix_codemods.program import Program
from devfix_codemods.rules._devices import DeviceExpression, Devices
from devfix_codemods.source import Source


def devices_at(code: str) -> list[DeviceExpression]:
    """What names a device at the statement `here()`."""
    program = Program(Source("train.py", dedent(code).encode()))
    return list(Devices(program).at(_here(program)))


def _here(program: Program) -> object:
    line = next(number for number, text in enumerate(program.source.lines, 1) if "here()" in text)
    return scope.statements_at(program, line)[-1]


def texts(code: str) -> list[str]:
    return [one.text for one in devices_at(code)]


NOTHING = {
    "no device": """
        import torch
        here()
    """,
    "the host": """
        import torch
        device = torch.device("cpu")
        cpu = "cpu"
        here()
    """,
    "bound below": """
        import torch
        here()
        device = torch.device("cuda")
    """,
    "bound on one path only": """
        import torch
        if ready:
            device = torch.device("cuda")
        here()
    """,
    "bound in another function": """
        import torch
        def main():
            device = torch.device("cuda")
        def other():
            here()
    """,
    "bound under the main guard, read in a function": """
        import torch
        def other():
            here()
        if __name__ == "__main__":
            device = torch.device("cuda")
            other()
    """,
    "other values under the name": """
        import torch
        def build(count, device: int, devices, gpu_devices: list[torch.device]):
            n_device = 4
            here()
    """,
    "a number by default": """
        def build(device=0):
            here()
    """,
    "rebound to something else": """
        import torch
        device = torch.device("cuda")
        device = 3
        here()
    """,
    "set below in the constructor": """
        import torch
        class Agent:
            def __init__(self, device):
                load(device)
            def later(self):
                here()
        class Other:
            def __init__(self, gpu):
                here()
                self.device = torch.device(gpu)
    """,
    "set by some other method only": """
        import torch
        class Agent:
            def __init__(self):
                self.model = None
            def fit(self):
                self.device = torch.device("cuda")
            def load(self):
                here()
    """,
    "set on one path of the constructor": """
        import torch
        class Agent:
            def __init__(self, gpu):
                if gpu:
                    self.device = torch.device("cuda")
            def load(self):
                here()
    """,
    "a static method": """
        import torch
        class Agent:
            def __init__(self):
                self.device = torch.device("cuda")
            @staticmethod
            def load(self_, path):
                here()
    """,
    "a module of torch has no device": """
        import torch
        class Net(torch.nn.Module):
            def load(self):
                here()
    """,
    "options of another function": """
        import torch
        def one(args):
            x.to(args.device)
        def two(args):
            here()
    """,
    "options that get their device below": """
        import torch
        def main(args):
            here()
            args.device = torch.device("cuda")
            x.to(args.device)
    """,
    "a dtype, a tensor": """
        import torch
        def cast(x, args):
            x.to(args.dtype).to(args.other)
            here()
    """,
    "the number that a tensor gives": """
        def at(x):
            dev = x.get_device()
            here()
    """,
}


@pytest.mark.parametrize("code", NOTHING.values(), ids=NOTHING)
def test_nothing_that_is_not_surely_a_device(code: str) -> None:
    assert texts(code) == []


SURE = {
    "the usual choice": (
        """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        here()
        """,
        ["device"],
    ),
    "a string, chosen": (
        """
        import torch
        dev = "cuda" if torch.cuda.is_available() else "cpu"
        def run():
            here()
        """,
        ["dev"],
    ),
    "an if and an else": (
        """
        import torch
        if torch.cuda.is_available():
            place = "cuda:0"
        else:
            place = "cpu"
        here()
        """,
        ["place"],
    ),
    "parameters by name or annotation, before names of the module": (
        """
        import torch
        DEVICE = torch.device("cuda")
        def run(model, where: torch.device, device):
            here()
        """,
        ["device", "where", "DEVICE"],
    ),
    "of a tensor, an accelerator, a function that says so": (
        """
        from accelerate import Accelerator
        def run(x):
            a = x.device
            b = Accelerator().device
            c = get_device()
            d = utils.select_device("0")
            here()
        """,
        ["a", "b", "c", "d"],
    ),
    "unpacked, and used as a device": (
        """
        def run():
            device, rank = start()
            model.to(device)
            here()
        """,
        ["device"],
    ),
    "in the constructor, below the assignment": (
        """
        class Agent:
            def __init__(self, device):
                self.device = device
                here()
        """,
        ["device", "self.device"],
    ),
    "set on both paths of the constructor": (
        """
        import torch
        class Agent:
            def __init__(self, gpu):
                if gpu:
                    self.device = torch.device("cuda")
                else:
                    self.device = torch.device("cpu")
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "set by a base of the same file": (
        """
        class Base:
            def __init__(self, device):
                self.device = device
        class Agent(Base):
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "a property": (
        """
        class Agent:
            @property
            def device(self):
                return next(self.model.parameters()).device
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "a framework's class": (
        """
        import lightning as L
        class Net(L.LightningModule):
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "a class of another file, which is seen to have it": (
        """
        import torch
        from base import Brain
        class Recognizer(Brain):
            def forward(self, batch):
                return batch.to(self.device)
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "a field of a dataclass": (
        """
        import torch
        from dataclasses import dataclass
        @dataclass
        class Agent:
            device: torch.device
            def load(self):
                here()
        """,
        ["self.device"],
    ),
    "options of the same function": (
        """
        import torch
        def run(args):
            model = Net().to(args.device)
            here()
        """,
        ["args.device"],
    ),
    "options of the module": (
        """
        import torch
        args = parser.parse_args()
        args.device = torch.device("cuda")
        def run():
            x.to(args.device)
        def load():
            here()
        """,
        ["args.device"],
    ),
    "an object that the class keeps": (
        """
        class Trainer:
            def __init__(self, accelerator):
                self.accelerator = accelerator
            def train(self):
                device = self.accelerator.device
            def load(self):
                here()
        """,
        ["self.accelerator.device"],
    ),
}


@pytest.mark.parametrize(("code", "wanted"), SURE.values(), ids=SURE)
def test_what_surely_names_a_device(code: str, wanted: list[str]) -> None:
    assert texts(code) == wanted


@pytest.mark.parametrize(
    ("code", "certain", "optional"),
    [
        ("def run(device: torch.device):\n    here()", True, False),
        ("def run(device):\n    here()", False, False),
        ('device = "cuda"\nhere()', False, False),
        ('device = torch.device("cuda")\nhere()', True, False),
        ("def run(device=None):\n    here()", False, True),
        ('def run(device=None):\n    if device is None:\n        device = "cuda"\n    here()', False, False),
        ('def run(device=None):\n    device = device or "cuda"\n    here()', False, False),
        ('def run(device="cpu"):\n    here()', False, False),
    ],
)
def test_objects_and_strings_and_none(code: str, certain: bool, optional: bool) -> None:
    (one,) = devices_at(f"import torch\n{code}\n")
    assert (one.is_torch_device, one.optional) == (certain, optional)
