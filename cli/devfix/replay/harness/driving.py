"""From a changed file that nothing ran to what drivers of it show: a search for each function, then its runs."""

import ast
import time
from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from devfix_codemods.findings import Finding

from devfix.project.import_graph import DiskFiles, top_of
from devfix.replay.backends import ACCELERATORS, Backend, PlainCpu
from devfix.replay.changes import Change, Part, Version
from devfix.replay.comparing import difference
from devfix.replay.harness.conditions import left_open, made_up, places_of, read_in, said
from devfix.replay.harness.known_places import known_places
from devfix.replay.harness.listings import Listing, listing_of
from devfix.replay.harness.origins import origins, statements_within
from devfix.replay.harness.own_files import is_of_host
from devfix.replay.harness.reaching import Reached
from devfix.replay.harness.regions import binds_alone, holds_reasons, names_devices_alone, with_parts
from devfix.replay.harness.targets import DRIVER, NoTarget, Target, fallbacks, functions, targets_of
from devfix.replay.harness.uncalled import uncalled
from devfix.replay.harness.verdicts import Proof
from devfix.replay.outcomes import FoundDriver, Outcome
from devfix.replay.patches import Patch
from devfix.replay.programs import Program
from devfix.replay.schedule import Run, Schedule
from devfix.replay.verdict_kinds import Kind, Verdict, inconclusive, never_ran
from devfix.replay.verdicts import Runs, obstacle

MOST_TARGETS = 4
"""So many functions of a file are driven."""
MOST_WAYS = 2
"""Through so many functions it is tried to run the patched lines of one."""
LAST_BEGINS = 60.0
"""So many seconds after the first function of a file no other one is begun with."""
MOST_PARTS = 2
"""So many parts of a function are run alone."""
_SHOWN = (Kind.CONDITIONAL, Kind.CONFIRMED, Kind.HARMLESS)
_ORDER = (Kind.REFUTED, *_SHOWN, Kind.NOT_REACHED, Kind.INCONCLUSIVE)
"""The verdict of the first driver is that of the file: it is confirmed where no part of it rests on a condition."""


@dataclass(frozen=True, slots=True)
class Driven:
    """What a driver of one function showed: its verdict, its runs, and its text, None where none was found.

    `step` is where the search stopped, where it did.
    """

    target: Target
    verdict: Verdict
    text: str | None = None
    step: str | None = None
    runs: Runs | None = None
    absent: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the drivers of a file show together: the verdict, and the run that it rests on, None where none was made."""

    verdict: Verdict
    telling: Driven | None = None
    all: tuple[Driven, ...] = ()


@dataclass(frozen=True)
class Harness:
    """Drives the changed files of one tree. `parts` are what of their patches holds."""

    schedule: Schedule
    changes: Sequence[Change]
    backend: Backend
    parts: frozenset[Part]

    def judge(self, change: Change) -> Judgement:
        """What drivers show of one file.

        Raises:
            WorkspaceError: the tree could not be copied.
        """
        patch = self.version.patches.get(change.path)
        if patch is None or change.before is None:
            return Judgement(inconclusive("there is nothing to drive"))
        root, file = self.schedule.stage.workspace.original, self.schedule.stage.relative(change.path)
        listing = listing_of(file, patch.cells, lambda name: (root / name).exists())
        found = targets_of(root, listing.script, patch, change.findings)
        if isinstance(found, NoTarget):
            return Judgement(inconclusive(found.reason))
        places = frozenset(bug_places(file, patch, change.findings))
        tree = ast.parse(patch.after)
        titled = (replace(target, title=file) for target in found[:MOST_TARGETS])
        with known_places(change.path.with_suffix(".py"), patch.before) as known:
            targets = [with_parts(target, tree, patch, change.findings, known) for target in titled]
        driving = _Driving(self.schedule, self.backend, self.version, change, listing, places)
        return _together(tuple(driving.driven(targets)), patch, file)

    @cached_property
    def version(self) -> Version:
        return Version(tuple(self.changes), self.parts)

    def without(self, parts: Collection[Part]) -> Self:
        """The harness for what is left of the patches."""
        return replace(self, parts=self.parts.difference(parts))

    def kept(self, driven: Driven) -> Path | None:
        """The driver's file, in the copy of its run with the patch."""
        stage = self.schedule.stage
        if not stage.options.keep:
            return None
        copy = stage.workspace.folder / f"driver of {driven.target.told}, after"
        return copy / stage.workspace.root.name / DRIVER


