"""The pictures of the documentation: what a terminal shows, as SVG, and the pages, by Chromium.

    python docs/pictures.py

runs the commands and writes into `docs/pictures/`. A picture in which only seconds would be others stays as it is.
"""

import html
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import console as pages
from rich.console import Console
from rich.text import Text

FOLDER = Path(__file__).parent / "pictures"
PAGE = "<!-- file: train.py = corpus/DVF101-batch-not-moved/classifier-labels/before.py -->"
_LOADED_FONT = re.compile(r"@font-face\s*\{.*?\}\s*", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """What a terminal of `width` columns shows after a command."""

    name: str
    command: str
    width: int

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.svg"

    def draw(self) -> str:
        """The picture, as it is now."""
        with tempfile.TemporaryDirectory() as temporary:
            environment = pages.prepared(PAGE, Path(temporary)) | {"FORCE_COLOR": "1", "COLUMNS": str(self.width)}
            lines = pages.run(self.command, Path(temporary, "work"), environment)
        terminal = Console(
            record=True, width=self.width, file=StringIO(), force_terminal=True, color_system="truecolor"
        )
        for line in [f"\x1b[2m$\x1b[0m {self.command}", *lines]:
            terminal.print(Text.from_ansi(line), soft_wrap=False)
        return without_fonts(terminal.export_svg(title=f"devfix: {self.name}", unique_id=self.name))


TERMINAL = (
    Picture("check", "devfix check train.py", 112),
    Picture("diff", "devfix rewrite --diff train.py", 80),
    Picture("side-by-side", "devfix rewrite --diff --side-by-side train.py", 120),
    Picture("replay", "devfix replay train.py --on simulated", 110),
)
SCRIPTS = {"report.py": ("corpus/seeds",), "review.py": ()}
"""Those of what is no plain text on a terminal, with their arguments before the folder to write into."""


def without_fonts(svg: str) -> str:
    """The picture without the fonts that it would load from elsewhere."""
    return _LOADED_FONT.sub("", svg)


def words(svg: str) -> str:
    """The text in a picture."""
    return pages.lasting(html.unescape(" ".join(re.findall(r"<text[^>]*>(.*?)</text>", svg))).replace("\xa0", " "))


def main() -> None:
    for picture in TERMINAL:
        new = picture.draw()
        if not picture.path.exists() or words(picture.path.read_text(encoding="utf-8")) != words(new):
            picture.path.write_text(new, encoding="utf-8")
    for script, arguments in SCRIPTS.items():
        command = [sys.executable, str(FOLDER / script), *arguments, str(FOLDER)]
        subprocess.run(command, cwd=pages.ROOT, check=True)
    for path in FOLDER.glob("*.svg"):
        path.write_text(without_fonts(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
