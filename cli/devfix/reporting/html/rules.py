"""The pages of rules as markup."""

from dataclasses import dataclass

from markdown_it import MarkdownIt
from markupsafe import Markup

from devfix.reporting.html.code import text
from devfix.reporting.terminal import visible
from devfix.rules.pages import page_named

_CODE = frozenset({"code_block", "fence"})
_PYTHON_UNDER = frozenset({"Before", "After"})
_LEVEL = 2
"""How much deeper the headings of a rule's page are on this page."""


@dataclass(frozen=True)
class Page:
    """A rule's page. It links to nothing and shows no pictures."""

    code: str
    name: str
    body: Markup


def page_of(code: str) -> Page | None:
    """The page of the rule of that code; None where there is none."""
    page = page_named(code)
    return Page(page.code, page.name, _rendered(page.text)) if page is not None else None


def _rendered(markdown: str) -> Markup:
    parser = MarkdownIt("commonmark", {"html": False}).disable(["link", "autolink", "image", "reference"])
    tokens = parser.parse("\n".join(map(visible, markdown.split("\n"))))
    heading = ""
    for token, inside in zip(tokens, [*tokens[1:], None]):
        if token.type.startswith("heading_"):
            token.tag = f"h{min(int(token.tag[1:]) + _LEVEL, 6)}"
            heading = inside.content if inside is not None and token.nesting == 1 else heading
        elif token.type in _CODE and heading in _PYTHON_UNDER:
            token.type, token.content = "html_block", _code(token.content)
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _code(code: str) -> str:
    return Markup("<pre><code>{}</code></pre>\n").format(text(code.rstrip("\n")))
