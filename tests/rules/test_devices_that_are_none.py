"""DVF104 and DVF202: tensors, types, modules and words of one's own are no devices."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF104"


def titles(program: str, code: str = CODE) -> list[str]:
    """What is proposed, suggestions included."""
    outcome = check(Source("train.py", program.encode()), Options(frozenset({code}), suggestions=True))
    assert isinstance(outcome, Checked)
    return [one.fix.title for one in outcome.findings if one.fix is not None]


BESIDE = """
import torch
def show(net, {other}, t):
    {asks}
    return net({used}, torch.zeros(3, 1).to({other}), times=torch.tensor([0.0, t.item()]))
"""


@pytest.mark.parametrize("asks", ["n = z.shape[0]", "n = z.size(0)", "n = z.new_zeros(3)"])
def test_a_tensor_that_is_followed_is_asked_for_its_device(asks: str) -> None:
    assert titles(BESIDE.format(other="z", asks=asks, used="z")) == ["Make it on `z.device`"]


@pytest.mark.parametrize("other", ["device", "place"])
def test_a_device_is_spelled_as_it_is(other: str) -> None:
    assert titles(BESIDE.format(other=other, asks="n = 3", used="3")) == [f"Make it on `{other}`"]


HOOKED = """
import torch
from torch import nn
def count(model, x, y):
    {line}
def add(net):
    net.register_buffer("ops", torch.zeros(1))
    net.register_forward_hook(count)
"""


@pytest.mark.parametrize(
    "line",
    [
        "model.ops += torch.tensor([3.0])",
        "model.ops = model.ops + torch.tensor([3.0])",
        "model.ops = torch.tensor(list(y.shape))",
        "model(x + torch.ones(3))",
    ],
)
def test_modules_are_not_asked(line: str) -> None:
    assert all("model.device" not in one for one in titles(HOOKED.format(line=line)))


OWN = """
import torch
def find(depth, device={default}):
    {test}
    rows = torch.from_numpy(depth)
    return rows * torch.ones(3)
"""


@pytest.mark.parametrize(
    ("default", "test"),
    [("'CPU'", "if device == 'GPU':\n        print(3)"), ("'GPU'", "print(3)"), ("None", "print(device == 'CPU')")],
)
def test_words_that_torch_does_not_know(default: str, test: str) -> None:
    assert titles(OWN.format(default=default, test=test)) == []


@pytest.mark.parametrize(
    ("default", "test"),
    [
        ("'cpu'", "if device == 'cuda':\n        print(3)"),
        ("'cuda'", "print(3)"),
        ("'cuda:0'", "print(device == 'cpu')"),
    ],
)
def test_words_that_it_knows(default: str, test: str) -> None:
    assert "Make it on `device`" in titles(OWN.format(default=default, test=test))


TYPED = """
import torch
from engines import Engine
from torch import nn
def evaluate(loader, half):
    model = {made}
    for x, y in loader:
        x = x.{moved}
        print(model(x))
"""


@pytest.mark.parametrize("made", ["Engine()", "nn.Linear(3, 3)"])
def test_a_type_is_none(made: str) -> None:
    moved = "type(torch.cuda.HalfTensor if half else torch.cuda.FloatTensor)"
    assert all("HalfTensor" not in one for one in titles(TYPED.format(made=made, moved=moved), "DVF202"))


@pytest.mark.parametrize("moved", ['to("cuda" if half else "cpu")', 'to(device="cuda" if half else "cpu")'])
def test_a_choice_of_devices_is(moved: str) -> None:
    (title,) = titles(TYPED.format(made="nn.Linear(3, 3)", moved=moved), "DVF202")
    assert '"cuda" if half else "cpu"' in title or "device" in title
