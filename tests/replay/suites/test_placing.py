"""Where the values of a suite live, which tests end as on the CPU for it, and which reveal a bug of the library."""

import pytest

from .conftest import Suite, comparison

LIBRARY = '''
import functools
import torch
from torch import nn

SCALE = torch.ones(4)


class Good(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.register_buffer("offset", torch.arange(size).float())

    def forward(self, x):
        return x * self.weight + self.offset


class Forgotten(nn.Module):
    def __init__(self, size=4):
        super().__init__()
        self.inner = Good(size)
        self.table = torch.arange(size).float()

    def forward(self, x):
        return self.inner(x) + self.table


class Sampler:
    """No module: nobody but the library can move what it keeps."""

    def __init__(self, size):
        self.weights = torch.ones(size)

    def __call__(self, x):
        return x * self.weights


class ToldModule(nn.Module):
    def __init__(self, size, device="cpu"):
        super().__init__()
        self.weights = torch.ones(size, device=device)

    def forward(self, x):
        return x * self.weights


class Told:
    def __init__(self, size, device="cpu"):
        self.weights = torch.ones(size, device=device)

    def __call__(self, x):
        return x * self.weights


class Rows(torch.utils.data.Dataset):
    def __init__(self, count):
        self.rows = torch.randn(count, 4)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index], torch.tensor(float(index))


def positions(x):
    return torch.arange(x.shape[-1])


def shifted(x):
    steps = torch.arange(x.shape[-1])
    return x + steps


def shifted_there(x):
    return x + torch.arange(x.shape[-1], device=x.device)


def table(size):
    values = torch.arange(size).float()
    return values * SCALE[0] + float(values.numpy().sum())


def mask(size):
    return torch.ones(size)


class Masked(nn.Module):
    def __init__(self, mask):
        super().__init__()
        self.register_buffer("index", torch.arange(len(mask)).masked_select(mask > 0))

    def forward(self, x):
        return x[..., self.index]


def multiplied(x, y):
    return x * y


def window(x):
    return x * SCALE


def as_array(x):
    return x.detach().numpy()


def noise(size, generator=None):
    return torch.randn(size, generator=generator)


def build(size, x=None):
    return Good(size)


def applied(function, x):
    return function(x) + x


class Wrapped(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * SCALE


def solved(function, x):
    return Wrapped(function)(x)


def masked(x, device="cpu"):
    return x * torch.ones(x.shape[-1], device=device)
'''
SAME = """
import copy
import pickle
import unittest

import lib
import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tests.helpers import make

KEPT = torch.ones(4)
ON_CUDA = torch.cuda.is_available()


class Mine(nn.Module):
    def __init__(self):
        super().__init__()
        self.good = lib.Good()
        self.plain = torch.ones(4)

    def forward(self, x):
        return self.good(x) + self.plain


def added(rows):
    return sum(row.sum().item() for (row,) in rows)


@pytest.fixture
def x():
    return torch.randn(2, 4)


@pytest.fixture(params=["cpu"])
def device(request):
    return torch.device(request.param)


def test_module(x):
    assert lib.Good()(x).shape == (2, 4)


def test_module_of_the_tests(x):
    Mine()(x).sum().backward()


def test_copies(x):
    copy.deepcopy(lib.Good())(pickle.loads(pickle.dumps(x)) + copy.deepcopy(KEPT))


def test_module_that_a_function_builds(x):
    lib.build(4)(x)


def test_of_torch(x):
    nn.Linear(4, 2)(x)


@pytest.mark.parametrize("y", [torch.ones(4), torch.zeros(2, 4)])
def test_parameters(y):
    lib.shifted_there(y)


def test_device_fixture(device):
    made = torch.zeros(4, device=device)
    lib.multiplied(made, torch.ones(4))
    assert made.device == device


@pytest.mark.parametrize("device", ["cpu"])
def test_device_parameter(device):
    assert lib.masked(torch.ones(4), device=device).device.type == device


def test_host_reads(x):
    np.testing.assert_allclose(lib.shifted_there(x), x.numpy() + np.arange(4), rtol=1e-6)
    assert lib.shifted_there(x).tolist() == (x.cpu() + torch.arange(4, device="cpu")).tolist()


def test_comparisons(x):
    host = x.cpu()
    torch.testing.assert_close(lib.multiplied(x, 1), host)
    assert torch.equal(x, host) and torch.allclose(x, host) and bool((x == host).all())


def test_what_knows_of_no_device(x):
    lib.multiplied(x, lib.table(4))
    lib.Masked(lib.mask(4))(x)


def test_left_out_device(x):
    lib.Told(4)(x)
    lib.ToldModule(4)(x)
    lib.masked(x)


def test_said_host():
    lib.multiplied(torch.ones(4), torch.ones(4, device="cpu"))
    lib.shifted_there(torch.ones(4).cpu())
    lib.solved(lib.Good().cpu(), torch.ones(4, device="cpu"))


def test_loaded(x, tmp_path):
    torch.save(lib.Good().state_dict(), tmp_path / "state.pt")
    model = lib.Good()
    model.load_state_dict(torch.load(tmp_path / "state.pt", map_location="cpu"))
    lib.multiplied(torch.from_numpy(np.ones(4, np.float32)), model(x))


def test_batches():
    for row, index in DataLoader(lib.Rows(4), batch_size=2):
        lib.Good()(row) * index.sum()
    rows = TensorDataset(torch.ones(4, 4))
    for (row,) in DataLoader(rows, batch_size=2, pin_memory=True):
        lib.Good()(row)
    assert list(DataLoader(rows, num_workers=1, collate_fn=added)) == [4.0] * 4


def test_training(x):
    model = lib.Good()
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()


def test_numbers():
    torch.manual_seed(3)
    first = torch.rand(2)
    generator = torch.Generator().manual_seed(3)
    assert torch.equal(first, torch.rand(2, generator=generator))
    lib.multiplied(torch.ones(4), lib.noise(4, generator))
    torch.autograd.gradcheck(lib.shifted_there, torch.ones(4, requires_grad=True).double(), fast_mode=True)


def test_callback(x):
    lib.applied(lambda value: value * torch.ones(4), x)


def test_helper(x):
    lib.multiplied(x, make())


def test_legacy_types():
    lib.multiplied(torch.Tensor([1, 2]), torch.FloatTensor([1, 2]))


def test_expected_error():
    with pytest.raises(RuntimeError, match="size of tensor"):
        lib.Good()(torch.ones(3))


class OfUnittest(unittest.TestCase):
    def setUp(self):
        self.model = lib.Good()

    def test_method(self):
        self.model(torch.ones(4))
"""
BUGS = """
import lib
import torch


def test_attribute():
    lib.Forgotten()(torch.ones(4))


def test_factory():
    lib.shifted(torch.ones(4))


def test_constant():
    lib.window(torch.ones(4))


def test_state():
    lib.Sampler(4)(torch.ones(4))


def test_array():
    lib.as_array(torch.ones(4))


def test_result_on_the_host():
    x = torch.ones(4)
    lib.multiplied(x, lib.positions(x))


def test_built_beside_a_tensor():
    x = torch.ones(4)
    lib.build(4, x)(x)
"""
OTHERS = """
import lib
import pytest
import torch


def test_fails_anyway():
    lib.window(torch.ones(3))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_only_there():
    lib.shifted(torch.ones(4).cuda())


@pytest.mark.skip
def test_skipped():
    raise AssertionError


def test_place():
    assert torch.ones(4).device.type == "cpu"


def test_of_its_own():
    torch.ones(4).requires_grad_().grad = torch.ones(4, device="cpu")
"""
FILES = {
    "lib/__init__.py": LIBRARY,
    "tests/__init__.py": "",
    "tests/helpers.py": "import torch\n\n\ndef make():\n    return torch.ones(4)\n",
    "tests/test_same.py": SAME,
    "tests/test_bugs.py": BUGS,
    "tests/test_others.py": OTHERS,
    # What a project may say that would keep its tests from being seen.
    "pytest.ini": "[pytest]\naddopts = -x --doctest-modules -q\n",
}
LINES = {
    "test_attribute": "self.inner(x) + self.table",
    "test_factory": "return x + steps",
    "test_constant": "return x * SCALE",
    "test_state": "return x * self.weights",
    "test_array": "x.detach().numpy()",
    "test_result_on_the_host": "return x * y",
    "test_built_beside_a_tensor": "return x * self.weight + self.offset",
    "test_only_there": "return x + steps",
}


@pytest.mark.slow
def test_each_test_has_its_sort_and_each_bug_its_line(suite: Suite) -> None:
    found = comparison(suite(FILES))
    sorts: dict[str, set[str]] = {}
    for test, sort in found.sorts.items():
        sorts.setdefault(str(sort), set()).add(test.rpartition("::")[2])
    alike = sorts.pop("as on the CPU")
    assert sorts == {
        "device error in the library": set(LINES),
        "device error in the tests": {"test_of_its_own"},
        "fails otherwise": {"test_place"},
        "fails on the CPU too": {"test_fails_anyway"},
        "skipped": {"test_skipped"},
    }
    assert len(alike) == SAME.count("def test_") + 1  # one has two parameters
    text = LIBRARY.splitlines()
    for bug in found.bugs:
        assert bug.error.file == "lib/__init__.py"
        assert bug.error.line is not None
        for test in bug.tests:
            assert LINES[test.rpartition("::")[2]] in text[bug.error.line - 1]
        assert bug.postmortem is not None
