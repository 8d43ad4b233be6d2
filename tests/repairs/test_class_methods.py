"""Objects that a class makes by a method of its own, `Net.load(path)`, one of which the program moves."""

import pytest
from devfix_codemods.findings import Safety

LOADED = """
    from models import Net{imported}

    def first(path, device):
        net = {first}
        {moved}
        return net.score(device)

    def second(path, device):
        net = {second}
        show(net)
        return net.score(device)
"""


@pytest.mark.parametrize(
    ("first", "moved", "second"),
    [
        ("Net.load(path)", "pass", "Net.load(path)"),
        ("Net.load(path)", "net.to(device)", "read(path)"),
        ("Net.load(path)", "net.to(device)", "Net.load(path, device)"),
        ("Net.load(path)", "net.to(device)", "Net.load(path).to(device)"),
        ("Net.load(path)", "net.to(device)", "Net.shapes(path)"),
        ("settings.load(path)", "net.to(device)", "settings.load(path)"),
    ],
)
def test_what_something_else_makes_or_nobody_moves(repairs, first: str, moved: str, second: str) -> None:
    program = LOADED.format(imported=", settings", first=first, moved=moved, second=second)
    assert repairs.findings(program) == ()


@pytest.mark.parametrize("made", ["Net.load(path)", "Net.from_file(path)"])
def test_it_is_moved_in_a_statement_as_well(repairs, made: str) -> None:
    """Nobody knows what `to` gives that is not read."""
    program = LOADED.format(imported="", first=made, moved="net.to(device)", second=made)
    assert repairs.written(program, Safety.SUGGESTION).count("    net.to(device)\n") == 2
