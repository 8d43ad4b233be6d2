"""What devfix makes of known bugs: on the broken file of each row, and on the correct one.

    python bench/scoring.py --rows ROWS.jsonl --cases DIR --devfix CMD [--old CMD|OLD.json] [--json OUT] [--misses N]

Each file lies in a repository of its own, so that no case sees another. Three commands run over them:
`rewrite --diff --unsafe`, `rewrite --diff` and `check --suggestions`, or plain `check` where devfix does not know the
option; with `--quick` the last one alone, and the edits are those of its findings. With `--trees DIR`, which has the
repositories as `OWNER+NAME`, each file is checked where it stands, among the others. Of each row is told whether, at
most `NEAR` lines from its place, or by a finding that the correct file does not have, on its path, or anywhere if its
trail begins at the place,

    edited   an edit is written with --unsafe             safe   one is written without
    found    that, or a finding is shown, or its edit     told   edited, and the correct file is not edited there
    noisy    as much is proposed for the correct file: a safe or unsafe edit, a suggestion, or advice alone
    alarms   noisy with an edit, and not only because CUDA is spelled out there, or an old name is used

`near` counts the edited ones without those that are so on the path, or by the trail, alone.

`--old` scores another devfix on the same rows, or takes what `--json` wrote of one.
"""

import argparse
import collections
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cases import NEAR, SIDES, Row, Side, changed_lines, edited_lines, is_near, read_rows

AROUND = 10
SECONDS = 900
AT_ONCE = 100
"""So many cases are run together; where that fails, its halves are tried."""

_STYLE = ("DVF3", "DVF5")
_EDITING = ("safe", "unsafe")
TIERS = ("safe", "unsafe", "suggestion", "advice")
_FINE = (0, 1)

Edits = Mapping[str, frozenset[int]]


@dataclass(frozen=True)
class Found:
    """A finding of the JSON report; `links` are the kinds of constraints on its path, where devfix tells them."""

    code: str
    message: str
    line: int
    tier: str
    confidence: float = 1.0
    links: tuple[str, ...] = ()
    edits: tuple[int, ...] = ()
    made: int = 0
    """The line where the trail begins: that of what is said to be in the wrong place."""

    @property
    def lines(self) -> tuple[int, ...]:
        return (self.line, *self.edits)


@dataclass(frozen=True)
class Outcome:
    """What devfix made of one row. `noisy` is the tier of what it proposes for the correct file there, or empty.

    `noise` are the codes of that, and `extra` counts the lines of the correct file that are edited anywhere; `code` and
    `confidence` are those of the finding that is nearest to the place in the broken one.
    """

    id: str
    repo: str
    kind: str
    edited: bool
    safe: bool
    found: bool
    noisy: str
    extra: int
    noise: tuple[str, ...] = ()
    code: str = ""
    confidence: float = 0.0
    near: bool = False
    before: tuple[Found, ...] = field(default=(), repr=False)
    after: tuple[Found, ...] = field(default=(), repr=False)
    place: tuple[int, ...] = ()

    @property
    def told(self) -> bool:
        """Edited, and the correct file is not edited there: what is broken made the difference."""
        return self.edited and not self.is_noisy

    @property
    def is_noisy(self) -> bool:
        """The correct file is edited there."""
        return self.noisy in _EDITING

    @property
    def is_alarm(self) -> bool:
        """And not only because it spells out CUDA, or uses an old name: something is said to be in the wrong place."""
        return self.is_noisy and any(not code.startswith(_STYLE) for code in self.noise)


@dataclass(frozen=True)
class _Said:
    """All that devfix said about a folder: what it edits in each file, and what it finds there."""

    safe: Edits
    unsafe: Edits
    findings: Mapping[str, tuple[Found, ...]]


@dataclass(frozen=True)
class _Command:
    """A devfix; a quick one is asked for its report alone, and the edits are those of the findings there."""

    words: tuple[str, ...]
    check: tuple[str, ...]
    quick: bool


def judged(
    rows: Sequence[Row], cases: Path, devfix: str, *, quick: bool = False, trees: Path | None = None
) -> list[Outcome]:
    """The outcomes of the rows whose files are there, in their order; those in `trees`, of rows whose trees are."""
    words = tuple(shlex.split(devfix))
    options = ["--suggestions"] if "--suggestions" in _output([*words, "check", "--help"], Path.cwd()) else []
    command = _Command(words, (*words, "check", *options), quick or trees is not None)
    rows = [row for row in rows if row.file(cases, "before").is_file()]
    if trees is not None:
        rows = [row for row in rows if (_tree(row, trees) / row.path).is_file()]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            return list(pool.map(lambda row: _in_tree(row, cases, _tree(row, trees), command), rows))
    batches = (rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE))
    return [one for batch in batches for one in _batch(batch, cases, command)]


