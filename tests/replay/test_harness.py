"""Functions that no program runs: what a driver of devfix's own shows of their patches, and where it stops."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from devfix.replay.backends import PlainCpu, Simulated
from devfix.replay.changes import Change
from devfix.replay.confinement import Bubblewrap
from devfix.replay.options import ReplayOptions
from devfix.replay.replaying import replay_on
from devfix.replay.results import ReplayResult
from devfix.replay.verdict_kinds import Kind
from devfix_codemods.edits.operations import InsertStatement
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.source import Span

Drive = Callable[..., ReplayResult]


def step(result: ReplayResult) -> str | None:
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert result.harness is not None
    return result.harness.step


POSITIONS = """
import torch


def positions(x, scale=1.0):
    b, n, c = x.shape
    where = torch.arange(n)
    return x + scale * where.view(1, n, 1)
"""
ON_X = ("torch.arange(n)", "torch.arange(n, device=x.device)")


def test_a_function_is_driven_with_a_tensor_of_the_rank_that_it_wants(drive: Drive) -> None:
    result = drive(POSITIONS, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "RuntimeError at pack/ops.py:8 is gone" in result.verdict.reason
    assert result.harness is not None
    assert result.harness.function == "positions"
    assert "dict(x=torch.rand(2, 8, 16, device=device))" in (result.harness.text or "")


def test_a_module_is_made_and_moved_and_called(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, width, classes):
        super().__init__()
        self.first = nn.Linear(24, width)
        self.last = nn.Linear(width, classes)

    def forward(self, features):
        bias = torch.zeros(1)
        bias = torch.ones(features.shape[0], 1)
        return self.last(self.first(features)) + bias
"""
    result = drive(text, "torch.ones(features.shape[0], 1)", "features.new_ones(features.shape[0], 1)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert ".to(device)" in (result.harness.text or "")
    assert "24, device=device" in (result.harness.text or "")


def test_a_tensor_that_a_constructor_keeps_is_found_by_calling_the_module(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.scale = torch.ones(dim)

    def forward(self, x):
        return x * self.scale
"""
    result = drive(text, "self.scale = torch.ones(dim)", 'self.register_buffer("scale", torch.ones(dim))')
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


def test_whole_numbers_are_found_by_the_error(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 8)

    def forward(self, thing):
        found = self.table(thing)
        return found + torch.ones(found.shape[-1])
"""
    result = drive(text, "torch.ones(found.shape[-1])", "torch.ones(found.shape[-1], device=found.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


def test_code_that_asks_for_an_accelerator_shows_its_bug_where_there_is_none(drive: Drive) -> None:
    text = "import torch\n\n\ndef counts(x):\n    return x + torch.arange(x.shape[-1]).cuda()\n"
    result = drive(text, ".cuda()", ".to(x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "without an accelerator" in result.verdict.reason


def test_a_patch_that_changes_nothing_that_is_seen_is_harmless(drive: Drive) -> None:
    text = "import torch\n\n\ndef same(x):\n    return x.new_ones(x.shape) + x\n"
    result = drive(text, "x.new_ones(x.shape)", "torch.ones_like(x)")
    assert result.verdict.kind is Kind.HARMLESS, result.verdict.reason


STATES = {
    "what it was given": """
import torch


def fill(x):
    x.copy_({value} * x.new_ones(x.shape))
""",
    "its object": """
import torch


class Meter:
    def update(self, x):
        self.total = {value} * x.new_ones(x.shape)
""",
    "an object that it gives": """
import torch
from types import SimpleNamespace


def kept(x):
    return [SimpleNamespace(rows={{"x": {value} * x.new_ones(x.shape)}})]
""",
    "a module": """
import torch
from torch import nn


def reset(x):
    net = nn.Linear(3, 3)
    net.weight.data.copy_({value} * x.new_ones(3, 3))
    return net
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("text", STATES.values(), ids=STATES)
def test_what_a_call_leaves_behind_is_compared(drive: Drive, text: str) -> None:
    result = drive(text.format(value="2.0"), "2.0 * x.new_ones", "3.0 * x.new_ones")
    assert result.verdict.kind is Kind.INCONCLUSIVE, result.verdict.reason


@pytest.mark.parametrize(
    "blank", ["nn.LazyLinear(4)", "list(nn.LazyLinear(4).parameters())", 'torch.empty(4, device="meta")']
)
def test_tensors_without_values_keep_nothing_from_being_compared(drive: Drive, blank: str) -> None:
    text = POSITIONS.replace("import torch", "import torch\nfrom torch import nn")
    result = drive(text.replace("return ", f"return {blank}, "), *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "then ends with" not in result.verdict.reason


@pytest.mark.slow
def test_what_a_call_leaves_behind_may_be_the_same(drive: Drive) -> None:
    text = "\n".join(STATES.values()).format(value="2.0")
    result = drive(text, "2.0 * x.new_ones", "(1.0 + 1.0) * x.new_ones")
    assert result.verdict.kind is Kind.HARMLESS, result.verdict.reason


def test_a_settings_object_gets_what_is_asked_of_it(drive: Drive) -> None:
    text = """
import torch

KINDS = {"sine": torch.sin, "line": torch.abs}


class Base:
    def __init__(self, args):
        self.args = args
        self.shape = KINDS[self.args.kind]


class Made(Base):
    def __init__(self, args):
        super().__init__(args)

    def apply(self, x):
        return self.shape(x) + torch.ones(x.shape)
"""
    result = drive(text, "torch.ones(x.shape)", "torch.ones(x.shape, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


SETTINGS_ELSEWHERE = """
import torch


class Base:
    def __init__(self, opt):
        self.opt = opt
        assert opt.phase in ("train", "test"), "a phase"
        self.cards = opt.gpu_ids
        self.device = torch.device(f"cuda:{self.cards[0]}" if self.cards else "cpu")
        self.extent = opt.extent["height"], opt.extent["width"]


class Scaled(Base):
    def __init__(self, opt):
        super().__init__(opt)
        self.first = torch.zeros(3, device=self.device)

    def scaled(self, times):
        noise = torch.zeros(3)
        return self.first + noise * times
"""


@pytest.mark.slow
def test_settings_get_what_the_function_asks_that_lacks_something(drive: Drive) -> None:
    """A base asks them for what the class itself never speaks of, and compares it with two words."""
    result = drive(SETTINGS_ELSEWHERE, "noise = torch.zeros(3)", "noise = torch.zeros(3, device=self.device)")
    assert result.verdict.kind in {Kind.CONFIRMED, Kind.CONDITIONAL}, result.verdict.reason


@pytest.mark.slow
def test_a_training_loop_gets_a_model_and_batches_on_the_host(drive: Drive) -> None:
    text = """
import torch


def train(model, loader, optimizer, criterion, device):
    model.train()
    for inputs, labels in loader:
        inputs = inputs.to(device)
        loss = criterion(model(inputs), labels)
        loss.backward()
        optimizer.step()
    return loss.item()
"""
    old, new = "criterion(model(inputs), labels)", "criterion(model(inputs), labels.to(device))"
    result = drive(text, old, new)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


def test_an_error_in_what_the_line_of_the_bug_calls_is_that_bug(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.layer = nn.Conv2d(channels, 4, 3)

    def forward(self, x):
        return self.layer(x)

    def try_out(self):
        x = torch.rand(1, 3, 8, 8)
        return self(x).shape
"""
    result = drive(text, "torch.rand(1, 3, 8, 8)", "torch.rand(1, 3, 8, 8, device=self.layer.weight.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "at pack/ops.py:12 is gone" in result.verdict.reason


@pytest.mark.slow
def test_what_the_arguments_cannot_do_after_the_bug_is_not_the_patch(drive: Drive) -> None:
    text = POSITIONS.replace("return x + scale", "y = x + scale") + "    return open('/nowhere/at/all'), y\n"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    told = "the driver then ends with FileNotFoundError at pack/ops.py:9, as on the CPU; if `x` is on the accelerator, "
    assert f"{told}and what follows, and fails with the driver's values" in result.verdict.reason


def test_a_script_whose_packages_are_not_there_is_run_with_stand_ins(drive: Drive) -> None:
    text = """
import torch
import absent_package

absent_package.begin()
x = torch.ones(3).cuda()
print(x + torch.arange(3))
"""
    result = drive(text, "torch.arange(3)", "torch.arange(3, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == ("absent_package",)


@pytest.mark.slow
def test_lines_that_work_on_stand_ins_show_nothing(drive: Drive) -> None:
    text = "import absent_package\n\n\ndef run(x):\n    net = absent_package.Net()\n    return net.cuda() and x\n"
    result = drive(text, "net.cuda()", 'net.to("cuda")')
    assert result.verdict.kind is Kind.INCONCLUSIVE
    assert "stand-ins" in result.verdict.reason


def test_a_name_that_only_the_script_binds_is_given(drive: Drive) -> None:
    text = POSITIONS.replace("(n)", "(n).to(args.device)") + "\n\nif __name__ == '__main__':\n    args = parse()\n"
    result = drive(text, ".to(args.device)", ".to(args.device).to(x.device)")
    assert result.verdict.kind is Kind.HARMLESS, result.verdict.reason
    assert result.harness is not None
    assert "positions.__module__].args = Namespace(device=device)" in (result.harness.text or "")


def test_a_model_that_is_given_gets_the_parts_that_are_asked_of_it(drive: Drive) -> None:
    text = (
        "import torch\n\n\ndef score(model, x):\n    model.eval()\n    return model.encoder(x) + torch.ones(x.shape)\n"
    )
    result = drive(text, "torch.ones(x.shape)", "torch.ones(x.shape, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "encoder=Model('same')" in (result.harness.text if result.harness and result.harness.text else "")


def test_code_that_asks_for_an_accelerator_may_fail_later_for_its_arguments(drive: Drive) -> None:
    text = "import torch\n\n\ndef counts(x):\n    y = x.cuda()\n    return open('/nowhere/at/all'), y\n"
    result = drive(text, "x.cuda()", "x + 0")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "without an accelerator" in result.verdict.reason
    assert "as on an accelerator; if what follows, and fails" in result.verdict.reason


def test_a_checkpoint_of_a_gpu_is_made_where_one_is_loaded(drive: Drive) -> None:
    text = """
import torch


def restored(net: torch.nn.Module, path):
    net.load_state_dict(torch.load(path))
    return net
"""
    result = drive(text, "torch.load(path)", 'torch.load(path, map_location="cpu")')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "without an accelerator RuntimeError at pack/ops.py:6 is gone" in result.verdict.reason


@pytest.mark.slow
def test_a_checkpoint_that_does_not_fit_shows_the_bug_all_the_same(drive: Drive) -> None:
    text = "import torch\n\n\ndef restore(path):\n    torch.nn.Linear(2, 2).load_state_dict(torch.load(path))\n"
    result = drive(text, "torch.load(path)", 'torch.load(path, map_location="cpu")')
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "the driver then ends with RuntimeError at pack/ops.py:5, as on an accelerator" in result.verdict.reason


def test_a_file_whose_name_is_no_module_is_imported(drive: Drive, tree: Path) -> None:
    (tree / "pack").mkdir()
    result = drive(POSITIONS, *ON_X, name="01 ops.py")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


@pytest.mark.parametrize("parameters", ["x, scale=1.0", "x, *, scale", "x, *, scale=1.0, **options"])
def test_parameters_that_a_decorator_hides_are_read_in_the_text(drive: Drive, parameters: str) -> None:
    hiding = "def hiding(f):\n    def inner(*args, **kwargs):\n        return f(*args, **kwargs)\n    return inner\n"
    text = POSITIONS.replace("x, scale=1.0", parameters)
    text = text.replace("def positions", f"{hiding}\n\n@hiding\ndef positions")
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert "result = positions(" in (result.harness.text or "")


def test_an_object_is_no_argument_of_its_own_methods(drive: Drive) -> None:
    """Not where the constructor has options alone, and not where a decorator hides all but the object."""
    text = """
import torch


def hiding(f):
    def inner(self, *args, **kwargs):
        return f(self, *args, **kwargs)
    return inner


class Positions(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.scale = options.get("scale", 1.0)

    @hiding
    def forward(self, x):
        b, n, c = x.shape
        where = torch.arange(n)
        return x + self.scale * where.view(1, n, 1)
"""
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    driver = result.harness.text or ""
    assert "subject = Positions().to(device)\ngiven = dict(x=torch.rand(2, 8, 16, device=device))" in driver


@pytest.mark.parametrize("annotation", ["list[Tensor]", "List[Tensor]", "'list[Tensor]'", "Sequence[Tensor]"])
def test_a_list_of_tensors_is_one_however_it_is_written(drive: Drive, annotation: str) -> None:
    text = f"""
from collections.abc import Sequence
from typing import List

import torch
from torch import Tensor


def joined(parts: {annotation}):
    total = torch.cat(parts)
    return total * torch.arange(total.shape[1])
"""
    result = drive(text, "arange(total.shape[1])", "arange(total.shape[1], device=total.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert "result = joined(" in (result.harness.text or "")


@pytest.mark.parametrize("annotation", ["List[Dict[str, Tensor]]", "list[dict[str, Tensor]]"])
def test_dicts_of_tensors_in_a_list_get_the_entries_that_are_asked_for(drive: Drive, annotation: str) -> None:
    text = f"""
from typing import Dict, List

import torch
from torch import Tensor


def summed(x: Tensor, targets: {annotation}):
    total = x.sum()
    for target in targets:
        boxes = target["boxes"]
        total = total + (boxes[:, 2] - boxes[:, 0]).sum()
    return total + (x * torch.ones(x.shape[1])).sum()
"""
    result = drive(text, "ones(x.shape[1])", "ones(x.shape[1], device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert "result = summed(" in (result.harness.text or "")


def test_a_test_case_is_set_up(drive: Drive) -> None:
    text = """
import unittest

import torch
from torch import nn


class TestNet(unittest.TestCase):
    def setUp(self):
        self.net = nn.Linear(4, 2).to("cuda")

    def test_shape(self):
        self.assertEqual(self.net(torch.rand(3, 4)).shape, (3, 2))
"""
    result = drive(text, "torch.rand(3, 4)", 'torch.rand(3, 4, device="cuda")')
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


def test_packages_that_are_not_there_get_stand_ins(drive: Drive) -> None:
    text = f"import absent_package.layers as layers\nfrom absent_other import thing\n{POSITIONS}"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert sorted(result.harness.absent) == ["absent_other", "absent_package"]


UNFIT = """
import torch
import {package}


def positions(x):
    {package}.note(x)
    where = torch.arange(x.shape[1])
    return x + where
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "has_stand_in"),
    [
        ("operator fittings::nms does not exist", True),
        ("Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!", False),
    ],
)
def test_a_package_that_cannot_be_imported_gets_a_stand_in(
    drive: Drive, tree: Path, said: str, has_stand_in: bool
) -> None:
    installed = tree / "site-packages"
    installed.mkdir()
    (installed / "fittings.py").write_text(f"raise RuntimeError({said!r})\n")
    text = f"import sys\nsys.path.append({str(installed)!r})\n" + UNFIT.format(package="fittings")
    result = drive(text, "torch.arange(x.shape[1])", "torch.arange(x.shape[1], device=x.device)")
    absent = result.harness.absent if result.harness is not None else ()
    assert ("fittings" in absent) is has_stand_in, (result.verdict.reason, absent)


def test_a_module_of_a_package_that_is_not_there_has_what_that_would_give_it(drive: Drive) -> None:
    text = """
import torch
from torch import nn
from absent_lightning import LightningModule, Mixin


class Trainer(LightningModule, Mixin):
    def __init__(self, width=4):
        super().__init__()
        self.save_hyperparameters()
        self.layer = nn.Linear(4, width)

    def training_step(self, batch, index):
        out = self.layer(batch)
        loss = (out - torch.zeros(4)).sum()
        self.log("loss", loss)
        return loss
"""
    result = drive(text, "torch.zeros(4)", "torch.zeros(4, device=self.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert "RuntimeError at pack/ops.py:15 is gone: Expected all tensors" in result.verdict.reason


def test_a_class_with_bases_of_absent_packages_and_of_its_own_is_made(drive: Drive) -> None:
    classes = "class Own(absent_one.Base):\n    pass\n\n\nclass Both(absent_one.Other, Own):\n    pass\n"
    text = f"import absent_one\n\n\n{classes}{POSITIONS}"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


def test_versions_of_an_absent_package_are_new(drive: Drive) -> None:
    test = "if parse('1.2') < parse('2.0') or not parse('2') >= parse('1'):\n    raise OSError\n"
    result = drive(f"from absent_package import parse\n\n{test}{POSITIONS}", *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == ("absent_package",)
    assert result.harness.lines == ()


def test_units_and_settings_of_an_absent_package_do_nothing(drive: Drive) -> None:
    setting = "import absent_package as absent\n\nabsent.settings['size'] = 2\nLENGTH = 3 * absent.metre / 2\n"
    result = drive(setting + POSITIONS, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.lines == ()


@pytest.mark.parametrize("decorator", ["", "@staticmethod\n    "])
def test_a_private_method_is_called_by_its_name_outside_of_the_class(drive: Drive, decorator: str) -> None:
    method = POSITIONS.partition("def positions")[2].replace("\n", "\n    ").rstrip()
    own = "" if decorator else "self, "
    text = f"import torch\n\n\nclass _Maker:\n    {decorator}def __made{method.replace('(', '(' + own, 1)}\n"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert "._Maker__made(" in (result.harness.text or "")


@pytest.mark.slow
def test_a_project_that_is_not_installed_has_a_version(drive: Drive) -> None:
    text = f"from importlib.metadata import version\n{POSITIONS}\n__version__ = version('no-such-project')\n"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == ("no-such-project==0",)


@pytest.mark.parametrize(
    ("setting", "absent"),
    [
        ("TYPES = (np.float, np.float_)", ("numpy.float", "numpy.float_")),
        ("TYPES = (np.float32, np.float64)", ()),
    ],
)
def test_names_that_numpy_had_once(drive: Drive, setting: str, absent: tuple[str, ...]) -> None:
    pytest.importorskip("numpy")
    result = drive(f"import numpy as np\n\n{setting}\n{POSITIONS}", *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == absent


@pytest.mark.parametrize(
    ("imported", "absent"),
    [
        ("from rich.text import Parchment", ("rich.text:Parchment",)),
        pytest.param("from rich.text import Text", (), marks=pytest.mark.slow),
        pytest.param("from rich import tablets, print", ("rich:tablets",), marks=pytest.mark.slow),
    ],
)
def test_names_that_a_package_has_in_other_versions_alone(drive: Drive, imported: str, absent: tuple[str, ...]) -> None:
    result = drive(f"{imported}\n{POSITIONS}", *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == absent


@pytest.mark.slow
@pytest.mark.parametrize("imported", ["from torch.nn import Parchment", "from json import Parchment"])
def test_names_that_torch_and_python_lack_are_missing(drive: Drive, imported: str) -> None:
    result = drive(f"{imported}\n{POSITIONS}", *ON_X)
    assert result.harness is None or not result.harness.absent


def test_a_name_that_numpy_never_had(drive: Drive) -> None:
    pytest.importorskip("numpy")
    result = drive(f"import numpy as np\n\nTYPE = np.no_such_type\n{POSITIONS}", *ON_X)
    assert result.harness is None or not result.harness.absent


@pytest.mark.slow
def test_what_another_base_lacks_is_missing(drive: Drive) -> None:
    text = """
import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        return self.absent(x) + torch.zeros(4)
"""
    assert step(drive(text, "torch.zeros(4)", "torch.zeros(4, device=x.device)")) == "call"


def test_a_package_that_takes_the_one_around_it_out_of_sight_is_told_of(tree: Path, simulation: Simulated) -> None:
    (tree / "pack" / "inner").mkdir(parents=True)
    (tree / "pack" / "inner" / "scale.py").write_text("SCALE = 2.0\n")
    lines = ["import sys", "from pack.inner.scale import SCALE", "del sys.modules['pack']", "import absent_package"]
    (tree / "pack" / "other.py").write_text("\n".join(lines) + "\n")
    text = f"from pack.other import SCALE\n{POSITIONS}"
    (tree / "ops.py").write_text(text)
    change = Change(tree / "ops.py", text.encode(), text.replace(*ON_X).encode())
    [result] = replay_on(simulation, [change], ReplayOptions(timeout=90, parallel_runs=1))
    assert "the search for a driver failed" not in result.verdict.reason


@pytest.mark.parametrize(
    ("imported", "made"),
    [
        ("from .version import __version__, __version_tuple__", "pack.version"),
        ("from . import _extension", None),
        ("from torch.nowhere import sort", None),
        ("from ._extension import sort", "pack._extension"),
        ("from pack.build.names import NAMES", "pack.build"),
        ("from pack.generated import NAMES", None),
    ],
)
def test_modules_that_a_build_makes_are_stood_in_for(
    tree: Path, simulation: Simulated, imported: str, made: str | None
) -> None:
    folder = tree / "pack"
    folder.mkdir()
    (tree / "setup.py").write_text("Extension('pack._extension')\nBUILT = 'pack/build/names.py'\n")
    (tree / "pyproject.toml").write_text("[tool.setuptools_scm]\nwrite_to = 'pack/version.py'\n")
    (folder / "__init__.py").write_text(f"{imported}\n")
    (folder / "ops.py").write_text(POSITIONS)
    change = Change(folder / "ops.py", POSITIONS.encode(), POSITIONS.replace(*ON_X).encode())
    [result] = replay_on(simulation, [change], ReplayOptions(timeout=90, parallel_runs=1))
    assert result.harness is not None
    assert result.harness.absent == ((made,) if made is not None else ())
    expected = Kind.CONFIRMED if made is not None else Kind.CONDITIONAL
    assert result.verdict.kind is expected, result.verdict.reason


def test_a_module_of_the_project_that_is_missing_is_a_condition(drive: Drive) -> None:
    result = drive(f"from pack.generated import table\n{POSITIONS}", *ON_X)
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "what cannot run here does elsewhere (pack/ops.py:1)" in result.verdict.reason
    assert result.harness is not None
    assert (result.harness.absent, result.harness.left_out) == ((), ("pack/ops.py:1",))


IMPORTED = """
import os

from pack.generated import Table
from absent_package import thing

ROOT = os.path.join(os.environ["NO_SUCH_VARIABLE"], "rows")


class Base:
    def __init__(self, scale=1.0):
        self.scale = scale
"""
DERIVED = """
import torch

from pack.base import ROOT, Base


class Positions(Base):
    def of(self, x):
        return x * self.scale + torch.arange(x.shape[0])
"""


def test_a_file_of_the_project_is_imported_as_far_as_it_runs(drive: Drive, tree: Path) -> None:
    (tree / "pack").mkdir(exist_ok=True)
    (tree / "pack" / "base.py").write_text(IMPORTED)
    result = drive(DERIVED, "torch.arange(x.shape[0])", "torch.arange(x.shape[0], device=x.device)")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert result.harness is not None
    assert result.harness.absent == ("absent_package",)
    assert result.harness.left_out == ("pack/base.py:4", "pack/base.py:7")


@pytest.mark.slow
def test_a_device_error_of_an_import_is_none_that_may_be_left_out(drive: Drive, tree: Path) -> None:
    (tree / "pack").mkdir(exist_ok=True)
    (tree / "pack" / "base.py").write_text("import torch\n\nROWS = torch.ones(3).cuda() + torch.ones(3)\n")
    assert step(drive(f"from pack.base import ROWS\n{POSITIONS}", *ON_X)) == "import"


@pytest.mark.slow
def test_a_patched_statement_is_none_that_may_be_left_out(drive: Drive) -> None:
    text = "import torch\n\nROWS = [torch.arange(3)][1]\n"
    assert step(drive(text + POSITIONS, "torch.arange(3)", "torch.arange(4)")) in ("import", "run")


def test_a_folder_without_an_init_file_is_imported_anew_with_its_package(tree: Path, simulation: Simulated) -> None:
    folder = tree / "pack" / "plain"
    folder.mkdir(parents=True)
    (tree / "pack" / "__init__.py").touch()
    (folder / "scale.py").write_text("import absent_package\n\nSCALE = 2.0\n")
    text = f"from .scale import SCALE\n{POSITIONS}"
    (folder / "ops.py").write_text(text)
    change = Change(folder / "ops.py", text.encode(), text.replace(*ON_X).encode())
    [result] = replay_on(simulation, [change], ReplayOptions(timeout=90, parallel_runs=1))
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert (result.harness.absent, result.harness.lines) == (("absent_package",), ())


def test_a_package_that_may_be_absent_is_left_absent(drive: Drive) -> None:
    text = f"try:\n    import absent_package\nexcept ImportError:\n    absent_package = None\n{POSITIONS}"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert result.harness is not None
    assert not result.harness.absent


def test_a_device_error_elsewhere_confirms_nothing(drive: Drive) -> None:
    text = """
import torch


def helper(x):
    return x + torch.ones(x.shape)


def asked(x):
    kept = torch.zeros(3)
    return helper(x)
"""
    result = drive(text, "torch.zeros(3)", "torch.zeros(3, device=x.device)")
    assert step(result) == "call"
    assert "pack/ops.py:6" in result.verdict.reason


def test_what_cannot_be_imported_stops_there(drive: Drive) -> None:
    result = drive(f"raise ValueError('not now')\n{POSITIONS}", *ON_X)
    assert step(result) == "import"
    assert "ValueError at pack/ops.py:1: not now" in result.verdict.reason


@pytest.mark.slow
def test_arguments_that_are_not_found_stop_at_the_call(drive: Drive) -> None:
    guard = "    if x.shape != (3, 5, 7, 11, 13, 17):\n        raise ValueError\n"
    text = POSITIONS.replace("    b, n, c", f"{guard}    b, n, c")
    result = drive(text, *ON_X)
    assert step(result) == "call"


@pytest.mark.slow
def test_lines_that_nothing_leads_to_are_not_judged(drive: Drive) -> None:
    text = "def never(x):\n    if x.dtype.is_complex:\n        return x + 1\n    return x\n"
    result = drive(text, "x + 1", "1 + x")
    assert step(result) == "reach the patched lines"


def test_statements_outside_of_functions_are_not_driven(drive: Drive) -> None:
    result = drive("import torch\n\nTABLE = torch.ones(3)\n", "torch.ones(3)", 'torch.ones(3, device="cpu")')
    assert step(result) == "target"


@pytest.mark.slow
def test_an_object_that_cannot_be_made_stops_there(drive: Drive) -> None:
    text = """
import torch


class Reader:
    def __init__(self, where):
        raise NotImplementedError(where)

    def read(self, x):
        return x + torch.ones(x.shape)
"""
    result = drive(text, "torch.ones(x.shape)", "torch.ones_like(x)")
    assert step(result) == "make the object"


@pytest.mark.slow
def test_an_unbound_name_refutes(drive: Drive) -> None:
    text = "import torch\n\n\ndef same(x):\n    return x.new_ones(x.shape) + x\n"
    result = drive(text, "x.new_ones(x.shape)", "x.new_ones(x.shape, device=device)")
    assert result.verdict.kind is Kind.REFUTED
    assert "NameError at pack/ops.py:5" in result.verdict.reason
    assert result.holds == result.path.read_bytes()


SAME = "\n\ndef same(x):\n    return x.new_ones(x.shape) + x\n"
BROKEN = ("x.new_ones(x.shape)", "x.new_ones(x.shape, device=device)")


@pytest.mark.slow
def test_a_fix_that_breaks_is_withdrawn_and_the_others_are_judged(tree: Path, simulation: Simulated) -> None:
    result = drive_fixes(tree, simulation, POSITIONS + SAME, ON_X, BROKEN)
    assert result.verdict.kind is Kind.REFUTED
    assert result.verdict.reason.startswith("DVF104 at line 12 breaks it: ")
    assert "NameError at ops.py:12" in result.verdict.reason
    assert "the rest is confirmed: RuntimeError at ops.py:8 is gone" in result.verdict.reason
    assert {fix.finding.span.line: fix.kind for fix in result.fixes} == {7: Kind.CONFIRMED, 12: Kind.REFUTED}
    assert [one.span.line for one in result.withdrawn] == [12]
    assert result.holds == (POSITIONS + SAME).replace(*ON_X).encode()
    assert result.after is not None
    assert result.after.passed


@pytest.mark.slow
def test_each_fix_of_lines_that_follow_each_other_has_its_own_verdict(tree: Path, simulation: Simulated) -> None:
    text = f"{POSITIONS}    unused = torch.zeros(1)\n".replace("where = torch.arange(n)\n    ", "").replace(
        "where.view", "torch.arange(n).view"
    )
    unused = ("torch.zeros(1)", "torch.zeros(1, device=x.device)")
    result = drive_fixes(tree, simulation, text, ON_X, unused)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert {fix.finding.span.line: fix.kind for fix in result.fixes} == {7: Kind.CONFIRMED, 8: Kind.NOT_REACHED}


@pytest.mark.slow
def test_where_drivers_refute_all_fixes_the_file_stays_as_it_was(tree: Path, simulation: Simulated) -> None:
    result = drive_fixes(tree, simulation, POSITIONS + SAME, (ON_X[0], "torch.arange(n, device=device)"), BROKEN)
    assert result.verdict.kind is Kind.REFUTED
    assert "the rest" not in result.verdict.reason
    assert {fix.kind for fix in result.fixes} == {Kind.REFUTED}
    assert result.holds == (POSITIONS + SAME).encode()


@pytest.mark.slow
def test_what_breaks_one_file_is_not_there_for_the_next(tree: Path, simulation: Simulated) -> None:
    first = fixed(tree / "first.py", "import torch" + SAME, BROKEN)
    second = fixed(tree / "second.py", f"from first import same\n{POSITIONS}", ON_X)
    broken, whole = replay_on(simulation, [first, second], ReplayOptions(timeout=90, parallel_runs=1))
    assert (broken.verdict.kind, whole.verdict.kind) == (Kind.REFUTED, Kind.CONFIRMED), whole.verdict.reason
    assert broken.holds == first.before


def drive_fixes(tree: Path, simulation: Simulated, text: str, *fixes: tuple[str, str]) -> ReplayResult:
    """Replay a file in which each fix puts another text in the place of one."""
    change = fixed(tree / "ops.py", text, *fixes)
    return replay_on(simulation, [change], ReplayOptions(timeout=90, parallel_runs=1))[0]


def fixed(path: Path, text: str, *fixes: tuple[str, str]) -> Change:
    path.write_text(text)
    findings = {_finding(text[: text.index(old)].count("\n") + 1): (old, new) for old, new in fixes}

    def only(chosen: Sequence[Finding]) -> bytes:
        made = text
        for finding, (old, new) in findings.items():
            made = made.replace(old, new) if finding in chosen else made
        return made.encode()

    every = tuple(findings)
    return Change(path, text.encode(), only(every), every, only)


def _finding(line: int) -> Finding:
    fix = Fix(Safety.SAFE, "", (InsertStatement(Span(line, 0, line, 1), "pass", "before"),))
    return Finding("DVF104", "factory-without-device", f"line {line}", Span(line, 0, line, 1), fix=fix)


LATE = """
import torch
import absent_package


def load(path, width=4):
    rows = torch.ones(3, width)
    return torch.nn.Linear(width, 4)(rows)


if __name__ == "__main__":
    {early}
    load("here")
    {late}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("early", "late", "refuted"), [("", "device = 'cpu'", True), ("device = 'cpu'", "", False), ("", "", True)]
)
def test_a_name_that_a_patch_alone_reads_is_there_where_the_script_binds_it_before_its_call(
    drive: Drive, early: str, late: str, refuted: bool
) -> None:
    text = LATE.format(early=early or "pass", late=late or "pass")
    result = drive(text, "torch.ones(3, width)", "torch.ones(3, width, device=device)")
    assert (result.verdict.kind is Kind.REFUTED) is refuted, result.verdict.reason
    assert ("name 'device' is not defined" in result.verdict.reason) is refuted


@pytest.mark.slow
@pytest.mark.parametrize(("device", "confirmed"), [("model.device", False), ("data.device", True)])
def test_a_module_has_no_attribute_that_a_patch_alone_reads(drive: Drive, device: str, confirmed: bool) -> None:
    text = """
import torch


def scores(model, data):
    model.eval()
    out = model(data)
    return out + torch.zeros(out.shape)
"""
    result = drive(text, "torch.zeros(out.shape)", f"torch.zeros(out.shape, device={device})")
    assert (result.verdict.kind is Kind.CONFIRMED) is confirmed, result.verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize(("device", "confirmed"), [("model.device", False), ("x.device", True)])
def test_lines_alone_are_given_the_module_that_the_function_takes(drive: Drive, device: str, confirmed: bool) -> None:
    text = """
import torch


def scores(model, x):
    model.eval()
    rows = open("/absent/rows").read()
    out = model(x)
    ones = torch.ones(len(x)).cuda()
    return out, ones, rows
"""
    result = drive(text, ".cuda()", f".to({device})")
    assert (result.verdict.kind is Kind.CONDITIONAL) is confirmed, result.verdict.reason


@pytest.mark.slow
@pytest.mark.parametrize(("moved", "confirmed"), [(".cuda()", False), ("", True), (".cuda() if on else None", True)])
def test_code_that_needs_an_accelerator_before_shows_nothing_without_one(
    drive: Drive, moved: str, confirmed: bool
) -> None:
    text = f"""
import torch
from absent_package import Net


def restored(path, on=False):
    open("/absent/log").read()
    model = Net(){moved}
    state = torch.load(path)
    return model, state
"""
    result = drive(text, "torch.load(path)", "torch.load(path, map_location='cpu')")
    assert (result.verdict.kind is Kind.CONDITIONAL) is confirmed, result.verdict.reason


@pytest.mark.slow
def test_lines_that_only_name_a_device_show_nothing(tree: Path, simulation: Simulated) -> None:
    text = 'import torch\nrows = open("/absent/rows").read()\ndevice = "cuda"\nprint(rows)\n'
    fix = ('"cuda"', '"cuda" if torch.cuda.is_available() else "cpu"')
    result = drive_fixes(tree, simulation, text, fix)
    assert result.verdict.kind is Kind.INCONCLUSIVE
    computed = text.replace('"cuda"', "torch.ones(2).add(1)")
    assert drive_fixes(tree, simulation, computed, ("add(1)", "add( 1)")).verdict.kind is Kind.HARMLESS


@pytest.mark.slow
def test_arguments_that_the_patch_cannot_take_do_not_refute(drive: Drive) -> None:
    text = "import torch\n\n\ndef same(x):\n    return x.new_ones(x.shape) + x\n"
    result = drive(text, "x.new_ones(x.shape)", "x.new_ones(x.shape, device=x.no_such_attribute)")
    assert step(result) == "call"


def test_nothing_is_driven_where_it_is_not_wanted_or_nothing_can_show(drive: Drive) -> None:
    result = drive(POSITIONS, *ON_X, harness=False)
    assert (result.verdict.kind, result.harness) == (Kind.INCONCLUSIVE, None)
    result = drive(POSITIONS, *ON_X, backend=PlainCpu())
    assert (result.verdict.kind, result.harness) == (Kind.INCONCLUSIVE, None)


def test_a_driver_leaves_nothing_behind_and_the_tree_alone(
    drive: Drive, tree: Path, copies: Callable[[], list[Path]]
) -> None:
    text = f"open('made.txt', 'w').write('x')\n{POSITIONS}"
    result = drive(text, *ON_X)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert not copies()
    assert sorted(path.name for path in tree.rglob("*")) == ["__init__.py", "ops.py", "pack", "pyproject.toml"]


@pytest.mark.slow
def test_a_driver_runs_in_the_sandbox(drive: Drive, bubblewrap: Bubblewrap, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    guarded = f"try:\n    open({str(outside)!r}, 'w')\nexcept OSError:\n    pass\n"
    result = drive(f"{guarded}{POSITIONS}", *ON_X, confinement=bubblewrap)
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason
    assert not outside.exists()


def test_a_driver_that_is_kept_can_be_read(drive: Drive) -> None:
    result = drive(POSITIONS, *ON_X, keep=True)
    assert result.harness is not None
    assert result.harness.kept is not None
    assert result.harness.kept.read_text() == result.harness.text


# Notebooks


def drive_cells(tree: Path, simulation: Simulated, old: str, new: str, *cells: str) -> ReplayResult:
    """Replay a notebook that does not run, in which `old` becomes `new`."""
    path = tree / "train.ipynb"
    made = [{"cell_type": "code", "metadata": {}, "source": one, "outputs": []} for one in cells]
    document = json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    path.write_text(document)
    assert old in document
    change = Change(path, document.encode(), document.replace(old, new).encode())
    return replay_on(simulation, [change], ReplayOptions(timeout=90, parallel_runs=1))[0]


READ = "import torch\nimages = open('/absent/images').read()"


@pytest.mark.slow
def test_a_function_of_a_notebook_is_driven(tree: Path, simulation: Simulated) -> None:
    (tree / "train_cells.py").write_text("raise ValueError('a file of the user')\n")
    result = drive_cells(tree, simulation, *ON_X, READ, POSITIONS.strip(), "print(positions(images.cuda()))")
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert result.verdict.reason.startswith("RuntimeError at train.ipynb:cell 2:7 is gone: Expected all tensors")
    assert result.harness is not None
    assert (result.harness.function, result.harness.step) == ("positions", None)
    assert sorted(path.name for path in tree.iterdir()) == ["pyproject.toml", "train.ipynb", "train_cells.py"]


@pytest.mark.slow
def test_lines_of_a_notebook_are_run_alone(tree: Path, simulation: Simulated) -> None:
    lines = "rows = images.to('cuda')\nprint(rows.sum() + torch.arange(4).view(4, 1))"
    fixed = ("arange(4)", "arange(4, device=rows.device)")
    result = drive_cells(tree, simulation, *fixed, READ, lines)
    assert result.verdict.kind is Kind.CONDITIONAL, result.verdict.reason
    assert "train.ipynb:cell 2:2 is gone" in result.verdict.reason
    assert result.harness is not None
    assert result.harness.function == "train.ipynb"


@pytest.mark.slow
def test_a_function_of_a_notebook_that_a_patch_breaks_is_refuted(tree: Path, simulation: Simulated) -> None:
    result = drive_cells(tree, simulation, *BROKEN, READ, SAME.strip(), "same(images)")
    assert result.verdict.kind is Kind.REFUTED
    assert "NameError at train.ipynb:cell 2:2" in result.verdict.reason
    assert result.holds == result.path.read_bytes()


@pytest.mark.slow
def test_where_a_notebook_cannot_be_driven_is_told_by_its_cell(tree: Path, simulation: Simulated) -> None:
    function = "def scaled(x):\n    width = unknown\n    y = torch.ones(width)\n    return x"
    result = drive_cells(tree, simulation, "ones(width)", "ones(width, device=x.device)", READ, function)
    assert step(result) == "call"
    assert "NameError at train.ipynb:cell 2:2: " in result.verdict.reason


@pytest.mark.slow
def test_a_notebook_that_cannot_be_read_is_not_driven(tree: Path, simulation: Simulated) -> None:
    result = drive_cells(tree, simulation, "x = 1", "x = 2", "x = 1\nfor\n")
    assert result.verdict.kind is Kind.INCONCLUSIVE


BASE = """
class Base:
    def __init__(self, args):
        self.args = args
        self.count = self.args["count"]
        self.width = self.args["width"]
"""
SETTINGS = """
import torch
from pack.base import Base


class Trainer(Base):
    def shifted(self, x: torch.Tensor):
        return x + torch.zeros(1) * self.count
"""


def test_settings_that_are_read_by_their_keys(drive: Drive, tree: Path) -> None:
    (tree / "pack").mkdir(exist_ok=True)
    (tree / "pack" / "base.py").write_text(BASE)
    result = drive(SETTINGS, "torch.zeros(1)", "torch.zeros(1, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


@pytest.mark.slow
def test_settings_with_a_key_that_is_a_keyword(drive: Drive) -> None:
    text = "import torch\n\n\ndef shifted(x: torch.Tensor, cfg):\n    return x + torch.zeros(1) * cfg['lambda']\n"
    result = drive(text, "torch.zeros(1)", "torch.zeros(1, device=x.device)")
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict.reason


@pytest.mark.slow
def test_a_module_of_torch_that_fails_has_a_stand_in_and_torch_has_none(drive: Drive, tree: Path) -> None:
    installed = tree / "site-packages"
    installed.mkdir()
    (installed / "fittings.py").write_text("raise RuntimeError('not built')\n")
    text = f"import torch\ntorch.__path__.append({str(installed)!r})\n" + UNFIT.format(package="torch.fittings")
    result = drive(text, "torch.arange(x.shape[1])", "torch.arange(x.shape[1], device=x.device)")
    assert result.harness is not None, result.verdict.reason
    assert result.harness.absent == ("torch.fittings",)
