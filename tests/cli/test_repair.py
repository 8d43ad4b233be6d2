"""`devfix repair`: what it must leave alone, what it keeps, and bugs that no reading of the source decides.

Most scripts here raise torch's errors without torch, so that a run takes a moment.
"""

from pathlib import Path

import pytest

from .conftest import Devfix, commit

STAND_IN = '''class Tensor:
    """Raises what a tensor on a device raises."""

    def __init__(self, place):
        self.place = place

    def cpu(self):
        return Tensor("cpu")

    def numpy(self):
        if self.place != "cpu":
            raise TypeError("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor")
        return [1.0]
'''
SCRIPT = """import sys
from tensors import Tensor

print("started", sys.argv[1:])
out = Tensor("cuda:0")
print(len(out.numpy()))
"""
FIXED = SCRIPT.replace("out.numpy()", "out.cpu().numpy()")


@pytest.fixture
def library(tree: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The stand-in for torch, outside of the project."""
    folder = tree.parent / "library"
    folder.mkdir()
    (folder / "tensors.py").write_text(STAND_IN)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder / "tensors.py"


@pytest.fixture
def project(tree: Path, library: Path) -> Path:
    """A script that fails on a device tensor, in a project of its own."""
    (tree / "pyproject.toml").touch()
    (tree / "eval.py").write_text(SCRIPT)
    return tree


# What must not happen


def test_nothing_is_written_unasked(devfix: Devfix, project: Path) -> None:
    ran = devfix("repair", "eval.py", "--on", "cpu")
    assert ran.code == 1
    assert "+print(len(out.cpu().numpy()))" in ran.out
    assert "Nothing was written" in ran.err
    assert (project / "eval.py").read_text() == SCRIPT


def test_a_script_that_runs_is_left_alone(devfix: Devfix, project: Path) -> None:
    (project / "eval.py").write_text(FIXED)
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 1  # on the plain CPU no device bug can show
    assert "Inconclusive" in ran.out
    assert (project / "eval.py").read_text() == FIXED


def test_an_error_of_another_kind_is_left_alone(devfix: Devfix, project: Path) -> None:
    (project / "eval.py").write_text("raise ValueError('no data')\n")
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 1
    assert "which is no device error" in ran.out


def test_uncommitted_changes_are_not_overwritten(devfix: Devfix, repository: Path, project: Path) -> None:
    commit(repository)
    (project / "eval.py").write_text(SCRIPT + "print('new')\n")
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 2
    assert "--allow-dirty" in ran.err
    assert (project / "eval.py").read_text() == SCRIPT + "print('new')\n"
    assert devfix("repair", "eval.py", "--on", "cpu", "--write", "--allow-dirty").code == 0


def test_a_candidate_that_changes_nothing_for_the_better_is_not_kept(
    devfix: Devfix, project: Path, library: Path
) -> None:
    stubborn = STAND_IN.replace('return Tensor("cpu")', "return self").replace(
        "return [1.0]", "return [1.0]\n\n    def detach(self):\n        return self"
    )
    library.write_text(stubborn)
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 1
    assert ran.out.count("it still fails there") == 2
    assert (project / "eval.py").read_text() == SCRIPT


def test_a_candidate_that_fails_otherwise_is_not_kept(devfix: Devfix, project: Path, library: Path) -> None:
    library.write_text(STAND_IN.replace("def cpu", "def copy"))
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 1
    assert "AttributeError" in ran.out
    assert (project / "eval.py").read_text() == SCRIPT


def test_installed_packages_are_not_edited(devfix: Devfix, project: Path) -> None:
    package = project / "lib" / "site-packages" / "vendor"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("def convert(out):\n    return out.numpy()\n")
    script = SCRIPT.replace("out.numpy()", "convert(out)").replace(
        "from tensors", "sys.path.append('lib/site-packages')\nfrom vendor import convert\nfrom tensors"
    )
    (project / "eval.py").write_text(script)
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 1
    assert ".numpy()" in (package / "__init__.py").read_text()
    assert ".cpu()" not in (package / "__init__.py").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nothing.py",), "no such file"),
        (("eval.py", "--on", "moon"), "--on"),
        (("eval.py", "--env", "X"), "KEY=VALUE"),
        (("notes.ipynb",), "notebook"),
    ],
)
def test_wrong_usage(devfix: Devfix, project: Path, arguments: tuple[str, ...], reason: str) -> None:
    (project / "notes.ipynb").write_text("{}")
    ran = devfix("repair", *arguments)
    assert ran.code == 2
    assert reason in ran.err


# What happens


def test_a_repair_is_written_and_can_be_undone(devfix: Devfix, project: Path) -> None:
    ran = devfix("repair", "eval.py", "--on", "cpu", "--write")
    assert ran.code == 0
    assert "removed TypeError at eval.py:6" in ran.out
    assert "Repaired" in ran.out
    assert (project / "eval.py").read_text() == FIXED
    assert devfix("undo").code == 0
    assert (project / "eval.py").read_text() == SCRIPT


def test_several_errors_are_repaired_one_after_the_other(devfix: Devfix, project: Path) -> None:
    (project / "eval.py").write_text(SCRIPT + "print(out.numpy()[0])\n")
    ran = devfix("repair", "eval.py", "--on", "cpu", "--output-format", "json")
    assert ran.code == 1
    assert [fix["removed"]["line"] for fix in ran.json["fixes"]] == [6, 7]
    assert ran.json["outcome"] == "repaired"
    assert "next is TypeError at eval.py:7" in ran.json["fixes"][0]["proof"]


def test_the_number_of_fixes_is_limited(devfix: Devfix, project: Path) -> None:
    (project / "eval.py").write_text(SCRIPT + "print(out.numpy()[0])\n")
    ran = devfix("repair", "eval.py", "--on", "cpu", "--max-fixes", "1", "--output-format", "json")
    assert ran.json["outcome"] == "partly repaired"
    assert len(ran.json["fixes"]) == 1
    assert ran.json["left"]["line"] == 7


def test_the_arguments_and_the_environment_reach_the_script(devfix: Devfix, project: Path) -> None:
    (project / "eval.py").write_text(
        "import os, sys\nfrom tensors import Tensor\n"
        "if sys.argv[1:] == ['--fast', '3'] and os.environ['PLACE'] == 'there':\n    Tensor('cuda:0').numpy()\n"
    )
    ran = devfix("repair", "eval.py", "--on", "cpu", "--env", "PLACE=there", "--", "--fast", "3")
    assert "+    Tensor('cuda:0').cpu().numpy()" in ran.out


def test_a_file_that_the_script_imports_is_repaired(devfix: Devfix, project: Path) -> None:
    (project / "tools.py").write_text("def convert(out):\n    return out.numpy()\n")
    (project / "eval.py").write_text(SCRIPT.replace("out.numpy()", "__import__('tools').convert(out)"))
    assert devfix("repair", "eval.py", "--on", "cpu", "--write").code == 0
    assert (project / "tools.py").read_text() == "def convert(out):\n    return out.cpu().numpy()\n"


# Bugs that only a run shows, on the simulated accelerator

REGISTRY = """from torch import nn

MODELS = {}

def register(name):
    def keep(cls):
        MODELS[name] = cls
        return cls
    return keep

@register("mlp")
class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))

    def forward(self, x):
        return self.body(x)
