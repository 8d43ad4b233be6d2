"""What a function of another file gives, part by part: made there on the host, moved there, or what it was given."""

from dataclasses import replace
from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

from .conftest import InMemory

ALL = Options(frozenset(one.code for one in all_rules() if not one.code.startswith("DVF5")), unsafe=True)
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


def made(parameters: str, body: str) -> str:
    return dedent(HEAD) + f"def make({parameters}):\n    {body}\n"


def added(main: str, body: str, parameters: str = "n") -> list[str]:
    """The lines that fixes bring into the file that calls `make`."""
    main = dedent(main)
    outcome = rewrite(Source("/p/main.py", main.encode()), ALL, project=project(main, made(parameters, body)))
    after = outcome.data.decode().splitlines() if isinstance(outcome, Changed) else main.splitlines()
    return [one.strip() for one in after if one not in main.splitlines()]


def found(main: str, body: str) -> list[str]:
    """The findings in the file that calls `make`, suggestions included."""
    main = dedent(main)
    options = replace(ALL, suggestions=True)
    outcome = check(Source("/p/main.py", main.encode()), options, project(main, made("n", body)))
    assert isinstance(outcome, Checked)
    return [one.message for one in outcome.findings]


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


def test_nothing_is_suggested_where_only_its_options_name_a_device() -> None:
    main = """
        import torch
        from made import make
        def train(args, loader):
            device = args.device
            rows, path = make(args)
            for x in loader(rows - rows.mean(0)):
                print(x.to(device))
    """
    assert found(main, "return torch.tensor(np.load(n.path)).float(), n.path") == []


def test_another_part_stays() -> None:
    assert added(MAIN.format(got="x, y", given="8"), "return read(n), torch.rand(n, 3)") == []


MOVES = {
    "a factory": "return torch.rand(n, 3)",
    "an array": "return torch.from_numpy(np.zeros((n, 3))).float()",
    "a list": "return torch.tensor(chunks(range(n))).float()",
    "a list that is filled": "rows = []\n    for _ in range(n): rows.append([1.0, 2.0])\n    return torch.tensor(rows)",
    "turned round": "return torch.rand(3, n).T",
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
    main = """
        import torch
        from made import make
        def both(n):
            return torch.cat([make(n), torch.zeros(1, 3)])
    """
    assert found(main, "return torch.tensor(chunks(range(n))).float()") == []


LOOP = """
    import torch
    from torch import nn
    from made import make
    device = torch.device("cuda")
    net = nn.Linear(3, 3).to(device)
    for x, y in torch.utils.data.DataLoader(rows):
        {before}
        x, y = make(x, y, device)
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
"""
TAKEN = {
    "both": ("return x.to(device), y.to(device)", "pass"),
    "both in place of their names": ("x, y = x.to(device), y.to(device)\n    return x, y", "pass"),
    "one by what is not read": ("return x.to(device), send(y)", "pass"),
    "one by a flag": ("if device: y = y.cuda()\n    return x.to(device), y", "pass"),
    "one in place, entry by entry": ("for k in y: y[k] = y[k].to(device)\n    return x.to(device), y", "pass"),
    "one in place, by its attributes": ("y.rows = y.rows.to(device)\n    return x.to(device), y", "pass"),
    "one in place, by what is not read": ("send(y, device)\n    return x.to(device), y", "pass"),
    "one in place, element by element": ("for row in y: row.to(device)\n    return x.to(device), y", "pass"),
    "neither, but before": ("return x.float(), y.long()", "x, y = x.to(device), y.to(device)"),
    "one, and the other before": ("return x.to(device), y.long()", "y = y.to(device)"),
    "one before, and the other by its own file": ("return x.float(), y.cuda()", "x = x.to(device)"),
}


@pytest.mark.parametrize(("body", "before"), TAKEN.values(), ids=TAKEN)
def test_parts_that_are_taken_there_stay(body: str, before: str) -> None:
    assert added(LOOP.format(before=before), body, "x, y, device") == []


FORGOTTEN = {
    "as it is": "return x.to(device), y",
    "converted": "return x.to(device), y.view(-1).long()",
    "computed": "return x.float().to(device), y - 1",
    "moved to CUDA": "return x.cuda(), y",
}


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("return x.to(device)", []),
        ("return send(x)", []),
        ("if device: x = x.cuda()\n    return x", []),
        ("for k in x: x[k] = x[k].to(device)\n    return x", []),
        ("return x.float() / 255", ["x = x.to(device)"]),
    ],
)
def test_what_is_given_back_is_where_it_was(body: str, lines: list[str]) -> None:
    main = LOOP.replace("x, y = make(x, y, device)", "x = make(x, device)").format(before="y = y.to(device)")
    assert [one.replace(", non_blocking=True", "") for one in added(main, body, "x, device")] == lines


@pytest.mark.parametrize("body", FORGOTTEN.values(), ids=FORGOTTEN)
def test_a_part_that_is_forgotten_is_moved(body: str) -> None:
    (line,) = added(LOOP.format(before="pass"), body, "x, y, device")
    assert line in {"y = y.to(device)", "y = y.to(device, non_blocking=True)"}