@dataclass(frozen=True)
class _Driving:
    """Drives the targets of one changed file. `places` are files and lines of the bug before."""

    schedule: Schedule
    backend: Backend
    version: Version
    change: Change
    listing: Listing
    places: frozenset[tuple[str, int]]

    def driven(self, targets: Sequence[Target]) -> Iterator[Driven]:
        """What each target came to, until too much time went by."""
        latest = time.monotonic() + LAST_BEGINS
        for target in targets:
            yield self._drive(target)
            if time.monotonic() > latest:
                return

    @property
    def _patch(self) -> Patch:
        return self.version.patches[self.change.path]

    @cached_property
    def _patches(self) -> dict[str, Patch]:
        """All patches of the tree, by the paths of their files in it."""
        return {self.schedule.stage.relative(path): patch for path, patch in self.version.patches.items()}

    def _drive(self, target: Target) -> Driven:
        """The first way of running the target that shows something, else what the likeliest one came to."""
        first: Driven | None = None
        others = fallbacks(target, self._patch.after) if target.name else []
        for way in [target, *others][:MOST_WAYS]:
            driven = self._drive_by(way)
            if not _is_open(driven):
                return driven
            first = first or driven
            if driven.step == "import" or driven.text is not None:
                break
        assert first is not None
        return first

    def _drive_by(self, target: Target) -> Driven:
        """The driver that calls the target; where it shows nothing, the one that runs the patched lines alone."""
        outcome = self._search(target)
        driven = self._by_call(target, outcome)
        for part in sorted(outcome.parts, key=lambda one: one.step is not None)[:MOST_PARTS]:
            if not _is_open(driven):
                return driven
            alone = self._run(target, part)
            driven = driven if _is_open(alone) else alone
        return driven

    def _by_call(self, target: Target, outcome: Outcome) -> Driven:
        found = outcome.driver
        if found is None:
            why = obstacle(outcome) or f"failed with {outcome.failure}"
            return Driven(target, inconclusive(f"the search for a driver {why}"), step="search")
        if found.text is None:
            return Driven(
                target, inconclusive(_stopped(target, found)), None, found.step, None, found.absent, found.left_out
            )
        return self._run(target, found)

    def _run(self, target: Target, found: FoundDriver) -> Driven:
        """What the runs of a driver show."""
        target = replace(target, part=found.part)
        program = Program(self._driver, text=found.text)
        ours, plain = (self._runs(program, target.told, backend) for backend in (self.backend, PlainCpu()))
        tree = self._reached.tree
        first = found.part[0] if found.part else min(target.lines)
        verdict = Proof(
            ours,
            plain,
            self.backend,
            self._patches,
            self.listing.file,
            self.places,
            has_host=bool(target.host or found.part),
            needs_accelerator=self._needs_accelerator(target.name, first, max(found.part or target.lines)),
            saved_on_host=is_of_host(tree, target.name, first, self._writers),
        ).verdict()
        if verdict.kind is Kind.CONFIRMED:
            verdict = self._under_conditions(verdict, target, found, (ours, plain))
        if verdict.kind is Kind.INCONCLUSIVE and found.step is not None:
            verdict = inconclusive(_stopped(target, found))
        if verdict.kind is Kind.HARMLESS and found.is_inert:
            verdict = inconclusive(f"`{target.told}`: the patched lines meet nothing but stand-ins")
        findings = self.change.findings
        if verdict.kind is Kind.HARMLESS and found.part and not holds_reasons(found.part, self._patch, findings):
            verdict = inconclusive(f"`{target.told}` ran, but not all that the findings tell of")
        if verdict.kind is Kind.HARMLESS and found.part and names_devices_alone(tree, found.part):
            verdict = inconclusive(f"`{target.told}` ran, but only says what a device is called")
        if verdict.kind is Kind.HARMLESS and found.part and binds_alone(tree, found.part):
            verdict = inconclusive(f"`{target.told}` ran, but nothing that reads what the patched lines bind")
        if verdict.kind in _SHOWN:
            verdict = self._with_unused(verdict, target)
        step = (found.step or "run") if verdict.kind is Kind.INCONCLUSIVE else None
        return Driven(target, verdict, found.text, step, ours, found.absent, found.left_out)

    def _under_conditions(
        self, verdict: Verdict, target: Target, found: FoundDriver, runs: tuple[Runs, Runs]
    ) -> Verdict:
        """What a driver has confirmed, with the places of its values, and under the conditions that it took to hold.

        Of what nothing in the project calls, the callers are users, who have their tensors on a device. What the
        project gives, or makes before the lines that run alone, shows nothing where it puts it nowhere.
        """
        on_device = runs[0].before.device_error is not None
        read = read_in(self._patch.after, found.part)
        decisive = self._decisive(target, runs[0].before)
        places = places_of(target, found.text or "", on_device=on_device, read=read, decisive=decisive)
        is_used = self._reached.is_used(target.name)
        assumed = said(places.assumed, "on the accelerator")
        if assumed and (is_used or (found.part and not set(places.assumed) <= self._given(target.name))):
            return inconclusive(f"{verdict.reason}; but only if {assumed[0]}, where nothing in the project puts it")
        open_ = left_open(runs, found.left_out, alone=bool(found.part))
        if found.part or is_used:
            open_ += [*assumed, *places.chosen, *made_up(found.text or "", read)]
        unseen = never_ran(verdict.missed, self._patch.cells)
        reason = verdict.reason.removesuffix(unseen)
        reason += f"; with {', and '.join(places.shown)}" if places.shown else ""
        conditions = list(dict.fromkeys([*assumed, *places.chosen, *open_]))
        reason += f"; if {', and '.join(conditions)}" if conditions else ""
        return replace(verdict, kind=Kind.CONDITIONAL if open_ else Kind.CONFIRMED, reason=reason + unseen)

    def _given(self, name: str) -> Set[str]:
        """The parameters of a function, and of the constructor of its class, which its callers give."""
        makers = {name, f"{name.rpartition('.')[0]}.__init__"}
        spec = [node.args for each, node in functions(self._reached.tree) if each in makers]
        return {one.arg for each in spec for one in (*each.posonlyargs, *each.args, *each.kwonlyargs)}

    def _with_unused(self, verdict: Verdict, target: Target) -> Verdict:
        """The verdict, with what nothing in the project comes to, as far as its files show."""
        is_named = self.schedule.stage.workspace.is_named
        unused = uncalled(self._reached, target.name, lambda word: is_named(word.encode()))
        unseen = never_ran(verdict.missed, self._patch.cells)
        told = f"; nothing in the project uses `{unused}`" if unused else ""
        return replace(verdict, reason=verdict.reason.removesuffix(unseen) + told + unseen)

    def _decisive(self, target: Target, failed: Outcome) -> Set[str] | None:
        """The names by which the values live that the failing line of the target reads; None where that is unknown."""
        own = [line for file, line in failed.frames if file == self.listing.file]
        tree = ast.parse(self._patch.before)
        if target.part:
            first, last = target.part
            known = [line for line in target.before[first - 1 : last] if line]
            block = statements_within(tree.body, min(known), max(known)) if known else []
        else:
            block = next((node.body for name, node in functions(tree) if name == target.name), [])
        inside = [line for line in own if block and block[0].lineno <= line <= (block[-1].end_lineno or 0)]
        if not inside:
            return None
        found = origins(block, inside[-1])
        made = f"{target.name.rpartition('.')[0]}.__init__"
        init = next((node for name, node in functions(tree) if name == made), None)
        is_own = any(one.startswith("self.") for one in found)
        return found | ({one.arg for one in init.args.args} if init is not None and is_own else set())

    @cached_property
    def _reached(self) -> Reached:
        """The patched file among those that it imports, as far as these are patched, too."""
        data = {str(path): data for path, data in self.version.data.items() if data is not None}
        path = str(self.change.path)
        files = DiskFiles(top_of(str(self.change.path.parent)), unsaved=data)
        return Reached(path, ast.parse(self._patch.after), files, speakers=self._speakers)

    def _speakers(self, word: str) -> Iterator[str]:
        return (str(path) for path, _ in self.schedule.stage.workspace.sources(word.encode()))

    def _needs_accelerator(self, name: str, first: int, last: int) -> bool:
        return self._reached.asks_before(name, first) or self._reached.asks_after(name, last)

    def _writers(self, names: Set[str]) -> Iterator[ast.Module]:
        """The other files of the project that save something, and speak of a file by one of these names."""
        words = [name.encode() for name in names]
        for path, data in self.schedule.stage.workspace.sources(b"torch.save"):
            if path != self.change.path and any(word in data for word in words):
                with suppress(SyntaxError, ValueError):
                    yield ast.parse(data)

    @property
    def _driver(self) -> Path:
        return self.schedule.stage.workspace.original / DRIVER

    def _search(self, target: Target) -> Outcome:
        kind = self.backend.name if self.backend.name in ACCELERATORS else "cuda"
        program = Program(self._driver, text="", search=target.as_search(kind))
        return self._outcome(Run(program, "searching for a driver", self.backend, self._files))

    def _runs(self, program: Program, name: str, backend: Backend) -> Runs:
        before, after = self._before(program, name, backend), self._after(program, name, backend)
        first, second, again = self._outcome(before), self._outcome(after), None
        if (
            first.passed
            and second.passed
            and not backend.can_show_device_bugs
            and difference(first, second) is not None
        ):
            again = self._outcome(replace(before, suffix=", again"))
        return Runs(first, second, again, effects=self.version.effects)

    def _outcome(self, run: Run) -> Outcome:
        return self.listing.seen(self.schedule.outcome(run))

    def _before(self, program: Program, name: str, backend: Backend) -> Run:
        files = self._listed(self.change.before)
        return Run(program, f"driver of {name}, before{self._where(backend)}", backend, files, is_original=True)

    def _after(self, program: Program, name: str, backend: Backend) -> Run:
        watch = {file: patch.watched for file, patch in {**self._patches, self.listing.script: self._patch}.items()}
        return Run(program, f"driver of {name}, after{self._where(backend)}", backend, self._files, watch)

    def _where(self, backend: Backend) -> str:
        return "" if backend is self.backend else ", on the plain CPU"

    @property
    def _files(self) -> dict[Path, bytes | None]:
        files = {Path(self.schedule.stage.relative(path)): data for path, data in self.version.data.items()}
        return files | self._listed(self.version.data[self.change.path])

    def _listed(self, data: bytes | None) -> dict[Path, bytes | None]:
        """The script that stands beside a notebook."""
        return {Path(self.listing.script): self.listing.text(data)} if self.listing.is_made else {}