def _batch(rows: Sequence[Row], cases: Path, command: _Command) -> list[Outcome]:
    with tempfile.TemporaryDirectory(prefix="devfix-cases-") as name:
        folder = Path(name)
        for row in rows:
            for side in SIDES:
                if (source := row.file(cases, side)).is_file():
                    lay_out(folder / _place(row, side), source.read_bytes())
        try:
            said = _said(folder, command)
        except _FailedError as failed:
            if len(rows) > 1:
                middle = len(rows) // 2
                return [one for part in (rows[:middle], rows[middle:]) for one in _batch(part, cases, command)]
            print(f"{rows[0].id}: {failed}", file=sys.stderr)
            said = _Said({}, {}, {})
    return [_outcome(row, cases, said) for row in rows]


def _tree(row: Row, trees: Path) -> Path:
    return trees / row.repo.replace("/", "+")


def _in_tree(row: Row, cases: Path, tree: Path, command: _Command) -> Outcome:
    """The outcome of a row whose file stands among the others of its repository."""
    found: dict[str, tuple[Found, ...]] = {}
    with tempfile.TemporaryDirectory(prefix="devfix-tree-") as name:
        copy = Path(name, "tree")
        shutil.copytree(tree, copy, ignore=_but_python)
        (copy / ".git").mkdir(exist_ok=True)
        for side in SIDES:
            if (source := row.file(cases, side)).is_file():
                (copy / row.path).write_bytes(source.read_bytes())
                try:
                    found[_place(row, side)] = _reported([*command.check, row.path], copy)[row.path]
                except _FailedError as failed:
                    print(f"{row.id}: {failed}", file=sys.stderr)
    return _outcome(row, cases, _quickly(found))


def _but_python(folder: str, names: list[str]) -> list[str]:
    return [one for one in names if one == ".git" or not (one.endswith(".py") or Path(folder, one).is_dir())]


def lay_out(place: Path, content: bytes) -> None:
    """A file as the only one of a repository: devfix looks for what belongs to it no further up."""
    (place.parent / ".git").mkdir(parents=True)
    place.write_bytes(content)


def _place(row: Row, side: Side) -> str:
    return f"{side}/{row.id}/{Path(row.path).name}"


def _said(folder: Path, command: _Command) -> _Said:
    findings = _reported([*command.check, "."], folder)
    if command.quick:
        return _quickly(findings)
    unsafe = edited_lines(_output([*command.words, "rewrite", "--diff", "--unsafe", "."], folder))
    safe = edited_lines(_output([*command.words, "rewrite", "--diff", "."], folder))
    return _Said(safe, unsafe, findings)


def _reported(check: Sequence[str], folder: Path) -> dict[str, tuple[Found, ...]]:
    """What a command finds, by file; nothing for a file without findings."""
    report = json.loads(_output([*check, "--output-format", "json"], folder) or '{"findings": []}')
    found: dict[str, tuple[Found, ...]] = collections.defaultdict(tuple)
    for one in report["findings"]:
        found[one["path"]] += (_finding(one),)
    return found


def _quickly(findings: Mapping[str, tuple[Found, ...]]) -> _Said:
    return _Said(_proposed(findings, "safe"), _proposed(findings, "safe", "unsafe"), findings)


def _proposed(findings: Mapping[str, Sequence[Found]], *tiers: str) -> dict[str, frozenset[int]]:
    """The lines of the edits of some tiers, by file."""
    return {
        path: frozenset(x for one in many if one.tier in tiers for x in one.edits) for path, many in findings.items()
    }


def _finding(one: Mapping[str, Any]) -> Found:
    fix = one["fix"] if one["fix"] and one["fix"]["edits"] else None
    return Found(
        code=one["code"],
        message=one["message"],
        line=one["line"],
        tier=fix["safety"] if fix else "advice",
        confidence=float(one.get("confidence", 1.0)),
        links=tuple(one.get("links") or ()),
        edits=tuple(sorted({line for edit in fix["edits"] for line in _edited(edit)})) if fix else (),
        made=next((stop["line"] for stop in one.get("trail", ())[:1] if stop["path"] == one["path"]), 0),
    )


def _edited(edit: Mapping[str, Any]) -> Iterable[int]:
    """The lines that an edit changes, or the one after which it inserts."""
    if edit["line"] == edit["end_line"] and edit["column"] == edit["end_column"] == 1:
        return (edit["line"] - 1,)
    return range(edit["line"], edit["end_line"] + (edit["end_column"] > 1))


