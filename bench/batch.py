"""What `devfix batch` costs: repositories a minute by engine and workers, and the driver by the number of repositories.

    python bench/batch.py rate --repositories 500
    python bench/batch.py driver --repositories 100 1000 10000

The repositories are generated: a commit each, of five small files, of which two have bugs with safe fixes. Nothing of
them is run. `rate` needs the extra `ray` for `--engines ray`. `driver` gives the driver an engine that answers at once,
for each repository with the outcome that a real worker had for one of them: what is left is the driver itself, which is
what all engines share.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from devfix.batch.engines import Ended, Source, Started, Tick
    from devfix.batch.records import Outcome

LOADER = """\
import torch
from torch import nn


def train_{name}(model, loader, device):
    model.to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr={rate})
    for x, y in loader:
        x = x.to(device)
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""
AMP = """\
import torch

scaler_{name} = torch.cuda.amp.GradScaler()
RATE = {rate}
"""
CLEAN = """\
import torch


def scale_{name}(x):
    return torch.relu(x) * {rate}
"""
PLAIN = """\
def read_{name}(path):
    with open(path) as stream:
        return stream.read(), {rate}
"""
FILES = {"train.py": LOADER, "amp.py": AMP, "model.py": CLEAN, "tools/read.py": PLAIN, "tools/__init__.py": ""}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    rate = commands.add_parser("rate", help="repositories a minute")
    rate.add_argument("--repositories", type=int, default=500)
    rate.add_argument("--engines", nargs="+", default=["local", "ray"], choices=["local", "ray"])
    rate.add_argument("--workers", nargs="+", type=int, default=[1, 2])
    driver = commands.add_parser("driver", help="the driver's time, memory and disk")
    driver.add_argument("--repositories", nargs="+", type=int, default=[100, 1000, 10_000])
    driver.add_argument("--one", nargs=2, metavar=("FOLDER", "COUNT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.command == "rate":
        return rates(options.repositories, options.engines, options.workers)
    if options.one:
        return drive(Path(options.one[0]), int(options.one[1]))
    return drivers(options.repositories)


def rates(count: int, engines: list[str], workers: list[int]) -> int:
    with tempfile.TemporaryDirectory() as temporary:
        top = Path(temporary)
        generate(top / "repositories", count)
        print("| engine | workers | repositories | seconds | a minute | CPU seconds each |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        for engine in engines:
            for number in workers:
                print(_rate(top, engine, number, count), flush=True)
    return 0


def _rate(top: Path, engine: str, workers: int, count: int) -> str:
    where = ["--workers", str(workers)] if engine == "local" else ["--cpus", str((os.cpu_count() or 1) / workers)]
    folder = top / f"{engine}-{workers}"
    command = [sys.executable, "-m", "devfix", "batch", "run", str(top / "repositories"), "--out", str(folder)]
    before, started = _cpu_of_children(), time.perf_counter()
    subprocess.run([*command, "--quiet", "--engine", engine, *where], check=True)
    seconds, cpu = time.perf_counter() - started, _cpu_of_children() - before
    made = json.loads((folder / "report.json").read_bytes())["summary"]["states"]["changed"]
    if made != count:
        raise SystemExit(f"{made} of {count} repositories changed")
    shutil.rmtree(folder)
    each = f"{cpu / count:.2f}" if engine == "local" else ""  # a cluster's processes are no children of the run
    return f"| {engine} | {workers} | {count} | {seconds:.0f} | {60 * count / seconds:.1f} | {each} |"


def drivers(counts: list[int]) -> int:
    print("| repositories | seconds | ms each | peak MB | ledger, KB each | results, KB each | report, KB each |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        for count in counts:
            folder = Path(temporary, str(count))
            command = [sys.executable, __file__, "driver", "--one", str(folder), str(count)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            print(done.stdout.strip(), flush=True)
            shutil.rmtree(folder)
    return 0


def drive(folder: Path, count: int) -> int:
    """Drive a run of so many repositories whose outcomes are at hand, and print what that took."""
    from devfix.batch import driver
    from devfix.batch.records import Rules

    folder.mkdir()
    manifest = folder / "repos.toml"
    tables = (f'[[repo]]\nurl = "https://example.invalid/{number}.git"\n' for number in range(count))
    manifest.write_text("".join(tables), encoding="utf-8")
    outcome = _recorded(folder)
    started = time.perf_counter()
    driver.run(str(manifest), str(folder / "run"), driver.Wishes(), Rules(), _AtOnce(outcome), True)
    seconds = time.perf_counter() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    run = folder / "run"
    report = sum(_size(path) for path in (run / "report", run / "report.md", run / "report.json"))
    results = _size(run / "results") + _size(run / "patches")
    sizes = (_size(run / "ledger.sqlite"), results, report)
    print(
        f"| {count} | {seconds:.1f} | {1e3 * seconds / count:.1f} | {peak:.0f} | "
        + " | ".join(f"{size / 1024 / count:.2f}" for size in sizes)
        + " |"
    )
    return 0


def _recorded(folder: Path) -> Outcome:
    """What a real worker makes of one of the generated repositories."""
    from devfix.batch.migration.migrate import migrate
    from devfix.batch.records import Job, Plan, Repository

    generate(folder / "one", 1)
    plan = Plan(str(folder / "recorded"), "devfix/recorded", "2026-01-01T00:00:00+00:00")
    Path(plan.folder).mkdir()
    return migrate(Job(plan, Repository("recorded", str(folder / "one" / "0000"))))


class _AtOnce:
    """An engine that has every answer."""

    name = "at once"

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def run(self, source: Source, started: Started, tick: Tick) -> Generator[Ended, None, None]:
        from devfix.batch.engines import Finished
        from msgspec.structs import replace

        while (job := source()) is not None:
            started(job, "nobody")
            tick()
            yield Finished(job, replace(self._outcome, name=job.repository.name))


def generate(folder: Path, count: int) -> None:
    """So many git repositories in `folder`."""
    chance = random.Random(0)
    for number in range(count):
        repository = folder / f"{number:04}"
        for name, text in FILES.items():
            path = repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.format(name=f"r{number}", rate=chance.random()), encoding="utf-8")
        for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "All of it"]):
            identity = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "commit.gpgSign=false"]
            subprocess.run(["git", *identity, *command], cwd=repository, check=True)


def _size(path: Path) -> int:
    return sum(one.stat().st_size for one in (path.rglob("*") if path.is_dir() else [path]) if one.is_file())


def _cpu_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


if __name__ == "__main__":
    sys.exit(main())
