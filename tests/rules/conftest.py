"""A rule under test: a module names its code in `CODE`, and asks for `rule`."""

from dataclasses import replace
from textwrap import dedent

import pytest
from devfix_codemods import engine, rules
from devfix_codemods.engine import Accept, check, rewrite
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.source import Source


class RuleUnderTest:
    """One rule, given programs as text."""

    def __init__(self, code: str) -> None:
        self.code = code

    def findings(self, program: str | bytes) -> tuple[Finding, ...]:
        outcome = check(_source(program), Options(frozenset({self.code})))
        assert isinstance(outcome, Checked), outcome
        return outcome.findings

    def finding(self, program: str | bytes) -> Finding:
        (one,) = self.findings(program)
        return one

    def fixed(self, program: str | bytes, *, unsafe: bool = False, accept: Accept | None = None) -> str:
        """The program after its fixes. A second rewrite must change nothing."""
        options = Options(frozenset({self.code}), unsafe=unsafe)
        outcome = rewrite(_source(program), options, accept)
        assert isinstance(outcome, Changed), outcome
        if accept is None:
            again = rewrite(Source("train.py", outcome.data), options)
            assert isinstance(again, Clean), again
        return outcome.data.decode()

    def safeties(self, program: str | bytes) -> list[Safety | None]:
        return [one.fix.safety if one.fix else None for one in self.findings(program)]

    def unchanged_unless_unsafe(self, program: str) -> str:
        """The program after its unsafe fixes; without `unsafe` it must stay as it is."""
        outcome = rewrite(_source(program), Options(frozenset({self.code})))
        assert isinstance(outcome, Clean), outcome
        assert outcome.left
        return self.fixed(program, unsafe=True)


def _source(program: str | bytes) -> Source:
    return Source("train.py", program if isinstance(program, bytes) else dedent(program).encode())


@pytest.fixture
def rule(request: pytest.FixtureRequest) -> RuleUnderTest:
    return RuleUnderTest(request.module.CODE)


@pytest.fixture(autouse=True)
def _conflicts_alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a module says `CONFLICTS_ALONE`, rules find nothing but the conflicts that they own."""
    if getattr(request.module, "CONFLICTS_ALONE", False):
        owners = tuple(replace(one, check=None) if one.owns else one for one in rules.all_rules())
        monkeypatch.setattr(engine, "all_rules", lambda: owners)
