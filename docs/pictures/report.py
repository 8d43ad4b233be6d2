"""Pictures of the HTML report of some code, wide and at the width of a phone, light and dark.

    python docs/pictures/report.py PATH FOLDER

writes `report-wide-light.png` and so on into FOLDER. Chromium is found by its usual names or by `DEVFIX_CHROMIUM`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SIZES = {"wide": (1400, 1000), "phone": (390, 844)}
SCHEMES = ("light", "dark")


def main(code: str, folder: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        page = Path(temporary, "report.html")
        command = [sys.executable, "-m", "devfix", "report", "--output-file", str(page)]
        subprocess.run(command, cwd=code, check=False)
        if not page.exists():
            raise SystemExit(2)
        Path(folder).mkdir(parents=True, exist_ok=True)
        take(page, Path(folder))


def take(page: Path, folder: Path) -> None:
    """A picture of what the first screens of the page show, for each size and colour scheme."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        for size, (width, height) in SIZES.items():
            for scheme in SCHEMES:
                view = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
                view.goto(page.resolve().as_uri())
                view.screenshot(path=folder / f"report-{size}-{scheme}.png")
                view.locator(".file").first.evaluate("section => section.scrollIntoView()")
                view.screenshot(path=folder / f"report-{size}-{scheme}-findings.png")
                view.close()
        browser.close()


def chromium() -> str:
    found = os.environ.get("DEVFIX_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        raise SystemExit("there is no Chromium; name one with DEVFIX_CHROMIUM")
    return found


if __name__ == "__main__":
    main(*sys.argv[1:])
