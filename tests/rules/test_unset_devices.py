"""DVF104: the `device` of a module that has none."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.flow.project import Project
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

from ..flow.conftest import InMemory

CODE = "DVF104"
HEAD = "import torch\nfrom torch import nn\n"
PENALTY = """
class Penalty(nn.Module):
    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha
    def forward(self, logits, target):
        out = torch.zeros(logits.shape[0], device=self.device)
        out[target] = logits[target].mean(dim=1)
        return out * self.alpha
"""

SILENT = {
    "set in the constructor": PENALTY.replace("self.alpha = alpha", "self.alpha, self.device = alpha, 'cpu'"),
    "set by who made it": f"{PENALTY}penalty = Penalty(2)\npenalty.device = 'cuda'\n",
    "a property": f"{PENALTY}    @property\n    def device(self):\n        return self.alpha.device\n",
    "of the class": PENALTY.replace("    def __init__", "    device = 'cpu'\n    def __init__"),
    "annotated in the class": PENALTY.replace("    def __init__", "    device: str\n    def __init__"),
    "under a name that is computed": PENALTY.replace("self.alpha = alpha", "setattr(self, alpha, 1)"),
    "a buffer of that name": PENALTY.replace("self.alpha = alpha", "self.register_buffer('device', alpha)"),
    "attributes by a method": f"{PENALTY}    def __getattr__(self, name):\n        return 'cpu'\n",
    "derived from something else": PENALTY.replace("(nn.Module)", "(Loss)"),
    "derived from something else as well": PENALTY.replace("(nn.Module)", "(nn.Module, Placed)"),
    "of Lightning": f"import lightning as L\n{PENALTY.replace('nn.Module', 'L.LightningModule')}",
    "for others to derive from": PENALTY.replace("Penalty", "PenaltyBase"),
    "with a part for others to write": f"{PENALTY}    def weigh(self):\n        raise NotImplementedError\n",
    "no module": PENALTY.replace("(nn.Module)", "").replace("super().__init__()", "pass"),
    "a class in the file sets it": f"{PENALTY}class Sharp(Penalty):\n    def go(self):\n        self.device = 'cpu'\n",
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_devices_that_may_be_there(rule, program: str) -> None:
    assert all("AttributeError" not in one.message for one in rule.findings(HEAD + program))


@pytest.mark.parametrize(
    ("use", "told"),
    [
        ("penalty = Penalty(2)\npenalty.device = 'cuda'\n", False),
        ("penalty = Penalty(2)\npenalty.place = 'cuda'\n", True),
        ("class Sharp(Penalty):\n    device = 'cuda'\n", False),
        ("class Sharp(Penalty):\n    place = 'cuda'\n", True),
        ("class Sharp(Penalty):\n    @property\n    def device(self):\n        return self.alpha.device\n", False),
    ],
)
def test_who_uses_the_class_may_set_it(use: str, told: bool) -> None:
    run = f"from losses import Penalty\n{use}"
    files = InMemory({"/p/losses.py": HEAD + PENALTY, "/p/run.py": run})
    outcome = check(Source("/p/losses.py", (HEAD + PENALTY).encode()), Options(frozenset({CODE})), Project(files))
    assert isinstance(outcome, Checked)
    assert any("AttributeError" in one.message for one in outcome.findings) is told


def test_follows_the_tensor_at_hand(rule) -> None:
    finding = rule.finding(HEAD + PENALTY)
    assert "AttributeError" in finding.message
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert "device=logits.device" in rule.fixed(HEAD + PENALTY, unsafe=True)


def test_advice_where_no_tensor_is_at_hand(rule) -> None:
    program = PENALTY.replace("logits.shape[0]", "3").replace("        out[target] = logits[target].mean(dim=1)\n", "")
    finding = rule.finding(HEAD + program)
    assert finding.fix is None
    assert finding.advice == "name the device of a tensor at hand, or keep one in the constructor"
