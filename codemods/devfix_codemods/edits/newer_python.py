"""Files that are newer Python than the interpreter that runs devfix."""

from devfix_codemods.edits.depth import with_deep_stack

_AMBIGUOUS = frozenset({"multiple exception types must be parenthesized"})
"""What CPython says of code for Python 3.14 and of code for Python 2 alike: `except A, B:`."""
_OF_CONTENTS = ("(unicode error)", "(value error)", "bytes can only contain ASCII")
"""How CPython begins what it says of the characters of a string, `"C:\\Users"`, which libcst does not decode: no
version takes them."""


def is_newer_python(text: str, error: SyntaxError) -> bool:
    """Whether libcst, whose grammar does not depend on the interpreter, reads what `ast` refused with `error`."""
    if error.msg in _AMBIGUOUS or error.msg.startswith(_OF_CONTENTS):
        return False
    import libcst as cst

    try:
        with_deep_stack(lambda: cst.parse_module(text))
    except (cst.ParserSyntaxError, RecursionError):
        return False
    return True
