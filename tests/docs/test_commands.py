"""What the pages show is what comes out."""

from pathlib import Path

import console
import pytest

DOCS = Path(console.__file__).parent
REPLAYS = {"README", "own-tests", "replay", "batch"}
"""What runs programs takes long."""
PAGES = [page for page in [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"] if "```console" in page.read_text()]


def test_there_are_commands_to_check() -> None:
    assert {"index.md", "replay.md", "review.md", "README.md"} <= {page.name for page in PAGES}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem in REPLAYS)) for page in PAGES]
)
def test_the_commands_of_a_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    shown, actual = console.commands(text), console.outputs(text)
    assert shown
    wrong = [found for one, lines in zip(shown, actual, strict=True) if (found := one.mismatch(lines))]
    assert not wrong, "\n\n".join([*wrong, f"`python docs/console.py {page}` shows what comes out now"])


@pytest.mark.parametrize(
    ("lines", "actual"),
    [
        ((), ["more"]),
        (("one",), []),
        (("one",), ["two"]),
        (("one …",), ["two and three"]),
        (("after 2.6 s",), ["after 2 m"]),
        (("one", "", "two"), ["one", "two"]),
    ],
)
def test_what_is_not_the_same(lines: tuple[str, ...], actual: list[str]) -> None:
    assert console.Shown("devfix", lines).mismatch(actual)


def test_what_is_the_same() -> None:
    lines = ("run 20261121-081137-6a4b93 after 2.6 s", "a long line …", "")
    actual = ["run 20251121-081137-0a4b93 after 12.3 s", "a long line with an end"]
    assert console.Shown("devfix", lines).mismatch(actual) is None
