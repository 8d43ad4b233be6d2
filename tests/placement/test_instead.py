"""What takes the place of tensors, what fills mappings and attributes, and what gives numbers."""

import pytest
from devfix_codemods.catalogue import Kind

INSTEAD = "def f(x: torch.Tensor):\n    if {test}:\n        x = {new}\n    return keep(x)\n"


@pytest.mark.parametrize("new", ["torch.tensor(float('inf'))", "torch.zeros(1)"])
def test_what_stands_in_for_what_was_a_tensor(placed, new: str) -> None:
    found = placed(INSTEAD.format(test="isinstance(x, torch.Tensor) and torch.isnan(x)", new=new))
    assert "replaces" in found.of(new).links


@pytest.mark.parametrize(
    ("test", "new"),
    [
        ("isinstance(x, float)", "torch.tensor(float('inf'))"),
        ("x is None", "torch.zeros(1)"),
        ("isinstance(x, torch.Tensor) and torch.isnan(x)", "torch.zeros(1).to(x.device)"),
    ],
)
def test_what_stands_in_for_something_else(placed, test: str, new: str) -> None:
    found = placed(INSTEAD.format(test=test, new=new))
    assert all("replaces" not in one.links for one in found.conflicts)


REBUILT = """
    class Decoder(nn.Module):
        def mask(self, x: torch.Tensor):
            if self._mask.size(0) < x.size(0) or {test}:
                self._mask = torch.triu(filled(torch.zeros([x.size(0)])), 1)
            return self._mask
"""


def test_an_unread_function_in_what_is_rebuilt(placed) -> None:
    found = placed(REBUILT.format(test="(not self._mask.device == x.device)"))
    assert "rebuilt-elsewhere" in found.of("torch.zeros([x.size(0)])").links


def test_a_test_that_asks_for_no_device(placed) -> None:
    found = placed(REBUILT.format(test="self._mask.dtype != x.dtype"))
    assert all("rebuilt-elsewhere" not in one.links for one in found.conflicts)


FILLED = """
    def f(kinds: torch.Tensor, n):
        rows, index = {start}, torch.empty_like(kinds)
        for i in range(n):
            rows[{key}] = {value}
            index[rows[i]] = torch.arange(len(rows[i]))
        return index
"""


def test_a_mapping_that_is_filled_with_tensors(placed) -> None:
    found = placed(FILLED.format(start="{}", key="i", value="(kinds == i).nonzero().view(-1)"))
    assert found.of("torch.arange(len(rows[i]))").links == ("operation", "parameter")


@pytest.mark.parametrize(
    ("start", "key", "value"),
    [
        ("{}", "i", "list(range(i))"),
        ("{0: []}", "i", "(kinds == i).nonzero().view(-1)"),
        ("{}", "'first'", "(kinds == i).nonzero().view(-1)"),
    ],
)
def test_a_mapping_that_holds_other_things_or_may(placed, start: str, key: str, value: str) -> None:
    assert placed(FILLED.format(start=start, key=key, value=value)).births == []


@pytest.mark.parametrize("call", ["float(x)", "len(rows)", "random.randrange(9)", "math.sqrt(n)"])
def test_what_gives_a_number(placed, told, call: str) -> None:
    found = placed(f"import math, random\ndef f(x, n, rows):\n    return keep({call})\n")
    (kept,) = [one for one in found.analysis.module.nodes() if told(one).startswith("keep(")]
    assert found.analysis.kinds.of(kept.args[1]) is Kind.NUMBER


@pytest.mark.parametrize("call", ["abs(x)", "sum(rows)", "max(rows)", "random.choice(rows)"])
def test_what_may_give_a_tensor(placed, told, call: str) -> None:
    found = placed(f"import math, random\ndef f(x, n, rows):\n    return keep({call})\n")
    (kept,) = [one for one in found.analysis.module.nodes() if told(one).startswith("keep(")]
    assert found.analysis.kinds.of(kept.args[1]) is not Kind.NUMBER


UNPACKED = "def f(given: {kind}):\n    rows, n = given\n    size = rows.size(0)\n    return torch.zeros(size) + rows\n"


def test_what_is_unpacked_of_a_given_tuple(placed) -> None:
    assert placed(UNPACKED.format(kind="tuple")).births == ["torch.zeros(size)"]


def test_what_is_unpacked_of_a_tuple_that_is_made_on_the_host(placed) -> None:
    assert placed("def f():\n    rows, n = (torch.ones(3), 3)\n    return torch.zeros(3) + rows\n").births == []


FITTED = "class Block(nn.Module):\n    def forward(self, x):\n        return x, torch.zeros({size})\n"


@pytest.mark.parametrize("size", ["list(x.shape)[:-1] + [3]", "tuple(x.shape)"])
def test_a_size_that_is_listed(placed, size: str) -> None:
    assert any(one.startswith("fits") for one in placed(FITTED.format(size=size)).conflicts[0].links)


@pytest.mark.parametrize("size", ["list(sizes(x))", "tuple(self.shape)"])
def test_a_size_of_something_else_that_is_listed(placed, size: str) -> None:
    found = placed(FITTED.format(size=size))
    assert all(not one.startswith("fits") for each in found.conflicts for one in each.links)


RETURNED = """
    def checked(rows: list, x: torch.Tensor):
        return rows, {second}
    def f(rows, x):
        rows, other = checked(rows, x)
        return torch.zeros(3) + other
"""


def test_what_a_function_returns_at_a_position_is_of_its_kind(placed, told) -> None:
    found = placed(RETURNED.format(second="x"))
    (other,) = [one for one in found.analysis.module.nodes() if one.op.name == "ITEM" and one.extra == 1]
    assert found.analysis.kinds.of(other) is Kind.TENSOR


def test_what_it_returns_at_another_position_is_not(placed, told) -> None:
    found = placed(RETURNED.format(second="3"))
    (other,) = [one for one in found.analysis.module.nodes() if one.op.name == "ITEM" and one.extra == 1]
    assert found.analysis.kinds.of(other) is Kind.NUMBER


ASKED = """
    def f(x, normalize):
        if normalize:
            x = {other}
        total = torch.zeros(3, device=x.device)
        return torch.ones(3) * x + total
"""


def test_a_choice_of_what_is_computed_of_itself_is_asked_for_its_device(placed) -> None:
    assert placed(ASKED.format(other="F.normalize(x)")).of("torch.ones(3)").links[-1] == "asked-for-device"


def test_a_choice_of_what_is_made_is_not(placed) -> None:
    found = placed(ASKED.format(other="torch.eye(3)"))
    assert all("asked-for-device" not in one.links for one in found.conflicts)


GIVEN = """
    from rows import draw
    class Block(nn.Module):
        def forward(self, x):
            return x, draw({given}).rsample(){moved}
"""


@pytest.mark.parametrize("given", ["torch.zeros(x.size(0))", "*(torch.zeros(x.size(0)),)", "[torch.zeros(x.size(0))]"])
def test_what_is_made_of_it_is_moved(placed, given: str) -> None:
    assert placed(GIVEN.format(given=given, moved="[0].cuda()")).conflicts == []


@pytest.mark.parametrize("given", ["torch.zeros(x.size(0))", "*(torch.zeros(x.size(0)),)", "[torch.zeros(x.size(0))]"])
def test_what_is_made_of_it_is_not_moved(placed, given: str) -> None:
    (found,) = placed(GIVEN.format(given=given, moved="[0]")).conflicts
    assert found.links[0] == "fits"
