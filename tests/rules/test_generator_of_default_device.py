"""DVF404: what shuffles under a default device, which draws there with a generator of the host."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from ..project.conftest import InMemory

CODE = "DVF404"

HEAD = """
import torch
from torch.utils.data import DataLoader, RandomSampler, SequentialSampler, SubsetRandomSampler, random_split
"""

SILENT = {
    "nothing is set": "DataLoader(data, shuffle=True)",
    "the host is set": "torch.set_default_device('cpu')\nDataLoader(data, shuffle=True)",
    "a type of the host": "torch.set_default_tensor_type('torch.FloatTensor')\nDataLoader(data, shuffle=True)",
    "a dtype": "torch.set_default_dtype(torch.float64)\nDataLoader(data, shuffle=True)",
    "no shuffling": "torch.set_default_device('cuda')\nDataLoader(data)\nDataLoader(data, shuffle=False)",
    "a sampler in order": "torch.set_default_device('cuda')\nDataLoader(data, sampler=SequentialSampler(data))",
    "a sampler that passes no generator on": "torch.set_default_device('cuda')\nSubsetRandomSampler(range(8))",
    "a generator": """
g = torch.Generator(device='cuda')
torch.set_default_device('cuda')
DataLoader(data, shuffle=True, generator=g)
""",
    "options that may hold one": "torch.set_default_device('cuda')\nDataLoader(data, shuffle=True, **options)",
    "it is set back": """
torch.set_default_device('cuda')
model = torch.nn.Linear(3, 1)
torch.set_default_device('cpu')
DataLoader(data, shuffle=True)
""",
    "the host is set behind a guard": """
torch.set_default_tensor_type('torch.cuda.FloatTensor')
if args.on_host:
    torch.set_default_tensor_type('torch.FloatTensor')
DataLoader(data, shuffle=True)
""",
    "only where the loader is not": """
if torch.cuda.is_available():
    torch.set_default_tensor_type('torch.cuda.FloatTensor')
else:
    loader = DataLoader(data, shuffle=True)
""",
    "in a function that nothing here runs": """
def use_cuda():
    torch.set_default_device('cuda')
loader = DataLoader(data, shuffle=True)
""",
    "a device that is not known": "torch.set_default_device(args.where)\nDataLoader(data, shuffle=True)",
    "a loader of another package": """
from loaders import DataLoader
torch.set_default_device('cuda')
DataLoader(data, shuffle=True)
""",
}
GENERATOR = "generator=torch.Generator(device={}).manual_seed(torch.initial_seed()){})"
ON_CUDA = " if torch.empty(0).is_cuda else None"
FOUND = {
    "a default device": ("torch.set_default_device('cuda')\nDataLoader(data, shuffle=True)", '"cuda"', ""),
    "a default type": (
        "torch.set_default_tensor_type(torch.cuda.FloatTensor)\nDataLoader(data, shuffle=True)",
        '"cuda"',
        "",
    ),
    "by position": ("torch.set_default_device('cuda')\nDataLoader(data, 8, True)", '"cuda"', ""),
    "a split": ("torch.set_default_device('cuda')\nrandom_split(data, [6, 2])", '"cuda"', ""),
    "a sampler of its own": (
        "torch.set_default_device('cuda')\nDataLoader(data, sampler=RandomSampler(data))",
        '"cuda"',
        "",
    ),
    "a device with a name": (
        (
            "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
            "torch.set_default_device(device)\nDataLoader(data, shuffle=True)"
        ),
        "device",
        ON_CUDA,
    ),
    "a guard, and the host otherwise": (
        """
if torch.cuda.is_available():
    torch.set_default_tensor_type('torch.cuda.FloatTensor')
else:
    torch.set_default_tensor_type('torch.FloatTensor')
def train():
    return DataLoader(data, batch_size=4, shuffle=True)
""",
        "torch.empty(0).device",
        ON_CUDA,
    ),
    "the host first": (
        """
torch.set_default_tensor_type('torch.FloatTensor')
if torch.cuda.is_available():
    if args.no_cuda:
        print("not used")
    else:
        torch.set_default_tensor_type('torch.cuda.FloatTensor')
