"""Records are compared and hashed by what they hold, and changed only into new ones."""

import ast

import pytest
from devfix_codemods.flow.places import HOST, UNKNOWN
from devfix_codemods.flow.records import replace
from devfix_codemods.flow.values import Birth, Kind, Origin, Value


def test_replace_gives_a_new_record_and_leaves_the_old_one() -> None:
    old = Value(Kind.TENSOR, HOST)

    new = replace(old, place=UNKNOWN)

    assert (old.place, new.place, new.kind) == (HOST, UNKNOWN, Kind.TENSOR)


def test_records_are_equal_and_hash_alike_where_all_fields_are() -> None:
    origin = Origin(Birth.CALL, ast.Pass())

    assert replace(origin) == origin
    assert len({origin, replace(origin), replace(origin, name="x")}) == 2


def test_there_is_no_other_field() -> None:
    with pytest.raises(TypeError):
        replace(Value(), plaice=HOST)
