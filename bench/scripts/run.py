"""Runs other people's scripts unmodified, on the simulated accelerator and on the plain CPU, and then with each move
deleted: `run.py CHECKOUTS --python PYTHON`.

`CHECKOUTS/<owner>+<name>` are checkouts of the repositories of scripts.toml, with the data of prepare.py; PYTHON is an
interpreter that has what they import. The results go to a JSON file, and as tables in Markdown to standard output.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path

from devfix.replay import Limits, Program, ReplayOptions, choose_backend
from devfix.replay.comparing import difference
from devfix.replay.outcomes import Outcome, Output
from devfix.replay.stage import Stage
from devfix.replay.workspace import Workspace
from planting import SHOWN, Move, moves

HERE = Path(__file__).resolve().parent
SECONDS = 600
_FRAME = re.compile(r'^  File "([^"]+)", line \d+, in .*\n    (.*)$', re.MULTILINE)
_PLACE = re.compile(r"\b(?:cuda(?::\d)?|cpu)\b")
_IGNORED_LINES = re.compile(r"Using device|running on device|\[GPU|using fused AdamW|^Namespace\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Script:
    """An entry of the manifest."""

    repository: str
    path: str
    name: str = ""
    arguments: tuple[str, ...] = ()
    cpu: tuple[str, ...] | None = None
    sources: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    import_from: tuple[str, ...] = ()
    steps: int | None = None
    uncompared: str = ""

    @property
    def title(self) -> str:
        return f"{self.repository}: {self.name or self.path}"


@dataclass(slots=True)
class Planted:
    """A deleted move and what came of it.

    `verdict` is `caught`, `harmless`, `missed`, `no device bug`, `not simulated`, `timed out` or `to review`, and `how`
    says how that is known.
    """

    script: str
    file: str
    line: int
    move: str
    verdict: str
    how: str
    failed_at: str = ""
    failed_in: str = ""
    message: str = ""


@dataclass(slots=True)
class Result:
    script: str
    commit: str
    simulated: str
    plain: str
    losses: int
    agreement: str
    planted: list[Planted] = field(default_factory=list)


def main() -> int:
    options = _options()
    if options.tables:
        print(_tables(_read(options.tables)))
        return 0
    scripts = [script for script in _manifest() if options.only in script.title]
    with ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(lambda script: _measure(script, options), scripts))
    for result in results:
        pinned = _pins()[result.script.partition(": ")[0]]
        if not pinned.startswith(result.commit):
            print(f"{result.script}: at {result.commit}, the manifest says {pinned[:8]}", file=sys.stderr)
    options.json.write_text(json.dumps([asdict(result) for result in results], indent=1) + "\n", encoding="utf-8")
    print(_tables(results))
    return 0


def _read(files: Sequence[Path]) -> list[Result]:
    """The results of several runs in the order of the manifest; of a script that ran again, the latest."""
    found: dict[str, Result] = {}
    for file in files:
        for entry in json.loads(file.read_text(encoding="utf-8")):
            found[entry["script"]] = Result(**{**entry, "planted": [Planted(**each) for each in entry["planted"]]})
    return [found[script.title] for script in _manifest() if script.title in found]


def _tables(results: Sequence[Result]) -> str:
    _apply_reviews(results)
    return "\n\n".join((_table_of_runs(results), _counts(results), _table_of_moves(results)))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition(":")[0])
    parser.add_argument("checkouts", type=Path, nargs="?")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--only", default="", help="part of a title")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, default=Path("planted.json"))
    parser.add_argument("--tables", type=Path, nargs="+", help="print the tables of these files, and run nothing")
    return parser.parse_args()


def _manifest() -> list[Script]:
    entries = tomllib.loads((HERE / "scripts.toml").read_text(encoding="utf-8"))["script"]
    return [Script(**{key: tuple(v) if isinstance(v, list) else v for key, v in entry.items()}) for entry in entries]


def _pins() -> dict[str, str]:
    """The commits of the manifest by repository."""
    commits: dict[str, str] = tomllib.loads((HERE / "scripts.toml").read_text(encoding="utf-8"))["commits"]
    return commits


class Bench:
    """One script in its checkout, to be run in copies."""

    def __init__(self, script: Script, checkouts: Path, python: str) -> None:
        self.script = script
        self.root = (checkouts / script.repository.replace("/", "+")).resolve()
        variables = {"HOME": str(checkouts.resolve() / "home"), "OMP_NUM_THREADS": "1"}
        if script.import_from:
            variables["PYTHONPATH"] = os.pathsep.join(str(self.root / each) for each in script.import_from)
        file = self.root / script.path
        self.options = ReplayOptions(
            timeout=SECONDS, python=python, steps=script.steps, env=tuple(variables.items()), cwd=file.parent
        )
        self.sources = script.sources or (script.path,)
        self._backends = {on: choose_backend(ReplayOptions(on=on, python=python)) for on in ("simulated", "cpu")}

    def run(
        self,
        workspace: Workspace,
        on: str,
        files: dict[str, bytes] | None = None,
        watch: dict[str, list[int]] | None = None,
    ) -> Outcome:
        arguments = self.script.cpu if on == "cpu" and self.script.cpu is not None else self.script.arguments
        program = Program(self.root / self.script.path, arguments)
        contents = {Path(name): data for name, data in (files or {}).items()}
        return Stage(workspace, self.options).run(program, on, self._backends[on], contents, watch or {})

    def text(self, name: str) -> bytes:
        return (self.root / name).read_bytes()


def _measure(script: Script, options: argparse.Namespace) -> Result:
    bench = Bench(script, options.checkouts, options.python)
    found = {name: moves(bench.text(name)) for name in bench.sources}
    with Workspace(bench.root, Limits()) as workspace:
        watch = {name: sorted({line for move in each for line in move.lines}) for name, each in found.items()}
        simulated = bench.run(workspace, "simulated", watch=watch)
        plain = bench.run(workspace, "cpu")
        result = Result(
            script.title, _commit(bench.root), _end(simulated), _end(plain), len(simulated.losses),
            _agreement(script, simulated, plain),
        )  # fmt: skip
        print(
            f"{script.title}: simulated {result.simulated}, plain {result.plain}, {result.agreement}", file=sys.stderr
        )
        if simulated.passed:
            for name, each in found.items():
                reached = [move for move in each if any((name, line) in simulated.reached for line in move.lines)]
                result.planted += [_plant(bench, workspace, name, move, simulated) for move in reached]
    return result


def _plant(bench: Bench, workspace: Workspace, name: str, move: Move, baseline: Outcome) -> Planted:
    source = bench.text(name)
    outcome = bench.run(workspace, "simulated", {name: move.deleted_from(source)})
    verdict, how = _judged(bench, workspace, name, move, outcome, baseline)
    error = outcome.error
    planted = Planted(bench.script.title, name, move.line, " ".join(move.text.split()), verdict, how)
    if error is not None:
        planted.failed_at = f"{error.file}:{error.line}" if error.file else "outside the tree"
        planted.message = f"{error.type}: {error.message}"
        planted.failed_in = next((text for _, text in reversed(_frames(outcome, workspace))), "")
    print(f"  {name}:{move.line} {planted.move} -> {verdict}, {how} {planted.failed_at}", file=sys.stderr)
    return planted


def _judged(
    bench: Bench, workspace: Workspace, name: str, move: Move, outcome: Outcome, baseline: Outcome
) -> tuple[str, str]:
    """The verdict on one deleted move, and how it is known."""
    if outcome.not_simulated:
        return "not simulated", "; ".join(outcome.not_simulated)
    if outcome.device_error is not None:
        return _caught(move, outcome, workspace)
    if outcome.was_cut:
        return "timed out", f"after {outcome.seconds:.0f} s"
    if not outcome.passed:
        return "no device bug", outcome.failure
    if _was_there(bench, workspace, name, move):
        return "harmless", "the value was there already"
    return "to review", difference(baseline, outcome) or "computes the same"


def _caught(move: Move, outcome: Outcome, workspace: Workspace) -> tuple[str, str]:
    """Caught at the right line for certain if the line, or a call on the way to it, names the unmoved value."""
    lines = [text for _, text in _frames(outcome, workspace)]
    names = [re.compile(rf"\b{re.escape(each)}\b") for each in move.names if each]
    if lines and any(name.search(lines[-1]) for name in names):
        return "caught", "the line names the value"
    if any(name.search(line) for name in names for line in lines[:-1]):
        return "caught", "a call on the way names the value"
    return "to review", "caught, and no line names the value"


def _was_there(bench: Bench, workspace: Workspace, name: str, move: Move) -> bool:
    """Whether the move moves nothing: its value is where it shall be whenever it runs."""
    shown = move.shown_in(bench.text(name))
    if move.value is None:
        return False
    outcome = bench.run(workspace, "simulated", {name: shown})
    places = [line for line in outcome.stdout.head.splitlines() if SHOWN in line]
    values = [line.partition(SHOWN)[2] for line in places]
    return bool(values) and len(values) % 2 == 0 and values[::2] == values[1::2]


def _frames(outcome: Outcome, workspace: Workspace) -> list[tuple[str, str]]:
    """File and text of the frames of the script's own tree in the traceback, outermost first."""
    found = _FRAME.findall(outcome.stderr.tail)
    return [
        (file, text) for file, text in found if f"/{workspace.original.name}/" in file and "site-packages" not in file
    ]


