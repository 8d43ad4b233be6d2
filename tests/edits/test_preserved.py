"""What must not change: everything that no edit names."""

import codecs

import pytest
from devfix_codemods.edits.errors import EditError, FormattingLost, NotEditable
from devfix_codemods.edits.operations import (
    AddImport,
    InsertStatement,
    MoveImportedName,
    RemoveStatement,
    ReplaceExpression,
    RewriteCall,
)

ODD_FILES = {
    "byte order mark": codecs.BOM_UTF8 + b"x = f(a)\n",
    "crlf": b"x = f(a)\r\ny = 1\r\n",
    "cr": b"x = f(a)\ry = 1\r",
    "mixed line ends": b"# one\r\nx = f(a)\ny = 1\r\nz = 2\r",
    "no last newline": b"y = 1\nx = f(a)",
    "comment without newline": b"x = f(a)\n# end",
    "blank end": b"x = f(a)\n\n\n   \n",
    "continued into a blank end": b"x = f(a)\ny = 1\\\n\n   \n\n",
    "comment that ends in a backslash": b"x = f(a)\n# end\\\n\n   \n\n",
    "form feed": b"y = 1\n\x0c\nx = f(a)\n",
    "tabs": b"if y:\n\tif z:\n\t\tx = f(a)\n",
    "tabs and spaces": b"if y:\n\tx = f(a)\nif z:\n  w = 1\n",
    "trailing space": b"x = f(a)   \ny = [ 1,2 ,3 ]  \n",
    "cookie": b"# -*- coding: latin-1 -*-\nname = '\xe9\xe8'; x = f(a)\n",
    "letters beside the cookie": b"# coding: latin-1 M\xfcller\nname = '\xe9'\nx = f(a)\n",
    "cookie in line two": b"#!/usr/bin/env python\n# vim: set fileencoding=cp1252 :\nname = '\x80'\nx = f(a)\n",
    "wide characters": "été = 'żółć 🚀'; x = f(a)  # 🚀 naïve\n".encode(),
    "continued lines": b"y = 1 + \\\n    2\nx = \\\n  f(a)\n",
    "strange quotes": b'y = \'a\' "b" r"""c\n"""\nx = f(a)\n',
    "semicolons": b"y = 1;x = f(a);\n",
    "decorated": b"@d  # why\n# and more\n\ndef g():\n    x = f(a)\n",
    "invalid escape": b'y = "\\d"\nx = f(a)\n',
}


@pytest.mark.parametrize("data", ODD_FILES.values(), ids=ODD_FILES)
class TestOddFiles:
    def test_no_edit_keeps_every_byte(self, sheet, data):
        assert sheet(data).edited_bytes() == data

    def test_an_edit_that_puts_the_original_back_keeps_every_byte(self, sheet, data):
        file = sheet(data)
        assert file.edited_bytes(ReplaceExpression(file.expression("f(a)"), "__node__")) == data

    def test_a_call_rewritten_to_itself_keeps_every_byte(self, sheet, data):
        file = sheet(data)
        assert file.edited_bytes(RewriteCall(file.expression("f(a)"), "f")) == data

    def test_a_replaced_name_changes_only_itself(self, sheet, data):
        file = sheet(data)
        assert file.edited_bytes(ReplaceExpression(file.expression("a"), "bc")) == data.replace(b"f(a)", b"f(bc)")

    def test_an_insert_leaves_the_old_lines_in_order(self, sheet, data):
        file = sheet(data)
        after = file.edited_bytes(InsertStatement(file.statement("x = …"), "after", "new = 1"))
        rest = after.replace(b"new = 1", b"", 1)
        assert [part for part in rest.split() if part != b";"] == [part for part in data.split() if part != b";"]


def test_imports_that_are_there_are_not_added(sheet):
    text = "import os, torch.nn\nfrom torch import nn as n, optim\n"
    adds = [AddImport("torch"), AddImport("torch.nn"), AddImport("os"), AddImport("torch", "optim")]
    assert sheet(text).edited(*adds) == text


def test_comments_and_layout_around_many_edits(sheet):
    before = """\
#!/usr/bin/env python
# Copyright

'''Doc.'''

import  torch   # odd spaces


# about g
def g( a,b ):   # here
    '''Doc of g.'''
    # first
    y = a+b   # sum

    # second
    return (y
            # inside
            )
    # last
"""
    file = sheet(before)
    after = file.edited(
        ReplaceExpression(file.expression("a+b"), "__node__.to(d)"),
        InsertStatement(file.statement("return…"), "before", "z = 1"),
    )
    assert after == before.replace("a+b ", "(a+b).to(d) ").replace("    # second", "    z = 1\n    # second")


def test_new_lines_take_the_line_ends_and_the_indentation_of_the_file(sheet):
    file = sheet(b"if a:\r\n\tb()\r\n")
    after = file.edited_bytes(InsertStatement(file.statement("b()"), "after", "if c:\n    d()"))
    assert after == b"if a:\r\n\tb()\r\n\tif c:\r\n\t\td()\r\n"


def test_a_removed_import_takes_nothing_with_it(sheet):
    text = "import a\n# about b\nimport b  # beside\n\nx = 1\n"
    file = sheet(text)
    assert file.edited(RemoveStatement(file.statement("import b"))) == "import a\n# about b\n\nx = 1\n"


def test_moving_one_name_keeps_the_other_lines_of_the_list(sheet):
    file = sheet("from m import (\n    a,  # one\n\n    # above b\n    b,\n    c  # three\n)  # end\n")
    after = file.edited(MoveImportedName(file.statement("from…"), "a", "n"))
    assert after == "from m import (\n    # above b\n    b,\n    c  # three\n)  # end\nfrom n import a\n"


# what libcst writes otherwise than it read it
LOST = {
    "space before the colon of except": "try:\n    f(a)\nexcept E :\n    pass\n",
    "form feed before code": "f(a)\n\x0cdef g():\n    pass\n",
    "blank lines at the end": "f(a)\n# end\n\n   \n  ",
}


@pytest.mark.parametrize("text", LOST.values(), ids=LOST)
def test_formatting_that_libcst_loses_is_kept(sheet, text):
    file = sheet(text)
    edits = ReplaceExpression(file.expression("a"), "b"), InsertStatement(file.statement("f(a)"), "after", "n()")
    after = file.edited(*edits)
    assert "n()" in after
    assert [line for line in after.split("\n") if "n()" not in line] == text.replace("f(a)", "f(b)").split("\n")


def test_an_edit_on_a_line_that_libcst_does_not_keep_is_refused(sheet):
    file = sheet("try:\n    a\nexcept E :\n    pass\n")
    with pytest.raises(FormattingLost) as caught:
        file.edited(ReplaceExpression(file.expression("E"), "F"))
    assert caught.value.line == 3
    file = sheet("a\n\x0cb\n")
    with pytest.raises(EditError):
        file.edited(ReplaceExpression(file.expression("b"), "c"))


def test_a_file_of_which_libcst_loses_lines_is_refused(sheet):
    with pytest.raises(NotEditable, match="loses lines"):
        sheet("\\\nx = 1\n").edited(AddImport("torch"))


def test_a_file_that_libcst_cannot_parse_is_refused(sheet):
    with pytest.raises(NotEditable, match="does not parse it"):
        sheet("(x): int = 1\n").edited(AddImport("torch"))


def test_line_ends_that_new_ones_would_run_into_are_refused(sheet):
    with pytest.raises(NotEditable, match="line ends"):
        sheet(b"a\rb\n\nc\n").edited_bytes(AddImport("torch"))
