"""Tensors that a function of another file makes: they are on the host, as if it were written here."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

from .conftest import InMemory

ALL = Options(frozenset(one.code for one in all_rules() if not one.code.startswith("DVF5")), unsafe=True)
SAFE = Options(frozenset(one.code for one in all_rules()))
MAIN = """
    import torch
    from torch import nn
    from made import make
    device = torch.device("cuda")
    net = nn.Linear(3, 3).to(device)
    {got} = make({given})
    print(net(x))
"""
HEAD = """
    import numpy as np
    import torch
    def chunks(values):
        return [values[i : i + 3] for i in range(0, len(values), 3)]
    def noise(n):
        return torch.rand(n, 3)
"""


def project(main: str, made: str) -> Project:
    return Project(InMemory({"/p/main.py": main, "/p/made.py": made}))


def added(main: str, body: str, parameters: str = "n") -> list[str]:
    """The lines that fixes bring into the file that calls `make`."""
    main = dedent(main)
    made = dedent(HEAD) + f"def make({parameters}):\n    {body}\n"
    outcome = rewrite(Source("/p/main.py", main.encode()), ALL, project=project(main, made))
    after = outcome.data.decode().splitlines() if isinstance(outcome, Changed) else main.splitlines()
    return [one.strip() for one in after if one not in main.splitlines()]


STAYS = {
    "copied to the host": ("return torch.rand(n, 3).cpu()", "n"),
    "moved there": ("return torch.rand(n, 3).cuda()", "n"),
    "made on a device": ('return torch.rand(n, 3, device="cuda")', "n"),
    "told a device": ("return torch.rand(n, 3)", "n, device=None"),
    "made of what it gets": ("return torch.tensor(n)", "n"),
    "made like what it gets": ("return torch.rand_like(n)", "n"),
    "met by what it gets": ("return torch.rand(3) + n", "n"),
    "on one of two ways": ("return torch.rand(n, 3) if n else read(n)", "n"),
    "under a device": ('with torch.device("cuda"): x = torch.rand(n, 3)\n    return x', "n"),
    "given one by one": ("yield torch.rand(n, 3)", "n"),
    "a number": ("return torch.tensor(3.0)", "n"),
    "drawn on a generator's device": ("return torch.rand(n, 3, generator=source)", "n"),
}


@pytest.mark.parametrize(("body", "parameters"), STAYS.values(), ids=STAYS)
def test_it_stays(body: str, parameters: str) -> None:
    assert added(MAIN.format(got="x", given="8"), body, parameters) == []


def test_it_stays_where_the_other_file_sets_a_default_device() -> None:
    body = 'return torch.rand(n, 3)\ntorch.set_default_device("cuda")'
    assert added(MAIN.format(got="x", given="8"), body) == []


def test_it_stays_where_this_file_sets_a_default_device() -> None:
    main = MAIN.replace("device = ", 'torch.set_default_device("cuda")\n    device = ')
    assert added(main.format(got="x", given="8"), "return torch.rand(n, 3)") == []


def test_another_part_stays() -> None:
    assert added(MAIN.format(got="x, y", given="8"), "return read(n), torch.rand(n, 3)") == []


MOVES = {
    "a factory": "return torch.rand(n, 3)",
    "an array": "return torch.from_numpy(np.zeros((n, 3))).float()",
    "a list": "return torch.tensor(chunks(range(n))).float()",
    "a display": "return torch.tensor([[1.0, 2.0, 3.0]])",
    "a stack": "rows = torch.rand(3), torch.rand(3)\n    return torch.stack([rows[0], rows[1]], dim=0)",
    "computed": "x = torch.rand(n, 3)\n    return 2 * x - 1",
    "by a function of its file": "return noise(n)",
    "a slice": "return torch.rand(n, 9)[:, :3]",
}


@pytest.mark.parametrize("body", MOVES.values(), ids=MOVES)
def test_it_goes_where_it_is_used(body: str) -> None:
    assert added(MAIN.format(got="x", given="8"), body) == ["x = make(8).to(device)"]


def test_a_part_goes_where_it_is_used() -> None:
    assert added(MAIN.format(got="x, y", given="8"), "return torch.rand(n, 3), n") == ["x = x.to(device)"]


def test_what_meets_it_on_the_host_is_no_bug() -> None:
    main = dedent(
        """
        import torch
        from made import make
        def both(n):
            return torch.cat([make(n), torch.zeros(1, 3)])
        """
    )
    made = dedent(HEAD) + "def make(n):\n    return torch.tensor(chunks(range(n))).float()\n"
    outcome = check(Source("/p/main.py", main.encode()), SAFE, project(main, made))
    assert isinstance(outcome, Checked)
    assert outcome.findings == ()
