"""DVF302 in code that provides for a torch older than the new names."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from ..project.conftest import InMemory

SELECT = frozenset({"DVF302"})
SCALER = "import torch\nscaler = torch.cuda.amp.GradScaler()\n"
AUTOCAST = "import torch\nwith torch.cuda.amp.autocast(): pass\n"


def findings(texts: dict[str, str], at: str = "/p/lib/loop.py", target: tuple[int, int] | None = None) -> list[Finding]:
    files = InMemory(texts)
    source = Source(at, files.read(at) or b"")
    outcome = check(source, Options(SELECT, target_torch=target), Project(files))
    assert isinstance(outcome, Checked), outcome
    return list(outcome.findings)


def in_package(gate: str, code: str = SCALER, target: tuple[int, int] | None = None) -> list[Finding]:
    init = "from .loop import *\nfrom .compat import *\n"
    return findings({"/p/lib/__init__.py": init, "/p/lib/compat.py": gate, "/p/lib/loop.py": code}, target=target)


OLDER = [
    "import torch\nif not hasattr(torch, 'autocast'):\n    torch.autocast = ours\n",
    "import torch\nif not hasattr(torch, 'broadcast_to'):\n    torch.broadcast_to = ours\n",
    "import torch\nflash = hasattr(torch.nn.functional, 'scaled_dot_product_attention')\n",
    "import torch\nimport torch.nn.functional as F\nflash = getattr(F, 'scaled_dot_product_attention', None)\n",
    "import torch\ntry:\n    from torch.cuda import amp\n    there = True\nexcept ImportError:\n    there = False\n",
    "import torch\ntry:\n    from torch.func import vmap\nexcept ImportError:\n    from functorch import vmap\n",
    "import torch\ntry:\n    import torch._dynamo as dynamo\nexcept:\n    dynamo = None\n",
    "import torch\nfrom distutils.version import LooseVersion as V\nNEW = V(torch.__version__) >= V('1.8.0')\n",
    "import torch\nTORCH_MAJOR = int(torch.__version__.split('.')[0])\nif TORCH_MAJOR < 2:\n    old()\n",
    "import torch\nfrom packaging import version\nif version.parse(torch.__version__).release >= (2, 1):\n    new()\n",
    "from importlib.metadata import version\nif Version(version('torch')) < Version('2.0'):\n    old()\n",
    "if is_torch_version('<', '1.13'):\n    old()\n",
    "import torch\nfrom lib.checks import check\nTORCH_1_9 = check(torch.__version__, '1.9.0')\n",
    "import torch\ndef f():\n    if int(torch.__version__.split('.', 1)[0]) < 2:\n        raise RuntimeError('old')\n",
    "import torch\nassert torch.__version__ >= '1.9'\n",
    "from importlib.util import find_spec\nNEW = find_spec('torch.amp') is not None\n",
    "import torch\ndef least(one):\n    return V(torch.__version__) >= V(one)\nif least('2.0.0'):\n    new()\n",
    "def since(least, of='torch'):\n    return V(version(of)) >= V(least)\nNEW = since('1.12')\n",
    "import lib.compat\nif lib.compat.torch_version.requires('2.0'):\n    new()\n",
]


@pytest.mark.parametrize("gate", OLDER)
def test_a_package_for_an_older_torch_keeps_the_names(gate: str) -> None:
    (finding,) = in_package(gate)
    assert finding.fix is None
    assert finding.advice is not None
    assert "`compat.py`" in finding.advice


@pytest.mark.parametrize("gate", OLDER)
def test_a_file_for_an_older_torch_keeps_the_names(gate: str) -> None:
    (finding,) = findings({"/p/train.py": gate + SCALER}, "/p/train.py")
    assert finding.fix is None


@pytest.mark.parametrize(
    "gate",
    [
        "import torch\nif hasattr(torch.backends, 'mps'):\n    pick()\n",
        "import torch\nif hasattr(torch, 'accelerator'):\n    pick()\n",
        "import torch\nif torch.version.cuda >= '1.9':\n    new()\n",
        "import torch\nnew = torch.__version__ >= '2.6'\n",
        "import torch\nnew = torch.__version__ >= '1.5'\n",
        "import torch, torchvision\nnew = torchvision.__version__ >= '0.13'\n",
        "import torch, pytorch_lightning as pl\nnew = pl.__version__ >= '1.9'\n",
        "import torch, torch_xla\nnew = torch_xla.__version__ >= '1.9'\n",
        "try:\n    import torch\n    from torch.cuda import amp\nexcept ImportError:\n    torch = amp = None\n",
        "import torch\ntry:\n    from torch.func import vmap\nexcept ImportError:\n    raise\n",
        "import torch\ntry:\n    from apex import amp\nexcept ImportError:\n    amp = None\n",
        "import torch\nif torch.__version__ < '2.3':\n    raise ImportError('old')\nold = torch.__version__ < '2.0'\n",
        "import torch\nassert hasattr(torch.amp, 'GradScaler')\n",
        "from importlib.util import find_spec\nthere = find_spec('torch') and find_spec('apex')\n",
        "def since(least, of='torch'):\n    return V(version(of)) >= V(least)\nNEW = since('1.12', 'onnx')\n",
        "import numpy\ndef least(one):\n    return V(numpy.__version__) >= V(one)\nNEW = least('1.20')\n",
    ],
)
def test_what_says_nothing_of_an_older_torch(gate: str) -> None:
    (finding,) = in_package(gate)
    assert finding.fix is not None


def test_a_name_that_the_older_torch_has_is_new_enough() -> None:
    gate = "import torch\nif not hasattr(torch, 'compile'):\n    torch.compile = ours\n"
    assert [one.fix is not None for one in in_package(gate, AUTOCAST)] == [True]
    assert [one.fix is not None for one in in_package(gate, SCALER)] == [False]


def test_what_the_project_requires_comes_first() -> None:
    assert [one.fix is not None for one in in_package(OLDER[0], target=(2, 3))] == [True]
    assert [one.fix is not None for one in in_package(OLDER[0], target=(2, 2))] == [False]


def test_another_package_says_nothing() -> None:
    texts = {
        "/p/lib/__init__.py": "",
        "/p/lib/loop.py": SCALER,
        "/p/other/__init__.py": "",
        "/p/other/old.py": OLDER[0],
    }
    assert [one.fix is not None for one in findings(texts)] == [True]


def test_an_annotation_never_warns() -> None:
    annotated = "import torch\nclass Step:\n    scaler: torch.cuda.amp.GradScaler\n"
    assert in_package(OLDER[0], annotated) == []
    assert len(in_package("", annotated)) == 1


def test_what_its_package_imports_by_the_way_runs_with_it() -> None:
    texts = {
        "/p/lib/__init__.py": "from lib import loop, parts\n",
        "/p/lib/loop.py": SCALER,
        "/p/lib/parts/__init__.py": "from .old import *\n",
        "/p/lib/parts/old.py": "from lib.release import requires\nif requires('2.0'):\n    new()\n",
        "/p/lib/release.py": "import torch\ndef requires(one):\n    return V(torch.__version__) >= V(one)\n",
    }
    (finding,) = findings(texts)
    assert finding.fix is None
    assert finding.advice is not None
    assert "`old.py`" in finding.advice


ARMS = [
    "torch.amp.GradScaler() if NEW else torch.cuda.amp.GradScaler()",
    "torch.cuda.amp.GradScaler() if OLD else torch.amp.GradScaler('cuda')",
    "torch.amp.GradScaler('cuda', enabled=on) if find_spec('torch.amp') else torch.cuda.amp.GradScaler(enabled=on)",
    "torch.amp.autocast if importlib.util.find_spec('torch.amp') else torch.cuda.amp.autocast",
    "torch.GradScaler(enabled=on) if is_new() else torch.cuda.amp.GradScaler(enabled=on)",
    "new() if 'GradScaler' in dir(torch.amp) else torch.cuda.amp.GradScaler()",
    "new() if at_least('2.3') else torch.cuda.amp.GradScaler()",
]


@pytest.mark.parametrize("choice", ARMS)
def test_the_arm_for_an_older_torch_stays_as_it_is(choice: str) -> None:
    code = f"import torch\ndef f(on):\n    return {choice}\n"
    assert isinstance(rewrite(Source("train.py", code.encode()), Options(SELECT, unsafe=True)), Clean)
    assert findings({"/p/train.py": code}, "/p/train.py") == []


@pytest.mark.parametrize(
    "block",
    [
        "if NEW:\n        s = torch.amp.GradScaler('cuda')\n    else:\n        s = torch.cuda.amp.GradScaler()",
        "if NEW:\n        return torch.amp.GradScaler('cuda')\n    return torch.cuda.amp.GradScaler()",
        "try:\n        s = torch.amp.GradScaler('cuda')\n    except Error:\n        s = torch.cuda.amp.GradScaler()",
    ],
)
def test_the_block_for_an_older_torch_stays_as_it_is(block: str) -> None:
    assert findings({"/p/train.py": f"import torch\ndef f():\n    {block}\n"}, "/p/train.py") == []


@pytest.mark.parametrize(
    "choice",
    [
        "torch.amp.autocast('cpu') if device.type == 'cpu' else torch.cuda.amp.autocast()",
        "torch.amp.autocast(device.type) if device.type == 'cpu' else torch.cuda.amp.autocast()",
        "torch.autocast('cuda', dtype=torch.bfloat16) if brain else torch.cuda.amp.autocast()",
        "torch.amp.GradScaler('cuda', init_scale=2) if small else torch.cuda.amp.GradScaler()",
        "nullcontext() if find_spec('apex') else torch.cuda.amp.autocast()",
    ],
)
def test_an_arm_for_something_else(choice: str) -> None:
    (finding,) = findings({"/p/train.py": f"import torch\ndef f():\n    return {choice}\n"}, "/p/train.py")
    assert finding.fix is not None


def test_a_polyfill_stays_as_it_is() -> None:
    code = """
        import torch
        class Polyfill:
            @staticmethod
            def autocast(device_type, enabled=True):
                return torch.cuda.amp.autocast(enabled=enabled)
        if not hasattr(torch, "autocast"):
            torch.autocast = Polyfill.autocast
    """
    assert isinstance(rewrite(Source("compat.py", dedent(code).encode()), Options(SELECT)), Clean)


def test_most_scripts_pin_nothing() -> None:
    outcome = rewrite(Source("train.py", SCALER.encode()), Options(SELECT))
    assert isinstance(outcome, Changed)
    assert b'torch.amp.GradScaler("cuda")' in outcome.data


@pytest.mark.parametrize("at", ["/p/torch/optim/sgd.py", "/p/test/run.py", "/p/torch/amp/autocast_mode.py"])
@pytest.mark.parametrize("own", ["from .autocast_mode import autocast\n", ""])
def test_a_torch_of_its_own_without_the_new_name(at: str, own: str) -> None:
    assert findings({"/p/torch/amp/__init__.py": own, at: SCALER}, at) == []


@pytest.mark.parametrize("own", ["from .grad_scaler import GradScaler\n", "from .grad_scaler import *\n"])
@pytest.mark.parametrize("folder", ["/p", "/p/third_party"])
def test_a_torch_of_its_own_with_it(folder: str, own: str) -> None:
    (finding,) = findings({f"{folder}/torch/amp/__init__.py": own, "/p/lib/loop.py": SCALER})
    assert finding.fix is not None


def test_a_torch_below_is_of_others() -> None:
    (finding,) = findings({"/p/third_party/torch/amp/__init__.py": "", "/p/lib/loop.py": SCALER})
    assert finding.fix is not None


@pytest.mark.parametrize(
    "gate",
    [
        "assert torch.__version__ < '2.3'\n",
        "assert '2.3' > torch.__version__\n",
        "if torch.__version__ >= '2.3':\n    raise ImportError('new')\n",
        "assert torch.__version__ >= '1.9' and torch.__version__ < '2.3'\n",
        "if torch.__version__ < '1.9' or torch.__version__ >= '2.3':\n    raise ImportError('other')\n",
    ],
)
def test_a_program_that_ends_on_a_newer_torch_keeps_the_names(gate: str) -> None:
    (finding,) = in_package(f"import torch\n{gate}")
    assert finding.fix is None


@pytest.mark.parametrize(
    "gate",
    [
        "assert torch.__version__ >= '2.3'\n",
        "assert '2.3' <= torch.__version__\n",
        "if '2.3' > torch.__version__:\n    raise ImportError('old')\n",
        "assert not torch.__version__ < '2.3'\n",
    ],
)
def test_a_program_that_ends_on_an_older_torch_gets_the_new_ones(gate: str) -> None:
    (finding,) = in_package(f"import torch\n{gate}")
    assert finding.fix is not None


@pytest.mark.parametrize(
    "gate",
    [
        "if int(torch.__version__.split('.')[0]) == 2:\n    new()\n",
        "TORCH_MAJOR = int(torch.__version__.split('.')[0])\nif TORCH_MAJOR != 1:\n    new()\n",
        "try:\n    from torch.func import vmap\nexcept ModuleNotFoundError:\n    from functorch import vmap\n",
        "try:\n    from torch.func import vmap\nexcept Exception:\n    from functorch import vmap\n",
        "def f():\n    try:\n        import torch.func\n    except ImportError:\n        return\n    use(torch)\n",
    ],
)
def test_what_goes_on_with_an_older_torch_keeps_the_names(gate: str) -> None:
    (finding,) = in_package(f"import torch\n{gate}")
    assert finding.fix is None
    assert "`compat.py`" in finding.advice


def test_a_handler_that_returns_goes_on_without_the_name() -> None:
    code = "import torch\ndef f():\n    try:\n        return torch.cuda.amp.autocast()\n    except AttributeError:\n"
    assert findings({"/p/train.py": f"{code}        return nullcontext()\n"}, "/p/train.py") == []
