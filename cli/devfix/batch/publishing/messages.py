"""What a batch writes where others read it: messages of commits, and the texts of pull requests.

Whatever comes from a repository is one line in which every character shows, mentions nobody and refers to nothing.
"""

import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from devfix import __version__
from devfix.batch.records import CheckRun, Fix, Outcome, Repository, Stop, Verdict
from devfix.reporting.terminal import one_line

MOST_FIXES = 50
"""No message names more."""
MOST_STOPS = 8
LONGEST_TEXT = 60_000
"""Bytes of a pull request's text; GitHub takes 65 536 characters, Linux 131 072 bytes of an argument."""
_WIDTH = 72
_LONGEST = 300
_CUT = "Some of it has no room here; the messages of the commits say more."
_LEFT_AS_IT_IS = re.compile(r"[A-Za-z0-9 ,/()=%-]|[^\x00-\x7f]")


def commit_message(fixes: Sequence[Fix]) -> str:
    """The message of a commit that holds these fixes: what is wrong where, why, and what is done about it."""
    return "\n\n".join([_subject(fixes), *_paragraphs(fixes)]) + "\n"


def pull_request(outcome: Outcome, repository: Repository) -> tuple[str, str]:
    """The title and the text, in Markdown, of a pull request with the fixes that an outcome kept."""
    kept = outcome.kept
    codes = ", ".join(sorted({fix.code for fix in kept}))
    title = f"devfix: {_number(len(kept), 'fix', 'es')} of device placement" + (f" ({codes})" if codes else "")
    parts = [_opening(outcome), *_table(kept), *_trails(kept), *_dropped(outcome.fixes), *_replays(outcome.verdicts)]
    parts += [*_checks(outcome.checks), *_unhandled(outcome.unhandled), _closing(outcome, repository)]
    return title[:_LONGEST], _short_enough(parts)


def _number(count: int, word: str, plural: str = "s") -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}{plural}"


def _short(text: str) -> str:
    text = one_line(text)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


# The message of a commit


def _subject(fixes: Sequence[Fix]) -> str:
    rules = sorted({(fix.code, fix.name) for fix in fixes})
    count = _number(len(fixes), "fix", "es")
    if len(rules) == 1:
        return f"devfix: {rules[0][0]} {rules[0][1]} ({count})"
    return f"devfix: {count} of {_number(len(rules), 'rule')}"


def _paragraphs(fixes: Sequence[Fix]) -> Iterator[str]:
    shown = sorted(fixes, key=_order)[:MOST_FIXES]
    for (code, name), group in groupby(shown, key=lambda fix: (fix.code, fix.name)):
        yield "\n".join([f"{code} {name}", *(line for fix in group for line in _told(fix))])
    if len(fixes) > len(shown):
        yield f"... and {_number(len(fixes) - len(shown), 'more fix', 'es')}."


def _trust(fix: Fix) -> str:
    """`unsafe`, or `unsafe, confidence 0.84`."""
    return ", ".join(filter(None, (fix.safety, fix.doubt)))


def _order(fix: Fix) -> tuple[str, str, int, int, int]:
    return (fix.code, fix.path, fix.cell or 0, fix.line, fix.column)


def _told(fix: Fix) -> Iterator[str]:
    """Every line is set in: one that begins with `diff` or `---` would end the message for `git am`."""
    yield from _wrapped(f"{_place(fix)}: {fix.message}", "- ")
    yield from _wrapped(f"{fix.title} ({_trust(fix)})", "  ")
    for stop in fix.trail[:MOST_STOPS]:
        yield from _wrapped(f"{_place(stop)}: {stop.note}", "  * ")
    if fix.verdict is not None:
        yield from _wrapped(f"replay: {fix.verdict}", "  ")


def _wrapped(text: str, begin: str) -> list[str]:
    return textwrap.wrap(
        _quiet(_short(text)),
        _WIDTH,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_long_words=False,
        break_on_hyphens=False,
    )


def _quiet(text: str) -> str:
    """Hosts read `@name`, `#1` and `GH-1` in the messages of commits, too: a blank makes them nothing."""
    return re.sub(r"([@#]|\bGH-)(?=\w)", r"\1 ", text, flags=re.IGNORECASE)


def _place(one: Fix | Stop) -> str:
    return f"{one.path}:{one.line}" if one.cell is None else f"{one.path}: cell {one.cell}, line {one.line}"


# The text of a pull request


def code(text: str) -> str:
    """`text` as code in Markdown, in a table too. Hosts look for mentions and references everywhere but in code.

    Punctuation is written by number: https://spec.commonmark.org/0.31.2/#entity-and-numeric-character-references says
    that such characters have no other meaning.
    """
    return f"<code>{_by_number(text)}</code>" if text else ""


def _by_number(text: str) -> str:
    return "".join(letter if _LEFT_AS_IT_IS.fullmatch(letter) else f"&#{ord(letter)};" for letter in _short(text))


