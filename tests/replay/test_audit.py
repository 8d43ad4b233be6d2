"""`devfix audit`: where everything lives, what is moved, and what is installed."""

import json
from pathlib import Path
from typing import Any

import pytest
from devfix.__main__ import main
from devfix.replay import auditing_installation
from devfix.replay.probe.audit import Audit
from devfix.replay.probe.facts import Facts

TRAINING = """
import copy, torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 8)
        self.bn = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.bn(self.fc(x)).relu())

@torch.no_grad()
def update(ema, model):
    for mean, parameter in zip(ema.parameters(), model.parameters()):
        mean.lerp_(parameter.to(mean.device), 0.1)

def train(model, loader, optimizer, device):
    ema = copy.deepcopy(model).cpu()
    loss_fn = nn.CrossEntropyLoss(weight=torch.ones(3).to(device))
    for data, target in loader:
        data = data.to(device, non_blocking=True)
        target = target.to(device)
        optimizer.zero_grad()
        loss = loss_fn(model(data), target)
        loss.backward()
        optimizer.step()
        update(ema, model)
        print(f"loss {loss.item():.3f}")

device = torch.device("cuda")
model = Net().to(device)
pairs = TensorDataset(torch.randn(64, 4), torch.zeros(64, dtype=torch.long))
train(model, DataLoader(pairs, batch_size=16), torch.optim.Adam(model.parameters()), device)
"""


@pytest.fixture
def script(tree: Path) -> Path:
    return tree / "train.py"


def audited(script: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    code = main(["audit", str(script), "--on", "simulated", "--output-format", "json", *options])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)["audit"]
    return code, document


