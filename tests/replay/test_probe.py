"""The probe: the errors it knows, the interpreters it runs on, and what it sees of torch."""

import ast
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.replay.backends import Accelerator, BackendError, Simulated, select
from devfix.replay.outcomes import Outcome
from devfix.replay.probe import ask, errors
from devfix.replay.results import ReplayResult
from devfix.replay.verdicts import Kind

Replay = Callable[..., ReplayResult]

PROBE = Path(errors.__file__).parent

DEVICE_MESSAGES = (
    "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
    "Expected all tensors to be on the same device, but got mat1 is on cpu, different from other tensors on cuda:0",
    "expected device cuda:0 but got device cpu",
    "All input tensors must be on the same device. Received cuda:0 and cpu",
    "Tensor on device cpu is not on the expected device meta!",
    "Placeholder storage has not been allocated on MPS device!",
    "Torch not compiled with CUDA enabled",
    "No CUDA GPUs are available",
    "PyTorch is not linked with support for mps devices",
    "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False. If you are running",
    "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    "can't convert CUDA tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first.",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    "Input type (MPSFloatType) and weight type (torch.FloatTensor) should be the same",
    "expected self and mask to be on the same device, but got mask on cpu and self on cuda:0",
    "grad_scale must be on the same GPU device as the params",
    "Input and parameter tensors are not at the same device, found input tensor at cuda:0 and parameter tensor at cpu",
    "User specified autocast device_type must be 'cuda' or 'cpu'",
    "User specified an unsupported autocast device_type 'cuda:0'",
    "autocast.__init__() got an unexpected keyword argument 'device'",
    "autocast.__init__() missing 1 required positional argument: 'device_type'",
    "__init__() missing 1 required positional argument: 'device_type'",
    "Expected `device_type` of type `str`, got: `<class 'torch.device'>`",
    "Tensor for argument #2 'weight' is on CPU, but expected it to be on GPU",
    "expected backend CPU and dtype Float but got backend CUDA and dtype Float",
    "arguments are located on different GPUs",
    "module must have its parameters and buffers on device cuda:0 (device_ids[0]) but found one of them on device: cpu",
    "Encountered different devices in metric calculation (see stacktrace for details).",
    "indices should be either on cpu or on the same device as the indexed tensor (cpu)",
    "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    "Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor at cpu",
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' method",
    "Expected a 'cuda' device type for generator but found 'cpu'",
    "Expected a 'cuda:0' generator device but found 'cuda'",
    "CUDA error: invalid device ordinal",
    "Expected tensor to have cuda Device, but got tensor with cpu Device (while checking arguments for torch.x():)",
    "Expected data.get_device() == offsets_value.get_device() to be true, but got false.",
    "grid_sampler(): expected input and grid to be on same device, but input is on cpu and grid is on cuda:0",
    "meshgrid expects all tensors to have the same device",
    "torch.gradient expected each tensor to be on the same device, but got devices cuda:0 and cpu!",
    "stft input and window must be on the same device but got self on cuda:0 and window on cpu",
    "multi_dot(): all tensors must be on the same device but tensor 0 is on cuda:0 and tensor 1 on cpu",
    "quantile() q tensor must be on the same device as the input tensor",
    "tensor_split expected tensor_indices_or_sections to be on cpu, but it's on cuda:0",
    "Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, but expected them to be on GPU",
    "Tensor for argument weight is on cpu but expected on mps",
    "Input, output and indices must be on the current device",
    "expected condition, x and y to be on the same device, but condition is on cuda:0",
    "Expected tensor for argument #1 'input' to have the same device as tensor for argument #2",
    "index_copy_(): self, index and source expected to be in the same device, but got (self) cpu",
    "index must be CUDA tensor",
    "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
)


@pytest.mark.parametrize("message", DEVICE_MESSAGES)
def test_device_errors_are_known_by_their_message(message: str) -> None:
    record = errors.describe(RuntimeError(message), PROBE)
    assert record["device"]
    assert record["message"] == message


@pytest.mark.parametrize(
    "message",
    [
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        "CUDA out of memory. Tried to allocate 2.00 GiB",
        "expected scalar type Float but found Half",
        "Input type (float) and bias type (c10::Half) should be the same",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same",
        "Input type (torch.FloatTensor) and weight type (torch.HalfTensor) should be the same",
        "tensors used as indices must be long, byte or bool tensors",
        "'lengths' argument should be a 1D CPU int64 tensor, but got 2D cpu Long tensor",
        "[Errno 2] No such file or directory: '/dev/device'",
        "CUDA error: device-side assert triggered",
        "",
    ],
)
def test_other_errors_are_not_device_errors(message: str) -> None:
    assert not errors.describe(RuntimeError(message), PROBE)["device"]


