"""DVF104: samples of distributions that are on the host, beside tensors that may be elsewhere."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF104"

SILENT = {
    "its parameters are where the others are": """
        import torch
        from torch.distributions import Normal
        def latent(mean: torch.Tensor, scale: torch.Tensor):
            return mean + Normal(torch.zeros_like(mean), scale).sample()
    """,
    "nothing tells what its parameters are": """
        from torch.distributions import Beta
        def mixed(x, alpha):
            weight = Beta(alpha, alpha).sample((x.size(0), 1))
            return weight * x.flatten(1)
    """,
    "one number may be on the host": """
        import torch
        from torch.distributions.uniform import Uniform
        def scaled(x: torch.Tensor):
            factor = Uniform(0.8, 1.2).sample()
            return factor * x
    """,
    "what it samples is moved": """
        import torch
        from torch import distributions as D
        class Noise:
            def __init__(self):
                self.unit = D.Laplace(0.0, 1.0)
            def add(self, x: torch.Tensor):
                return x + self.unit.rsample(x.shape).to(x.device)
    """,
    "its parameters are moved somewhere": """
        import torch
        from torch import nn
        from torch.distributions import Normal
        class Sampler(nn.Module):
            def __init__(self):
                super().__init__()
                self.unit = Normal(0, 1)
            def to(self, device):
                self.unit.loc = self.unit.loc.to(device)
                self.unit.scale = self.unit.scale.to(device)
                return super().to(device)
            def forward(self, mean):
                return mean.detach() + self.unit.sample(mean.shape)
    """,
    "a class of another library": """
        import torch
        from pyro.distributions import Normal
        def noisy(x: torch.Tensor):
            return x + Normal(0, 1).sample(x.shape)
    """,
    "its parameters are those of a module": """
        import torch
        from torch import nn
        from torch.distributions import Normal
        class Prior(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.mean = nn.Parameter(torch.zeros(n))
                self.scale = nn.Parameter(torch.ones(n))
            def forward(self, x):
                return x.detach() + Normal(self.mean, self.scale).rsample((x.size(0),))
    """,
    "all of it is on the host": """
        import torch
        from torch.distributions import Normal
        def path(n: int):
            steps = Normal(0.0, 0.1).sample((n,))
            return torch.cumsum(steps + torch.linspace(0, 1, n), 0)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_left_alone(rule, program: str) -> None:
    assert not rule.findings(program)


FIXED = {
    "of numbers, kept in an attribute": (
        """
        import torch
        from torch import nn
        from torch.distributions import Normal
        class Bottleneck(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.mean = nn.Linear(n, n)
                self.unit = Normal(0.0, 1.0)
            def forward(self, x):
                mean = self.mean(x)
                return mean + self.unit.rsample(mean.shape)
        """,
        "return mean + self.unit.rsample(mean.shape).to(mean.device)",
    ),
    "of numbers, made where it is used": (
        """
        import torch
        def mixed(x: torch.Tensor, y: torch.Tensor):
            weight = torch.distributions.Beta(0.4, 0.4).sample((x.size(0), 1))
            return weight * x + (1 - weight) * y
        """,
        ".sample((x.size(0), 1)).to(x.device)",
    ),
    "of tensors that factories put on the host": (
        """
        import torch
        import torch.distributions as D
        def joined(x: torch.Tensor):
            base = D.Independent(D.Normal(torch.zeros(4), torch.ones(4)), 1)
            z = base.sample([x.size(0)])
            return torch.cat([x, z], dim=1)
        """,
        "z = base.sample([x.size(0)]).to(x.device)",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_samples_follow_what_they_meet(rule, before: str, after: str) -> None:
    assert after in rule.fixed(before, unsafe=True)


def test_what_is_surely_a_tensor_is_followed_safely(rule) -> None:
    assert rule.safeties(FIXED["of numbers, made where it is used"][0]) == [Safety.SAFE]


def test_imports_by_star_bring_tensors(rule) -> None:
    program = """
        from common import *
        class Jitter:
            def __init__(self, center: Tensor):
                self.center = center
                self.spread = torch.distributions.Uniform(-1, 1)
            def around(self):
                return self.center + self.spread.sample(self.center.shape)
    """
    assert "self.spread.sample(self.center.shape).to(self.center.device)" in rule.fixed(program)
