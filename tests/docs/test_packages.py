"""The pictures of the packages are what the imports make of them."""

from pathlib import Path
from textwrap import dedent

import packages
import pytest

EDGES = {"a": {"b": True, "c": True}, "b": {"c": False}}


@pytest.mark.parametrize(("path", "picture"), [*packages.pictures()], ids=lambda one: getattr(one, "stem", ""))
def test_a_picture_is_not_stale(path: Path, picture: str) -> None:
    assert path.read_text(encoding="utf-8") == picture, "`python docs/packages.py` draws it anew"


def test_what_a_package_imports_of_itself(tmp_path: Path) -> None:
    package = tmp_path / "house"
    (package / "cellar").mkdir(parents=True)
    (package / "__init__.py").write_text("from house import attic\n")
    (package / "attic.py").write_text(
        dedent("""
            import os
            from typing import TYPE_CHECKING

            from house import roof
            from house.cellar.wine import bottle

            if TYPE_CHECKING:
                from house.roof import Tile

            def climb():
                from house import stairs, doors
        """)
    )
    for name in ("roof.py", "stairs.py", "cellar/__init__.py", "cellar/wine.py"):
        (package / name).write_text("from house.cellar import wine\n" if "cellar" in name else "")
    found = packages.imports_of(package)
    assert found.parts == {"attic", "cellar", "roof", "stairs"}
    assert found.edges == {"attic": {"roof": True, "cellar": True, "stairs": False}}


def test_a_part_stands_above_all_that_it_imports() -> None:
    assert packages.layers_of(EDGES, "abcd") == {"a": 2, "b": 1, "c": 0, "d": 0}


def test_circles_have_no_layers() -> None:
    with pytest.raises(RecursionError):
        packages.layers_of({"a": {"b": True}, "b": {"a": True}}, "ab")


def test_what_others_imply_is_not_drawn() -> None:
    assert [*packages.not_implied(EDGES)] == [("a", "b", True), ("b", "c", False)]
