"""Runs under the simulated accelerator: calls what `ORDERS` names, and keeps what became of each call.

An order is (key, expression of the callee, text of its arguments, whether `device=` is to be tried). The arguments'
tensors are made on the host; then each is put on the host or on the device, and the call is made anew.
"""

import copy
import io
import itertools
import re
import warnings
from collections.abc import Iterator

import numpy
import torch
import torch.onnx.operators
import torch.utils.model_zoo

warnings.simplefilter("ignore")
torch.set_grad_enabled(False)

DEVICE_ERROR = re.compile(r"\bdevices?\b|cuda|should be the same", re.IGNORECASE)


def saved(one):
    file = io.BytesIO()
    torch.save(one, file)
    file.seek(0)
    return file


def with_grads(grads):
    parameters = [torch.nn.Parameter(one) for one in grads]
    for parameter, grad in zip(parameters, grads):
        parameter.grad = grad
    return parameters


def tensors():
    """What texts of arguments name."""
    generator = torch.Generator().manual_seed(0)

    def made(*shape):
        return torch.rand(*shape, generator=generator) * 0.8 + 0.1

    square = made(3, 3)
    return {
        "v": made(3),
        "w": made(2),
        "m": square @ square.T + torch.eye(3),
        "b": made(2, 3, 3),
        "s": made(1)[0],
        "i": torch.tensor([2, 0, 1]),
        "ii": torch.tensor([[2, 0, 1], [1, 2, 0], [0, 1, 2]]),
        "j": torch.tensor([0, 1]),
        "k": torch.tensor([[True, False, True], [False, True, False], [True, True, False]]),
        "kv": torch.tensor([True, False, True]),
        "signal": made(1, 2, 16),
        "image": made(1, 4, 8, 8),
        "volume": made(1, 2, 8, 8, 8),
        "c": torch.complex(made(3, 3), made(3, 3)),
        "cc": torch.complex(made(3, 3), made(3, 3)),
        "pair": made(3, 2),
        "one": torch.tensor([1]),
        "tokens": made(5, 2, 4),
        "lengths": torch.tensor([5, 5]),
        "spectrum": torch.stft(made(32), 8, return_complex=True, window=torch.ones(8)),
        "long": made(32),
        "lu": torch.linalg.lu_factor(torch.eye(3) + made(3, 3)),
        "ldl": torch.linalg.ldl_factor(torch.eye(3)),
        "packed": torch.nn.utils.rnn.pack_sequence([made(3), made(2)]),
        "e": made(3),
        "n": made(3, 3),
        "sorted": torch.tensor([0.1, 0.5, 0.9]),
        "array": numpy.ones(3, numpy.float32),
        "buffer": bytearray(12),
        "net": torch.nn.Linear(3, 3),
        "norm": torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3)),
        "torch": torch,
        "io": io,
        "saved": saved,
        "with_grad": torch.enable_grad(),
        "with_grads": with_grads,
        "capture": lambda *args, **keywords: (args, keywords),
    }


NAMES = tensors()


def mapped(value, change):
    """`value` with each tensor in it changed."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, torch.nn.Module):
        value = copy.deepcopy(value)
        for one in value.parameters():
            one.data = change(one.data)
        for one in value.buffers():
            one.data = change(one.data)
        return value
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return value._replace(data=change(value.data))
    if isinstance(value, (list, tuple)):
        return type(value)(mapped(one, change) for one in value)
    if isinstance(value, dict):
        return {key: mapped(one, change) for key, one in value.items()}
    return value


def places(value):
    """The places of the tensors in a result; None where it has none."""
    found = set()
    value = list(value) if isinstance(value, Iterator) else value
    mapped(value, lambda one: found.add(one.device.type) or one)
    return " ".join(sorted(found)) if found else None


def called(callee, text, change, **more):
    """What becomes of a call: the places of its result, or how it failed."""
    count = itertools.count()
    given = mapped(eval(f"capture({text})", NAMES), lambda one: change(next(count), one.clone()))
    args, keywords = given
    try:
        return {"places": places(eval(callee, NAMES)(*args, **keywords, **more))}
    except Exception as error:
        told = f"{type(error).__name__}: {error}".partition("\n")[0]
        is_device_error = DEVICE_ERROR.search(told) and "not simulated" not in told and "argument 'device'" not in told
        return {"error": told, "kind": "device" if is_device_error else "other"}


def leaves(text):
    found = []
    mapped(eval(f"capture({text})", NAMES), lambda one: found.append(one) or one)
    return len(found)


def moved(one):
    return one.to("cuda")


def scalar(one):
    return torch.ones((), dtype=one.dtype)


def observed(callee, text, takes_device):
    count = leaves(text)
    told = {
        "told device": called(callee, text, lambda at, one: one, device="cuda"),
        "told host": called(callee, text, lambda at, one: moved(one), device="cpu"),
    }
    return {
        **(told if takes_device else {}),
        "host": called(callee, text, lambda at, one: one),
        "device": called(callee, text, lambda at, one: moved(one)),
        "misplaced": [
            called(callee, text, lambda at, one, index=index: one if at == index else moved(one))
            for index in range(count)
        ],
        "scalar": [
            called(callee, text, lambda at, one, index=index: scalar(one) if at == index else moved(one))
            for index in range(count)
        ],
    }


for key, callee, text, takes_device in ORDERS:  # noqa: F821 - stands before this text when it runs
    try:
        keep(key, observed(callee, text, takes_device))  # noqa: F821
    except Exception as error:
        keep(key, {"broken": f"{type(error).__name__}: {error}"})  # noqa: F821
