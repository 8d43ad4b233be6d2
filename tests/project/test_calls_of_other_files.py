"""What files say of functions that others call: where these want what they are given, and where callers have it."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

from .conftest import InMemory

ALL = Options(frozenset(one.code for one in all_rules() if not one.code.startswith("DVF5")), unsafe=True)
LOOP = """
    import torch
    def fit(net, criterion, optimizer, loader, flag, place):
        for x, y in loader:
            {moves}
            loss = criterion(net(x), y)
            loss.backward()
            optimizer.step()
"""
MAIN = """
    import torch
    from torch import nn
    from loops import fit
    place = torch.device("cuda")
    flag = torch.cuda.is_available()
    net = nn.Linear(3, 3)
    {moved}
    criterion = nn.CrossEntropyLoss({weight})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    fit(net, criterion, optimizer, loader, flag, place)
"""


def added(main: str, loops: str, *, path: str = "main.py") -> list[str]:
    """The lines that fixes bring into one of two files."""
    texts = {"/p/main.py": dedent(main), "/p/loops.py": dedent(loops)}
    outcome = rewrite(Source(f"/p/{path}", texts[f"/p/{path}"].encode()), ALL, project=Project(InMemory(texts)))
    before = texts[f"/p/{path}"].splitlines()
    after = outcome.data.decode().splitlines() if isinstance(outcome, Changed) else before
    return [one.strip() for one in after if one not in before]


WANTED = {
    "on CUDA": ("x, y = x.cuda(), y.cuda()", ['net = nn.Linear(3, 3).to("cuda")']),
    "where it is told": ("x, y = x.to(place), y.to(place)", ["net = nn.Linear(3, 3).to(place)"]),
    "on CUDA, under a flag": ("if flag: x, y = x.cuda(), y.cuda()", ["if flag:", 'net = net.to("cuda")']),
    "on CUDA, if it is there": (
        "if torch.cuda.is_available(): x, y = x.cuda(), y.cuda()",
        ["if flag:", 'net = net.to("cuda")'],
    ),
    "wherever it is": ("pass", []),
    "where it is itself": ("x, y = x.to(net.weight.device), y.to(net.weight.device)", []),
    "under a condition of its own": ("if len(x) > 3: x, y = x.cuda(), y.cuda()", []),
    "on the host": ("x, y = x.cpu(), y.cpu()", []),
}


@pytest.mark.parametrize(("moves", "lines"), WANTED.values(), ids=WANTED)
def test_a_model_goes_where_the_loop_wants_it(moves: str, lines: list[str]) -> None:
    assert added(MAIN.format(moved="", weight=""), LOOP.format(moves=moves)) == lines


@pytest.mark.parametrize("moved", ["net.cuda()", "net = net.to(place)"])
def test_a_model_that_is_there_stays(moved: str) -> None:
    assert added(MAIN.format(moved=moved, weight=""), LOOP.format(moves="x, y = x.cuda(), y.cuda()")) == []


WEIGHT = "weight=torch.tensor([1.0, 2.0, 3.0])"
FOLLOWING = "net.train(); x, y = x.to(next(net.parameters()).device), y.to(next(net.parameters()).device)"


@pytest.mark.parametrize(
    ("moved", "lines"),
    [
        ("net.cuda()", ['criterion = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0, 3.0], device="cuda"))']),
        ("if flag: net.cuda()", ["if flag:", "criterion = criterion.cuda()"]),
        ("pass", []),
    ],
)
def test_weights_go_where_the_loop_has_the_model(moved: str, lines: list[str]) -> None:
    assert added(MAIN.format(moved=moved, weight=WEIGHT), LOOP.format(moves=FOLLOWING)) == lines


NOISE = """
    import torch
    def fit(net, criterion, optimizer, loader, flag, place):
        z = torch.rand(2, 3)
        net(z).mean().backward()
"""


@pytest.mark.parametrize(
    ("moved", "lines"),
    [
        ("net.cuda()", ['z = torch.rand(2, 3, device="cuda")']),
        ("net = net.to(place)", ["z = torch.rand(2, 3, device=place)"]),
        ("if flag: net.cuda()", ["if flag:", 'z = z.to("cuda")']),
        ("if flag: net.to(place)", ["if flag:", "z = z.to(place)"]),
        ("pass", []),
        ("net.cpu()", []),
        ("if ask(): net.cuda()", []),
    ],
)
def test_what_meets_a_model_goes_where_all_callers_have_it(moved: str, lines: list[str]) -> None:
    assert added(MAIN.format(moved=moved, weight=""), NOISE, path="loops.py") == lines


def test_callers_that_differ_say_nothing() -> None:
    main = MAIN.format(moved="net.cuda()", weight="")
    other = "    fit(nn.Linear(3, 3), criterion, optimizer, loader, flag, place)\n"
    assert added(main + other, NOISE, path="loops.py") == []


def test_the_finding_tells_where_the_other_file_wants_it() -> None:
    texts = {
        "/p/main.py": dedent(MAIN.format(moved="", weight="")),
        "/p/loops.py": dedent(LOOP.format(moves="x, y = x.cuda(), y.cuda()")),
    }
    outcome = check(Source("/p/main.py", texts["/p/main.py"].encode()), ALL, Project(InMemory(texts)))
    assert isinstance(outcome, Checked)
    assert [(one.path, one.note) for one in outcome.findings[0].trail if one.path] == [
        ("/p/loops.py", "it is called here")
    ]


HEAD = """
    import torch
    from torch import nn
    from loops import fit
    place = torch.device("cuda")
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3)).to(place)
    net[2] = nn.Linear(3, 3)
    fit(net, loader, place)
"""


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("net(x.to(place)).mean().backward()", ["net.to(place)"]),
        ("net.to(place); net(x.to(place)).mean().backward()", []),
        ("print(net.training)", []),
    ],
)
def test_a_part_that_a_moved_model_gets_before_another_file_runs_it(body: str, lines: list[str]) -> None:
    loops = f"""
    import torch
    def fit(net, loader, place):
        for x in loader:
            {body}
    """
    assert added(HEAD, loops) == lines


@pytest.mark.parametrize("given", ["g", "rng=g"])
def test_a_generator_that_a_function_of_another_file_draws_from(given: str) -> None:
    main = f"import torch\nfrom noise import noise\ng = torch.Generator('cuda')\nx = noise(3, {given})\n"
    noise = "import torch\ndef noise(n, rng):\n    return torch.randn(n, generator=rng, device='cpu')\n"
    project = Project(InMemory({"/p/main.py": main, "/p/noise.py": noise}))
    outcome = check(Source("/p/main.py", main.encode()), Options(frozenset({"DVF404"})), project=project)
    assert isinstance(outcome, Checked), outcome
    assert [(one.code, one.fix) for one in outcome.findings] == [("DVF404", None)]


HELPER = """
    def put(value, place):
        if {test}:
            return value.{move}
        return value
"""


@pytest.mark.parametrize(
    ("test", "move", "lines"),
    [
        ("torch.cuda.is_available()", "to(place)", ["if flag:", "net = net.to(place)"]),
        ("value is not None", "cpu()", []),
    ],
)
def test_what_a_helper_of_the_loop_moves_under_a_test(test: str, move: str, lines: list[str]) -> None:
    loops = dedent(LOOP.format(moves="x, y = put(x, place), put(y, place)")) + dedent(
        HELPER.format(test=test, move=move)
    )
    assert added(MAIN.format(moved="", weight=""), loops) == lines
