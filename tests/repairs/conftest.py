"""What the tests of repairs share: programs through the engine, with conflicts of the placement analysis alone."""

from dataclasses import replace
from textwrap import dedent

import pytest
from devfix_codemods import engine, rules
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.source import Source

HEAD = "import numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
OWNERS = tuple(replace(one, check=lambda _: ()) for one in rules.own_rules() if one.owns is not None)
"""The rules that tell conflicts, without what they find by themselves."""


class Repairs:
    """What is found in a program, and what is written."""

    options = Options(frozenset(one.code for one in OWNERS))

    def findings(self, program: str, *, suggestions: bool = True) -> tuple[Finding, ...]:
        outcome = engine.check(_source(program), replace(self.options, suggestions=suggestions))
        assert isinstance(outcome, Checked), outcome
        return outcome.findings

    def finding(self, program: str) -> Finding:
        (one,) = self.findings(program)
        return one

    def told(self, program: str) -> list[str]:
        """What is to be done, of all findings: by the titles of their fixes, or by hand."""
        return [one.fix.title if one.fix is not None else str(one.advice) for one in self.findings(program)]

    def written(self, program: str, tier: Safety = Safety.SAFE) -> str:
        """The program after all fixes of a tier and of those above. A second rewrite must change nothing."""
        options = replace(self.options, unsafe=tier is not Safety.SAFE, suggestions=tier is Safety.SUGGESTION)
        accept = (lambda _: True) if options.suggestions else None
        text = _source(program).text
        for _ in range(2):
            outcome = engine.rewrite(Source("train.py", text.encode()), options, accept)
            assert isinstance(outcome, (Changed, Clean)), outcome
            if isinstance(outcome, Clean):
                break
            text = outcome.data.decode()
        else:
            assert accept is not None, "a second rewrite changes it again"
        return text.removeprefix(HEAD)

    def plain(self, program: str) -> str:
        """The program as it is read."""
        return _source(program).text

    def added(self, program: str, tier: Safety = Safety.SUGGESTION) -> list[str]:
        """The lines that are new, without their indentation."""
        before = dedent(program).splitlines()
        return [line.strip() for line in self.written(program, tier).splitlines() if line not in before]


def _source(program: str) -> Source:
    return Source("train.py", (HEAD + dedent(program).removeprefix("\n")).encode())


@pytest.fixture
def repairs(monkeypatch: pytest.MonkeyPatch) -> Repairs:
    monkeypatch.setattr(engine, "all_rules", lambda: OWNERS)
    return Repairs()
