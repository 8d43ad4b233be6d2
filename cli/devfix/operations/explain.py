"""`devfix explain`: what a traceback from elsewhere means, and what the source here says about it."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from devfix_codemods import engine
from devfix_codemods.diagnosis import Category, Message, read_message
from devfix_codemods.diagnosis.known import answers, covers, places_at
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.program import Program
from devfix_codemods.project.files import Project
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source, SourceError

from devfix.errors import UsageError
from devfix.formats import OutputFormat
from devfix.operations.tracebacks import Pasted, TracebackFrame, read
from devfix.project.discovery import label_of
from devfix.project.import_graph import DiskFiles, Neighbours, top_of
from devfix.replay.workspace import SKIPPED_FOLDERS
from devfix.reporting import json
from devfix.reporting.terminal import Printer, err, one_line, out, visible

_FOREIGN = ("site-packages", "dist-packages", "lib/python3", "<frozen", "/torch/nn/modules/", "/torch/_tensor")
_FILES_LIMIT = 20_000


@dataclass(frozen=True)
class Located:
    """A frame whose file was found here, and what it holds. `moved` says that the line here is another than there."""

    frame: TracebackFrame
    path: Path
    source: Source
    moved: bool = False

    @property
    def is_placed(self) -> bool:
        """Whether the line of the frame is known in the file here."""
        return not self.moved or _line_here(self.frame, self.source) is not None


@dataclass(frozen=True)
class Explained:
    """All that is known of one traceback."""

    error: Pasted
    message: Message
    frames: tuple[Located, ...]
    missing: tuple[TracebackFrame, ...]
    findings: tuple[tuple[Located, Finding], ...]
    meetings: tuple[tuple[Located, str], ...]

    @property
    def is_known_from_source(self) -> bool:
        return bool(self.findings or self.meetings)


def explain(name: str, output_format: OutputFormat) -> int:
    """Explain the traceback in the file `name`, or on standard input for `-`.

    Returns 0 where the source says something, 1 where it does not, 2 where there is no device error in the text.

    Raises:
        UsageError: the file cannot be read.
    """
    text = _text(name)
    found = _device_error(read(text)) or _bare(text)
    if found is None:
        return _nothing(text, output_format)
    explained = _explained(*found)
    if output_format is OutputFormat.JSON:
        print(json.encode(_document(explained)))
    else:
        _show(explained)
    return 0 if explained.is_known_from_source else 1


def _text(name: str) -> str:
    if name == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace")
    try:
        return Path(name).read_bytes().decode("utf-8-sig", "replace")
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}") from error


def _device_error(errors: Sequence[Pasted]) -> tuple[Pasted, Message] | None:
    """The device error among the exceptions: the first is the cause of the others."""
    for error in errors:
        message = read_message(error.lines)
        if message is not None:
            return error, message
    return None


def _bare(text: str) -> tuple[Pasted, Message] | None:
    """A device error's sentence without a traceback around it."""
    message = read_message(text.splitlines())
    return None if message is None else (Pasted("device error", (message.text,)), message)


def _nothing(text: str, output_format: OutputFormat) -> int:
    errors = read(text)
    reason = "no traceback was found"
    if errors:
        last = errors[-1]
        named = f"{last.type}: {one_line(last.message)}" if last.type else "an error that is cut off"
        reason = f"this is no device error: {named}"
    if output_format is OutputFormat.JSON:
        print(json.encode({"version": json.VERSION, "error": None, "reason": reason}))
    err().line(("devfix: ", "error"), (reason, ""))
    return 2


# What the source says


def _explained(error: Pasted, message: Message) -> Explained:
    users = [frame for frame in error.frames if not frame.cell and not _is_foreign(frame.file)]
    cells = tuple(frame for frame in error.frames if frame.cell)
    located = [(frame, _located(frame)) for frame in users]
    frames = tuple(one for _, one in located if one is not None)
    missing = cells + tuple(frame for frame, one in located if one is None)
    projects = _projects({one.path for one in frames})
    findings = tuple(_findings(frames, message.category, projects))
    return Explained(error, message, frames, missing, findings, tuple(_meetings(frames, projects)))


