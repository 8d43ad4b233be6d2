"""DVF205: metrics of torchmetrics and ignite."""

from textwrap import dedent, indent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF205"

HEAD = """\
import torch
import torchmetrics
from torch import nn
from torchmetrics import MetricCollection

"""


def loop(metric: str, update: str = "metric.update(out, y)", head: str = HEAD) -> str:
    """A function that moves its batches to `device`, and measures them with `metric`."""
    before = "def evaluate(model, loader, device):\n"
    rest = "    for x, y in loader:\n        x, y = x.to(device), y.to(device)\n        out = model(x)\n"
    return head + before + indent(metric + "\n", " " * 4) + rest + indent(update, " " * 8) + "\n"


ACCURACY = 'metric = torchmetrics.Accuracy(task="binary")'

SILENT = {
    "moved": loop(ACCURACY + ".to(device)"),
    "moved later": loop(ACCURACY + "\nmetric.to(device)"),
    "moved by cuda": loop(ACCURACY + ".cuda()"),
    "moved by something else": loop(ACCURACY + "\nmetric = prepare(metric)"),
    "updated on the host": loop(ACCURACY, "metric.update(out.cpu(), y.cpu())"),
    "given numbers": loop("metric = torchmetrics.MeanMetric()", "metric.update(out.mean().item())"),
    "only asked": loop(ACCURACY, "metric.compute()"),
    "one that keeps lists": loop("metric = torchmetrics.RetrievalMRR()"),
    "a curve without thresholds": loop('metric = torchmetrics.AUROC(task="binary")'),
    "not of torchmetrics": loop("metric = Accuracy()"),
    "a functional one": loop("metric = torchmetrics.functional.accuracy"),
    "built and given away": loop(ACCURACY + "\nregister(metric)", "pass"),
    "moved metrics in a collection": loop(
        "metric = MetricCollection([torchmetrics.MeanSquaredError().to(device)])",
    ),
    "texts": loop("metric = torchmetrics.text.BLEUScore()", "metric.update(['a'], [['b']])"),
    "moved one by one": loop(
        "metrics = {'a': torchmetrics.MeanSquaredError()}\nfor metric in metrics.values():\n    metric.to(device)",
        "metrics['a'].update(out, y)",
    ),
    "held by a module": HEAD
    + dedent("""
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 2)
                self.metric = torchmetrics.MeanSquaredError()

            def forward(self, x, y):
                self.metric.update(self.net(x), y)

        def main(loader, device):
            net = Net().to(device)
            for x, y in loader:
                net(x.to(device), y.to(device))
    """),
    "built and moved by a method that another one calls": HEAD
    + dedent("""
        class Trainer:
            def __init__(self, device):
                self.device = device

            def prepare_metric(self):
                self.metric = torchmetrics.MeanSquaredError()
                self.metric.to(self.device)

            def prepare(self):
                self.prepare_metric()

            def train(self, loader):
                for x, y in loader:
                    self.metric(x.to(self.device), y.to(self.device))
    """),
    "held by a lightning module": HEAD
    + dedent("""
        import lightning as L

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.net = nn.Linear(2, 2)
                self.metric = torchmetrics.MeanSquaredError()

            def training_step(self, batch, index):
                x, y = batch
                x = x.to(self.device)
                self.metric(self.net(x), y.to(self.device))
    """),
    "accelerate is at work": loop(ACCURACY, head=HEAD + "from accelerate import Accelerator\n"),
    "forced in a script that forces all": HEAD
    + dedent("""
        class Trainer:
            def __init__(self, model):
                self.model = model
                self.model.cuda()
                self.metric = torchmetrics.MeanSquaredError().to("cuda")
    """),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


FIXED = {
    "update": (ACCURACY, "metric.update(out, y)", ACCURACY + ".to(device)"),
    "call": (ACCURACY, "metric(out, y)", ACCURACY + ".to(device)"),
    "forward": (ACCURACY, "step = metric.forward(out, y)", ACCURACY + ".to(device)"),
    "collection": (
        "metric = MetricCollection([torchmetrics.MeanSquaredError()])",
        "metric.update(out, y)",
        "metric = MetricCollection([torchmetrics.MeanSquaredError()]).to(device)",
    ),
    "clone": (
        "base = torchmetrics.MeanSquaredError()\nmetric = base.clone()",
        "metric.update(out, y)",
        "base = torchmetrics.MeanSquaredError().to(device)\nmetric = base.clone()",
    ),
    "the labels alone": (ACCURACY, "metric.update(y, y)", ACCURACY + ".to(device)"),
}


@pytest.mark.parametrize(("before", "update", "after"), FIXED.values(), ids=FIXED.keys())
def test_fixed(rule, before, update, after):
    assert rule.fixed(loop(before, update)) == loop(after, update)


def test_an_attribute_of_a_plain_class(rule):
    program = HEAD + dedent("""
        class Trainer:
            def __init__(self, model, device):
                self.device = device
                self.model = model.to(device)
                self.metric = torchmetrics.MeanSquaredError()

            def train(self, loader):
                for x, y in loader:
                    x, y = x.to(self.device), y.to(self.device)
                    self.metric(self.model(x), y)
    """)
    assert rule.fixed(program, unsafe=True) == program.replace("Error()", "Error().to(self.device)")


def test_an_attribute_that_is_built_by_a_method_that_another_one_calls(rule):
    program = HEAD + dedent("""
        class Trainer:
            def __init__(self, device):
                self.device = device

            def prepare_metric(self):
                self.metric = torchmetrics.MeanSquaredError()

            def prepare(self):
                self.prepare_metric()

            def train(self, loader):
                for x, y in loader:
                    self.metric(x.to(self.device), y.to(self.device))
    """)
    assert rule.fixed(program, unsafe=True) == program.replace("Error()", "Error().to(self.device)")


def test_a_metric_is_no_finding_of_the_rule_for_models():
    outcome = check(Source("a.py", loop(ACCURACY).encode()), Options(frozenset({"DVF202", "DVF205"})))
    assert isinstance(outcome, Checked)
    assert [one.code for one in outcome.findings] == ["DVF205"]


FORCED = {
    "in a lightning module": """
        import torchmetrics
        import lightning as L

        class Net(L.LightningModule):
            def __init__(self):
                super().__init__()
                self.metric = torchmetrics.MeanSquaredError().to("cuda")
    """,
    "alone in a class": """
        import torchmetrics as tm

        class Task:
            def measures(self, names):
                found = {}
                for name in names:
                    found[name] = getattr(tm, name)(compute_on_step=False).to("cuda")
                return found
    """,
}


@pytest.mark.parametrize("program", FORCED.values(), ids=FORCED.keys())
def test_forced_metrics_get_advice_alone(rule, program):
    assert rule.safeties(program) == [Safety.MANUAL]


def ignite(update: str, *, reset: str = "self._sum = torch.tensor(0.0, device=self._device)", base: str = "Metric"):
    head = "import torch\nfrom ignite.metrics import Metric\n\n\nclass Mean(" + base + "):\n    def reset(self):\n"
    middle = "\n    def update(self, output):\n        found, wanted = output[0].detach(), output[1].detach()\n"
    return head + indent(reset, " " * 8) + "\n" + middle + indent(update, " " * 8) + "\n"


IGNITE_SILENT = {
    "moved": ignite("self._sum += found.sum().to(self._device)"),
    "a number": ignite("self._sum += found.sum().item()"),
    "a shape": ignite("self._sum += found.shape[0]"),
    "moved before": ignite("found = found.to(self._device)\nself._sum += found.sum()"),
    "on the host on both sides": ignite("self._sum += found.cpu().sum()"),
    "made without a device": ignite("self._sum += found.sum()", reset="self._sum = 0"),
    "from elsewhere": ignite("self._sum += self._weights.sum()"),
    "moved under another name": ignite("error = found.cpu() - 1\nself._sum += error.sum()"),
    "of a function that is not read": ignite("self._sum += helper(found).sum()"),
    "no metric": ignite("self._sum += found.sum()", base="object"),
}


@pytest.mark.parametrize("program", IGNITE_SILENT.values(), ids=IGNITE_SILENT.keys())
def test_sums_that_are_right(rule, program):
    assert rule.findings(program) == ()


@pytest.mark.parametrize("added", ["found.sum()", "(found * wanted).sum()", "torch.sum(found)", "found.square().sum()"])
def test_sums_across_devices(rule, added):
    assert rule.fixed(ignite(f"self._sum += {added}")) == ignite(f"self._sum += {added}.to(self._device)")


def test_a_sum_of_what_a_loop_computes_of_itself(rule):
    above = "error = found\nfor _ in range(3):\n    error = torch.add(error, found)\n"
    before = ignite(f"{above}self._sum += error.sum()")
    assert rule.fixed(before) == before.replace("error.sum()", "error.sum().to(self._device)")


@pytest.mark.parametrize("above", ["error = found - wanted", "error = torch.abs(found)", "error, _ = found, wanted"])
def test_sums_of_what_is_computed_before(rule, above):
    before = ignite(f"{above}\nself._sum += error.sum()")
    assert rule.fixed(before) == before.replace("error.sum()", "error.sum().to(self._device)")


SOLVER = """
import torch
from torchmetrics import Accuracy
class Solver:
    def __init__(self, model, device={default}):
        self.model = model.to(prepare() if device == {default} else torch.device("cpu"))
        self.metric = Accuracy()
"""


def test_a_word_that_torch_does_not_take_is_no_device(rule) -> None:
    assert ".to(device)" not in str(rule.findings(SOLVER.format(default="'gpu'")))


def test_a_word_that_torch_takes_is_one(rule) -> None:
    assert ".to(device)" in rule.fixed(SOLVER.format(default="'cuda'"), unsafe=True)


EVALUATED = (
    HEAD
    + """\
from evaluation import Evaluator

def main(loader, device):
    model = nn.Linear(3, 4).to(device)
    metric = torchmetrics.Accuracy(task="binary")
    return {use}
"""
)


def test_a_metric_that_only_others_update(rule) -> None:
    assert rule.findings(EVALUATED.format(use="Evaluator(device).run(loader, model, metric)")) == ()


def test_a_metric_that_is_updated_here_as_well(rule) -> None:
    program = EVALUATED.format(use="[metric(model(x.to(device)), y.to(device)) for x, y in loader]")
    assert 'metric = torchmetrics.Accuracy(task="binary").to(device)\n' in rule.fixed(program, unsafe=True)
