"""DVF404: generators that come a long way to what they fill."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF404"

HEAD = """
import torch
from torch.utils.data import DataLoader, WeightedRandomSampler
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
ON_DEVICE = "torch.Generator(device=device)"

MADE_ON_DEVICE = {
    "by a function": (
        """
def make(seed):
    g = torch.Generator()
    g.manual_seed(seed)
    return g
torch.randn(3, generator=make(0), device=device)
""",
        ON_DEVICE,
    ),
    "and given to one": (
        """
def noise(g, shape):
    return torch.randn(shape, generator=g, device=device)
noise(torch.Generator().manual_seed(2), 3)
""",
        ON_DEVICE,
    ),
    "and kept by an object": (
        """
class Trainer:
    def __init__(self, device: torch.device):
        self.device = device
        self.g = torch.Generator().manual_seed(1)
    def step(self):
        return torch.randn(3, generator=self.g, device=self.device)
""",
        "torch.Generator(device=self.device)",
    ),
    "one of several": (
        """
gens = [torch.Generator().manual_seed(i) for i in range(3)]
for g in gens:
    x = torch.randn(3, generator=g, device=device)
""",
        ON_DEVICE,
    ),
    "where a caller gives none": (
        """
def sample(shape, generator=None):
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, device=device)
""",
        ON_DEVICE,
    ),
    "for what is moved": (
        """
def train(loader, net):
    net.to(device)
    g = torch.Generator().manual_seed(0)
    for x, _ in loader:
        x = x.to(device)
        net(x + torch.randn_like(x, generator=g))
""",
        ON_DEVICE,
    ),
    "for what a model gives": (
        """
g = torch.Generator()
def pick(net, x):
    net.to(device)
    p = net(x.to(device)).softmax(-1)
    return torch.multinomial(p, 1, generator=g)
""",
        ON_DEVICE,
    ),
    "for what is filled": (
        """
g = torch.Generator()
x = torch.zeros(3).cuda()
x.bernoulli_(0.5, generator=g)
""",
        'torch.Generator(device="cuda")',
    ),
}


@pytest.mark.parametrize(("program", "expected"), MADE_ON_DEVICE.values(), ids=MADE_ON_DEVICE)
def test_is_made_where_it_draws(rule, program: str, expected: str) -> None:
    assert expected in rule.fixed(HEAD + program, unsafe=True)