def _is_foreign(file: str) -> bool:
    plain = file.replace("\\", "/")
    return file.startswith("<") or any(part in plain for part in _FOREIGN)


def _located(frame: TracebackFrame) -> Located | None:
    path = _path(frame.file)
    if path is None:
        return None
    try:
        source = Source(label_of(str(path)), path.read_bytes())
        _ = source.tree
    except (OSError, SourceError):
        return None
    line = _line_here(frame, source)
    if line is None:
        return Located(frame, path, source, moved=True)
    return Located(TracebackFrame(frame.file, line, frame.function, frame.code), path, source, line != frame.line)


def _path(file: str) -> Path | None:
    """The file itself, else the one below here whose path ends like it, in as many parts as possible."""
    here = Path.cwd()
    exact = _exact(file)
    if exact is not None and exact.is_relative_to(here):
        return exact
    parts = (PureWindowsPath(file) if "\\" in file else PurePosixPath(file)).parts
    if not parts:
        return None
    best: tuple[int, list[Path]] = (0, [])
    for candidate in _named(here, parts[-1]):
        shared = _shared(candidate.parts, parts)
        if shared > best[0]:
            best = (shared, [candidate])
        elif shared == best[0]:
            best[1].append(candidate)
    if len(best[1]) == 1:
        return best[1][0]
    return exact if not best[1] else None


def _exact(file: str) -> Path | None:
    """The file of that very path; none where the path cannot be looked up, as that of another machine."""
    try:
        found = Path(file).expanduser()
        return found.resolve() if found.is_file() else None
    except (OSError, RuntimeError):
        return None


def _named(folder: Path, name: str) -> Iterator[Path]:
    seen = 0
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(one for one in folders if one not in SKIPPED_FOLDERS | {"site-packages"})
        seen += len(files)
        if name in files:
            yield Path(parent, name)
        if seen > _FILES_LIMIT:
            return


def _shared(here: Sequence[str], there: Sequence[str]) -> int:
    """How many last parts two paths share."""
    count = 0
    for one, other in zip(reversed(here), reversed(there)):
        if one != other:
            break
        count += 1
    return count


def _line_here(frame: TracebackFrame, source: Source) -> int | None:
    """The line of the frame in the file here: where its code stands, nearest to the old number; None where nowhere."""
    wanted = frame.code.strip()
    if not wanted:
        return frame.line if frame.line <= len(source.lines) else None
    same = [number for number, line in enumerate(source.lines, 1) if line.strip() == wanted]
    return min(same, key=lambda number: abs(number - frame.line)) if same else None


def _findings(
    frames: Sequence[Located], category: Category, projects: Mapping[Path, Project]
) -> list[tuple[Located, Finding]]:
    """What the rules find that speaks of a line of the traceback; else what they find of such errors in its files."""
    every = Options(frozenset(rule.code for rule in all_rules()), unsafe=True)
    found: dict[tuple[Path, Finding], tuple[Located, Finding]] = {}
    others: dict[tuple[Path, Finding], tuple[Located, Finding]] = {}
    files = {one.path: one for one in frames}
    checked = {path: engine.check(_of_project(one), every, projects[path]) for path, one in files.items()}
    for located in reversed(frames):
        outcome = checked[located.path]
        for finding in outcome.findings if isinstance(outcome, Checked) else ():
            if located.is_placed and covers(finding, located.frame.line) and not finding.code.startswith("DVF302"):
                found.setdefault((located.path, finding), (located, finding))
            elif answers(finding, category):
                others.setdefault((located.path, finding), (located, finding))
    return list((found or others).values())


def _projects(paths: Set[Path]) -> dict[Path, Project]:
    """The project around each file: what it imports, and who of the traceback and of the scripts beside imports it."""
    neighbours = Neighbours(sorted(map(str, paths)), {})
    tops = {path: top_of(str(path.parent)) for path in paths}
    files = {top: DiskFiles(top) for top in tops.values()}
    for path, top in tops.items():
        files[top].callers[str(path)] = neighbours.importers(str(path))
    below = {top: Project(one) for top, one in files.items()}
    return {path: below[top] for path, top in tops.items()}


def _of_project(located: Located) -> Source:
    """The file under the name that its project knows it by."""
    return Source(str(located.path), located.source.data)


