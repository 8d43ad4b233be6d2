"""The accelerators of a machine, found without torch, and what a worker is shown of them."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from devfix.batch.engines.slots import Slot, environment, nvidia_devices, slots
from devfix.errors import UsageError

from .conftest import JobMaker

VARIABLES = (
    "CUDA_VISIBLE_DEVICES",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "ZE_AFFINITY_MASK",
    "ASCEND_RT_VISIBLE_DEVICES",
)
Tool = Callable[[str, str], None]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    """A machine whose environment says nothing, and where a vendor's tool can be put that runs a line of shell."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    if any(list(Path("/dev").glob(f"{name}[0-9]*")) for name in ("nvidia", "davinci", "kfd")):
        pytest.skip("this machine has accelerators of its own")
    folder = tmp_path / "tools"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def names(choice: str = "auto") -> list[str]:
    return [str(slot) for slot in slots(choice) if slot.kind != "mps"]


def test_torch_is_not_asked(tool: Tool) -> None:
    before = "torch" in sys.modules
    names()
    assert ("torch" in sys.modules) is before


@pytest.mark.parametrize(
    "script",
    ["exit 9", "echo 'NVIDIA-SMI has failed because it could not talk to the driver'; exit 0", "printf '\\377'"],
)
def test_a_tool_that_does_not_work_finds_nothing(script: str, tool: Tool) -> None:
    tool("nvidia-smi", script)
    tool("xpu-smi", script)
    assert names() == []


def test_nvidia(tool: Tool) -> None:
    tool("nvidia-smi", "echo 'GPU 0: NVIDIA H100 (UUID: GPU-1)'; echo 'GPU 1: NVIDIA H100 (UUID: GPU-2)'")
    assert names() == ["cuda:0", "cuda:1"]


def test_instances_stand_for_a_gpu_that_is_divided() -> None:
    listing = (
        "GPU 0: NVIDIA A100 (UUID: GPU-a)\n"
        "  MIG 3g.20gb     Device  0: (UUID: MIG-b/1/0)\n"
        "  MIG 3g.20gb     Device  1: (UUID: MIG-c)\n"
        "GPU 1: NVIDIA A100 (UUID: GPU-d)\n"
    )
    assert nvidia_devices(listing) == ["MIG-b/1/0", "MIG-c", "1"]


def test_intel(tool: Tool) -> None:
    tool("xpu-smi", "echo 'Device ID'; echo 0; echo 1")
    assert names() == ["xpu:0", "xpu:1"]


@pytest.mark.parametrize(
    ("variable", "value", "found"),
    [
        ("CUDA_VISIBLE_DEVICES", "2,GPU-1a", ["cuda:2", "cuda:GPU-1a"]),
        ("CUDA_VISIBLE_DEVICES", "", []),
        ("CUDA_VISIBLE_DEVICES", "-1", []),
        ("CUDA_VISIBLE_DEVICES", "1,-1,2", ["cuda:1"]),
        ("CUDA_VISIBLE_DEVICES", "NoDevFiles", []),
        ("CUDA_VISIBLE_DEVICES", "1,none,2", ["cuda:1"]),
        ("CUDA_VISIBLE_DEVICES", "MIG-GPU-b/1/0, GPU-1a", ["cuda:MIG-GPU-b/1/0", "cuda:GPU-1a"]),
        ("ZE_AFFINITY_MASK", "0.1,1", ["xpu:0.1", "xpu:1"]),
        ("ASCEND_RT_VISIBLE_DEVICES", "4", ["npu:4"]),
    ],
)
def test_the_users_own_choice_counts(
    variable: str, value: str, found: list[str], tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool("nvidia-smi", "echo 'GPU 0: NVIDIA H100 (UUID: GPU-1)'")
    tool("xpu-smi", "echo 7")
    monkeypatch.setenv(variable, value)
    kind = found[0].partition(":")[0] if found else "cuda"
    assert [name for name in names() if name.startswith(kind)] == found


def test_a_list() -> None:
    assert names("cuda:0, cuda:0,hip:1,npu:3") == ["cuda:0", "cuda:0", "hip:1", "npu:3"]
    assert names("none") == []


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ("cude:0", "--accelerators: unknown kind 'cude'; did you mean 'cuda'?"),
        ("", "--accelerators: unknown kind ''"),
        ("cuda", "--accelerators: 'cuda' names no device: write cuda:0, or cuda:0,cuda:1 for two"),
        ("cuda:0,cuda:", "--accelerators: 'cuda:' names no device"),
        ("cuda:0 1", "--accelerators: 'cuda:0 1' names no device"),
    ],
)
def test_a_list_that_cannot_be_read(choice: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        slots(choice)
    assert str(caught.value).startswith(message)


def test_a_worker_is_shown_its_own_accelerator_and_no_other(job: JobMaker) -> None:
    runs = job("fine", execute=True)
    shown = dict(environment(runs, Slot("npu", "3")))
    assert shown == {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "", "ASCEND_RT_VISIBLE_DEVICES": "3"}
    assert dict(environment(runs, Slot("cuda", "1")))["CUDA_VISIBLE_DEVICES"] == "1"
    assert dict(environment(runs, Slot("xpu", "0.1")))["ZE_AFFINITY_MASK"] == "0.1"


def test_hip_reads_the_variable_of_cuda_too(job: JobMaker) -> None:
    shown = dict(environment(job("fine", execute=True), Slot("hip", "1")))
    assert shown == {"HIP_VISIBLE_DEVICES": "1", "ASCEND_RT_VISIBLE_DEVICES": ""}


def test_a_worker_without_a_slot_is_shown_none(job: JobMaker) -> None:
    shown = dict(environment(job("fine", execute=True), None))
    assert set(shown.values()) == {""}
    assert "CUDA_VISIBLE_DEVICES" in shown


def test_a_worker_that_executes_nothing_is_told_nothing(job: JobMaker) -> None:
    assert environment(job("fine"), Slot("cuda", "0")) == ()
