"""Definitions that no edit concerns are put aside, and come back byte for byte."""

import libcst as cst
import pytest
from devfix_codemods.edits import document, masking
from devfix_codemods.edits.operations import AddImport, InsertStatement, RemoveStatement, ReplaceExpression

FILE = """import os

@d(1)  # why
class A(B,
        C):
  '''Text.'''
  def one(self): return 1
  @property
  async def two(self):
      if x :
          y = \"\"\"a
b\"\"\"
    # less deep
  # still of the class

  def three(self):
      return f(a)
# of the module
def last(
    n
) :
    def inner():
        return n
    return inner  ; pass
    # end of last
x = f(a)
if x:
    def under():
        @e
        def lower(): pass
"""


@pytest.fixture
def seen(monkeypatch):
    """The texts that libcst parses."""
    texts: list[str] = []
    parse = cst.parse_module

    def noted(source):
        texts.append(source)
        return parse(source)

    monkeypatch.setattr(document.cst, "parse_module", noted)
    document.document.cache_clear()
    return texts


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("nth", [0, 1])
def test_all_but_the_edited_expression_stays(sheet, nth, end):
    text = FILE.replace("\n", end)
    file = sheet(text)
    before, _, after = text.rpartition("f(a)") if nth else text.partition("f(a)")
    edit = ReplaceExpression(file.expression("a", nth), "__node__.cpu()")
    assert file.edited_bytes(edit) == f"{before}f(a.cpu()){after}".encode()


def test_other_definitions_are_not_parsed(sheet, seen):
    file = sheet(FILE)
    file.edited(ReplaceExpression(file.expression("a"), "b"))
    assert "def three" in seen[0]
    assert "def two" not in seen[0]
    assert "inner" not in seen[0]
    assert seen[0].count("\n") == FILE.rstrip().count("\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_definitions_in_a_row_are_put_aside_together(sheet, seen, end):
    functions = "".join(f"# {at}\n@d\ndef f{at}():\n    return {at}\n\n" for at in range(40))
    text = f"{functions}x = f(a)\n{functions}".replace("\n", end)
    file = sheet(text)
    edit = ReplaceExpression(file.expression("f(a)"), "g(a)")
    assert file.edited_bytes(edit) == text.replace("f(a)", "g(a)").encode()
    assert len(cst.parse_module(seen[-1]).body) == 3


def test_an_odd_one_in_a_row_stays_in_sight(sheet, seen):
    text = "def a(): pass\ndef b():\n    pass\nx = f(a)\n"
    file = sheet(text)
    edit = ReplaceExpression(file.expression("f(a)"), "g(a)")
    assert file.edited_bytes(edit) == text.replace("f(a)", "g(a)").encode()
    assert "def a(): pass" in seen[-1]
    assert "def b()" not in seen[-1]


def test_what_begins_and_ends_in_an_odd_way_stays_in_sight(sheet):
    file = sheet("x = f(a)\ndef one(): return 1\n\x0cdef three():\n  return 3\n")
    assert masking.masked(file.source, [ReplaceExpression(file.expression("a"), "b")]).hidden == ()


@pytest.mark.parametrize("name", ["_devfix_stand_in_0", "été"], ids=["own name", "encoding"])
def test_nothing_is_put_aside_where_it_may_go_wrong(sheet, name):
    text = (
        f"# coding: utf-7\nx = f(a)\ndef g():\n    {name}\n" if name == "été" else f"def {name}():\n    y\nx = f(a)\n"
    )
    file = sheet(text.encode("utf-7") if name == "été" else text)
    assert masking.masked(file.source, [ReplaceExpression(file.expression("a"), "b")]).hidden == ()


def test_inserts_stand_where_they_would_without(sheet):
    file = sheet(
        "@d\ndef f():\n  return 1\n  # end\n# why\nx = 1\nclass A:\n  y = 2\n\n  def f(self):\n    pass\n  z = 3\n"
    )
    edits = [
        AddImport("torch"),
        InsertStatement(file.statement("x = 1"), "before", "if w:\n    v()", spaced=True),
        InsertStatement(file.statement("z = 3"), "before", "u = 1"),
    ]
    assert file.edited(*edits) == (
        "import torch\n\n@d\ndef f():\n  return 1\n  # end\n\nif w:\n  v()\n\n# why\nx = 1\nclass A:\n  y = 2\n\n"
        "  def f(self):\n    pass\n  u = 1\n  z = 3\n"
    )


def test_a_removed_definition_is_gone_with_all_that_is_in_it(sheet):
    file = sheet("class A:\n    def f(self):\n        pass\nx = 1\n")
    assert file.edited(RemoveStatement(file.statement("class A:…"))) == "x = 1\n"