def bug_places(file: str, patch: Patch, findings: Sequence[Finding]) -> Iterator[tuple[str, int]]:
    """The files and lines where a device error is one that the patch is for: what findings name, and what it changes.

    Of a function with a changed line every line counts, as a value may meet others earlier than at the line that is
    named. Without findings also the classes count.
    """
    tree = ast.parse(patch.before)
    lines = {line for line in range(1, patch.before.count(b"\n") + 2) if patch.moved(line) is None}
    whole = [node for _, node in functions(tree)] if findings else [*tree.body]
    ranges = [range(node.lineno, (node.end_lineno or node.lineno) + 1) for node in whole]
    lines.update(line for one in ranges if not lines.isdisjoint(one) for line in one)
    for finding in findings:
        lines.update(range(finding.span.line, finding.span.end_line + 1))
        for step in finding.trail:
            if step.path is None:
                lines.update(range(step.span.line, step.span.end_line + 1))
            else:
                yield from ((step.path, line) for line in range(step.span.line, step.span.end_line + 1))
    for first, last in _statements(tree):
        if any(line in lines for line in range(first, last + 1)):
            yield from ((file, line) for line in range(first, last + 1))


def _statements(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The lines of simple statements, and of the headers of others."""
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            body: list[ast.stmt] = getattr(node, "body", [])
            yield node.lineno, max(node.lineno, body[0].lineno - 1) if body else node.end_lineno or node.lineno


def _stopped(target: Target, found: FoundDriver) -> str:
    return f'`{target.told}` could not be driven; it stopped at the step "{found.step}": {found.why}'


def _is_open(driven: Driven) -> bool:
    return driven.verdict.kind in (Kind.INCONCLUSIVE, Kind.NOT_REACHED)


def _together(driven: tuple[Driven, ...], patch: Patch, file: str) -> Judgement:
    """The verdict on the file: that of the function that tells most, with what no driver ran."""
    telling = min(driven, key=lambda one: _ORDER.index(one.verdict.kind))
    verdict = telling.verdict
    if verdict.kind in _SHOWN:
        good = [one.runs.after for one in driven if one.runs is not None and one.verdict.kind in _SHOWN]
        lines = {line for after in good for name, line in after.reached if name == file}
        missed = tuple(place.first for place in patch.coverage(lines).missed)
        reason = verdict.reason.removesuffix(never_ran(verdict.missed, patch.cells))
        verdict = Verdict(verdict.kind, reason + never_ran(missed, patch.cells), missed)
    return Judgement(verdict, telling, driven)
