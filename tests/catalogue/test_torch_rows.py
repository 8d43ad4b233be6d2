"""Each row of the catalogue's table of torch says what the simulated accelerator does."""

from collections.abc import Callable
from typing import Any

import pytest
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.catalogue.effects import Effect
from devfix_codemods.catalogue.lookup import canonical

from .arguments import DISTRIBUTIONS, FURTHER, UNTESTED, orders

Row = dict[str, Any]

ROWS = {**rows.FUNCTIONS, **{f".{name}": effect for name, effect in rows.METHODS.items()}}

SCALAR_ARGUMENTS = frozenset(
    {"torch.masked_fill", "torch.index_fill", ".masked_fill", ".index_fill", ".masked_fill_", ".index_fill_"}
)
"""The last argument is a 0-dim tensor in any case, and so may be on the host."""

KNOWN = {
    "torch.nn.utils.rnn.pad_packed_sequence": "the lengths that it gives as well are on the host",
    **dict.fromkeys(
        ".state_dict .parameters .named_parameters .buffers .named_buffers .modules .children .named_children "
        ".named_modules".split(),
        "what a module gives of itself is not followed: it is loaded, saved, or given to an optimizer",
    ),
    ".pin_memory": "refuses a tensor of the device",
    ".retain_grad": "gives nothing",
}
"""Rows that are coarser than the truth, and in what."""


def _is_moved(row: Row) -> bool:
    """Whether the result of a call is where its tensors are."""
    return row["host"].get("places") == "cpu" and row["device"].get("places") == "cuda"


def _fails(outcome: Row) -> bool:
    return outcome.get("kind") == "device"


def _together(name: str, row: Row) -> bool:
    """Whether a call fails with any one of its tensors on the host, and works with all in one place."""
    misplaced = row["misplaced"][:-1] if name in SCALAR_ARGUMENTS else row["misplaced"]
    works = not any("error" in row[place] for place in ("host", "device"))
    has_no_place = row["device"].get("places", "") is None
    return works and (has_no_place or _is_moved(row)) and len(misplaced) > 0 and all(map(_fails, misplaced))


def _factory(name: str, row: Row) -> bool:
    return row["host"].get("places") == "cpu" and row["told device"].get("places") == "cuda"


def _conversion(name: str, row: Row) -> bool:
    return _is_moved(row) and _obeys(row)


def _obeys(row: Row) -> bool:
    """Whether a call puts its result where `device=` says, which only some calls have."""
    told = row.get("told device", {"places": "cuda"}), row.get("told host", {"places": "cpu"})
    return [one.get("places") for one in told] == ["cuda", "cpu"]


def _like(name: str, row: Row) -> bool:
    return _is_moved(row) and _obeys(row) and _follows_first(row)


def _follows_first(row: Row) -> bool:
    misplaced = [one.get("places") for one in row["misplaced"]]
    return misplaced == ["cpu", *["cuda"] * (len(misplaced) - 1)]


def _same(name: str, row: Row) -> bool:
    return _is_moved(row)


def _host(name: str, row: Row) -> bool:
    return row["host"].get("places") == row["device"].get("places") == "cpu"


def _arithmetic(name: str, row: Row) -> bool:
    return _together(name, row) and not all(map(_fails, row["scalar"]))


def _meet(name: str, row: Row) -> bool:
    return _together(name, row) and all("error" in one for one in row["scalar"])


def _read(name: str, row: Row) -> bool:
    return all("error" not in row[at] and row[at]["places"] is None for at in ("host", "device"))


def _needs_host(name: str, row: Row) -> bool:
    return "error" not in row["host"] and _fails(row["device"])


def _copy_into(name: str, row: Row) -> bool:
    return _is_moved(row) and _follows_first(row)


def _moved(name: str, row: Row) -> bool:
    return row["host"].get("places") == row["device"].get("places") == "cuda"


def _wrap(name: str, row: Row) -> bool:
    return _moved(name, row) if name.endswith("DataParallel") else _is_moved(row)