def _opening(outcome: Outcome) -> str:
    kept = outcome.kept
    found = _number(len(kept), "device-placement bug")
    text = f"devfix found and repaired {found} in {_number(len({fix.path for fix in kept}), 'file')}."
    if all(fix.verdict is None for fix in kept):
        return f"{text} The changed code was not run."
    return f"{text} The changed code was run before and after; the table has the verdicts."


def _table(fixes: Sequence[Fix]) -> Iterator[str]:
    rows = ["| rule | place | what is wrong | what is done | safety | replay |", "|---|---|---|---|---|---|"]
    room = LONGEST_TEXT // 2
    for fix in sorted(fixes, key=_order):
        cells = (f"{fix.code} {fix.name}", _place(fix), fix.message, fix.title, _trust(fix), fix.verdict or "not run")
        row = f"| {' | '.join(map(code, cells))} |"
        room -= _size(row) + 1
        if room < 0:
            break
        rows.append(row)
    if fixes:
        yield "\n".join(rows) + _rest(fixes, len(rows) - 2, "fix", "es")


def _rest(items: Sequence[object], shown: int, word: str, plural: str = "s") -> str:
    return f"\n\n… and {_number(len(items) - shown, f'more {word}', plural)}." if len(items) > shown else ""


def _trails(fixes: Sequence[Fix]) -> Iterator[str]:
    told = [fix for fix in sorted(fixes, key=_order) if fix.trail]
    items = []
    for fix in told[:MOST_FIXES]:
        stops = [f"  - {code(_place(stop))} {code(stop.note)}" for stop in fix.trail[:MOST_STOPS]]
        items.append("\n".join([f"- {code(_place(fix))} {code(fix.message)}", *stops]))
    if items:
        yield _folded("Why: the trail of each value", "\n".join(items) + _rest(told, MOST_FIXES, "trail"))


def _dropped(fixes: Iterable[Fix]) -> Iterator[str]:
    dropped = [fix for fix in sorted(fixes, key=_order) if fix.dropped is not None]
    items = [f"- {code(f'{fix.code} {_place(fix)}')}: {code(fix.dropped or '')}" for fix in dropped[:MOST_FIXES]]
    if items:
        yield _folded("Found, and taken back", "\n".join(items) + _rest(dropped, MOST_FIXES, "fix", "es"))


def _replays(verdicts: Sequence[Verdict]) -> Iterator[str]:
    items = []
    for verdict in verdicts[:MOST_FIXES]:
        about = " ".join(filter(None, (code(verdict.path), code(verdict.kind), code(verdict.command))))
        items.append("\n".join([f"- {about}", *(f"  - {code(reason)}" for reason in verdict.reasons[:MOST_STOPS])]))
    if items:
        yield _folded(
            "Verdicts of the replay, with their reasons", "\n".join(items) + _rest(verdicts, MOST_FIXES, "file")
        )


def _checks(checks: Sequence[CheckRun]) -> Iterator[str]:
    if checks:
        rows = [f"| {code(one.command)} | {code(one.before)} | {code(one.after)} |" for one in checks[:MOST_FIXES]]
        yield "\n".join(["| check | before | after |", "|---|---|---|", *rows]) + _rest(checks, MOST_FIXES, "check")


def _unhandled(files: Sequence[tuple[str, str]]) -> Iterator[str]:
    items = [f"- {code(path)}: {code(reason)}" for path, reason in files[:MOST_FIXES]]
    if items:
        yield _folded("Not looked at", "\n".join(items) + _rest(files, MOST_FIXES, "file"))


def _closing(outcome: Outcome, repository: Repository) -> str:
    codes = sorted({fix.code for fix in outcome.kept})
    command = ["devfix", "rewrite", *(["--select", ",".join(codes)] if codes else [])]
    command += ["--unsafe"] if any(fix.safety == "unsafe" for fix in outcome.kept) else []
    least, torch = repository.rules.min_confidence, repository.rules.target_torch
    command += ["--min-confidence", f"{least:g}"] if least is not None else []
    command += ["--target-torch", f"{torch[0]}.{torch[1]}"] if torch is not None else []
    command += ["--", repository.subfolder] if repository.subfolder.startswith("-") else [repository.subfolder or "."]
    return f"Made by devfix {__version__} from {code(outcome.commit[:12])}. To do it again: {code(shlex.join(command))}"


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{title}</summary>\n\n{text}\n\n</details>"


def _short_enough(parts: Sequence[str]) -> str:
    """The parts that have room: the first and the last always have, and one that has none takes none from others."""
    room = LONGEST_TEXT - _size(parts[0]) - _size(parts[-1]) - len(_CUT)
    kept = []
    for part in parts[1:-1]:
        size = _size(part) + 2
        if size < room:
            room -= size
            kept.append(part)
    kept += [_CUT] if len(kept) < len(parts) - 2 else []
    return "\n\n".join([parts[0], *kept, parts[-1]]) + "\n"


def _size(text: str) -> int:
    return len(text.encode("utf-8", "backslashreplace"))
