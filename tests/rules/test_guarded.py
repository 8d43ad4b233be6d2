"""Moves under a guard (`if use_cuda:`): what is copied of them stays under it, or follows what they moved."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods.engine import rewrite
from devfix_codemods.outcomes import Changed, Clean, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

CODES = frozenset(one.code for one in all_rules() if one.code != "DVF501")  # that one gives moves a device to go to

HEAD = """\
import torch
from options import args, number_of_cards, options, use_cuda
from torch import nn
from torch.utils.data import DataLoader

model = nn.Linear(4, 2)
criterion = nn.CrossEntropyLoss()
"""
GUARDS = ["use_cuda", "torch.cuda.is_available()", "args.cuda", "options.use_cuda"]
UNKNOWN_GUARDS = ["args.gpu is not None", "args.parallel", "number_of_cards > 0"]
MOVES = [".cuda()", '.to("cuda")', ".to(device)"]


def _after(program: str) -> str:
    outcome = rewrite(Source("train.py", program.encode()), Options(CODES, unsafe=True))
    assert isinstance(outcome, Changed | Clean), outcome
    return outcome.data.decode() if isinstance(outcome, Changed) else program


def _program(body: str, guard: str = "use_cuda", move: str = ".cuda()", head: str = HEAD) -> str:
    text = dedent(body).lstrip("\n").replace("GUARD", guard).replace(".move()", move)
    declared = 'device = torch.device("cuda")\n' if "device" in move else ""
    return head + declared + text


# Nothing that fails without CUDA is written outside of the guard


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("guard", [*GUARDS, *UNKNOWN_GUARDS])
@pytest.mark.parametrize(
    "body",
    {
        "a module above the guard": """
            net = nn.Linear(4, 2)
            for x, y in DataLoader(data):
                if GUARD:
                    x = x.move()
                    net(x)
        """,
        "a weight above the guard": """
            loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))
            for x, y in DataLoader(data):
                if GUARD:
                    model.move()
                    x = x.move()
                    y = y.move()
                    loss(model(x), y)
        """,
        "a generator above the guard": """
            numbers = torch.Generator()
            if GUARD:
                torch.randn(3, generator=numbers, device="cuda")
        """,
        "a new part below the guard": """
            net = nn.Sequential(nn.Linear(4, 2), nn.Linear(2, 2))
            if GUARD:
                net = net.move()
            net.head = nn.Linear(2, 3)
            for x, y in DataLoader(data):
                if GUARD:
                    x = x.move()
                net.head(net(x))
        """,
        "a module that a helper gets the input of": """
            def gpu(x):
                return x.move()

            net = nn.Linear(4, 2)
            for x, y in DataLoader(data):
                if GUARD:
                    x = gpu(x)
                net(x)
        """,
    }.values(),
)
def test_nothing_is_demanded_outside_of_the_guard(body, guard, move):
    before = _program(body, guard, move)
    lines, after = before.splitlines(), _after(before)
    guarded = {
        line
        for one in ast.walk(ast.parse(after))
        if isinstance(one, ast.If) and ast.unparse(one.test) == guard
        for line in range(one.body[0].lineno, (one.body[-1].end_lineno or 0) + 1)
    }
    tests = [f"if {guard}:", f"elif {guard}:"]
    outside = [
        text
        for line, text in enumerate(after.splitlines(), 1)
        if text not in lines and text.strip() not in tests and line not in guarded
    ]
    chosen = f" if {guard} else None)"
    demanding = [one for one in outside if "cuda" in one or "(device" in one or "=device" in one]
    assert not [one for one in demanding if chosen not in one]


def test_the_other_branch_of_a_guard_is_left():
    program = _program("""
        if args.parallel:
            for x, y in DataLoader(data):
                x = x.cuda()
                y = y.cuda()
                loss = criterion(x, y)
        else:
            for x, y in DataLoader(data):
                loss = criterion(x, y)
    """)
    assert _after(program) == program


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("guard", [*GUARDS, "args.gpu is not None"])
def test_an_element_above_what_leaves_without_cuda(guard, move):
    body = """
        for batch in DataLoader(data):
            y = batch[1]
            if not (GUARD):
                print(y)
                continue
            x = batch[0].move()
            model.move()
            criterion(model(x), y)
    """
    before = _program(body, guard, move)
    after = _after(before)
    assert after.partition("continue")[0] == before.partition("continue")[0]
    assert "y.to(" in after or "y.cuda(" in after or "= y" in after


# Beside the sibling, under its guard


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("guard", GUARDS)
def test_an_element_that_has_its_name_above_the_guard(guard, move):
    body = """
        if GUARD:
            model.move()
        for batch in DataLoader(data):
            x = batch[0]
            y = batch[1]
            if GUARD:
                x = x.move()
            loss = criterion(model(x), y)
    """
    before = _program(body, guard, move)
    assert _after(before) == before.replace(f"x = x{move}\n", f"x = x{move}\n        y = y{move}\n")


def test_a_guard_within_a_guard():
    before = _program("""
        fast = True
        for x, y in DataLoader(data):
            if use_cuda:
                if fast:
                    x = x.cuda()
            loss = criterion(model(x), y)
    """)
    assert "            x = x.cuda()\n            y = y.cuda()\n    loss" in _after(before)


def test_the_branch_that_is_not_the_first():
    before = _program("""
        for x, y in DataLoader(data):
            if not use_cuda:
                pass
            else:
                x = x.cuda()
            loss = criterion(model(x), y)
    """)
    assert "        x = x.cuda()\n        y = y.cuda()\n    loss" in _after(before)


# Else to where the sibling is


@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("guard", GUARDS)
def test_an_element_without_a_name(guard, move):
    body = """
        if GUARD:
            model.move()
        for batch in DataLoader(data):
            x = batch[0]
            if GUARD:
                x = x.move()
            loss = criterion(model(x), batch[1])
    """
    before = _program(body, guard, move)
    assert _after(before) == before.replace("batch[1])", "batch[1].to(x.device))")


@pytest.mark.parametrize("guard", GUARDS)
@pytest.mark.parametrize("moved", ["x.cuda() if GUARD else x", 'x.to("cuda") if GUARD else x'])
def test_a_conditional_expression(moved, guard):
    before = _program(
        f"""
        if GUARD:
            model.cuda()
        for x, y in DataLoader(data):
            x = {moved}
            loss = criterion(model(x), y)
    """,
        guard,
    )
    assert f"\n    if {guard}:\n        y = y.cuda()\n" in _after(before)  # as the model is moved


def test_an_item_beside_one_that_is_moved_in_place():
    before = _program("""
        class Pairs(torch.utils.data.Dataset):
            def __getitem__(self, index):
                return {"x": torch.randn(4), "y": torch.tensor(1)}

        if use_cuda:
            model.cuda()
        for batch in DataLoader(Pairs()):
            if use_cuda:
                batch["x"] = batch["x"].cuda()
            out = model(batch["x"])
            criterion(out, batch["y"])
    """)
    assert 'criterion(out, batch["y"].to(out.device))' in _after(before)


def test_a_factory_above_the_guard_is_moved_under_it():
    before = _program("""
        device = torch.device("cuda")
        weights = torch.ones(4)
        for x, y in DataLoader(data):
            if args.parallel:
                x = x.to(device)
                z = x * weights
    """)
    moved = "weights = torch.ones(4)\nif args.parallel:\n    weights = weights.to(device)\n"
    assert _after(before) == before.replace("weights = torch.ones(4)\n", moved)


# What was asked for everywhere may be written everywhere


def test_the_guard_of_another_move_says_nothing():
    before = _program("""
        model.cuda()
        for batch in DataLoader(data):
            y = batch[1]
            if args.verbose:
                print(y)
            x = batch[0].cuda()
            loss = criterion(model(x), y)
    """)
    assert "y = batch[1].cuda()" in _after(before)


def test_a_device_that_may_be_the_host():
    before = _program("""
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        for batch in DataLoader(data):
            y = batch[1]
            x = batch[0]
            if args.place:
                x = x.to(device)
                loss = criterion(model(x), y)
    """)
    assert "        y = y.to(device)\n        x = x.to(device)\n" in _after(before)


def test_a_literal_that_the_same_guard_lets_through():
    before = _program("""
        if torch.cuda.is_available():
            net = nn.Linear(4, 2)
            for x, y in DataLoader(data):
                x = x.cuda()
                net(x)
    """)
    after = _after(before)
    assert "    net = nn.Linear(4, 2).cuda()\n" in after or after == before


@pytest.mark.parametrize("told", ["", "0"])
@pytest.mark.parametrize("more", ["non_blocking=True", "memory_format=torch.channels_last"])
def test_modules_are_told_where_to_and_no_more(told, more):
    """`cuda` of a module takes a device alone, that of a tensor takes more."""
    move = f".cuda({', '.join(filter(None, [told, more]))})"
    body = """
        net = nn.Linear(4, 2)
        for x, y in DataLoader(data):
            x = x.move()
            net(x)
    """
    assert f"net = nn.Linear(4, 2).cuda({told})\n" in _after(_program(body, move=move))
    body = """
        loss = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 2.0]))
        net = nn.Linear(4, 2)
        for x, y in DataLoader(data):
            if GUARD:
                x = x.move()
                y = y.move()
                model.cuda()
            net(x)
            loss(model(x), y)
    """
    after = _after(_program(body, move=move))
    assert f"if use_cuda:\n    net = net.cuda({told})\n" in after
    assert f"if use_cuda:\n    loss = loss.cuda({told})\n" in after


@pytest.mark.parametrize(
    "move",
    {
        "in the other branch": """
                if args.cpu:
                    x = x.float()
                else:
                    x = x.cuda()
        """,
        "in the other value": """
                x = x.float() if args.cpu else x.cuda()
        """,
    }.values(),
)
def test_a_test_around_both_is_not_that_of_the_move(move):
    """With `--train --cpu` the module would meet what stays on the host."""
    program = _program("""
        net = nn.Linear(4, 2)
        if args.train:
            for x in DataLoader(data):""" + move.rstrip() + """
                net(x)
    """)  # fmt: skip
    assert _after(program) == program


def test_the_test_of_the_move_and_not_that_around_both():
    program = _program("""
        net = nn.Linear(4, 2)
        if args.train:
            for x in DataLoader(data):
                if args.cuda:
                    x = x.cuda()
                net(x)
    """)
    made = "net = nn.Linear(4, 2)\n"
    assert _after(program) == program.replace(made, f"{made}if args.cuda:\n    net = net.cuda()\n")
