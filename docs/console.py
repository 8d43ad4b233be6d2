"""The commands of the pages, run: what a page shows after `$ …` in a `console` block is what comes out.

    python docs/console.py [PAGE...]

puts what comes out now into the pages. A page names the files that its commands work on: a code block with a title, or
`<!-- file: NAME = PATH -->` for a file of the repository. `<!-- install: FOLDER -->` installs a package. A line that
ends with `…` is cut there; seconds and the names of runs differ from run to run, and are not compared.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 118
_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_TITLED = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
_FILE = re.compile(r"^<!-- file: (\S+) = (\S+) -->$", re.MULTILINE)
_INSTALL = re.compile(r"^<!-- install: (\S+) -->$", re.MULTILINE)
_VOLATILE = (
    (re.compile(r"\b\d{8}-\d{6}-[0-9a-f]{6}\b"), "RUN"),
    (re.compile(r"\b\d+(?:\.\d+)? (s|a minute)\b"), r"N \1"),
)


@dataclass(frozen=True)
class Shown:
    """One command of a page, and the lines that the page shows below it."""

    command: str
    lines: tuple[str, ...]

    def mismatch(self, actual: list[str]) -> str | None:
        """What differs; None where the page shows what comes out."""
        shown = _without_last_blanks(self.lines)
        if len(shown) == len(actual) and all(map(_same, shown, actual)):
            return None
        return "\n".join([f"$ {self.command}", "--- the page shows", *shown, "--- there is", *actual])


def commands(page: str) -> list[Shown]:
    """The commands of a page, in order."""
    return [shown for block in _BLOCK.findall(page) for shown in _of_block(block)]


def outputs(page: str) -> list[list[str]]:
    """What the commands of a page print, each after the ones before it, in a folder of their own."""
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(temporary)
        environment = prepared(page, top)
        return [run(shown.command, top / "work", environment) for shown in commands(page)]


def refreshed(page: str) -> str:
    """The page with what comes out now, where that is not what it shows."""
    answers = iter(outputs(page))

    def block(found: re.Match[str]) -> str:
        parts = []
        for shown in _of_block(found[1]):
            actual = next(answers)
            lines = [_cut(line) for line in actual] if shown.mismatch(actual) else _without_last_blanks(shown.lines)
            parts.append("\n".join([f"$ {shown.command}", *lines]))
        separator = "\n\n" if "\n\n$ " in found[1] else "\n"
        return "```console\n" + separator.join(parts) + "\n```"

    return _BLOCK.sub(block, page)


def _of_block(block: str) -> Iterator[Shown]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, *lines = part.splitlines()
        yield Shown(command, tuple(lines))


def prepared(page: str, top: Path) -> dict[str, str]:
    """The environment of the commands, with the files of the page in `top/work`."""
    for name in ("work", "bin", "home", "site"):
        (top / name).mkdir()
    sources = _FILE.findall(page)
    for name, source in sources:
        shutil.copy(ROOT / source, top / "work" / name)
    for name, text in _TITLED.findall(page):
        if name not in dict(sources):
            (top / "work" / name).write_text(text, encoding="utf-8")
    for folder in _INSTALL.findall(page):
        install(ROOT / folder, top / "site")
    shim = top / "bin" / "devfix"
    shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m devfix "$@"\n')
    shim.chmod(0o755)
    dropped = ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "GITHUB_ACTIONS")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    path = os.pathsep.join([str(top / "site"), str(ROOT / "codemods"), str(ROOT / "cli")])
    homes = {f"XDG_{name}_HOME": str(top / "home") for name in ("CACHE", "STATE", "CONFIG")}
    binaries = os.pathsep.join([str(top / "bin"), kept.get("PATH", os.defpath)])
    return {**kept, **homes, "PATH": binaries, "PYTHONPATH": path, "PYTHONUNBUFFERED": "1"}


def install(package: Path, target: Path) -> None:
    """Install a package of the repository into the folder, with nothing from elsewhere."""
    with tempfile.TemporaryDirectory() as temporary:
        source = shutil.copytree(package, Path(temporary, "source"), ignore=shutil.ignore_patterns("__pycache__"))
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-index", "--no-deps"]
        subprocess.run([*pip, "--no-build-isolation", "--target", str(target), str(source)], check=True)


def run(command: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """The lines that a command prints, errors included."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return _without_last_blanks(done.stdout.decode().splitlines())


def lasting(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, word in _VOLATILE:
        text = pattern.sub(word, text)
    return text


def _same(shown: str, actual: str) -> bool:
    shown, actual = lasting(shown), lasting(actual)
    return shown == actual or (shown.endswith("…") and actual.startswith(shown.removesuffix("…")))


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[:WIDTH].rpartition(' ')[0]} …"


def _without_last_blanks(lines: tuple[str, ...] | list[str]) -> list[str]:
    kept = [line.rstrip() for line in lines]
    while kept and not kept[-1]:
        kept.pop()
    return kept


if __name__ == "__main__":
    for page in map(Path, sys.argv[1:] or sorted(Path(__file__).parent.glob("*.md"))):
        page.write_text(refreshed(page.read_text(encoding="utf-8")), encoding="utf-8")
