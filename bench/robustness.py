"""Does `devfix rewrite` ever do harm? On a copy of the libraries, as they are and with bugs put into them.

    python bench/robustness.py [FOLDER] [--files N]

rewrites copies of the tree of `speed.py` and checks, byte for byte, what became of every file. The tables go into
`bench/README.md`. The exit code is 1 where anything is wrong.
"""

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from workshop import (
    HERE,
    BenchError,
    Workshop,
    conditions,
    default_folder,
    program,
    replace_between,
    table,
)

Files = Mapping[Path, bytes]
"""The bytes of files by their paths within a tree."""

BOM = b"\xef\xbb\xbf"
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")
_NO_NEWLINE = b"\\ No newline at end of file\n"
_LINE_END = re.compile(rb"\r\n|\r|\n")
SEED = 0
DRESSED = 300
"""How many of the files with bugs are tried in every other dress."""

BUGS = b"""\
def planted_training(dataset):
    import torch
    from torch import nn
    from torch.utils.data import DataLoader

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    scaler = torch.cuda.amp.GradScaler()
    model = nn.Linear(4, 2).to(device)
    model.head = nn.Linear(2, 2)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in DataLoader(dataset, batch_size=4):
        x = x.to(device)
        with torch.cuda.amp.autocast():
            loss = criterion(model(x), y)  # the labels are not moved
        scaler.scale(loss).backward()
        scaler.step(optimizer)
"""
REPAIRED = (
    BUGS.replace(b"cuda.amp.GradScaler()", b'amp.GradScaler("cuda")')
    .replace(b"cuda.amp.autocast()", b'amp.autocast("cuda")')
    .replace(b"Linear(2, 2)\n", b"Linear(2, 2)\n    model.to(device)\n")
    .replace(b"x = x.to(device)\n", b"x = x.to(device)\n        y = y.to(device)\n")
)
_COOKIE = b"# -*- coding: latin-1 -*-\n"


@dataclass
class Findings:
    """What one mode of one tree came to. `wrong` has a line for everything that must not be."""

    name: str
    files: int = 0
    changed: int = 0
    added: int = 0
    removed: int = 0
    wrong: list[str] = field(default_factory=list)

    def row(self) -> list[str]:
        numbers = [self.files, self.changed, self.added, self.removed]
        return [self.name, *(f"{number:,}" for number in numbers), str(len(self.wrong)) if self.wrong else "none"]


def main() -> int:
    """Try everything, print it, and write it into the page."""
    options = _options()
    try:
        shop = Workshop(options.folder.resolve())
        print("preparing", file=sys.stderr)
        results = list(_Trial(shop, options.files).results())
    except BenchError as error:
        print(f"robustness.py: {error}", file=sys.stderr)
        return 2
    heads = ("tree and fixes", "files", "rewritten", "lines added", "lines removed", "wrong")
    report = f"{conditions()}\n\n{table(heads, [result.row() for result in results])}"
    print(report)
    for result in results:
        for problem in result.wrong:
            print(f"{result.name}: {problem}", file=sys.stderr)
    if not options.no_write:
        replace_between(HERE / "README.md", "robustness", report)
    return int(any(result.wrong for result in results))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Checks what devfix rewrite does to the files of real libraries.")
    parser.add_argument("folder", nargs="?", type=Path, default=default_folder(), help="where to work")
    parser.add_argument("--files", type=int, help="take so many files, drawn by a fixed seed, not all of the tree")
    parser.add_argument("--no-write", action="store_true", help="leave bench/README.md as it is")
    return parser.parse_args()


