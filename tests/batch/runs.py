"""The folder of a run, with repositories of which it is said what became of them."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from devfix.batch.ledger import Ledger
from devfix.batch.records import (
    CheckRun,
    Commit,
    Error,
    Fix,
    Outcome,
    Plan,
    Repository,
    State,
    Stop,
    Verdict,
)

DIFF = b"""\
diff --git a/src/train.py b/src/train.py
index 5bb7b6c..9ef3a4c 100644
--- a/src/train.py
+++ b/src/train.py
@@ -20,6 +20,7 @@ def train(loader):
     for x, y in loader:
         x = x.to(device)
+        y = y.to(device)
-        loss = criterion(model(x), y)
+        loss = criterion(model(x), y).mean()
         loss.backward()
     return model
"""
TRAIL = (Stop("src/data.py", 4, "`y` comes from the loader"), Stop("src/train.py", 22, "it meets `model` here"))


def plan(folder: Path, **more: object) -> Plan:
    return Plan(**{"folder": str(folder), "branch": "devfix/x", "date": "2026-11-22T05:00:00+00:00", **more})  # type: ignore[arg-type]


def fix(**more: object) -> Fix:
    usual = {
        "path": "src/train.py",
        "line": 22,
        "column": 38,
        "code": "DVF101",
        "name": "batch-not-moved",
        "message": "`y` stays on the host",
        "safety": "safe",
        "title": "Move `y`",
        "trail": TRAIL,
        "verdict": "confirmed",
    }
    return Fix(**{**usual, **more})  # type: ignore[arg-type]


def changed(name: str = "good", **more: object) -> Outcome:
    """A repository in which something was fixed."""
    usual = {
        "name": name,
        "state": State.CHANGED,
        "commit": "a" * 40,
        "branch": "devfix/x",
        "files": 12,
        "findings": 2,
        "fixes": (fix(),),
        "verdicts": (Verdict("src/train.py", "confirmed", "cpu", "python src/train.py", ("the error is gone",)),),
        "checks": (CheckRun("pytest -q", "passed", "passed", True, True, 3.2),),
        "commits": (Commit("b" * 40, "DVF101: move batches"),),
        "diff": DIFF,
        "patch": b"From b\n",
        "body": "# Fixes\n\n| a | b |",
        "published": f"https://git.example/{name}/pull/1",
        "unhandled": (("src/old.py", "a syntax error"),),
        "notes": ("2 runs were stopped",),
        "seconds": {"clone": 1.5, "replay": 12.0},
        "worker": "node-1",
    }
    return Outcome(**{**usual, **more})  # type: ignore[arg-type]


def failed(name: str = "bad", kind: str = "clone failed", message: str = "no such host") -> Outcome:
    return Outcome(name, State.FAILED, error=Error(kind, message), seconds={"clone": 0.5}, worker="node-2")


def made(folder: Path, outcomes: Iterable[Outcome], more: Iterable[Repository] = (), **planned: object) -> Path:
    """A run in which these came out, in this order, and `more` are still to be done."""
    outcomes = list(outcomes)
    wanted = [Repository(one.name, f"https://u:secret@git.example/{one.name}.git", labels=("all",)) for one in outcomes]
    given = {one.name: one for one in more}
    wanted = [given.pop(one.name, one) for one in wanted]
    with Ledger.open(folder) as ledger:
        ledger.begin(plan(folder, **planned))
        ledger.enter([*wanted, *given.values()])
        for name in ("results", "patches"):
            (folder / name).mkdir(exist_ok=True)
        for outcome in outcomes:
            ledger.start(outcome.name, 1)
            (folder / "results" / f"{outcome.name}.json").write_bytes(msgspec.json.encode(outcome))
            if outcome.patch:
                (folder / "patches" / f"{outcome.name}.patch").write_bytes(outcome.patch)
            ledger.finish(outcome)
    return folder