def _backward(name: str, row: Row) -> bool:
    return _read(name, row) and all(map(_fails, row["misplaced"]))


def _other(name: str, row: Row) -> bool:
    return "error" not in row["host"] and "error" not in row["device"] and not any(map(_fails, row["misplaced"]))


CLAIMS: dict[Effect, Callable[[str, Row], bool]] = {
    Effect.FACTORY: _factory,
    Effect.CONVERSION: _conversion,
    Effect.HOST: _host,
    Effect.TO_HOST: _host,
    Effect.LIKE: _like,
    Effect.FIRST: _like,
    Effect.SAME: _same,
    Effect.PASS: _same,
    Effect.LOAD: _same,
    Effect.ARITHMETIC: _arithmetic,
    Effect.MEET: _meet,
    Effect.SEQUENCE: _meet,
    Effect.DRAW: _meet,
    Effect.READ: _read,
    Effect.SYNC: _read,
    Effect.NEEDS_HOST: _needs_host,
    Effect.COPY_INTO: _copy_into,
    Effect.MOVE: _moved,
    Effect.CUDA: _moved,
    Effect.WRAP: _wrap,
    Effect.BACKWARD: _backward,
    Effect.OTHER: _other,
}
"""Whether a row's observation is what its effect claims."""


@pytest.mark.parametrize("effect", sorted(set(ROWS.values()), key=lambda one: one.name), ids=lambda one: one.name)
def test_rows_say_what_torch_does(effect: Effect, observations: dict[str, Row]) -> None:
    wrong = {
        name: observations[name]
        for name, one in ROWS.items()
        if one is effect and name in observations and name not in KNOWN and not CLAIMS[effect](name, observations[name])
    }
    assert not wrong


def test_what_is_known_to_be_coarse_is_so(observations: dict[str, Row]) -> None:
    right = [name for name in KNOWN if CLAIMS[ROWS[name]](name, observations[name])]
    assert not right, "these rows need no exception any more"


def test_further_tensors_meet_the_first(observations: dict[str, Row]) -> None:
    """`SAME` takes them for members of one place, where it takes several at all."""
    assert not {name: row for key in FURTHER if not _together(key, row := observations[name := f"further {key}"])}


def test_those_that_take_further_tensors_are_known() -> None:
    assert {key.rpartition(".")[2] for key in FURTHER} <= rows.TAKING_FURTHER


def test_same_rows_take_one_tensor_otherwise(observations: dict[str, Row]) -> None:
    several = {key for key, effect in ROWS.items() if effect is Effect.SAME and len(observations[key]["misplaced"]) > 1}
    assert several == {".index_put", ".index_put_", ".eval", ".train"}


def test_distributions(observations: dict[str, Row]) -> None:
    """Those of tensors need them together, before they give anything; those of numbers give tensors of the host."""
    apart = {name: row for name in DISTRIBUTIONS if not _meet(name, row := observations[f"distribution {name}"])}
    assert not apart
    assert _host("", observations["distribution of numbers"])
    assert observations["distribution of numbers meets"]["device"] == {"places": "cuda"}


def test_all_rows_are_run(observations: dict[str, Row]) -> None:
    assert ROWS.keys() - observations.keys() == UNTESTED.keys()
    assert not {name: row for name, row in observations.items() if "broken" in row}
    assert {key for key, *_ in orders()} == set(observations)


def test_names_are_public() -> None:
    """A row under a name that `canonical` replaces is never found."""
    assert [name for name in rows.FUNCTIONS if canonical(name) != name] == []


def test_second_arguments(observations: dict[str, Row]) -> None:
    """What kinds are told: of what meets, the second argument is a tensor but for the rows that say otherwise."""
    texts = {key: text for key, _, text, _ in orders()}
    second = {
        name: texts[name].split(", ")[1]
        for name, effect in rows.FUNCTIONS.items()
        if effect is Effect.MEET and name in texts and ", " in texts[name]
    }
    numbers = {name for name, one in second.items() if one[0] in "(0123456789'"}
    assert numbers == rows.SECOND_IS_NUMBER & set(texts)