class _Trial:
    def __init__(self, shop: Workshop, files: int | None) -> None:
        self._tree = shop.tree()
        self._files = files
        self._work = shop.folder / "rewritten"
        self._devfix = program(shop.devfix(), "devfix")
        self._environment = shop.environment

    def results(self) -> Iterator[Findings]:
        originals = self._drawn(_read(self._tree))
        for options in SAFE, UNSAFE:
            yield self._tried("as released", originals, options)[0]
        planted = {path: new for path, data in originals.items() if (new := with_bugs(data, str(path))) is not None}
        yield self._tried("with bugs", planted, SAFE)[0]
        found, plain = self._tried("with bugs", planted, UNSAFE)
        odd = [path for path, data in planted.items() if plain[path] not in _repaired(data)]
        found.wrong += [f"{path}: more or less than the bugs is repaired" for path in odd if not self._has_own(path)]
        yield found
        some = random.Random(SEED).sample(sorted(planted), min(DRESSED, len(planted)))
        for name, dress in DRESSES.items():
            found, after = self._tried(name, {path: dress(planted[path]) for path in some}, UNSAFE)
            odd = [path for path in some if after[path] != dress(plain[path])]
            found.wrong += [f"{path}: rewritten in another way than the plain file" for path in odd]
            yield found

    def _drawn(self, files: Files) -> Files:
        if self._files is None or self._files >= len(files):
            return files
        return {path: files[path] for path in random.Random(SEED).sample(sorted(files), self._files)}

    def _has_own(self, path: Path) -> bool:
        """Whether the file as released has something to repair."""
        command = [self._devfix, "rewrite", "--diff", "--isolated", "--no-cache", "--unsafe", str(self._tree / path)]
        return bool(subprocess.run(command, env=self._environment, capture_output=True, check=False).stdout)

    def _tried(self, name: str, originals: Files, options: Sequence[str]) -> tuple[Findings, Files]:
        """Everything that has to hold of one rewrite, and the files that it makes."""
        found = Findings(f"{name}, {'unsafe' if options else 'safe'}", len(originals))
        print(found.name, file=sys.stderr)
        self._lay_out(originals)
        patch = self._ran(found, "rewrite", "--diff", *WHERE, *options)
        self._ran(found, "rewrite", *WHERE, *options)
        after = _read(self._work)
        _judge(found, originals, after, patch)
        again = self._ran(found, "rewrite", "--diff", *WHERE, *options)
        if again:
            found.wrong.append(f"a second rewrite changes {len(list(_by_file(again)))} files")
        if found.changed:
            self._ran(found, "undo")
        if _read(self._work, "*") != originals:
            found.wrong.append("undo does not bring the tree back")
        return found, after

    def _lay_out(self, files: Files) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        for path, data in files.items():
            place = self._work / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)

    def _ran(self, found: Findings, *arguments: str) -> bytes:
        """What devfix says on standard output. An exit code that tells of trouble, or an error, is wrong."""
        command = [self._devfix, *arguments]
        done = subprocess.run(command, cwd=self._work, env=self._environment, capture_output=True, check=False)
        if done.returncode not in (0, 1):
            found.wrong.append(f"`devfix {' '.join(arguments)}` ended with {done.returncode}")
        said = os.fsdecode(done.stderr).splitlines()
        found.wrong += [line for line in said if line.startswith(("error:", "devfix: error:", "Traceback"))]
        return done.stdout


def _judge(found: Findings, originals: Files, after: Files, patch: bytes) -> None:
    """Compare what was written with what the dry run showed, and with what was there."""
    hunks = dict(_by_file(patch))
    changed = [path for path in originals if after.get(path) != originals[path]]
    found.changed = len(changed)
    if set(changed) != set(hunks) or set(after) != set(originals):
        found.wrong.append("the rewrite changes other files than the dry run showed")
    for path in changed:
        added, removed, patched = applied(originals[path], hunks.get(path, b""))
        found.added += added
        found.removed += removed
        if patched != after[path]:
            found.wrong.append(f"{path}: not what the dry run showed")
        found.wrong += [f"{path}: {problem}" for problem in problems(originals[path], after[path])]


def problems(before: bytes, after: bytes) -> Iterator[str]:
    """What must not have happened to a rewritten file."""
    if not _parses(after):
        yield "no longer parses"
    if before.startswith(BOM) != after.startswith(BOM):
        yield "its byte order mark came or went"
    if set(_LINE_END.findall(after)) - set(_LINE_END.findall(before)):
        yield "it has line ends of a kind that it had not"
    if before.endswith((b"\n", b"\r")) != after.endswith((b"\n", b"\r")):
        yield "its last line end came or went"