"""
BY_CONFIGURATION = """import json
import sys
import torch
from torch.utils.data import DataLoader, TensorDataset
import zoo

config = json.loads(sys.argv[1])

def main():
    device = torch.device(config["device"] if torch.cuda.is_available() else "cpu")
    model = zoo.MODELS[config["model"]]()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = TensorDataset(torch.randn(16, 4), torch.randint(0, 2, (16,)))
    for x, y in DataLoader(data, batch_size=8):
        x, y = x.to(device), y.to(device)
        loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

main()
"""


@pytest.mark.slow
def test_a_model_that_a_configuration_names_is_moved(devfix: Devfix, tree: Path) -> None:
    (tree / "pyproject.toml").touch()
    (tree / "zoo.py").write_text(REGISTRY)
    (tree / "train.py").write_text(BY_CONFIGURATION)
    arguments = ("--", '{"model": "mlp", "device": "cuda"}')
    assert devfix("check", "--unsafe", "train.py", "zoo.py", "--no-cache").code == 0  # the source does not decide it
    ran = devfix("repair", "train.py", "--on", "simulated", "--write", "--output-format", "json", *arguments)
    assert ran.code == 0
    assert (tree / "train.py").read_text() == BY_CONFIGURATION.replace(
        'zoo.MODELS[config["model"]]()', 'zoo.MODELS[config["model"]]().to(device)'
    )
    assert ran.json["on_cpu"] == "2 losses agree"


BY_BRANCH = """import torch

KIND = {"soft": "ones", "hard": "zeros"}

def attend(x, kind):
    scores = x @ x.transpose(-1, -2)
    mask = getattr(torch, KIND[kind])(5, 5)
    if kind == "hard":
        scores = scores * mask
    return scores @ x

