"""Runs the probes and says where the answers are not what CUDA is known to say.

`run.py --on simulated` (the default) runs them on the simulated accelerator with two devices, `--on cuda` on the
hardware that is there. `--against RECORD.json` compares with what `record.py` recorded on hardware in place of the
expectations, and replays the programs of the corpus as well.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import battery
import programs
import torch
from battery import Answer
from expectations import Probe

DEVICES = 2


def main() -> int:
    options = _options()
    if options.on == "simulated":
        simulate(DEVICES)
    probes = [probe for probe in battery.load() if options.only in probe.title]
    ready = [probe for probe in probes if probe.devices <= _devices(options.on)]
    if len(ready) < len(probes):
        print(f"{len(probes) - len(ready)} probes want more devices than there are\n", file=sys.stderr)
    answers = battery.run(ready)
    if options.json:
        print(json.dumps({title: {"error": a.error, "message": a.message} for title, a in answers.items()}, indent=1))
        return 0
    if options.against:
        return compare_with_record(json.loads(options.against.read_text(encoding="utf-8")), answers)
    return report(ready, answers)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--on", choices=("simulated", "cuda"), default="simulated")
    parser.add_argument("--only", default="", help="part of a title: a group or a probe")
    parser.add_argument("--json", action="store_true", help="print the answers")
    parser.add_argument("--against", type=Path, help="a file that record.py wrote")
    return parser.parse_args()


def simulate(devices: int) -> None:
    """Simulate an accelerator in this process, as a replay does in that of a script."""
    from devfix.replay import device_checks, probe
    from devfix.replay.probe.main import PACKAGE, load_package

    load_package(Path(probe.__file__).parent)
    simulated = importlib.import_module(f"{PACKAGE}.simulated")
    state = importlib.import_module(f"{PACKAGE}.simulated.state")
    table = device_checks.table_file(Path(torch.__file__).parent, torch.__version__)
    groups = str(battery.GROUPS)
    simulation = state.Simulation(devices=devices, inside=lambda file: file.startswith(groups))
    simulated.install(simulation, json.loads(table.read_text(encoding="utf-8")))


def _devices(on: str) -> int:
    return DEVICES if on == "simulated" else torch.cuda.device_count()


def report(probes: Sequence[Probe], answers: Mapping[str, Answer]) -> int:
    """Print the agreement by group and each disagreement; the exit status."""
    wrong = [probe for probe in probes if not battery.agrees(probe, answers[probe.title])]
    for probe in wrong:
        print(f"{probe.title}\n  expected {probe.expected}\n  answered {answers[probe.title]}")
        print(f"  source   {probe.source}\n")
    print("| group | probes | agree |\n| --- | ---: | ---: |")
    for group in dict.fromkeys(probe.group for probe in probes):
        members = [probe for probe in probes if probe.group == group]
        print(f"| {group} | {len(members)} | {len(members) - sum(probe in wrong for probe in members)} |")
    print(f"| all | {len(probes)} | {len(probes) - len(wrong)} |")
    return 1 if wrong else 0


def compare_with_record(record: Mapping[str, object], answers: Mapping[str, Answer]) -> int:
    """Print where this run and the recorded one differ; the exit status."""
    print(f"recorded with torch {record['torch']} on {record['gpus']}; here torch {torch.__version__}\n")
    recorded = {title: Answer(**answer) for title, answer in dict(record["probes"]).items()}  # type: ignore[call-overload]
    differing = [title for title in answers if title in recorded and answers[title] != recorded[title]]
    for title in differing:
        print(f"{title}\n  recorded {recorded[title]}\n  here     {answers[title]}\n")
    common = sum(title in recorded for title in answers)
    print(f"probes: {common - len(differing)} of {common} agree")
    programs = _compare_programs(dict(record["programs"]))  # type: ignore[call-overload]
    return 1 if differing or programs else 0


def _compare_programs(recorded: Mapping[str, Mapping[str, object]]) -> int:
    """How many programs of the corpus end otherwise in a replay on the simulation than they were recorded to."""
    differing = list(programs.differences(recorded))
    for path, end in differing:
        print(f"{path}\n  recorded {recorded[path]}\n  here     {end}\n")
    print(f"programs: {len(recorded) - len(differing)} of {len(recorded)} agree")
    return len(differing)


if __name__ == "__main__":
    sys.exit(main())