def _outcome(row: Row, cases: Path, said: _Said) -> Outcome:
    before, after = (_place(row, side) for side in SIDES)
    findings, right = said.findings.get(before, ()), _right_lines(row, cases)
    caused = _caused(row, findings, said.findings.get(after, ()))
    near = is_near(said.unsafe.get(before, ()), row.lines_before)
    edited = near or any(one.tier in _EDITING for one in caused)
    nearest = min(findings, key=lambda one: _distance(one, row.lines_before), default=None)
    is_found = nearest is not None and _distance(nearest, row.lines_before) <= NEAR
    return Outcome(
        id=row.id,
        repo=row.repo,
        kind=row.bug_class,
        edited=edited,
        near=near,
        safe=is_near(said.safe.get(before, ()), row.lines_before) or any(one.tier == "safe" for one in caused),
        found=edited or is_found or bool(caused),
        noisy=_noise(said, after, right),
        extra=len(said.unsafe.get(after, ())),
        noise=tuple(sorted({one.code for one in said.findings.get(after, ()) if _distance(one, right) <= NEAR})),
        code=nearest.code if nearest is not None and is_found else "",
        confidence=nearest.confidence if nearest is not None and is_found else 0.0,
        before=findings,
        after=said.findings.get(after, ()),
        place=row.lines_before,
    )


def _caused(row: Row, broken: Iterable[Found], correct: Iterable[Found]) -> list[Found]:
    """What is found because of the bug, and edits a line of its path, or what is made at its place, wherever."""
    known = {(one.code, one.message) for one in correct}
    fresh = [one for one in broken if one.edits and (one.code, one.message) not in known]
    return [
        one
        for one in fresh
        if not {*one.edits}.isdisjoint(row.lines_path) or (one.made and is_near([one.made], row.lines_before))
    ]


def _noise(said: _Said, path: str, place: Sequence[int]) -> str:
    """The tier of what is proposed for a correct file near a place that is right."""
    if is_near(said.safe.get(path, ()), place):
        return "safe"
    if is_near(said.unsafe.get(path, ()), place):
        return "unsafe"
    tiers = {one.tier for one in said.findings.get(path, ()) if _distance(one, place) <= NEAR}
    return "suggestion" if "suggestion" in tiers else "advice" if tiers else ""


def _distance(finding: Found, place: Sequence[int]) -> int:
    return min((abs(one - other) for one in finding.lines for other in place), default=sys.maxsize)


def _right_lines(row: Row, cases: Path) -> tuple[int, ...]:
    files = [row.file(cases, side) for side in SIDES]
    if row.lines_after:
        return row.lines_after
    if not all(file.is_file() for file in files):
        return ()
    return changed_lines(*(file.read_bytes().decode("utf-8", "replace") for file in files))


class _FailedError(Exception):
    """devfix did not come to an end."""


def _output(command: Sequence[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise _FailedError(f"more than {SECONDS} seconds") from None
    if done.returncode not in _FINE:
        raise _FailedError(f"exit {done.returncode}: {done.stderr.strip()[-400:]}")
    return done.stdout


def totals(outcomes: Iterable[Outcome]) -> dict[str, int]:
    many = list(outcomes)
    noise = collections.Counter(one.noisy for one in many)
    return {
        "n": len(many),
        "edited": sum(one.edited for one in many),
        "near": sum(one.near for one in many),
        "safe": sum(one.safe for one in many),
        "found": sum(one.found for one in many),
        "told": sum(one.told for one in many),
        **{f"noisy {tier}": noise[tier] for tier in TIERS},
        "alarms": sum(one.is_alarm for one in many),
    }


def report(outcomes: Sequence[Outcome]) -> str:
    """A table by kind, in numbers of rows."""
    kinds = {name: [one for one in outcomes if one.kind == name] for name in sorted({one.kind for one in outcomes})}
    heads = [*totals([])]
    lines = [f"{'kind':26}" + "".join(f"{head:>{max(len(head) + 2, 7)}}" for head in heads)]
    for name, many in [*kinds.items(), ("all", list(outcomes))]:
        numbers = totals(many)
        lines.append(f"{name:26}" + "".join(f"{numbers[head]:>{max(len(head) + 2, 7)}}" for head in heads))
    share = percents(outcomes)
    codes = collections.Counter(code for one in outcomes for code in one.noise)
    anywhere = 100 * sum(one.extra > 0 for one in outcomes) / max(len(outcomes), 1)
    noisy = share["noisy safe"] + share["noisy unsafe"]
    lines += [
        f"edited {share['edited']:.1f} %, safe {share['safe']:.1f} %, found {share['found']:.1f} %",
        f"correct files edited there {noisy:.1f} %, as misplaced {share['alarms']:.1f} %, anywhere {anywhere:.1f} %",
        f"found there: {', '.join(f'{code} {number}' for code, number in codes.most_common()) or 'nothing'}",
    ]
    return "\n".join(lines)


def percents(outcomes: Iterable[Outcome]) -> dict[str, float]:
    numbers = totals(outcomes)
    return {name: 100 * number / max(numbers["n"], 1) for name, number in numbers.items()}


def write_outcomes(path: Path, devfix: str, outcomes: Sequence[Outcome]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"devfix": devfix, "outcomes": [asdict(one) for one in outcomes]}), encoding="utf-8")


