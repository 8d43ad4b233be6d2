"""The review on a screen that no one sees: keys go in, and what is shown comes out."""

import asyncio
import html
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from devfix.commands.options import AnalysisOptions
from devfix.formats import ReportFormat
from devfix.replay import ReplayOptions
from devfix.review.screens.app import ReviewApp
from devfix.review.session import Plan, Session, prepare
from textual.worker import WorkerCancelled, WorkerFailed

_TEXT = re.compile(r'<text class="[^"]*" x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', re.DOTALL)
Step = str | Callable[["Shown"], Any]
WIDE, NARROW = (160, 48), (80, 24)


class Shown:
    """A review that is running."""

    def __init__(self, app: ReviewApp) -> None:
        self.app = app
        self.session = app.session

    @property
    def svg(self) -> str:
        return self.app.export_screenshot(title="devfix review")

    @property
    def text(self) -> str:
        """The lines of the screen."""
        rows: dict[float, list[tuple[float, str]]] = {}
        for x, y, text in _TEXT.findall(self.svg):
            rows.setdefault(float(y), []).append((float(x), html.unescape(text).replace("\xa0", " ")))
        return "\n".join("".join(text for _, text in sorted(rows[y])) for y in sorted(rows))

    @property
    def current(self) -> str:
        """File and line under the cursor."""
        item = self.app.main.findings.current
        return f"{item.document.label}:{item.place}" if item is not None else ""

    @property
    def decisions(self) -> str:
        """A letter for each finding."""
        marks = {None: ".", "accepted": "y", "refused": "n", "ignored": "i"}
        return "".join(marks[self.session.review.decision(item)] for item in self.session.review.items)


def session_of(*names: str, allow_dirty: bool = False) -> Session:
    given = AnalysisOptions()
    return prepare(given.ask(names or (".",), given.overrides(), ReportFormat.TEXT), allow_dirty)


async def _driven(app: ReviewApp, steps: Sequence[Step], size: tuple[int, int]) -> Plan | None:
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = Shown(app)
        for step in steps:
            if callable(step):
                step(shown)
                continue
            await pilot.press(step)
            with suppress(WorkerFailed, WorkerCancelled):
                await app.workers.wait_for_complete(list(app.workers))
            await pilot.pause()
    return app.return_value


def driven(*steps: Step, session: Session | None = None, size: tuple[int, int] = WIDE, **options: Any) -> Plan | None:
    """Press keys, and call functions in between with what is shown. Answers what is to be written."""
    app = ReviewApp(session or session_of(), lambda: ReplayOptions(on="cpu"), **options)
    return asyncio.run(_driven(app, steps, size))


@pytest.fixture
def three(tree: Path) -> Path:
    """Two files: the first with a safe, an unsafe and a safe fix, the second with a safe one and advice."""
    (tree / "a.py").write_text("import torch\nx = wrong(1)\ny = wrong(2)  # unsafe\nz = wrong(3)\n")
    (tree / "b.py").write_text("import torch\nx = wrong(4)\ny = wrong(5)  # manual\n")
    return tree