def _apply_reviews(results: Sequence[Result]) -> None:
    """Settle what was to review by what stands in reviewed.toml, where it fails as it did when it was read."""
    found = tomllib.loads((HERE / "reviewed.toml").read_text(encoding="utf-8"))["review"]
    reviews = {(each["script"], each["file"], each["line"], each.get("fails_at", "")): each for each in found}
    for planted in _all(results):
        review = reviews.get((planted.script, planted.file, planted.line, planted.failed_at))
        if planted.verdict == "to review" and review is not None:
            planted.verdict, planted.how = review["verdict"], f"read: {review['why']}"


def _agreement(script: Script, simulated: Outcome, plain: Outcome) -> str:
    if script.uncompared:
        return f"not compared: {script.uncompared}"
    if not simulated.passed or not plain.passed:
        return "no"
    if simulated.losses != plain.losses:
        found = sum(one != other for one, other in zip(simulated.losses, plain.losses))
        return f"{found} of {len(simulated.losses)} losses differ"
    found_difference = difference(_without_places(simulated), _without_places(plain))
    return found_difference or "losses and output equal"


def _without_places(outcome: Outcome) -> Outcome:
    lines = [line for line in outcome.stdout.head.splitlines() if not _IGNORED_LINES.search(line)]
    text = _PLACE.sub("device", re.sub(r", device='cuda:0'", "", "\n".join(lines)))
    return Outcome(outcome.ending, losses=outcome.losses, stdout=Output(text, "", len(text.encode())))


