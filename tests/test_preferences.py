"""`--prefer`: what device a program gets that declares none."""

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.preferences import Prefer
from devfix_codemods.source import Source

PROGRAM = b"""import torch
from torch import nn
from torch.utils.data import DataLoader

loader = DataLoader(data, batch_size=4)
model = nn.Linear(4, 2).to("cuda" if torch.cuda.is_available() else "cpu")
criterion = nn.CrossEntropyLoss()
for x, y in loader:
    loss = criterion(model(x), y)
"""
CUDA = b'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
ACCELERATOR = (
    b'device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")\n'
)
SELECT = frozenset({"DVF101"})


def source(data: bytes) -> Source:
    return Source("train.py", data)


def options(target: tuple[int, int] | None = None, prefer: Prefer = Prefer.ACCELERATOR) -> Options:
    return Options(SELECT, unsafe=True, target_torch=target, prefer=prefer)


def rewritten(data: bytes, chosen: Options) -> bytes:
    outcome = rewrite(source(data), chosen)
    assert isinstance(outcome, Changed), outcome
    assert rewrite(source(outcome.data), chosen) == Clean()
    return outcome.data


def titles(data: bytes, chosen: Options) -> list[str]:
    outcome = check(source(data), chosen)
    assert isinstance(outcome, Checked)
    return [one.fix.title for one in outcome.findings if one.fix]


@pytest.mark.parametrize("prefer", Prefer)
def test_a_device_that_is_declared_stays(prefer: Prefer) -> None:
    program = PROGRAM.replace(b'"cuda" if torch.cuda.is_available() else "cpu"', b"device")
    program = program.replace(b"\nloader", b"\n" + CUDA + b"\nloader")
    after = rewritten(program, options(prefer=prefer))
    assert after.count(CUDA) == 1
    assert b"accelerator" not in after


def test_what_is_moved_by_an_accelerator_follows_it() -> None:
    program = PROGRAM.replace(b'"cuda" if torch.cuda.is_available() else "cpu"', b"device")
    program = program.replace(b"\nloader", b"\n" + ACCELERATOR + b"\nloader")
    after = rewritten(program, options(prefer=Prefer.CUDA))
    assert b"x = x.to(device, non_blocking=True)" in after
    assert CUDA not in after


def test_cuda_or_the_host_is_what_is_declared() -> None:
    after = rewritten(PROGRAM, options(prefer=Prefer.CUDA))
    assert CUDA in after
    assert b"accelerator" not in after


def test_a_device_is_declared_before_its_first_use() -> None:
    program = PROGRAM.replace(b"criterion =", b"import math\n\ncriterion =")
    after = rewritten(program, options(prefer=Prefer.CUDA))
    assert (
        after.index(b"import DataLoader") < after.index(CUDA) < after.index(b"model = ") < after.index(b"import math")
    )


def test_no_device_is_declared_where_torch_comes_too_late() -> None:
    program = PROGRAM.replace(b"import torch\n", b"import math\n").replace(b"criterion =", b"import torch\ncriterion =")
    outcome = rewrite(source(program), options())
    assert not isinstance(outcome, Changed) or b"device = " not in outcome.data


@pytest.mark.parametrize("target", [None, (2, 6), (2, 9)])
def test_the_accelerator_where_it_is_preferred(target: tuple[int, int] | None) -> None:
    after = rewritten(PROGRAM, options(target))
    assert ACCELERATOR in after
    assert CUDA not in after
    assert all("torch.accelerator" not in title for title in titles(PROGRAM, options(target)))


@pytest.mark.parametrize("target", [(1, 13), (2, 5)])
def test_an_older_torch_gets_cuda_and_the_reason(target: tuple[int, int]) -> None:
    assert CUDA in rewritten(PROGRAM, options(target))
    reason = f"`torch.accelerator` needs torch 2.6, the target is torch {target[0]}.{target[1]}"
    assert all(reason in title for title in titles(PROGRAM, options(target)))


def test_the_reason_is_told_only_where_a_device_is_declared() -> None:
    program = PROGRAM.replace(b'"cuda" if torch.cuda.is_available() else "cpu"', b'"cuda"')
    assert titles(program, options((2, 1)))
    assert all("accelerator" not in title for title in titles(program, options((2, 1))))
