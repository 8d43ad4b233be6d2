"""How the programs of the corpus end: recorded on hardware in a process each, and in a replay on the simulation."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CORPUS = REPOSITORY / "corpus"
SECONDS = 300


def paths() -> list[Path]:
    """Every program that has a twin: `before.py` and `after.py` of each case."""
    return sorted(path for name in ("before.py", "after.py") for path in CORPUS.glob(f"*/*/{name}"))


def name(path: Path) -> str:
    return path.relative_to(REPOSITORY).as_posix()


def end_on_hardware(path: Path) -> dict[str, object]:
    """The `error` (type and whole message, None where it passed) and `line` with which a program ended here."""
    command = [sys.executable, str(CORPUS / "run.py"), str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        answer = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return {"error": f"no end within {SECONDS} s", "line": None}
    except (IndexError, ValueError):
        return {"error": f"died with status {done.returncode}: {done.stderr[-500:]}", "line": None}
    return {"error": answer["error"], "line": answer["line"]}


def differences(recorded: Mapping[str, Mapping[str, object]]) -> Iterator[tuple[str, str]]:
    """The recorded programs that end otherwise in a replay on the simulation, and how they end there."""
    from devfix.replay import Change, ReplayOptions, run_replays

    for case in _cases(recorded):
        before, after = case / "before.py", case / "after.py"
        change = Change(before, before.read_bytes(), after.read_bytes())
        result = run_replays([change], ReplayOptions(on="simulated", timeout=SECONDS))[0]
        for path, outcome in ((before, result.before), (after, result.after)):
            wanted = recorded.get(name(path))
            if wanted is not None and not _same(wanted, outcome):
                yield (
                    name(path),
                    "was not run" if outcome is None else outcome.failure if not outcome.passed else "passes",
                )


def _cases(recorded: Iterable[str]) -> list[Path]:
    return sorted({(REPOSITORY / path).parent for path in recorded})


def _same(wanted: Mapping[str, object], outcome: object) -> bool:
    """Whether an outcome has the recorded type, line, and a line of the recorded message."""
    if outcome is None or wanted["error"] is None:
        return outcome is not None and outcome.passed  # type: ignore[attr-defined]
    error = outcome.error  # type: ignore[attr-defined]
    kind, _, message = str(wanted["error"]).partition(": ")
    return error is not None and error.type == kind and error.line == wanted["line"] and error.message in message
