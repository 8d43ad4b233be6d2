"""The result files of a run, read one at a time."""

from pathlib import Path

import msgspec

from devfix.batch.ledger import Row
from devfix.batch.records import Error, Outcome


def outcome_of(folder: Path, row: Row) -> Outcome:
    """What became of a repository. Where its result file cannot be read, what the ledger knows, and why."""
    try:
        return msgspec.json.decode(Path(folder, "results", f"{row.name}.json").read_bytes(), type=Outcome)
    except OSError as error:
        return _known(row, error.strerror or str(error))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return _known(row, str(error))


def _known(row: Row, reason: str) -> Outcome:
    return Outcome(
        name=row.name,
        state=row.state,
        files=row.files,
        findings=row.findings,
        published=row.published,
        error=row.error or Error("the result file cannot be read", reason),
        notes=(f"The result file cannot be read: {reason}",) if row.error else (),
        worker=row.worker,
    )
