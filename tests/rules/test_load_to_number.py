"""DVF406: checkpoints that are loaded to a number."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF406"

SILENT = {
    "places": """
        import torch
        torch.load(path)
        torch.load(path, "cpu")
        torch.load(path, map_location="cuda:0")
        torch.load(path, map_location=torch.device("cuda", 0))
        torch.load(path, map_location=None)
        torch.load(path, map_location={"cuda:1": "cuda:0"})
        torch.load(path, map_location=lambda storage, location: storage)
        torch.load(path, map_location=lambda storage, location: storage.cuda(torch.cuda.current_device()))
        torch.load(path, map_location=f"cuda:{torch.cuda.current_device()}")
    """,
    "what may be anything": """
        import torch
        def restore(path, place, rank):
            torch.load(path, map_location=place)
            torch.load(path, map_location=rank)
            torch.load(path, **{"map_location": 0})
    """,
    "a place or a number": """
        import torch
        def restore(path, several):
            place = torch.cuda.current_device() if several else "cpu"
            torch.load(path, map_location=place)
    """,
    "a caller chooses": """
        import torch
        def restore(path, place):
            here = place
            return torch.load(path, map_location=here)
        restore("a.pt", torch.cuda.current_device())
    """,
    "other loaders": """
        import json, torch
        json.load(path, map_location=0)
        self.load(path, map_location=0)
        Model.load_from_checkpoint(path, map_location=0)
    """,
    "a truth": """
        import torch
        torch.load(path, map_location=True)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


FIXES = {
    "the current device": (
        "torch.load(path, map_location=torch.cuda.current_device())  # here\n",
        'torch.load(path, map_location=torch.device("cuda", torch.cuda.current_device()))  # here\n',
    ),
    "by position": (
        "torch.load(path, torch.cuda.current_device())\n",
        'torch.load(path, torch.device("cuda", torch.cuda.current_device()))\n',
    ),
    "by a name": (
        "here = torch.cuda.current_device()\ntorch.load(path, map_location=here)\n",
        'here = torch.cuda.current_device()\ntorch.load(path, map_location=torch.device("cuda", here))\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXES.values(), ids=FIXES)
def test_names_the_current_device(rule, before: str, after: str) -> None:
    assert rule.fixed("import torch\n" + before) == "import torch\n" + after


CHOICES = {
    "a number": ("torch.load(path, map_location=1)\n", 'torch.load(path, map_location=torch.device("cuda", 1))\n'),
    "a rank": (
        'import os\nrank = int(os.environ["LOCAL_RANK"])\ntorch.load(path, map_location=rank)\n',
        'import os\nrank = int(os.environ["LOCAL_RANK"])\ntorch.load(path, map_location=torch.device("cuda", rank))\n',
    ),
}


@pytest.mark.parametrize(("before", "after"), CHOICES.values(), ids=CHOICES)
def test_that_a_number_means_cuda_is_a_choice(rule, before: str, after: str) -> None:
    assert rule.unchanged_unless_unsafe("import torch\n" + before) == "import torch\n" + after


def test_another_name_of_torch(rule) -> None:
    program = "import torch as th\nth.load(path, map_location=th.cuda.current_device())\n"
    assert 'map_location=th.device("cuda", th.cuda.current_device())' in rule.fixed(program)


def test_without_a_name_of_torch_there_is_advice(rule) -> None:
    finding = rule.finding("from torch import load\nload(path, map_location=0)\n")
    assert finding.fix is None
    assert finding.advice == 'write `"cuda:0"`'


def test_the_message_says_what_happens(rule) -> None:
    finding = rule.finding("import torch\ntorch.load(path, map_location=0)\n")
    assert finding.message == "`map_location=0` is a number, which `torch.load` takes for a function and calls"
    assert finding.fix.title == 'Name the device: `torch.device("cuda", 0)`'
    assert finding.fix.safety is Safety.UNSAFE