def _meetings(frames: Sequence[Located], projects: Mapping[Path, Project]) -> Iterator[tuple[Located, str]]:
    """What the placement analysis knows of the values on the line that failed, or on the nearest that led there."""
    for located in reversed(frames):
        program = Program(_of_project(located), projects[located.path])
        told = list(dict.fromkeys(places_at(program, located.frame.line))) if located.is_placed else []
        if told:
            yield from ((located, text) for text in told)
            return


# The report


def _show(explained: Explained) -> None:
    printer = out()
    message = explained.message
    printer.line((f"{explained.error.type}: ", "error"), (one_line(message.text), "message"))
    printer.line((f"  means: {visible(message.meaning)}", ""))
    printer.line((f"  usually: {visible(message.repair)}", ""))
    for located in explained.frames:
        code = f": {one_line(located.frame.code)}" if located.frame.code else ""
        note = " (the file here differs)" if located.moved else ""
        in_function = f" in {one_line(located.frame.function)}" if located.frame.function else ""
        place = f"{label_of(str(located.path))}:{located.frame.line}"
        printer.line((f"  {one_line(place)}", "path"), (f"{in_function}{code}{note}", ""))
    for frame in explained.missing:
        what = "a notebook's cell" if frame.cell else "not found here"
        printer.line((f"  {one_line(frame.file)}:{frame.line}", "path"), (f" ({what})", "faint"))
    _show_source(printer, explained)


def _show_source(printer: Printer, explained: Explained) -> None:
    for located, finding in explained.findings:
        place = f"{label_of(str(located.path))}:{finding.span.line}"
        printer.line((f"{one_line(place)}: ", "path"), (f"{finding.code} ", "code"), (one_line(finding.message), ""))
        if finding.fix is not None:
            flag = " --unsafe" if finding.fix.safety is Safety.UNSAFE else ""
            name = one_line(label_of(str(located.path)))
            printer.line((f"  fix: {visible(finding.fix.title)} ", "fix"), (f"(devfix rewrite{flag} {name})", "faint"))
        elif finding.advice is not None:
            printer.line((f"  advice: {visible(finding.advice)}", ""))
    for _, text in explained.meetings:
        printer.line((f"known from the source: {one_line(text)}", ""))
    if not explained.is_known_from_source:
        printer.line((_undecided(explained), ""))


def _undecided(explained: Explained) -> str:
    """Why the source is of no help, and what would be."""
    if not explained.error.frames:
        return "A message alone names no file: give the traceback around it."
    if not explained.frames:
        return "None of the files of this traceback is here; run `devfix explain` where they are."
    script = one_line(label_of(str(explained.frames[0].path)))
    return (
        "The source does not decide where these values live. `devfix repair` runs the script, looks at the tensors of "
        f"the crash and repairs it: devfix repair {script} -- ARGS"
    )


def _document(explained: Explained) -> dict[str, Any]:
    message = explained.message
    return {
        "version": json.VERSION,
        "error": {
            "type": explained.error.type,
            "message": message.text,
            "category": str(message.category),
            "argument": message.argument,
            "method": message.method,
            "places": list(message.places),
            "meaning": message.meaning,
            "repair": message.repair,
        },
        "frames": [_frame_entry(located) for located in explained.frames],
        "missing": [{"path": frame.file, "line": frame.line} for frame in explained.missing],
        "findings": [_finding_entry(located, finding) for located, finding in explained.findings],
        "known": [text for _, text in explained.meetings],
        "reason": None if explained.is_known_from_source else _undecided(explained),
    }


def _frame_entry(located: Located) -> Mapping[str, Any]:
    return {
        "path": label_of(str(located.path)),
        "line": located.frame.line,
        "function": located.frame.function,
        "code": located.frame.code,
        "differs": located.moved,
    }


def _finding_entry(located: Located, finding: Finding) -> Mapping[str, Any]:
    fix = finding.fix
    return {
        "path": label_of(str(located.path)),
        "line": finding.span.line,
        "column": finding.span.column + 1,
        "code": finding.code,
        "name": finding.name,
        "message": finding.message,
        "fix": None if fix is None else {"safety": str(fix.safety), "title": fix.title},
        "advice": finding.advice,
    }
