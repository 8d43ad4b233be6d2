"""Which file an import means."""

import pytest
from devfix_codemods.project.imports import find, mentioned

from .conftest import InMemory

LAYOUT = InMemory(
    dict.fromkeys(
        (
            "/p/train.py",
            "/p/models/__init__.py",
            "/p/models/net.py",
            "/p/models/types.py",
            "/p/space/deep/inner.py",
            "/p/src/pkg/__init__.py",
            "/p/src/pkg/core.py",
            "/p/src/pkg/sub/__init__.py",
            "/p/src/pkg/sub/leaf.py",
            "/p/scripts/run.py",
            "/p/scripts/helpers.py",
            "/p/tests/test_core.py",
        ),
        "",
    ),
    "/p",
)

FOUND = {
    "a sibling": ("/p/scripts/run.py", "helpers.f", ("/p/scripts/helpers.py", ("f",))),
    "a sibling by itself": ("/p/scripts/run.py", "helpers", ("/p/scripts/helpers.py", ())),
    "a package": ("/p/train.py", "models.Net", ("/p/models/__init__.py", ("Net",))),
    "a module in a package": ("/p/train.py", "models.net.Net", ("/p/models/net.py", ("Net",))),
    "a folder without __init__": ("/p/train.py", "space.deep.inner.f", ("/p/space/deep/inner.py", ("f",))),
    "from below the top": ("/p/scripts/run.py", "models.net.Net", ("/p/models/net.py", ("Net",))),
    "src": ("/p/tests/test_core.py", "pkg.core.f", ("/p/src/pkg/core.py", ("f",))),
    "inside the package": ("/p/src/pkg/sub/leaf.py", "pkg.core.f", ("/p/src/pkg/core.py", ("f",))),
    "relative": ("/p/src/pkg/sub/leaf.py", "..core.f", ("/p/src/pkg/core.py", ("f",))),
    "relative to the package": ("/p/src/pkg/core.py", ".sub.leaf", ("/p/src/pkg/sub/leaf.py", ())),
    "a name of the package": ("/p/src/pkg/core.py", ".VERSION", ("/p/src/pkg/__init__.py", ("VERSION",))),
    "the package run as scripts": ("/p/models/net.py", "types_.x", None),
    "the standard library": ("/p/models/net.py", "types.x", None),
    "torch": ("/p/train.py", "torch.nn", None),
    "nothing": ("/p/train.py", "numpy.zeros", None),
    "above the top": ("/p/train.py", "...x.y", None),
}


@pytest.mark.parametrize(("path", "dotted", "expected"), FOUND.values(), ids=FOUND)
def test_find(path: str, dotted: str, expected: tuple[str, tuple[str, ...]] | None) -> None:
    assert find(path, dotted, LAYOUT) == expected


MENTIONED = {
    "import": ("import a, b.c as d", ("a", "b.c")),
    "from": ("from a.b import c as d, e", ("a.b", "a.b.c", "a.b.e")),
    "relative": ("from . import a\nfrom ..b import c", (".", ".a", "..b", "..b.c")),
    "several lines": ("from a import (\n    b,  # why, so\n    c,\n)", ("a", "a.b", "a.c")),
    "continued": ("from a import b, \\\n    c", ("a", "a.b", "a.c")),
    "a star": ("from a import *", ("a",)),
    "inside a function": ("def f():\n    import a", ("a",)),
    "no import": ("x = 'from a'\nimportant = 1", ()),
    "a comment": ("import a  # import b", ("a",)),
    "two on a line": ("import a; x = 1", ("a",)),
    "two imports on a line": ("import a; from b import c; import d", ("b", "b.c", "a", "d")),
    "on the line of a compound statement": ("try: import a\nexcept ImportError: import b", ("a", "b")),
    "behind a mark of UTF-8": ("\ufefffrom a import b", ("a", "a.b")),
    "no space behind the dots": ("from .import a\nfrom..import b", (".", ".a", "..", "..b")),
    "a parenthesis in a comment": ("from a import (\n    b,  # (why)\n    c,\n)", ("a", "a.b", "a.c")),
    "continued ahead of what is imported": ("from . \\\n    import a", (".", ".a", "a")),
}


@pytest.mark.parametrize(("text", "expected"), MENTIONED.values(), ids=MENTIONED)
def test_mentioned(text: str, expected: tuple[str, ...]) -> None:
    assert mentioned(text.encode()) == expected