def applied(before: bytes, hunks: bytes) -> tuple[int, int, bytes]:
    """How many lines a unified diff of one file adds and removes, and what it makes of `before`.

    Every byte outside the added and removed lines is taken from `before`.

    Raises:
        BenchError: the diff does not fit the file.
    """
    old, new = _lines(before), list[bytes]()
    position = added = removed = 0
    for line in _whole(_lines(hunks)):
        sign, text = line[:1], line[1:]
        if hunk := _HUNK.match(line):
            start = int(hunk[1]) - (hunk[2] != b"0")
            new += old[position:start]
            position = start
        elif sign == b"+":
            new.append(text)
            added += 1
        elif old[position : position + 1] != [text]:
            raise BenchError(f"a diff does not fit its file at line {position + 1}: {text!r}")
        else:
            new += [text] if sign == b" " else []
            removed += sign == b"-"
            position += 1
    return added, removed, b"".join(new + old[position:])


def with_bugs(data: bytes, seed: str) -> bytes | None:
    """A module with one more function, of four bugs, before one that it has. None where that does not parse."""
    if not _parses(data):
        return None
    inside = [node for node in ast.parse(data).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
    firsts = [min([node.lineno, *(mark.lineno for mark in node.decorator_list)]) for node in inside]
    lines = re.findall(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", data)
    place = random.Random(seed).choice(firsts) - 1 if firsts else len(lines)
    end = b"\r\n" if b"\r\n" in data else b"\n"
    before = b"".join(lines[:place])
    gap = b"" if not before or before.endswith((b"\r", b"\n")) else end
    new = before + gap + BUGS.replace(b"\n", end) + end * 2 + b"".join(lines[place:])
    return new if _parses(new) else None


def _repaired(data: bytes) -> set[bytes]:
    """The file with its bugs repaired, in either kind of quotes: devfix takes that of the file around."""
    return {
        data.replace(BUGS.replace(b"\n", end), repaired.replace(b"\n", end))
        for end in (b"\n", b"\r\n")
        if BUGS.replace(b"\n", end) in data
        for repaired in (REPAIRED, REPAIRED.replace(b'"cuda")', b"'cuda')"))
    }


# Files in another dress: their rewrite is the rewrite of the plain file in that dress


def _with_crlf(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")


def _with_bom(data: bytes) -> bytes:
    return data if data.startswith(BOM) else BOM + data


def _without_last_end(data: bytes) -> bytes:
    return data.rstrip(b"\r\n")


def _in_latin_1(data: bytes) -> bytes:
    try:
        return _COOKIE + data.decode("utf-8").encode("latin-1")
    except UnicodeError:
        return data


SAFE: Sequence[str] = ()
UNSAFE: Sequence[str] = ("--unsafe",)
WHERE = ("--isolated", "--no-cache", ".")
DRESSES: Mapping[str, Callable[[bytes], bytes]] = {
    "with bugs, CRLF": _with_crlf,
    "with bugs, a byte order mark": _with_bom,
    "with bugs, no last line end": _without_last_end,
    "with bugs, Latin-1": _in_latin_1,
}


def _parses(data: bytes) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            return False
    return True


def _read(tree: Path, pattern: str = "*.py") -> Files:
    return {path.relative_to(tree): path.read_bytes() for path in sorted(tree.rglob(pattern)) if path.is_file()}


def _by_file(patch: bytes) -> Iterator[tuple[Path, bytes]]:
    """The hunks of each file of a patch. No line of a hunk begins like the header of a file and its twin."""
    header = re.compile(rb"^--- a/([^\n]*)\n\+\+\+ b/\1\n", re.MULTILINE)
    found = list(header.finditer(patch))
    ends = [following.start() for following in found[1:]] + [len(patch)]
    for match, end in zip(found, ends, strict=True):
        yield Path(os.fsdecode(match[1].rstrip(b"\t"))), patch[match.end() : end]


def _lines(data: bytes) -> list[bytes]:
    """Lines as a patch counts them: only a line feed ends one."""
    return re.findall(rb"[^\n]*\n|[^\n]+", data)


def _whole(lines: Sequence[bytes]) -> Iterator[bytes]:
    """The lines of a patch, without the line feed that it adds where the file has none."""
    for line, following in zip(lines, [*lines[1:], b""], strict=True):
        if line != _NO_NEWLINE:
            yield line[:-1] if following == _NO_NEWLINE else line


if __name__ == "__main__":
    sys.exit(main())
