"""What the tests of a rule ask: what it finds, what it leaves alone, what it writes.

Programs are texts; indentation that all lines share is taken away, and so is an empty first line. A rule is a `Rule`,
or the code of one of devfix's own. Where a program is not what the test says, an `AssertionError` shows the difference.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from difflib import unified_diff
from textwrap import dedent

from devfix_codemods import engine, rules
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Changed, Checked, Clean, Failed, Options, Skipped
from devfix_codemods.rules import Rule
from devfix_codemods.source import Source

PATH = "example.py"


def findings(program: str, rule: Rule | str, *, suggestions: bool = False) -> tuple[Finding, ...]:
    """What the rule finds in the program, in its order; with `suggestions`, these too.

    Raises:
        AssertionError: the program cannot be read, the rule raises, or it says `# devfix: skip-file`.
        RuleError: devfix would not take the rule.
    """
    with _in_use(rule) as code:
        return _found(_plain(program), Options(frozenset({code}), suggestions=suggestions))


def unchanged(program: str, rule: Rule | str, *, suggestions: bool = False) -> None:
    """Say that the rule finds nothing in the program; with `suggestions`, that it does not suggest anything either.

    Raises:
        AssertionError: it does; or as `findings`.
    """
    found = findings(program, rule, suggestions=suggestions)
    assert not found, "\n".join(["nothing should be found, but there is:", *map(_told, found)])


def rewrites(before: str, after: str, rule: Rule | str, *, unsafe: bool = False, suggestions: bool = False) -> None:
    """Say that the rule's fixes make `after` of `before`, and then find nothing more to do.

    With `unsafe`, the program must stay as it is as long as unsafe fixes are not asked for; with `suggestions`, as long
    as nobody accepts them. That the result parses and uses no unbound name is checked by the pass that applies fixes.

    Raises:
        AssertionError: they do not; or as `findings`.
    """
    start, end = _plain(before), _plain(after)
    with _in_use(rule) as code:
        options = Options(frozenset({code}), unsafe=unsafe, suggestions=suggestions)
        found = _found(start, options)
        assert found, "nothing is found in the program"
        if unsafe:
            safe = _rewritten(start, Options(frozenset({code})))
            assert safe == start, f"safe fixes change it already:\n{_diff(start, safe, 'before', 'without unsafe')}"
        accept = (lambda _: True) if suggestions else None
        if suggestions:
            unasked = _rewritten(start, replace(options, unsafe=True))
            assert unasked == start, f"it changes unasked:\n{_diff(start, unasked, 'before', 'unasked')}"
        got = _rewritten(start, options, accept)
        left = "\n".join(map(_told, found))
        assert got == end, f"not what was expected of:\n{left}\n{_diff(end, got, 'expected', 'rewritten')}"
        again = _rewritten(got, options, accept)
        assert again == got, f"a second pass changes it again:\n{_diff(got, again, 'rewritten', 'rewritten twice')}"


@contextmanager
def _in_use(rule: Rule | str) -> Iterator[str]:
    """The code of the rule, which is known to the engine for as long as this lasts."""
    if isinstance(rule, str):
        assert rule in {one.code for one in rules.all_rules()}, f"there is no rule {rule}"
        yield rule
        return
    known = rules.other_rules()
    if rule not in rules.own_rules():
        rules.use([*(one for one in known if one.code != rule.code), rule])
    try:
        yield rule.code
    finally:
        rules.use(known)


def _found(program: str, options: Options) -> tuple[Finding, ...]:
    outcome = engine.check(Source(PATH, program.encode()), options)
    assert isinstance(outcome, Checked), _reason(outcome)
    return outcome.findings


def _rewritten(program: str, options: Options, accept: engine.Accept | None = None) -> str:
    outcome = engine.rewrite(Source(PATH, program.encode()), options, accept)
    assert isinstance(outcome, (Changed, Clean)), _reason(outcome)
    return outcome.data.decode() if isinstance(outcome, Changed) else program


def _reason(outcome: Skipped | Failed) -> str:
    return f"the program could not be handled: {outcome.reason}"


def _plain(program: str) -> str:
    return dedent(program).removeprefix("\n")


def _told(finding: Finding) -> str:
    fix = f"; fix ({finding.fix.safety.value}): {finding.fix.title}" if finding.fix is not None else ""
    place = f"{finding.span.line}:{finding.span.column + 1}"
    return f"  {place}: {finding.code} {finding.name}: {finding.message}{fix}"


def _diff(one: str, other: str, name: str, other_name: str) -> str:
    lines = list(unified_diff(one.splitlines(), other.splitlines(), name, other_name, lineterm=""))
    return "\n".join(lines) if lines or one == other else "only the ends of lines differ"
