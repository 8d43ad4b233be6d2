"""The pictures of terminals show what comes out now, and load nothing from elsewhere."""

import dataclasses

import pictures
import pytest


@pytest.mark.parametrize(
    "picture",
    [
        pytest.param(picture, id=picture.name, marks=[pytest.mark.slow] * (picture.name == "replay"))
        for picture in pictures.TERMINAL
    ],
)
def test_a_picture_is_not_stale(picture: pictures.Picture) -> None:
    kept = pictures.words(picture.path.read_text(encoding="utf-8"))
    assert kept == pictures.words(picture.draw()), "`python docs/pictures.py` draws it anew"


def test_a_picture_that_shows_something_else_is_told() -> None:
    picture = pictures.TERMINAL[0]
    other = dataclasses.replace(picture, command="devfix check --statistics train.py")
    assert pictures.words(picture.path.read_text(encoding="utf-8")) != pictures.words(other.draw())


def test_no_picture_loads_a_font() -> None:
    found = list(pictures.FOLDER.glob("*.svg"))
    assert len(found) >= len(pictures.TERMINAL)
    assert not [path.name for path in found if "@font-face" in path.read_text(encoding="utf-8")]
