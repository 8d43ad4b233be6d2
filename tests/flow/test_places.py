"""Places: how two relate, join and become a choice."""

from itertools import product

import pytest
from devfix_codemods.flow.places import (
    ANYWHERE,
    HOST,
    UNKNOWN,
    Device,
    Place,
    Relation,
    Symbol,
    choice,
    describe,
    join,
    may_be_device,
    relation,
)
from devfix_codemods.flow.state import State, join_states
from devfix_codemods.flow.values import Object, tensor

CUDA, CUDA0, CUDA1, MPS = Device("cuda"), Device("cuda:0"), Device("cuda:1"), Device("mps")
CHOSEN, OTHER, TENSOR = Symbol("a#device", chosen=True), Symbol("b#device", chosen=True), Symbol("x")
EITHER = choice(HOST, CUDA)
ALL: list[Place] = [HOST, ANYWHERE, UNKNOWN, CUDA, CUDA0, CUDA1, MPS, CHOSEN, OTHER, TENSOR, EITHER]


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (HOST, HOST, Relation.SAME),
        (CUDA, CUDA, Relation.SAME),
        (CUDA, CUDA1, Relation.SAME),
        (CUDA0, CUDA1, Relation.DIFFERENT),
        (CUDA, MPS, Relation.DIFFERENT),
        (HOST, CUDA, Relation.DIFFERENT),
        (HOST, CHOSEN, Relation.DIFFERENT),
        (HOST, EITHER, Relation.DIFFERENT),
        (HOST, TENSOR, Relation.UNKNOWN),
        (CHOSEN, OTHER, Relation.UNKNOWN),
        (CHOSEN, CUDA, Relation.UNKNOWN),
        (CHOSEN, CHOSEN, Relation.SAME),
        (EITHER, EITHER, Relation.SAME),
        (EITHER, CUDA, Relation.UNKNOWN),
        (UNKNOWN, UNKNOWN, Relation.UNKNOWN),
        (UNKNOWN, CUDA, Relation.UNKNOWN),
        (ANYWHERE, CUDA, Relation.UNKNOWN),
        (ANYWHERE, ANYWHERE, Relation.UNKNOWN),
    ],
)
def test_relation(first: Place, second: Place, expected: Relation) -> None:
    assert relation(first, second) is expected


@pytest.mark.parametrize(("first", "second"), list(product(ALL, ALL)))
def test_relation_and_join_know_no_order(first: Place, second: Place) -> None:
    assert relation(first, second) is relation(second, first)
    assert join(first, second) == join(second, first)
    assert choice(first, second) == choice(second, first)


@pytest.mark.parametrize("place", ALL)
def test_a_place_joined_with_itself_stays(place: Place) -> None:
    assert join(place, place) == place
    assert choice(place, place) == place


@pytest.mark.parametrize("place", ALL)
def test_what_needs_no_place_gives_way_and_what_is_unknown_wins(place: Place) -> None:
    assert join(place, ANYWHERE) == place
    assert join(place, UNKNOWN) == UNKNOWN
    assert choice(place, UNKNOWN) == UNKNOWN


def test_branches_that_disagree_are_unknown() -> None:
    assert join(HOST, CUDA) == UNKNOWN
    assert join(CUDA0, CUDA1) == UNKNOWN


def test_choices_are_flat() -> None:
    assert choice(EITHER, MPS) == choice(HOST, CUDA, MPS)
    assert choice(EITHER, HOST) == EITHER
    assert choice() == UNKNOWN


@pytest.mark.parametrize(
    ("place", "expected"),
    [(HOST, False), (UNKNOWN, False), (ANYWHERE, False), (TENSOR, False), (CUDA, True), (CHOSEN, True), (EITHER, True)],
)
def test_who_may_be_a_device(place: Place, expected: bool) -> None:
    assert may_be_device(place) is expected


def test_may_be_device_asks_every_option() -> None:
    assert not may_be_device(choice(HOST, TENSOR))


def test_words_for_places() -> None:
    assert describe(HOST) == "on the host"
    assert describe(CUDA1) == "on `cuda:1`"
    assert describe(EITHER) in {"on cpu or cuda", "on cuda or cpu"}
    assert describe(Symbol("name#args#args.device", chosen=True)) == "on `args.device`"


def test_the_type_of_a_device() -> None:
    assert (CUDA.type, CUDA1.type) == ("cuda", "cuda")


def test_joined_objects_keep_the_order_of_their_attributes() -> None:
    names = [f"weight_{index}" for index in range(9)]
    first = State(objects={"self": Object(attributes={name: tensor(HOST) for name in names})})
    second = State(objects={"self": Object(attributes={name: tensor(UNKNOWN) for name in reversed(names)})})
    joined = join_states(first, second)
    assert joined is not None
    assert list(joined.objects["self"].attributes) == names
