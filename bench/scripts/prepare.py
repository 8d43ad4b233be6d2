"""Makes the tiny data that the scripts read, in a folder of checkouts: `prepare.py CHECKOUTS`.

Images and tokens are random, in the formats of the data sets whose place they take; nothing is downloaded.
"""

from __future__ import annotations

import random
import struct
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy

HERE = Path(__file__).resolve().parent
TRAIN, TEST = 200, 100
VOCABULARY = ("the", "a", "cat", "dog", "sat", "ran", "on", "mat", "log", "and")


def main() -> int:
    checkouts = Path(sys.argv[1]).resolve()
    manifest = tomllib.loads((HERE / "scripts.toml").read_text(encoding="utf-8"))
    for script in manifest["script"]:
        for wanted in script.get("data", ()):
            kind, _, place = wanted.partition(" ")
            base = checkouts / script["repository"].replace("/", "+")
            MAKERS[kind](checkouts / "home" / place[2:] if place.startswith("~/") else base / place)
    return 0


def images(name: str) -> Callable[[Path], None]:
    """The four files of MNIST or FashionMNIST, as torchvision looks for them."""

    def make(folder: Path) -> None:
        raw = folder / name / "raw"
        raw.mkdir(parents=True, exist_ok=True)
        chance = numpy.random.default_rng(0)
        for part, count in (("train", TRAIN), ("t10k", TEST)):
            pixels = chance.integers(0, 256, (count, 28, 28), dtype=numpy.uint8)
            (raw / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + pixels.tobytes())
            labels = (numpy.arange(count) % 10).astype(numpy.uint8)
            (raw / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + labels.tobytes())

    return make


def words(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for part, lines in (("train", 30), ("valid", 20), ("test", 20)):
        (folder / f"{part}.txt").write_text(_text(lines), encoding="utf-8")


def train_txt(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "train.txt").write_text(_text(200), encoding="utf-8")


def tokens(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    chance = numpy.random.default_rng(0)
    for part in ("train", "val"):
        (folder / f"{part}.bin").write_bytes(chance.integers(0, 64, 1000, dtype=numpy.uint16).tobytes())


def _text(lines: int) -> str:
    chance = random.Random(0)
    return "".join(" ".join(chance.choices(VOCABULARY, k=9)) + "\n" for _ in range(lines))


MAKERS: dict[str, Callable[[Path], None]] = {
    "MNIST": images("MNIST"),
    "FashionMNIST": images("FashionMNIST"),
    "words": words,
    "train.txt": train_txt,
    "tokens": tokens,
}

if __name__ == "__main__":
    sys.exit(main())