def test_where_everything_lives_and_what_is_moved(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(TRAINING)
    assert main(["audit", str(script), "--on", "simulated"]) == 0
    told = capsys.readouterr().out
    # The weights move once, before the first step ends: they are no traffic of a step.
    assert "model = Net().to(device)" not in told
    assert "loss 1" not in told
    for line in (
        "simulated: 3 optimizer steps\n",
        "models:\n  model (Net): cuda:0\n",
        "averages and copies:\n  ema (Net): the host, written to outside an optimizer\n",
        "  optimizer (Adam): parameters on cuda:0, state: cuda:0\n",
        "  0 float32[16, 4] on the host; 1 int64[16] on the host (not pinned) at train.py:24: for data, target in",
        "losses:\n  on cuda:0 at train.py:29: loss.backward()\n",
        "moved in a step: 384 B to devices, 332 B to the host:\n",
        "  1 × the host → cuda:0, 256 B (not pinned, non_blocking) at train.py:25: data = data.to(device, non_",
        "  1 × the host → cuda:0, 128 B (not pinned) at train.py:26: target = target.to(device)\n",
        "  6 × cuda:0 → the host, 332 B (waits) at train.py:19: mean.lerp_(parameter.to(mean.device), 0.1)\n",
        "  1 × waits for .item() at train.py:32: print(",
        "nothing odd\n",
    ):
        assert line in told


def test_a_module_in_two_places_is_odd(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(TRAINING.replace(".to(device)\npairs", ".to(device); model.spare = nn.Linear(2, 2)\npairs"))
    code, document = audited(script, capsys, "--steps", "1")
    assert code == 1
    assert document["steps"] == 1
    assert document["odd"] == [
        "`model` (Net) is in more than one place: spare.weight on the host, spare.bias on the host"
    ]


FROZEN = """
import torch
from torch import nn

class {name}(nn.Linear):
    pass

teacher = {name}(4, 4).to("cuda")
model = nn.Linear(4, 4).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
x = torch.ones(2, 4, device="cuda")
(model(x) - teacher(x).detach()).sum().backward()
optimizer.step()
"""


@pytest.mark.parametrize(
    ("name", "title"),
    [("SemanticEncoder", "others"), ("ModelEma", "averages and copies"), ("EMAModel", "averages and copies")],
)
def test_the_name_of_an_average_has_the_word(
    script: Path, capsys: pytest.CaptureFixture[str], name: str, title: str
) -> None:
    script.write_text(FROZEN.format(name=name))
    assert main(["audit", str(script), "--on", "simulated"]) == 0
    assert f"\n{title}:\n  teacher ({name}): cuda:0\n" in capsys.readouterr().out


PARTLY = """
import torch
from torch import nn

class Net(nn.Linear):
    def forward(self, x, shaped):
        return super().forward(x.to(self.weight.device))

model = Net(4, 4).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
for step in range(2):
    model(torch.ones(2, 4), torch.ones(2, device="meta")).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    optimizer.state[model.bias]["momentum_buffer"] = torch.ones({size})
    model.bias.requires_grad_(False)
"""


def test_what_is_odd_is_named_alone(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(PARTLY.replace("{size}", "4"))
    code, document = audited(script, capsys)
    assert (code, document["odd"]) == (
        1,
        [
            "a part of the state of `optimizer` is on the host, its parameters on cuda:0",
            "Net, on cuda:0, gets input on the host at train.py:12",
        ],
    )
    script.write_text(PARTLY.replace("{size}", "4, device='cuda'"))
    assert audited(script, capsys)[1]["odd"] == ["Net, on cuda:0, gets input on the host at train.py:12"]


def test_a_crash_is_told_as_a_postmortem(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(TRAINING.replace("target = target.to(device)", "pass"))
    code, document = audited(script, capsys)
    assert code == 1
    assert document["steps"] == 0
    assert document["postmortem"]["code"] == "loss_fn(model(data), target)"
    assert "RuntimeError at train.py:28" in document["error"]
    assert [site["line"] for site in document["batches"]] == [24]
    assert document["odd"] == ["CrossEntropyLoss, on cuda:0, gets input on the host at train.py:28"]


def test_a_crash_is_not_told_as_nothing_odd(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("raise ValueError('no data')\n")
    assert main(["audit", str(script), "--on", "cpu"]) == 1
    told = capsys.readouterr().out
    assert "0 optimizer steps, then ValueError at train.py:1: no data" in told
    assert "nothing odd" not in told


def test_a_device_that_nothing_uses_is_odd(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(TRAINING.replace('torch.device("cuda")', 'torch.device("cpu")'))
    code, document = audited(script, capsys)
    assert code == 1
    assert document["odd"] == ["a device is there, but every model is on the host"]
    assert not document["moves"]
    assert not document["waits"]


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(tmp_path / "none.py")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["audit", str(tmp_path)]) == 2
    assert main(["audit", str(tmp_path / "none.py"), "--steps", "0"]) == 2


CPU_BUILD: dict[str, Any] = {"torch": "2.9", "python": "3.12", "cuda_build": None, "devices": {}, "variables": {}}
CUDA_BUILD = CPU_BUILD | {"torch": "2.9.0", "cuda_build": "12.8"}


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (CPU_BUILD, None),
        (
            CPU_BUILD | {"nvidia_driver": "550.54", "driver_cuda": [12, 4]},
            "built for the CPU only: install a CUDA build",
        ),
        (
            CPU_BUILD | {"nvidia_driver": "550.54", "xpu_build": "20250101"},
            "this torch is built for XPU 20250101: install a CUDA build",
        ),
        (CUDA_BUILD, "built for CUDA 12.8, and there is no NVIDIA driver"),
        (CUDA_BUILD | {"driver_cuda": [11, 8]}, "the driver serves up to CUDA 11.8: update the driver"),
        (CUDA_BUILD | {"driver_cuda": [12, 4], "devices": {"cuda": ["H100"]}}, None),
        (CUDA_BUILD | {"driver_cuda": [12, 8], "variables": {"CUDA_VISIBLE_DEVICES": ""}}, "hides every device"),
        (
            CUDA_BUILD
            | {"driver_cuda": [12, 8], "devices": {"cuda": ["H100"]}, "variables": {"HIP_VISIBLE_DEVICES": "-1"}},
            None,
        ),
        (CPU_BUILD | {"amd_driver": True}, "no ROCm build"),
        (CPU_BUILD | {"hip_build": "6.3"}, "there is no AMD driver"),
        (CUDA_BUILD | {"nvidia_driver": "580.1", "driver_cuda": [13, 0], "cuda_error": "No CUDA GPUs"}, "No CUDA GPUs"),
        ({"torch": None, "torch_error": "No module named 'torch'"}, "No module named 'torch'"),
    ],
)
def test_what_does_not_fit_together(facts: dict[str, Any], told: str | None) -> None:
    found = auditing_installation.mismatches(facts)
    assert len(found) == (told is not None)
    assert told is None or told in found[0]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import ctypes\nctypes.CDLL('libcudart.so.11.0')", "libcudart.so.11.0: cannot open shared object file"),
        ("raise ImportError('an undefined symbol')", "an undefined symbol"),
        ("__version__ = '2.9'", "has no attribute 'backends'"),
    ],
)
def test_a_torch_that_is_broken_is_told_of(
    tmp_path: Path, script: Path, capsys: pytest.CaptureFixture[str], text: str, why: str
) -> None:
    script.write_text("print(1)")
    (tmp_path / "elsewhere" / "torch").mkdir(parents=True)
    (tmp_path / "elsewhere" / "torch" / "__init__.py").write_text(text)
    assert main(["audit", str(script), "--on", "cpu", "--env", f"PYTHONPATH={tmp_path / 'elsewhere'}"]) == 1
    printed = " ".join(capsys.readouterr().out.split())
    assert "no torch that can be imported, Python" in printed
    assert "odd: torch cannot be imported: " in printed
    assert why in printed


ARRAYS = """
import numpy as np, torch
from torch.utils.data import DataLoader

rows = [np.ones(4, dtype=np.float32) for _ in range(8)]
model = torch.nn.Linear(4, 1).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(rows, batch_size=4, collate_fn=np.stack):
    model(torch.from_numpy(batch).to("cuda")).sum().backward()
    optimizer.step()
"""


def test_a_loader_that_gives_arrays_gives_no_tensors(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(ARRAYS)
    code, document = audited(script, capsys)
    assert (code, document["steps"], document["batches"]) == (0, 2, [])


NESTED = """
import torch
from torch.utils.data import DataLoader

rows = [{"inputs": {"x": torch.ones(4)}} for _ in range(8)]
model = torch.nn.Linear(4, 1).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for batch in DataLoader(rows, batch_size=4, pin_memory=True):
    x = batch["inputs"]["x"].to("cuda", torch.float32, True)
    z = batch["inputs"]["x"].to("cuda", torch.float32, False, True)
    model(x + z).sum().backward()
    optimizer.step()
"""


def test_pinned_batches_and_moves_that_do_not_wait(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(NESTED)
    _, document = audited(script, capsys)
    assert [site["pinned"] for site in document["batches"]] == [True]
    waiting = {site["line"]: site["non_blocking"] for site in document["moves"]}
    assert (waiting[9], waiting[10]) == (True, False)


def test_a_module_is_looked_through_once_for_a_line_that_calls_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    looked, describe = [], Facts.describe
    monkeypatch.setattr(Facts, "describe", lambda facts, value: looked.append(value) or describe(facts, value))
    code = "def call(audit, module, x):\n    return audit._called(type(module).__call__, module, x)\n"
    code += "for _ in range(3):\n    call(audit, module, x)\n"
    module, audit = torch.nn.Linear(2, 2), Audit(torch, tmp_path, lambda record: None)
    exec(compile(code, str(tmp_path / "train.py"), "exec"), {"audit": audit, "module": module, "x": torch.ones(2)})
    assert sum(one is module for one in looked) == 1
    assert [site["at"] for site in audit.record()["inputs"]] == [["cpu"]]