DataLoader(data, shuffle=True)
""",
        "torch.empty(0).device",
        ON_CUDA,
    ),
    "in a function that is run": (
        "def setup():\n    torch.set_default_device('cuda')\nsetup()\nDataLoader(data, shuffle=not is_test)",
        '"cuda"',
        "",
    ),
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


@pytest.mark.parametrize(("program", "device", "otherwise"), FOUND.values(), ids=FOUND.keys())
def test_found(rule, program: str, device: str, otherwise: str) -> None:
    assert rule.safeties(HEAD + program) == [Safety.SAFE]
    assert GENERATOR.format(device, otherwise) in rule.fixed(HEAD + program)


def test_without_a_name_of_torch_there_is_only_advice(rule) -> None:
    finding = rule.finding("""
        from torch import set_default_device
        from torch.utils.data import DataLoader
        set_default_device("cuda")
        DataLoader(data, shuffle=True)
    """)
    assert finding.fix is None
    assert "line 4" in finding.advice


IMPORTS = """
    import torch
    from torch.utils.data import DataLoader
    from lib.model import Model
    {line}
    loader = DataLoader(data, shuffle=True)
"""
SETS = "    torch.set_default_tensor_type(torch.cuda.FloatTensor)\n"


def _beside(line: str, **texts: str) -> tuple[Finding, ...]:
    """What is found in a script of a project, the other files of which have these texts."""
    others = {f"/p/lib/{name}.py": f"import torch\n{text}" for name, text in texts.items()}
    files = InMemory({"/p/train.py": IMPORTS.format(line=line), "/p/lib/__init__.py": "", **others})
    outcome = check(
        Source("/p/train.py", files.read("/p/train.py") or b""), Options(frozenset({CODE})), project=Project(files)
    )
    assert isinstance(outcome, Checked)
    return outcome.findings


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("pass", "Model = torch.nn.Linear\n"),
        ("pass", f"def use_cuda():\n{SETS}"),
        ("pass", f"if __name__ == '__main__':\n{SETS}"),
        ("pass", "torch.set_default_tensor_type('torch.FloatTensor')\n"),
        ("pass", f"if True:\n{SETS}\ntorch.set_default_tensor_type(torch.FloatTensor)\n"),
        ("torch.set_default_tensor_type(torch.FloatTensor)", f"if torch.cuda.is_available():\n{SETS}"),
    ],
)
def test_imports_that_leave_the_default_on_the_host(line: str, text: str) -> None:
    assert _beside(line, model=text) == ()


@pytest.mark.parametrize(
    "texts",
    [
        {"model": f"if torch.cuda.is_available():\n{SETS}"},
        {"model": "from .utils import pad\n", "utils": f"if torch.cuda.is_available():\n{SETS}"},
    ],
    ids=["by what is imported", "by what that imports"],
)
def test_an_import_sets_the_default(texts: dict[str, str]) -> None:
    (found,) = _beside("pass", **texts)
    assert "default device" in found.message
    assert found.fix is not None
    assert found.fix.safety is Safety.SAFE


def test_an_import_that_always_sets_cuda() -> None:
    (found,) = _beside("pass", model="torch.set_default_tensor_type('torch.cuda.FloatTensor')\n")
    assert found.fix is not None
    assert '"cuda"' in str(found.fix.edits)


@pytest.mark.parametrize(
    "program",
    [
        "torch.set_default_device('cuda')\nrandom_split(data, [8, 2], torch.Generator(device='cuda'))",
        "torch.set_default_device('cuda')\nRandomSampler(data, False, None, torch.Generator(device='cuda'))",
        "random_split(data, [8, 2])\ntorch.set_default_device('cuda')",
    ],
)
def test_a_generator_by_position_and_what_drew_before(rule, program: str) -> None:
    assert rule.findings(f"{HEAD}{program}\n") == ()


def test_what_a_function_sets_may_not_be_set(rule) -> None:
    setter = "def setup():\n    torch.set_default_device('cuda')\nif torch.cuda.is_available():\n    setup()\n"
    assert "if torch.empty(0).is_cuda else None" in rule.fixed(
        f"{HEAD}{setter}random_split(data, [8, 2])\n", unsafe=True
    )
