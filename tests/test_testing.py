"""The helpers for the tests of rules: above all, that they fail."""

from collections.abc import Iterable

import pytest
from devfix_codemods import rules
from devfix_codemods.edits.operations import ReplaceExpression
from devfix_codemods.findings import Finding, Fix, Safety
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule, RuleError
from devfix_codemods.testing import findings, rewrites, unchanged

BEFORE = """
    import torch
    x = wrong(torch)
"""
AFTER = BEFORE.replace("wrong", "right")


def made(new: str = "right", safety: Safety = Safety.SAFE, code: str = "TEST101") -> Rule:
    """A rule that calls `wrong` anything but right, and writes `new` for it."""

    def check(program: Program) -> Iterable[Finding]:
        for call in program.names.calls:
            if program.source.segment(program.source.span(call.func)) == "wrong":
                span = program.source.span(call.func)
                fix = Fix(safety, f"Say {new}", (ReplaceExpression(span, new),))
                yield Finding(code, "wrong-word", "this is wrong", span, fix=fix)

    return Rule(code, "wrong-word", ((b"wrong",),), check)


def test_unchanged_fails_where_something_is_found() -> None:
    with pytest.raises(AssertionError) as caught:
        unchanged(BEFORE, made())
    assert "2:5: TEST101 wrong-word: this is wrong; fix (safe): Say right" in str(caught.value)


def test_rewrites_fails_with_a_diff() -> None:
    with pytest.raises(AssertionError) as caught:
        rewrites(BEFORE, AFTER.replace("right", "torch.just"), made("torch.right"))
    assert "-x = torch.just(torch)\n+x = torch.right(torch)" in str(caught.value)


def test_rewrites_fails_where_nothing_is_found() -> None:
    with pytest.raises(AssertionError, match="nothing is found"):
        rewrites(AFTER, AFTER, made())


def test_rewrites_fails_where_the_result_does_not_hold() -> None:
    for new in ("f(", "unbound_name.right", "wrong"):
        with pytest.raises(AssertionError, match="this is a bug of the rule TEST101"):
            rewrites(BEFORE, AFTER, made(new))


def test_an_unsafe_fix_is_not_applied_unasked() -> None:
    with pytest.raises(AssertionError, match="not what was expected"):
        rewrites(BEFORE, AFTER, made("torch.right", Safety.UNSAFE))
    with pytest.raises(AssertionError, match="safe fixes change it already"):
        rewrites(BEFORE, AFTER.replace("right", "torch.right"), made("torch.right"), unsafe=True)


def test_a_program_that_cannot_be_read_fails() -> None:
    for program in ("import torch\nwrong(\n", "import torch  # devfix: skip-file\nwrong()\n"):
        with pytest.raises(AssertionError, match="could not be handled"):
            unchanged(program, made())


def test_a_rule_that_devfix_would_not_take() -> None:
    with pytest.raises(RuleError, match="codes with DVF are devfix's own"):
        unchanged(BEFORE, made(code="DVF999"))
    with pytest.raises(AssertionError, match="there is no rule DVF999"):
        unchanged(BEFORE, "DVF999")


def test_what_holds_passes() -> None:
    after = AFTER.replace("right", "torch.right")
    rewrites(BEFORE, after, made("torch.right"))
    rewrites(BEFORE, after, made("torch.right", Safety.UNSAFE), unsafe=True)
    unchanged(after, made("torch.right"))
    (finding,) = findings(BEFORE, made())
    assert finding.span.line == 2


def test_a_rule_is_known_only_as_long_as_it_is_tested() -> None:
    before = rules.all_rules()
    unchanged(AFTER, made())
    assert rules.all_rules() == before


def test_rules_of_devfix_are_tested_by_their_code() -> None:
    program = """
        import torch

        mask = torch.zeros(3)
        {}mask.to(device)
        mask.sum()
    """
    rewrites(program.format(""), program.format("mask = "), "DVF103")
    unchanged(program.format("mask = "), "DVF103")


def test_a_suggestion_is_one() -> None:
    rule, after = made("torch.right", Safety.SUGGESTION), AFTER.replace("right", "torch.right")
    unchanged(BEFORE, rule)
    assert [one.fix is not None for one in findings(BEFORE, rule, suggestions=True)] == [True]
    with pytest.raises(AssertionError, match="nothing should be found"):
        unchanged(BEFORE, rule, suggestions=True)
    rewrites(BEFORE, after, rule, suggestions=True)
    with pytest.raises(AssertionError, match="nothing is found"):
        rewrites(BEFORE, after, rule, unsafe=True)
    with pytest.raises(AssertionError, match="it changes unasked"):
        rewrites(BEFORE, after, made("torch.right", Safety.UNSAFE), suggestions=True)


def test_a_difference_at_the_end_is_told() -> None:
    with pytest.raises(AssertionError, match="only the ends of lines differ"):
        rewrites(BEFORE, AFTER.replace("right", "torch.right").rstrip(), made("torch.right"))