def _end(outcome: Outcome) -> str:
    if outcome.not_simulated:
        return "not simulated: " + "; ".join(outcome.not_simulated)
    return "passes" if outcome.passed else f"{outcome.ending}: {outcome.failure}"


def _commit(root: Path) -> str:
    head = (root / ".git" / "HEAD").read_text().strip()
    if head.startswith("ref: "):
        reference = root / ".git" / head[5:]
        head = reference.read_text().strip() if reference.exists() else head
    return head[:8]


def _table_of_runs(results: Sequence[Result]) -> str:
    rows = ["| script | commit | simulated | losses | plain CPU | moves | caught | harmless | missed | other |"]
    rows.append("| --- | --- | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
    for result in results:
        counts = [sum(p.verdict == verdict for p in result.planted) for verdict in ("caught", "harmless", "missed")]
        rows.append(
            f"| {result.script} | {result.commit} | {result.simulated} | {result.losses} | {result.agreement} | "
            f"{len(result.planted)} | {' | '.join(map(str, counts))} | {len(result.planted) - sum(counts)} |"
        )
    return "\n".join(rows)


def _table_of_moves(results: Sequence[Result]) -> str:
    rows = ["| deleted | verdict | fails at | in | how it is known |", "| --- | --- | --- | --- | --- |"]
    for planted in _all(results):
        deleted = f"{planted.file}:{planted.line} `{_cell(planted.move)}`"
        failing = f"`{_cell(planted.failed_in)}`" if planted.failed_in else ""
        rows.append(f"| {deleted} | {planted.verdict} | {planted.failed_at} | {failing} | {_cell(planted.how)} |")
    return "\n".join(rows)


def _counts(results: Sequence[Result]) -> str:
    verdicts = [planted.verdict for planted in _all(results)]
    told = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return f"{len(verdicts)} moves deleted: {told}."


def _all(results: Sequence[Result]) -> Iterator[Planted]:
    for result in results:
        yield from result.planted


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.exit(main())
