"""What all pages share: they need no network, and nothing of the analysed code can run on them.

What is put into a template is escaped (autoescape), after characters that hide or turn text were replaced; the policy
of a page allows its own script and style, by their hashes, and nothing else.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files as package_files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from devfix import __version__
from devfix.reporting.html.words import path, shown, ticked

PACKAGE = "devfix.reporting.html"

File = tuple[str, str]
"""A package, and the name of a file in it."""

STYLE: File = (PACKAGE, "report.css")
SCRIPT: File = (PACKAGE, "frame.js")


def page(template: File, members: Mapping[str, Any], styles: Sequence[File], scripts: Sequence[File]) -> Iterator[str]:
    """The page in pieces, in ASCII: it reads the same whatever encoding it is written or served in.

    The template extends `frame.html.jinja`, and its `members` have a `headline`.
    """
    style, script = _joined(tuple(styles)), _joined(tuple(scripts))
    frame = {
        "version": __version__,
        "style": Markup(style),
        "script": Markup(script),
        "policy": _policy(script, style),
    }
    for piece in _environment(template[0]).get_template(template[1]).generate({**frame, **members}):
        yield piece.encode("ascii", "xmlcharrefreplace").decode()


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, "."), PackageLoader(PACKAGE, ".")]),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"ticked": ticked, "path": path}
    return environment


@cache
def _joined(files: Sequence[File]) -> str:
    """Files that stand in the page as they are."""
    return "".join(package_files(package).joinpath(name).read_text("ascii") for package, name in files)


@cache
def _policy(script: str, style: str) -> str:
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hash(script)}",
            f"style-src {_hash(style)}",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
        ]
    )


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
