"""Every rule is whole: its page, its test, its corpus."""

import ast
import re
from pathlib import Path
from textwrap import dedent

import pytest
from devfix_codemods import rules
from devfix_codemods.rules import all_rules

ROOT = Path(__file__).parents[2]
MODULES = sorted(path for path in Path(rules.__path__[0]).glob("*.py") if not path.name.startswith("_"))
HEADINGS = ["What it does", "Why it fails", "Before", "After", "Fix safety", "Since torch"]


def page(module: Path) -> dict[str, str]:
    """The sections of a rule's docstring by heading."""
    text = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8")), clean=False) or ""
    _, *parts = re.split(r"(?m)^## (.+)\n", text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


@pytest.fixture(params=MODULES, ids=[path.stem for path in MODULES])
def module(request: pytest.FixtureRequest) -> Path:
    return request.param


def test_codes_and_names_are_unique() -> None:
    assert len(all_rules()) == len(MODULES)
    assert len({rule.code for rule in all_rules()}) == len(MODULES)
    assert len({rule.name for rule in all_rules()}) == len(MODULES)


def test_rules_come_in_the_order_of_their_codes() -> None:
    codes = [rule.code for rule in all_rules()]
    assert codes == sorted(codes)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_code_name_and_triggers_are_well_formed(rule: rules.Rule) -> None:
    assert re.fullmatch(r"DVF[1-5]\d\d", rule.code)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", rule.name)
    assert rule.triggers or rule.owns is not None
    assert all(rule.triggers)
    assert all(isinstance(word, bytes) and word for words in rule.triggers for word in words)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_file_is_named_after_the_rule(rule: rules.Rule) -> None:
    assert rule.name.replace("-", "_") in {path.stem for path in MODULES}


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_there_is_a_corpus(rule: rules.Rule) -> None:
    folder = ROOT / "corpus" / f"{rule.code}-{rule.name}"
    assert list(folder.glob("*/before.py"))


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_the_summary_is_one_sentence(rule: rules.Rule) -> None:
    assert rule.summary.endswith(".")
    assert rule.documentation.startswith(rule.summary + "\n\n")


def test_there_is_a_test(module: Path) -> None:
    assert (ROOT / "tests" / "rules" / f"test_{module.stem}.py").is_file()


def test_the_page_has_its_headings_in_order(module: Path) -> None:
    assert list(page(module)) == HEADINGS
    assert all(text.strip() for text in page(module).values())


@pytest.mark.parametrize("heading", ["Before", "After"])
def test_the_examples_are_python(module: Path, heading: str) -> None:
    code = dedent("\n".join(line for line in page(module)[heading].splitlines() if not line or line.startswith(" ")))
    assert code.strip()
    ast.parse(code)


def test_the_examples_differ(module: Path) -> None:
    assert page(module)["Before"] != page(module)["After"]
