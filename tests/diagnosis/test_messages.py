"""Messages of torch, new and old: which are device errors, and what they say."""

import pytest
from devfix_codemods.diagnosis import read_message

SAME = "Expected all tensors to be on the same device (when checking argument for argument {} in method {})"
LENGTHS = "'lengths' argument should be a 1D CPU int64 tensor, but got 1D {} tensor"


@pytest.mark.parametrize(
    "text",
    [
        "Input type (float) and bias type (c10::Half) should be the same",
        "Input type (torch.cuda.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same",
        "Input type (torch.FloatTensor) and weight type (torch.HalfTensor) should be the same",
        LENGTHS.format("cpu Float"),
    ],
)
def test_types_alone_are_no_device_error(text: str) -> None:
    assert read_message([text]) is None


@pytest.mark.parametrize(
    "text",
    [
        "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
        LENGTHS.format("cuda:0 Long"),
        "Tensor for argument weight is on cpu but expected on mps",
        "Input, output and indices must be on the current device",
        "expected condition, x and y to be on the same device, but condition is on cuda:0",
        "Expected tensor for argument #1 'input' to have the same device as tensor for argument #2",
        "index_copy_(): self, index and source expected to be in the same device, but got (self) cpu",
        "index must be CUDA tensor",
    ],
)
def test_devices_that_differ_are(text: str) -> None:
    assert read_message([text]) is not None


@pytest.mark.parametrize(
    ("argument", "wrapper", "method"),
    [("mat1", "wrapper_addmm", "addmm"), ("index", "wrapper__index_select", "index_select")],
)
def test_operators_before_torch_2(argument: str, wrapper: str, method: str) -> None:
    found = read_message([SAME.format(argument, wrapper)])
    assert found is not None
    assert found.method == method


def test_several_that_are_elsewhere() -> None:
    text = "Tensor for 'out' is on CPU, Tensor for argument #1 'self' is on CPU, but expected them to be on GPU"
    found = read_message([f"{text} (while checking arguments for addmm)"])
    assert found is not None
    assert (found.argument, found.method) == ("self", "addmm")
