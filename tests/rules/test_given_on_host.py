"""What lives where the caller put it, where all callers are seen: on the host, or not."""

from textwrap import dedent

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

HEAD = """
import numpy as np
import torch
def noisy(level, scale):
    return level.detach() + scale * torch.randn(4)
"""

ON_HOST = {
    "a tensor of the top level": """
level = torch.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
print(noisy(level, level))
""",
    "a copy on the host": """
def report(model, x):
    found = model(x).detach().cpu()
    return noisy(found, scale=found)
""",
    "numbers": """
def grid(width, height):
    return torch.arange(4) * width + torch.arange(4) * height
print(grid(3, height=2.0), noisy(torch.zeros(4), 2.0))
""",
    "what is computed of a tensor of the host, and of what is not known": """
def start(args):
    level = args.level + args.width * torch.rand(4)
    return noisy(level, level)
""",
    "on each branch, and at each call": """
def start(rows, flag):
    level = torch.from_numpy(np.asarray(rows)) if flag else torch.zeros(4)
    return noisy(level, 1.0) + noisy(torch.ones(4), torch.zeros(4))
""",
    "what an object keeps, and carries on": """
class Buffer:
    def __init__(self, n):
        self.clear(n)
    def clear(self, n):
        self.level = torch.zeros(n, 1)
    def finish(self):
        self.level = self.level.reshape(-1)
        return noisy(self.level, self.level)
""",
    "by way of another function": """
def twice(level):
    return noisy(level, level) + noisy(2 * level, 1.0)
print(twice(torch.zeros(4)))
""",
}

NOT_KNOWN = {
    "nobody calls it": "",
    "one of two callers is elsewhere": """
def start(device):
    return noisy(torch.zeros(4), 1.0), noisy(torch.zeros(4, device=device), 1.0)
""",
    "the caller has it from a caller that is not seen": """
def start(level):
    return noisy(level, 1.0)
""",
    "it meets on the host what a caller that is not seen gives": """
def start(level):
    return noisy(level + torch.zeros(4), 1.0)
""",
    "the function is given away": """
print(noisy(torch.zeros(4), 1.0))
register(noisy)
""",
    "what the caller computes may be anywhere": """
def start(args):
    return noisy(args.level, args.scale)
""",
    "what an object keeps, and is given as well": """
class Buffer:
    def __init__(self, n):
        self.level = torch.zeros(n)
    def fill(self, level):
        self.level = level
    def finish(self):
        return noisy(self.level, self.level)
""",
    "what an object keeps, and moves": """
class Buffer:
    def __init__(self, n):
        self.level = torch.zeros(n)
    def to(self, device):
        self.level = self.level.to(device)
    def finish(self):
        return noisy(self.level, self.level)
""",
    "what a module registers": """
class Buffer(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("level", torch.zeros(n))
    def forward(self):
        return noisy(self.level, self.level)
""",
    "a model gives it": """
def start(model):
    return noisy(model(torch.zeros(4)), 1.0)
""",
    "a scalar of the host meets what is not known": """
def start(args):
    return noisy(args.level * torch.tensor(2.0), args.scale)
""",
}


@pytest.mark.parametrize("callers", ON_HOST.values(), ids=ON_HOST)
def test_what_all_callers_have_on_the_host_is_there(rule, callers: str) -> None:
    assert "randn" not in _text(rule, HEAD + callers)


@pytest.mark.parametrize("callers", NOT_KNOWN.values(), ids=NOT_KNOWN)
def test_what_some_caller_may_have_elsewhere_is_followed(rule, callers: str) -> None:
    assert "torch.randn(4, device=" in rule.fixed(HEAD + callers, unsafe=True)


def test_methods_that_others_call_by_their_objects(rule) -> None:
    program = dedent("""
        import torch
        class Filter:
            def spread(self, wave):
                return self.floor(torch.stft(torch.tensor(wave), 8).abs())
            def floor(self, bands):
                return torch.maximum(bands, torch.ones(bands.size()) * 0.1)
    """)
    assert rule.findings(program) == ()
    assert len(rule.findings(program + "def run(filter, x):\n    return filter.floor(x)\n")) == 1


def _text(rule, program: str) -> str:
    return "\n".join(str(one.message) for one in rule.findings(program))