class Meter:
    def __init__(self, n):
        self.total = torch.zeros(n)

    def update(self, p):
        self.total += p

device = "cuda" if torch.cuda.is_available() else "cpu"
layer = torch.nn.Linear(6, 6).to(device)
meter = Meter(6)
for step in range(4):
    x = torch.randn(2, 5, 6, device=device)
    out = attend(layer(x), "soft" if step % 2 else "hard")
    getattr(meter, sorted(vars(Meter))[-1])(out[0].detach().sum(0))
    out.square().mean().backward()
print(out.detach().cpu().numpy().shape)
"""


def test_values_of_a_branch_that_runs_and_of_names_made_at_run_time_are_moved(devfix: Devfix, tree: Path) -> None:
    (tree / "pyproject.toml").touch()
    (tree / "train.py").write_text(BY_BRANCH)
    assert devfix("check", "--unsafe", "train.py", "--no-cache").code == 0
    ran = devfix("repair", "train.py", "--on", "simulated", "--write", "--output-format", "json")
    assert ran.code == 0
    after = (tree / "train.py").read_text()
    assert "getattr(torch, KIND[kind])(5, 5).to(" in after
    assert "self.total = torch.zeros(n, device=device)" in after
    assert [fix["removed"]["line"] for fix in ran.json["fixes"]] == [9, 17]


CHECKPOINTED_EMA = """import os
import tempfile
import torch
from torch import nn

class EMA:
    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, weight in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(weight, alpha=1 - self.decay)

    def save(self, path):
        torch.save({name: weight.cpu() for name, weight in self.shadow.items()}, path)

    def load(self, path):
        self.shadow = torch.load(path)

def train(model, ema, optimizer, device):
    x = torch.randn(8, 4, device=device)
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update(model)

torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Linear(4, 2).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ema = EMA(model)
train(model, ema, optimizer, device)
path = os.path.join(tempfile.mkdtemp(), "ema.pt")
ema.save(path)
resumed = EMA(model)
resumed.load(path)
before = resumed.shadow["weight"].clone()
train(model, resumed, optimizer, device)
assert not torch.equal(before.to(device), resumed.shadow["weight"]), "the average does not move"
"""


def test_the_average_of_a_checkpoint_is_loaded_to_the_device(devfix: Devfix, tree: Path) -> None:
    (tree / "pyproject.toml").touch()
    (tree / "train.py").write_text(CHECKPOINTED_EMA)
    ran = devfix("repair", "train.py", "--on", "simulated", "--write", "--output-format", "json")
    assert ran.code == 0
    after = CHECKPOINTED_EMA.replace("torch.load(path)", "torch.load(path, map_location=device)")
    assert (tree / "train.py").read_text() == after
    assert [fix["rejected"] for fix in ran.json["fixes"]] == [[]]
    assert ran.json["on_cpu"] == "2 losses agree"


UNGUARDED = """import torch

def place(module):
    return module.cuda()

def step(model, weights):
    out = model(torch.randn(4, 3).to(next(model.parameters()).device))
    return (out * weights).sum()

model = torch.nn.Linear(3, 2)
if torch.cuda.is_available():
    model = place(model)
weights = getattr(torch, "ones")(2)
step(model, weights).backward()
"""


def test_what_breaks_the_script_on_the_plain_cpu_is_taken_back(devfix: Devfix, tree: Path) -> None:
    (tree / "pyproject.toml").touch()
    (tree / "train.py").write_text(UNGUARDED)
    ran = devfix("repair", "train.py", "--on", "simulated", "--write", "--output-format", "json")
    assert ran.code == 0
    assert (tree / "train.py").read_text() == UNGUARDED.replace("out * weights", "out * weights.to(out.device)")
    (fix,) = ran.json["fixes"]
    assert "on the plain CPU the patched script fails" in fix["rejected"][0]["reason"]


def test_only_the_branch_of_a_match_that_failed_is_repaired_without_columns(devfix: Devfix, project: Path) -> None:
    script = """from tensors import Tensor

host, out, kind = Tensor("cpu"), Tensor("cuda:0"), "device"
match kind:
    case "host":
        print(host.numpy())
    case "device":
        print(out.numpy())
"""
    (project / "eval.py").write_text(script)
    ran = devfix("repair", "eval.py", "--on", "cpu", "--env", "PYTHONNODEBUGRANGES=1", "--write")
    assert ran.code == 0
    assert (project / "eval.py").read_text() == script.replace("out.numpy()", "out.cpu().numpy()")
