"""Pictures of the review over two programs of the corpus, as SVG.

    python docs/pictures/review.py FOLDER

writes `review.svg` and `review-confirm.svg` into FOLDER.
"""

import asyncio
import contextlib
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devfix.commands.options import AnalysisOptions
from devfix.formats import ReportFormat
from devfix.replay import ReplayOptions
from devfix.review.screens.app import ReviewApp
from devfix.review.session import Session, prepare

CORPUS = Path(__file__).parents[2] / "corpus"
PROGRAMS = {
    "train.py": "DVF101-batch-not-moved/classifier-labels/before.py",
    "finetune.py": "seeds/recognize_anything/before.py",
}
PICTURES: dict[str, tuple[tuple[str, ...], tuple[int, int]]] = {
    "review": (("y",), (150, 40)),
    "review-confirm": (("y", "a", "w"), (110, 34)),
}
"""The keys to press, and the columns and lines of the terminal."""


def picture(keys: Sequence[str], size: tuple[int, int]) -> str:
    """The screen as SVG after these keys were pressed."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for name, program in PROGRAMS.items():
            shutil.copy(CORPUS / program, name)
        given = AnalysisOptions(isolated=True, no_cache=True, quiet=True)
        session = prepare(given.ask(["."], given.overrides(), ReportFormat.TEXT), False)
        try:
            return asyncio.run(_drawn(session, keys, size))
        finally:
            session.saved_review.save([])


async def _drawn(session: Session, keys: Sequence[str], size: tuple[int, int]) -> str:
    app = ReviewApp(session, ReplayOptions)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await app.workers.wait_for_complete(list(app.workers))
            await pilot.pause()
        return app.export_screenshot(title="devfix review")


def main(folder: str) -> None:
    Path(folder).mkdir(parents=True, exist_ok=True)
    for name, (keys, size) in PICTURES.items():
        Path(folder, f"{name}.svg").write_text(picture(keys, size))


if __name__ == "__main__":
    main(*sys.argv[1:])
