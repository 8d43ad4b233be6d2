"""DVF501 in files that hand their values to functions of the project which refuse the host."""

from collections.abc import Mapping
from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from ..project.conftest import InMemory

CALL = "nearest(points)"
SCRIPT = """
    import torch
    import lib
    points = torch.randn(8, 3, device="cuda")
    for turn in range(3):
        print(lib.{call})
"""


def findings(lib: str, call: str = CALL, script: str = SCRIPT, more: Mapping[str, str] | None = None) -> list[Finding]:
    files = InMemory({"/p/lib/__init__.py": lib, "/p/examples/run.py": script.replace("{call}", call), **(more or {})})
    source = Source("/p/examples/run.py", files.read("/p/examples/run.py") or b"")
    outcome = check(source, Options(frozenset({"DVF501"})), Project(files))
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)


LIBRARY = """
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x


def _test():
    net = Net().cuda()
    x = torch.zeros(3).cuda()
    {line}
    print(net(x))


if __name__ == "__main__":
    _test()
"""


def _in_library(line: str, user: str) -> str | None:
    """What becomes of a file with a test of its own, beside the file `user`; None where nothing does."""
    files = InMemory({"/p/lib/net.py": LIBRARY.format(line=line), "/p/lib/user.py": user})
    source = Source("/p/lib/net.py", files.read("/p/lib/net.py") or b"")
    outcome = rewrite(source, Options(frozenset({"DVF501"}), unsafe=True), project=Project(files))
    return outcome.data.decode() if isinstance(outcome, Changed) else None


def test_a_file_that_others_import_chooses_no_device_for_them() -> None:
    assert "\n\ndevice = torch.device(" in (_in_library("pass", "import torch\n") or "")
    local = _in_library("pass", "from lib.net import Net\n") or ""
    assert "def _test():\n    device = torch.device(" in local
    assert "\n\ndevice =" not in local


def test_a_function_that_measures_a_card_keeps_it() -> None:
    assert _in_library("torch.cuda.synchronize()", "from lib.net import Net\n") is None


def refusing(*lines: str) -> str:
    return "import torch\ndef nearest(x, y=None, *more):\n" + "".join(f"    {one}\n" for one in lines)


REFUSALS = [
    ("if not x.is_cuda:", "    raise ValueError('x must be on CUDA')"),
    ("if x.device.type != 'cuda':", "    raise ValueError(x.device)"),
    ("if any(not one.is_cuda for one in (x, y)):", "    raise ValueError('inputs must be on CUDA')"),
    ("if not all(one.is_cuda for one in more):", "    raise ValueError('inputs must be on CUDA')"),
    ("if not x.is_cuda or not x.is_contiguous():", "    raise ValueError('x must be contiguous, on CUDA')"),
    ("if x.device == torch.device('cpu'):", "    raise ValueError('no host')"),
    ("if not torch.cuda.is_available():", "    raise RuntimeError('CUDA is needed')"),
    ("assert x.is_cuda and x.is_contiguous(), 'x must be on CUDA'",),
    ("assert x.device.type == 'cuda'",),
]


@pytest.mark.parametrize("lines", REFUSALS)
def test_a_function_that_refuses_the_host(lines: tuple[str, ...]) -> None:
    assert findings(refusing(*lines, "return x.sum()")) == []


@pytest.mark.parametrize("lines", REFUSALS)
def test_a_check_that_a_constructor_reaches_in_another_file(lines: tuple[str, ...]) -> None:
    lib = "from .tree import Tree\n"
    tree = """
        from ._checks import nearest as _check
        def _single(points):
            _check(points)
            return points
        def _batched(points, device=None):
            if device is None:
                device = points.device
            _check(points)
            return points
        class Tree:
            def __init__(self, points):
                if points.dim() == 3:
                    self.handle = _batched(points)
                elif points.dim() == 2:
                    self.handle = _single(points)
                else:
                    raise ValueError(points.shape)
    """
    more = {"/p/lib/tree.py": tree, "/p/lib/_checks.py": refusing(*lines)}
    assert findings(lib, "Tree(points)", more=more) == []


@pytest.mark.parametrize(
    "lib",
    [
        refusing("return x.sum()"),
        refusing("if x.is_cuda:", "    return kernel(x)", "return x.sum()"),
        refusing("if not x.is_cuda:", "    return x.sum()", "return kernel(x)"),
        refusing("if not x.is_cuda:", "    x = x.float()", "return x.sum()"),
        refusing("if x.requires_grad and not x.is_cuda:", "    raise ValueError('no')", "return x.sum()"),
        refusing("if y is not None:", "    assert y.is_cuda", "return x.sum()"),
        refusing("assert x.is_cuda or x.is_contiguous()", "return x.sum()"),
        refusing("if x.is_cuda:", "    raise ValueError('only for the host')", "return x.sum()"),
        refusing("try:", "    fast(x)", "except ValueError:", "    x.sum()") + "def fast(x):\n    assert x.is_cuda\n",
        refusing("if use_kernel(x):", "    return fast(x)", "return x") + "def fast(x):\n    assert x.is_cuda\n",
        refusing("return x.sum()") + "def unused(x):\n    assert x.is_cuda\n",
    ],
)
def test_a_function_that_takes_the_host(lib: str) -> None:
    assert [one.fix is not None for one in findings(lib)] == [True]


def test_another_library_is_not_known() -> None:
    assert len(findings("", script=SCRIPT.replace("import lib", "import faiss as lib"))) == 1


def test_a_call_that_asks_first() -> None:
    lib = refusing("assert x.is_cuda")
    script = """
        import torch
        import lib
        points = torch.randn(8, 3, device="cuda")
        for turn in range(3):
            if points.is_cuda:
                lib.nearest(points)
    """
    assert len(findings(lib, script=script)) == 1


def test_the_device_of_a_script() -> None:
    script = """
        import torch
        import lib
        device = "cuda"
        points = torch.randn(8, 3, device=device)
        lib.nearest(points)
    """
    assert findings(refusing("assert x.is_cuda"), script=script) == []
    assert len(findings(refusing("return x.sum()"), script=script)) == 1


def test_a_function_of_torch_autograd() -> None:
    lib = """
        import torch
        class Nearest(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                assert x.is_cuda
                return x
        nearest = Nearest.apply
        def first(x):
            return Nearest.apply(x)
    """
    assert findings(dedent(lib), "first(points)") == []


@pytest.mark.parametrize("head", ["import triton\nimport torch\n", "import torch\nfrom . import kernels_cuda\n"])
def test_a_file_that_imports_what_needs_cuda(head: str) -> None:
    more = {"/p/lib/ops.py": f"{head}def nearest(x):\n    return launch(x)\n"}
    assert findings("from .ops import nearest\n", more=more) == []
