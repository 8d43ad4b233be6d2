"""Errors that are the simulation's own are told from those of the script."""

import importlib
from collections.abc import Callable

import pytest

from .conftest import Simulate

Gap = Callable[[BaseException], str | None]


@pytest.fixture
def gap() -> Gap:
    """Imported with all of torch, which those that only collect the tests are spared."""
    found: Gap = importlib.import_module("devfix.replay.probe.simulated.gaps").gap
    return found


@pytest.mark.parametrize(
    "message",
    [
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!",
        "CUDA error: invalid device ordinal",
        "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use 'spawn'",
        "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x5)",
        "module 'torch' has no attribute 'cudaa'",
        "'Net' object has no attribute 'cuda_stream'",
        "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
        "",
    ],
)
def test_errors_of_the_script(gap: Gap, message: str) -> None:
    assert gap(RuntimeError(message)) is None


@pytest.mark.parametrize(
    ("message", "what"),
    [
        ("PyTorch is not linked with support for cuda devices", "PyTorch is not linked with support for cuda devices"),
        (
            "Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend. This could be because",
            "Could not run 'aten::empty.memory_format' with arguments from the 'CUDA' backend",
        ),
        (
            "module 'torch._C' has no attribute '_cuda_endAllocateToPool'",
            "module 'torch._C' has no attribute '_cuda_endAllocateToPool'",
        ),
        ("Torch not compiled with CUDA enabled", "Torch not compiled with CUDA enabled"),
    ],
)
def test_errors_of_the_simulation(gap: Gap, message: str, what: str) -> None:
    assert gap(RuntimeError(message)) == what


JITTED = "template <typename T> T twice(T x) { return 2 * x; }"


def test_a_kernel_of_the_jiterator_may_be_made(simulate: Simulate) -> None:
    result = simulate(
        f"""
        import torch
        one = torch.cuda.jiterator._create_jit_fn("{JITTED}")
        several = torch.cuda.jiterator._create_multi_output_jit_fn("{JITTED}", num_outputs=2)
        """
    )
    assert (result.message, result.not_simulated) == ("", [])


@pytest.mark.parametrize(
    ("code", "what"),
    [
        ("torch.nn.attention.flex_attention.flex_attention(query, query, query)", "flex_attention"),
        (f"torch.cuda.jiterator._create_jit_fn('{JITTED}')(query)", "torch.cuda.jiterator"),
        ("torch.autograd.profiler.emit_nvtx().__enter__()", "torch.autograd.profiler.emit_nvtx"),
        ("torch.histogram(query, 3)", "torch.histogram and torch.histogramdd, for which CUDA has no kernel"),
        ("torch.nested.nested_tensor([query[0], query[0].cpu()])", "a nested tensor of parts in different places"),
    ],
)
def test_what_is_not_simulated_says_so(simulate: Simulate, code: str, what: str) -> None:
    result = simulate(
        f"import torch, torch.nn.attention.flex_attention\nquery = torch.ones(1, 1, 2, 2, device='cuda')\n{code}\n"
    )
    assert (result.not_simulated, result.line) == ([what], 3)


def test_profilers_see_the_host(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from torch.profiler import ProfilerActivity, profile
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as record:
            torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
        keep("seen", "aten::mm" in record.key_averages().table(row_limit=50))
        """
    )
    assert result.values == {"seen": True}, result.printed
    assert "not enabled" not in result.printed
