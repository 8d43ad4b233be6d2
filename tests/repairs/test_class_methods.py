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


CALLED = """
    from models import Net, settings
    def predict(path, rows, device):
        {name} = {made}
        with torch.no_grad():
            return {name}({given}).argmax(1)
"""


@pytest.mark.parametrize(
    ("name", "made", "given"),
    [
        ("describe", "Net.load(path)", "rows.to(device)"),
        ("classifier", "settings.load(path)", "rows.to(device)"),
        ("classifier", "Net.load(path).to(device)", "rows.to(device)"),
        ("classifier", "Net.load(path, device)", "rows.to(device)"),
    ],
)
def test_what_is_no_model_or_placed(repairs, name: str, made: str, given: str) -> None:
    assert repairs.findings(CALLED.format(name=name, made=made, given=given)) == ()


@pytest.mark.parametrize("name", ["classifier", "model"])
def test_what_is_called_a_model_and_with_what_is_moved(repairs, name: str) -> None:
    program = CALLED.format(name=name, made="Net.load(path)", given="rows.to(device)")
    assert repairs.added(program) == [f"{name} = Net.load(path).to(device)"]
