"""Tensors that a loop converts while it goes over them."""

import pytest

CODE = "DVF402"

LOOP = """
    import torch

    def boxes(rows):
        found = []
        for row in rows:
            {convert}
            found.append([{use}])
        return found
"""


@pytest.mark.parametrize(
    ("convert", "use"),
    [
        ("row = row.cpu().numpy()", "row[0]"),
        ("rows = rows.cpu().numpy()", "rows[0]"),
        ("rows = rows.cpu().numpy()", "row[0], rows.mean()"),
        ("rows = other.cpu().numpy()", "row[0]"),
        ("rows = rows.cpu().tolist()", "row[0]"),
        ("if rows is None:\n                rows = rows.cpu().numpy()\n                break", "row[0]"),
    ],
)
def test_what_does_what_it_says(rule, convert: str, use: str) -> None:
    assert rule.findings(LOOP.format(convert=convert, use=use)) == ()


def test_the_items_were_taken_before(rule) -> None:
    program = LOOP.format(convert="rows = rows.cpu().numpy()", use="row[0]")
    fixed = rule.unchanged_unless_unsafe(program)
    assert "    rows = rows.cpu().numpy()\n    for row in rows:\n        found.append([row[0]])\n" in fixed


def test_only_tensors_are_converted(rule) -> None:
    convert = "if torch.is_tensor(rows):\n                rows = rows.detach().cpu().numpy()"
    fixed = rule.fixed(LOOP.format(convert=convert, use="row[0]"), unsafe=True)
    assert "    if torch.is_tensor(rows):\n        rows = rows.detach().cpu().numpy()\n    for row in rows:\n" in fixed


def test_in_an_inner_loop(rule) -> None:
    program = """
        import torch

        def scale(groups):
            for name, group in groups:
                for one in group:
                    group = group.to("cpu").numpy()
                    print(name, one * 2)
    """
    assert '        group = group.to("cpu").numpy()\n        for one in group:\n' in rule.fixed(program, unsafe=True)
