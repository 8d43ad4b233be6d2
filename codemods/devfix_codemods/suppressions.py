"""Comments that silence devfix: `# devfix: ignore[DVF101]` on a line, `# devfix: skip-file` for a file.

An ignore covers the findings whose text touches its line. Words after the closing bracket are free for the reason.
One that silences nothing, and one that cannot be understood, is reported itself, so that none outlives its cause.
"""

import difflib
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from devfix_codemods.findings import Finding
from devfix_codemods.source import Source, Span

CODE, NAME = "DVF001", "unused-ignore"
MARKER = b"devfix:"

_ASKED_FOR = frozenset({"DVF002"})
"""Codes of what is only looked for when somebody asks: a comment that names one may wait for that."""

_DIRECTIVE = re.compile(r"#\s*devfix:\s*([^#]*)")
_IGNORE = re.compile(r"ignore(?:\s*\[([^\]]*)\](?:\s.*)?)?")
_SKIP = re.compile(r"skip-file(?:\s.*)?")
_RULE = re.compile(r"([A-Z]{2,12})\d{3}")


@dataclass(frozen=True, slots=True)
class Ignore:
    """One ignore comment. `codes` is empty where it silences every rule."""

    span: Span
    codes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What the comments of one file say."""

    skip_file: bool = False
    ignores: tuple[Ignore, ...] = ()
    malformed: tuple[Finding, ...] = ()


def read(source: Source) -> Suppressions:
    """The suppressions of `source`; only comments count, and only up to where the text stops being Python.

    Raises:
        SourceError: the bytes do not decode.
    """
    if MARKER not in source.data:
        return Suppressions()
    skip, ignores, malformed = False, [], []
    for span, body in _directives(source):
        if _SKIP.fullmatch(body):
            skip = True
            continue
        ignore = _ignore(span, body)
        if ignore is None:
            malformed.append(_misunderstood(span, body))
        else:
            ignores.append(ignore)
    return Suppressions(skip, tuple(ignores), tuple(malformed))


def _directives(source: Source) -> Iterator[tuple[Span, str]]:
    for token in _comments(source):
        for found in _DIRECTIVE.finditer(token.string):
            (line, column), text = token.start, found.group().rstrip()
            start = column + found.start()
            yield Span(line, start, line, start + len(text)), found.group(1).strip()


def _comments(source: Source) -> Iterator[tokenize.TokenInfo]:
    lines = (f"{line}\n" for line in source.lines)
    try:
        for token in tokenize.generate_tokens(lambda: next(lines, "")):
            if token.type == tokenize.COMMENT:
                yield token
    except (tokenize.TokenError, SyntaxError):
        return


def _ignore(span: Span, body: str) -> Ignore | None:
    found = _IGNORE.fullmatch(body)
    if found is None:
        return None
    if found.group(1) is None:
        return Ignore(span)
    codes = [code.strip() for code in found.group(1).split(",")]
    return Ignore(span, tuple(dict.fromkeys(codes))) if all(map(_RULE.fullmatch, codes)) else None


def _misunderstood(span: Span, body: str) -> Finding:
    message = f"`devfix: {body}` is not understood"
    advice = "Write `ignore[DVF101]` or `ignore[DVF101, DVF103]`, `ignore` for every rule, or `skip-file`."
    return Finding(CODE, NAME, message, span, advice=advice)


def silencing(source: Source, span: Span, code: str) -> tuple[int, str] | None:
    """A line of `span` (from 1) and its text with a comment that silences the rule `code` for what lies in `span`.

    An ignore comment that is there gets the code. None where no line of it can hold a comment, as in a long string, or
    one silences every rule already.
    """
    if any(not one.codes or code in one.codes for one in read(source).ignores if _touches(one, span)):
        return None
    for line in range(span.line, min(span.end_line, len(source.lines)) + 1):
        text = _silenced_line(source, line, code)
        if text is not None:
            return line, text
    return None


def _silenced_line(source: Source, line: int, code: str) -> str | None:
    text = source.lines[line - 1]
    ignore = next((one for one in read(source).ignores if one.span.line == line), None)
    if ignore is not None:
        end = text.index("]", ignore.span.column)
        return f"{text[:end].rstrip()}, {code}{text[end:]}"
    kept = text.rstrip()
    if kept.endswith("\\"):  # a comment would end the statement here
        return None
    silenced = f"{kept}  # devfix: ignore[{code}]{text[len(kept) :]}"
    after = "\n".join((*source.lines[: line - 1], silenced, *source.lines[line:]))
    ignores = read(Source(source.path, after.encode(source.encoding))).ignores
    return silenced if any(one.span.line == line and one.codes == (code,) for one in ignores) else None


@dataclass(frozen=True, slots=True)
class Silenced:
    """Findings after the comments had their say: those that remain, and how many were ignored."""

    findings: tuple[Finding, ...]
    ignored: int


def silence(
    findings: Iterable[Finding],
    suppressions: Suppressions,
    select: frozenset[str],
    rules: frozenset[str],
    hidden: Iterable[Finding] = (),
) -> Silenced:
    """Drop the ignored of `findings` and add those about the comments themselves.

    An ignore is judged only by the rules in `select`; `rules` are all there are. The `hidden` findings are not told
    here; a comment that silences one of them has its use all the same.
    """
    kept: list[Finding] = []
    used: set[tuple[Ignore, str]] = set()
    ignored = 0
    for finding in findings:
        hits = [ignore for ignore in suppressions.ignores if _covers(ignore, finding)]
        used.update((ignore, finding.code) for ignore in hits)
        ignored += bool(hits)
        kept += [] if hits else [finding]
    used.update((ignore, one.code) for one in hidden for ignore in suppressions.ignores if _covers(ignore, one))
    unused = (one for ignore in suppressions.ignores for one in _unused(ignore, used, select, rules))
    return Silenced((*kept, *suppressions.malformed, *unused), ignored)


def _covers(ignore: Ignore, finding: Finding) -> bool:
    return _touches(ignore, finding.span) and (not ignore.codes or finding.code in ignore.codes)


def _touches(ignore: Ignore, span: Span) -> bool:
    return span.line <= ignore.span.line <= span.end_line


def _unused(
    ignore: Ignore, used: set[tuple[Ignore, str]], select: frozenset[str], rules: frozenset[str]
) -> Iterator[Finding]:
    if not ignore.codes:
        if rules <= select and not any(one is ignore for one, _ in used):
            yield _about(ignore, "nothing is found on this line", "Remove the comment.")
        return
    for code in ignore.codes:
        if code in _ASKED_FOR:
            continue
        if code not in rules:
            if _is_of_others(code, rules):
                continue
            yield _about(ignore, f"there is no rule {code}", f"Remove {code} from the comment.")
        elif code in select and (ignore, code) not in used:
            yield _about(ignore, f"{code} is not found on this line", f"Remove {code} from the comment.")


def _is_of_others(code: str, rules: frozenset[str]) -> bool:
    """Whether the code has a prefix that no rule here has, and that is not one of these misspelt.

    It may belong to a plug-in that is not installed here.
    """
    prefixes = {found[1] for one in rules if (found := _RULE.fullmatch(one))}
    found = _RULE.fullmatch(code)
    return found is not None and found[1] not in prefixes and not difflib.get_close_matches(found[1], prefixes)


def _about(ignore: Ignore, reason: str, advice: str) -> Finding:
    return Finding(CODE, NAME, f"unused ignore: {reason}", ignore.span, advice=advice)