def read_outcomes(path: Path) -> list[Outcome]:
    return [_read(one) for one in json.loads(path.read_text(encoding="utf-8"))["outcomes"]]


def _read(one: Mapping[str, Any]) -> Outcome:
    read = {"noise": tuple(one["noise"]), "place": tuple(one["place"])}
    findings = {str(side): _findings(one[side]) for side in SIDES}
    return Outcome(**{**one, **read, **findings})


def _findings(many: Iterable[Mapping[str, Any]]) -> tuple[Found, ...]:
    return tuple(Found(**{**one, "links": tuple(one["links"]), "edits": tuple(one["edits"])}) for one in many)


def outcomes_of(
    devfix: str, rows: Sequence[Row], cases: Path, *, quick: bool = False, trees: Path | None = None
) -> list[Outcome]:
    """Those of a command, or those that an earlier run wrote, of the same rows."""
    if not devfix.endswith(".json"):
        return judged(rows, cases, devfix, quick=quick, trees=trees)
    wanted = {row.id for row in rows}
    return [one for one in read_outcomes(Path(devfix)) if one.id in wanted]


def show_misses(outcomes: Iterable[Outcome], rows: Sequence[Row], cases: Path, most: int) -> None:
    """Print rows that were not edited, with the code around them."""
    by_id = {row.id: row for row in rows}
    for outcome in [one for one in outcomes if not one.edited][:most]:
        row = by_id[outcome.id]
        lines = row.file(cases, "before").read_text(encoding="utf-8", errors="replace").split("\n")
        first, last = max(min(row.lines_before) - AROUND, 1), max(row.lines_before) + AROUND
        print(f"=== {row.id} {row.path} {row.bug_class} {row.lines_before} {'found' if outcome.found else ''}")
        for number, line in enumerate(lines[first - 1 : last], first):
            print(f"{'>' if number in row.lines_before else ' '}{number:5} {line}")


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--cases", type=Path, required=True)
    parser.add_argument("--devfix", required=True, help="the command, or what --json wrote of one")
    parser.add_argument("--old", help="another one, to compare with")
    parser.add_argument("--quick", action="store_true", help="only `check`: a third of the time, nearly the same")
    parser.add_argument("--trees", type=Path, help="repositories, as OWNER+NAME: each file among its own")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--misses", type=int, default=0, help="print so many rows that were not edited")
    parser.add_argument("--only", default="", help="rows of this class, or with this text in their id")


def score(asked: argparse.Namespace) -> None:
    rows = [row for row in read_rows(asked.rows) if asked.only in row.id or asked.only == row.bug_class]
    outcomes = outcomes_of(asked.devfix, rows, asked.cases, quick=asked.quick, trees=asked.trees)
    if asked.json:
        write_outcomes(asked.json, asked.devfix, outcomes)
    print(report(outcomes))
    if asked.old:
        before = outcomes_of(asked.old, rows, asked.cases, quick=asked.quick, trees=asked.trees)
        print(f"\nold\n{report(before)}\n\n{compared(outcomes, before)}")
    show_misses(outcomes, rows, asked.cases, asked.misses)


def compared(new: Sequence[Outcome], old: Sequence[Outcome]) -> str:
    """How many rows one devfix repairs and the other does not."""
    known = {one.id: one for one in old}
    pairs = [(one, known[one.id]) for one in new if one.id in known]
    gained, lost = ([(a, b) for a, b in pairs if (a.edited, b.edited) == way] for way in ((True, False), (False, True)))
    return f"of {len(pairs)} rows {len(gained)} are edited now that were not, {len(lost)} the other way"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(options)
    score(options.parse_args())