SILENT = {
    "one for each device": """
g = torch.Generator() if device.type == "cpu" else torch.Generator(device)
torch.randn(3, generator=g, device=device)
""",
    "by a function, on the device": """
def make(seed):
    return torch.Generator(device).manual_seed(seed)
torch.randn(3, generator=make(0), device=device)
""",
    "several, on the device": """
gens = [torch.Generator(device) for i in range(3)]
for g in gens:
    torch.randn(3, generator=g, device=device)
""",
    "of an unread function": """
torch.randn(3, generator=make(0), device=device)
""",
    "of the host or of somebody else's making": """
class Noise:
    def __init__(self, g):
        self.g = g or torch.Generator()
    def draw(self):
        return torch.randn(3, generator=self.g, device=device)
""",
    "for what is taken back to the host": """
g = torch.Generator()
x = torch.zeros(3).cuda().cpu()
x.normal_(generator=g)
""",
    "for what follows its own device": """
x = torch.zeros(3, device=device)
torch.randn_like(x, generator=torch.Generator(device))
""",
    "where a test asks for its device": """
def noise(shape, generator):
    if generator.device.type == "cpu":
        return torch.randn(shape, generator=generator).to(device)
    return torch.randn(shape, generator=generator, device=device)
noise(3, torch.Generator().manual_seed(0))
""",
    "where the device is that of what is filled": """
def noise(x: torch.Tensor, generator=None):
    if generator is not None and generator.device != x.device:
        return torch.randn(x.shape, generator=generator, device=generator.device).to(x.device)
    return torch.randn(x.shape, generator=generator, device=x.device)
noise(torch.zeros(3, device=device), torch.Generator().manual_seed(0))
""",
    "where the device is the host": """
if device.type == "cpu":
    g = torch.Generator()
    x = torch.randn(3, generator=g, device=device)
""",
    "by weights that are on its device": """
weights = torch.ones(10, device=device)
WeightedRandomSampler(weights, 10, generator=torch.Generator(device))
""",
    "by weights that a caller gives": """
def sampler(weights: torch.Tensor):
    return WeightedRandomSampler(weights, 10, generator=torch.Generator(device))
""",
    "under a device": """
g = torch.Generator(device)
with torch.device(device):
    torch.randn(3, generator=g)
""",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_left_alone(rule, program: str) -> None:
    assert not rule.findings(HEAD + program)


def test_a_device_that_is_not_always_there_is_not_written_where_it_may_lack(rule) -> None:
    program = """
g = torch.Generator()
if torch.cuda.is_available():
    torch.randn(3, generator=g, device="cuda")
"""
    assert rule.finding(HEAD + program).fix is None


def test_a_generator_that_is_only_drawn_with_is_safe(rule) -> None:
    program = """
def sample(shape, generator=None):
    if generator is None:
        generator = torch.Generator().manual_seed(0)
    return torch.randn(shape, generator=generator, device=device)
"""
    assert rule.safeties(HEAD + program) == [Safety.SAFE]
    assert rule.safeties(HEAD + program.replace("    return", "    keep(generator)\n    return")) == [Safety.UNSAFE]


def test_a_test_of_another_generator_says_nothing(rule) -> None:
    program = """
def noise(shape, generator, other):
    if other.device.type == "cuda":
        return torch.randn(shape, generator=generator, device=device)
noise(3, torch.Generator().manual_seed(0), torch.Generator(device))
"""
    assert rule.findings(HEAD + program)


@pytest.mark.parametrize("weights", ["[1.0, 2.0]", "torch.ones(2)", "torch.ones(2, device=device).cpu()"])
def test_indices_are_drawn_where_the_weights_are(rule, weights: str) -> None:
    program = f"WeightedRandomSampler({weights}, 10, generator=torch.Generator(device))\n"
    assert "generator=torch.Generator())" in rule.fixed(HEAD + program, unsafe=True)


def test_a_generator_of_the_host_is_made_where_the_weights_are(rule) -> None:
    program = """
weights = torch.ones(2, device=device)
WeightedRandomSampler(weights=weights, num_samples=2, generator=torch.Generator())
"""
    assert "generator=torch.Generator(device=device))" in rule.fixed(HEAD + program)


def test_a_device_that_is_chosen_for_generators_alone_is_that_of_a_default(rule) -> None:
    program = """
def loader(data):
    place = "cuda" if fast else "cpu"
    return DataLoader(data, shuffle=True, generator=torch.Generator(device=place))
"""
    assert rule.finding(HEAD + program).fix is None
    used = program.replace("    return", "    model.to(place)\n    return")
    assert "generator=torch.Generator())" in rule.fixed(HEAD + used, unsafe=True)


BY_ANY_NAME = """
import torch
class Trainer:
    def __init__(self, where):
        self.where = where
        self.g = torch.Generator()
    def step(self):
        return torch.randn(3, generator=self.g, device=self.where)
def noise(g, where):
    return torch.randn(3, generator=g, device=where)
def main():
    where = {device}
    {run}
"""


@pytest.mark.parametrize("run", ["Trainer(where).step()", "noise(torch.Generator(), where)"])
def test_a_device_by_any_name_is_what_all_calls_give(rule, run: str) -> None:
    assert rule.findings(BY_ANY_NAME.format(device='torch.device("cuda")', run=run))
    assert rule.findings(BY_ANY_NAME.format(device='torch.device("cpu")', run=run)) == ()
    assert rule.findings(BY_ANY_NAME.format(device="choose()", run=run)) == ()
