"""Repairs that the class of the message asks for, and the last resort."""

from collections.abc import Callable

import pytest
from devfix.replay.probe.errors import DEVICE_ERRORS
from devfix_codemods.diagnosis import Category, read_message

from .conftest import GPU, Crash, tensor

Build = Callable[..., Crash]

NUMPY = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory first."


def test_a_tensor_that_is_on_the_host_already_is_not_brought_there_again(crash: Build) -> None:
    build = crash("def f(a, b):\n    return a.cpu().numpy(), b.numpy()\n")
    case = build.at("a.cpu().numpy(), b.numpy()", tensor("b", GPU), message=NUMPY)
    assert case.results()[0] == "return a.cpu().numpy(), b.cpu().numpy()"


def test_numpy_gets_the_host_copy(crash: Build) -> None:
    build = crash("def f(out):\n    return out.argmax(1).numpy()\n")
    case = build.at("out.argmax(1).numpy()", tensor("out", GPU), message=NUMPY)
    assert case.results() == [
        "return out.argmax(1).cpu().numpy()",
        "return out.argmax(1).detach().cpu().numpy()",
    ]


def test_functions_of_numpy_get_the_host_copy(crash: Build) -> None:
    build = crash("import numpy as np\n\ndef f(out):\n    return np.mean(out)\n")
    case = build.at("np.mean(out)", message=NUMPY)
    assert case.results()[0] == "return np.mean(out.cpu())"


def test_lengths_stay_on_the_host(crash: Build) -> None:
    build = crash("""
        from torch.nn.utils.rnn import pack_padded_sequence

        def f(x, lengths):
            return pack_padded_sequence(x, lengths, batch_first=True)
        """)
    code = "pack_padded_sequence(x, lengths, batch_first=True)"
    message = "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"
    case = build.at(code, tensor("x", GPU), tensor("lengths", GPU), message=message)
    assert case.results() == ["return pack_padded_sequence(x, lengths.cpu(), batch_first=True)"]


def test_a_checkpoint_is_loaded_to_the_device_at_hand_or_to_the_host(crash: Build) -> None:
    message = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    without = crash("import torch\n\ndef f(path):\n    return torch.load(path)\n").at(
        "torch.load(path)", message=message
    )
    assert without.results() == ['return torch.load(path, map_location="cpu")']
    with_one = crash("import torch\n\ndef f(path, device):\n    return torch.load(path)\n").at(
        "torch.load(path)", message=message
    )
    assert with_one.results() == ["return torch.load(path, map_location=device)"]


def test_a_map_location_is_never_replaced(crash: Build) -> None:
    message = "Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is False."
    build = crash("import torch\n\ndef f(path, device):\n    return torch.load(path, map_location='cuda')\n")
    assert build.at("torch.load(path, map_location='cuda')", message=message).results() == []


def test_a_generator_is_made_for_what_it_fills(crash: Build) -> None:
    build = crash("""
        import torch

        def noise(n, device):
            generator = torch.Generator()
            return torch.randn(n, generator=generator, device=device)
        """)
    message = "Expected a 'cuda' device type for generator but found 'cpu'"
    case = build.at("torch.randn(n, generator=generator, device=device)", message=message)
    assert case.results()[0] == "generator = torch.Generator(device=device)"


def test_a_gradient_goes_to_its_parameter(crash: Build) -> None:
    build = crash("def f(p, g):\n    p.grad = g\n")
    message = "assigned grad has data located on a different device"
    case = build.at("p.grad = g", tensor("g"), tensor("p", GPU), message=message)
    assert "p.grad = g.to(p.device)" in case.results()


def test_an_index_can_come_to_its_tensor(crash: Build) -> None:
    build = crash("def f(table, index):\n    return table[index]\n")
    message = "indices should be either on cpu or on the same device as the indexed tensor (cpu)"
    case = build.at("table[index]", tensor("table"), tensor("index", GPU), message=message)
    assert case.results() == ["return table.to(index.device)[index]", "return table[index.to(table.device)]"]


def test_what_the_rules_know_comes_first(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn
        from torch.utils.data import DataLoader

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = nn.Linear(3, 2).to(device)
        criterion = nn.CrossEntropyLoss()
        for x, y in DataLoader([]):
            x = x.to(device)
            loss = criterion(model(x), y)
        """)
    case = build.at("criterion(model(x), y)", tensor("model(x)", GPU), tensor("y"))
    assert case.repairs[0].rule == "DVF101"
    assert case.results()[0] == "y = y.to(device)"


SAME = "Expected all tensors to be on the same device, but "
UNTIL_2_7 = "(when checking argument for argument "
FROM_2_8 = ", different from other tensors on cuda:0 (when checking argument in method wrapper_CUDA_"


@pytest.mark.parametrize(
    ("text", "category", "argument", "told"),
    [
        (
            f"{SAME}found at least two devices, cpu and cuda:0! {UNTIL_2_7}mat2 in method wrapper_CUDA_mm)",
            Category.TWO_DEVICES,
            "mat2",
            "weight of a Linear",
        ),
        (f"{SAME}got target is on cpu{FROM_2_8}nll_loss_forward)", Category.TWO_DEVICES, "target", "the target"),
        (f"{SAME}got index is on cpu{FROM_2_8}_index_select)", Category.TWO_DEVICES, "index", "Embedding"),
        (
            "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
            Category.INPUT_TYPE,
            None,
            "layer",
        ),
        (
            "TypeError: autocast.__init__() missing 1 required positional argument: 'device_type'",
            Category.AUTOCAST,
            None,
            "type",
        ),
    ],
)
def test_messages_are_read(text: str, category: Category, argument: str | None, told: str) -> None:
    message = read_message(["something else", text])
    assert message is not None
    assert message.category is category
    assert message.argument == argument
    assert told in message.meaning


def test_other_errors_are_no_device_errors() -> None:
    assert read_message(["ValueError: too many values to unpack", "KeyError: 'device'"]) is None


@pytest.mark.parametrize("pattern", [one.pattern for one in DEVICE_ERRORS])
def test_every_device_error_of_the_probe_has_a_class(pattern: str) -> None:
    plain = {
        r"\S+": "cuda:0",
        r"\w+": "cuda",
        r"#?\d+": "#1",
        r"(?:either )?": "either ",
        r"(?:torch\.cuda\.|MPS)": "torch.cuda.",
        r"(?:cpu|the same device)": "cpu",
        r"(?: device type)?": " device type",
        r"(?:GPU )?": "",
        r"[Ee]": "E",
        r"[Nn]": "N",
        r"(?:a )?": "a ",
        r"(?:CUDA|XPU|HIP)": "CUDA",
        r"(?:GPUs|devices)": "GPUs",
        r"(?:backend|device type)": "backend",
        r"(?:device type for generator|generator device)": "generator device",
        r"(?:is )?": "is ",
        ".*": " ",
        r"(?:with device type|located on device)": "with device type",
        r"(?:be (?:on|in)|have)": "be on",
        r"(?:to|must)": "to",
        r"(?:all )?": "",
        r"(?:the )?": "the ",
        r"(?:it|them)": "it",
        r"(?:CPU|CUDA)": "CPU",
        r"[Ss]": "S",
        r"\b": "",
    }
    text = pattern
    for part, word in plain.items():
        text = text.replace(part, word)
    assert read_message([text.replace("\\", "")]) is not None
