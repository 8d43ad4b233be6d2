"""DVF104: samples of distributions that are on the host, beside tensors that may be elsewhere."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

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


SILENT["parameters that are numbers meet anything"] = """
    from torch import nn
    from torch.distributions import Normal
    class Flow(nn.Module):
        def __init__(self, n, scale=0.5):
            super().__init__()
            self.net = nn.Linear(n, n)
            self.prior = Normal(0, scale)
        def forward(self, x):
            return self.prior.log_prob(self.net(x))
"""
SILENT["parameters made where the tensor is"] = """
    import torch
    from torch.distributions import Normal
    def surprise(x: torch.Tensor):
        base = Normal(torch.zeros(2, device=x.device), torch.ones(2, device=x.device))
        return -base.log_prob(x)
"""
SILENT["the tensor is on the host as well"] = """
    import torch
    from torch.distributions import Normal
    def curve(n: int):
        base = Normal(torch.zeros(n), torch.ones(n))
        return base.log_prob(torch.linspace(-1, 1, n)).exp()
"""


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
    "of a number by default": (
        """
        import torch
        from torch.distributions import Gumbel
        class Relaxed(torch.nn.Module):
            def __init__(self, spread=1.0):
                super().__init__()
                self.gumbel = Gumbel(0, spread)
            def forward(self, logits):
                logits = torch.log_softmax(logits, -1)
                return torch.softmax(logits + self.gumbel.sample(logits.shape), -1)
        """,
        "logits + self.gumbel.sample(logits.shape).to(logits.device)",
    ),
    "asked how likely something is": (
        """
        import torch
        import torch.distributions as D
        def surprise(x: torch.Tensor):
            base = D.MultivariateNormal(torch.zeros(2), torch.eye(2))
            return -base.log_prob(x).mean()
        """,
        "base = D.MultivariateNormal(torch.zeros(2, device=x.device), torch.eye(2, device=x.device))",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_samples_follow_what_they_meet(rule, before: str, after: str) -> None:
    assert after in rule.fixed(before, unsafe=True)


def test_what_is_surely_a_tensor_is_followed_safely(rule) -> None:
    assert rule.safeties(FIXED["of numbers, made where it is used"][0]) == [Safety.SAFE]


PRIOR = """
import torch
from torch import nn
from torch.distributions import Independent, Laplace
class Flow({base}):
    def __init__(self, n, device):
        super().__init__()
        self.net = nn.Linear(n, n){moved}
        self.prior = Independent(Laplace(torch.zeros(n), torch.ones(n)), 1)
    def score(self, x):
        {score}
"""


def kept(program: str) -> tuple[Finding, ...]:
    outcome = check(Source("train.py", program.encode()), Options(frozenset({"DVF203"})))
    assert isinstance(outcome, Checked)
    return outcome.findings


def test_a_class_that_moves_its_model_makes_the_parameters_there_too() -> None:
    program = PRIOR.format(base="object", moved=".to(device)", score="return self.prior.log_prob(self.net(x))")
    assert [one.fix.safety for one in kept(program) if one.fix] == [Safety.UNSAFE, Safety.UNSAFE]


def test_a_module_whose_sample_is_moved_may_keep_one() -> None:
    score = "return self.net(x) - self.prior.rsample((len(x),)).to(x.device)"
    assert not kept(PRIOR.format(base="nn.Module", moved="", score=score))