def test_a_device_error_is_found_inside_other_errors() -> None:
    inner = RuntimeError("Caught RuntimeError in DataLoader worker process 0.\nTraceback\nNo CUDA GPUs are available\n")
    outer = ValueError("training failed")
    outer.__cause__ = inner
    record = errors.describe(outer, PROBE)
    assert (record["type"], record["message"]) == ("RuntimeError", "No CUDA GPUs are available")
    inner.__cause__ = outer
    assert errors.describe(outer, PROBE)["device"]


def interpreters() -> list[str]:
    """Other Pythons on this machine that start."""
    found = [shutil.which(f"python3.{minor}") for minor in range(9, 15)]
    return [path for path in found if path and _version(path)]


def _version(path: str) -> bool:
    return subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("python", interpreters() or [sys.executable])
def test_the_probe_works_on_every_interpreter(replay: Replay, python: str) -> None:
    script = """
import threading
def f(x):
    y = [
        x,
    ]
    return y
def g():
    return 1
thread = threading.Thread(target=f, args=(1,))
thread.start()
thread.join()
raise RuntimeError("No CUDA GPUs are available")
"""
    patched = script.replace("        x,", "        x, x,").replace("return 1", "return 2")
    result = replay(script, patched.replace("raise Runtime", "print ; Runtime"), python=python)
    assert result.before is not None
    assert result.before.device_error is not None
    assert result.before.device_error.line == 13
    assert result.after is not None
    assert result.after.passed
    assert {line for _, line in result.after.reached} & {4, 5, 6}
    assert result.verdict.kind is Kind.CONFIRMED
    assert result.verdict.missed == (9,)


@pytest.mark.parametrize("file", sorted(PROBE.glob("*.py")), ids=lambda file: file.name)
def test_the_probe_is_written_for_python_3_9_and_imports_nothing_of_devfix(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 9))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("devfix") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            assert not (node.module or "").startswith("devfix")


TRAINING = """
import numpy, torch
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    with torch.amp.autocast(enabled=False):
        loss = model(torch.randn(4, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(numpy.random.rand(), f"{loss.item():.4f}")
"""


@pytest.mark.slow
def test_a_missing_device_type_is_confirmed_on_a_cpu_and_losses_are_recorded(replay: Replay) -> None:
    result = replay(TRAINING, TRAINING.replace("enabled", "'cpu', enabled"))
    assert result.verdict.kind is Kind.CONFIRMED, result.verdict
    assert result.before is not None
    assert result.before.error is not None
    assert (result.before.error.type, result.before.error.line) == ("TypeError", 6)
    assert result.after is not None
    assert len(result.after.losses) == 3


@pytest.mark.slow
def test_losses_are_compared(replay: Replay) -> None:
    works = TRAINING.replace("enabled", "'cpu', enabled")
    alike = replay(works, works.replace("enabled=False", "enabled = False"))
    assert alike.verdict.reason == "a device bug cannot show on the plain CPU; losses agree (3)"
    other = replay(works, works.replace("mean()", "sum()"))
    assert other.verdict.kind is Kind.REFUTED
    assert other.verdict.reason.startswith("computes something else: loss 1 is")


def test_torch_is_asked_what_it_sees() -> None:
    assert isinstance(select("auto", sys.executable), Accelerator | Simulated)


def test_asking_for_what_is_not_there_is_an_error() -> None:
    with pytest.raises(BackendError, match=r"torch sees no npu device here"):
        select("npu", sys.executable)
    with pytest.raises(BackendError, match="unknown place 'tpu': choose one of auto, cuda"):
        select("tpu", sys.executable)
    with pytest.raises(BackendError, match="/no/such/python could not be started"):
        select("auto", "/no/such/python")


def test_an_interpreter_without_torch_is_told_how_to_get_it(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -I "$@"\n')
    python.chmod(0o755)
    with pytest.raises(
        BackendError, match=r"torch is not installed in this interpreter; pip install 'devfix\[replay\]'"
    ):
        select("auto", str(python))


class _Module:
    def __init__(self, available: bool | None) -> None:
        self.available = available

    def is_available(self) -> bool:
        if self.available is None:
            raise RuntimeError("no driver")
        return self.available


class _Torch:
    cuda = _Module(True)
    xpu = _Module(None)

    class backends:  # noqa: N801
        mps = _Module(True)


def test_devices_are_those_that_torch_can_use() -> None:
    assert ask.devices(_Torch()) == ["cuda", "mps"]


def test_the_plain_cpu_hides_accelerators(replay: Replay) -> None:
    script = "import os\nprint(repr(os.environ['CUDA_VISIBLE_DEVICES']))\n"
    outcome = replay(script, script + "x = 1\n").before
    assert isinstance(outcome, Outcome)
    assert outcome.stdout.head == "''\n"


@pytest.mark.slow
def test_a_script_that_first_asks_whether_there_is_torch_is_simulated(simulated: Callable[..., ReplayResult]) -> None:
    script = "from importlib.util import find_spec\nassert find_spec('torch')\nimport torch\ntorch.ones(2).cuda() + 1\n"
    outcome = simulated(script, script + "x = 1\n").before
    assert outcome is not None
    assert outcome.passed, outcome.stderr.tail
