"""What the simulated accelerator costs: seconds a training step, against the same step on the plain CPU.

Two processes for each model, one of them simulated, take steps in turns, so that both see the same machine. One thread
each. CPU time is the truer measure on a machine that has other work. Start-up is that of `import torch` with the
simulation installed, over without.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

PROBE = Path(__file__).resolve().parents[1] / "cli" / "devfix" / "replay" / "probe"
BARS = {"mlp": 2.0, "cnn": 1.3, "small cnn": None, "transformer": 1.3, "tiny mlp": None}
TITLES = {
    "mlp": "MLP 784-512-512-10, batch 128, Adam",
    "cnn": "CNN, convolutions 3-32-64-128 on 32 × 32, batch 64, Adam",
    "small cnn": "small CNN, strided convolutions 1-16-32-32 on 28 × 28, batch 64, Adam",
    "transformer": "transformer, 4 layers, width 256, 8 × 128, Adam",
    "tiny mlp": "tiny MLP 20-32-2, batch 16, SGD",
}
START_UP_BAR = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--worker", nargs=2, metavar=("MODEL", "CHECKS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(*options.worker)
        return 0
    print("| | plain, ms a step | simulated | times | by CPU time | bar | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    for model, bar in BARS.items():
        print(_row(model, bar, options.rounds), flush=True)
    print(_start_up(options.rounds))
    return 0


def _row(model: str, bar: float | None, rounds: int) -> str:
    workers = {where: _Worker(model, where) for where in ("plain", "simulated")}
    spent: dict[str, list[tuple[float, float]]] = {where: [] for where in workers}
    for turn in range(rounds):
        for where in sorted(workers, reverse=bool(turn % 2)):
            spent[where].append(workers[where].steps())
    for worker in workers.values():
        worker.end()
    (plain, simulated), (plain_cpu, simulated_cpu) = (
        [statistics.median(each[clock] for each in spent[where]) for where in ("plain", "simulated")]
        for clock in (0, 1)
    )
    met = "" if bar is None else "met" if simulated / plain <= bar else "**missed**"
    return (
        f"| {TITLES[model]} | {plain * 1e3:.2f} | {simulated * 1e3:.2f} | {simulated / plain:.2f} | "
        f"{simulated_cpu / plain_cpu:.2f} | {'' if bar is None else f'≤ {bar:g}'} | {met} |"
    )


def _start_up(rounds: int) -> str:
    """Of a whole process. What others of the children used before is subtracted from their CPU time."""
    spent: dict[str, list[tuple[float, float]]] = {"plain": [], "simulated": []}
    for _ in range(max(5, rounds // 3)):
        for where, each in spent.items():
            start, cpu = time.perf_counter(), _cpu_of_children()
            subprocess.run(_command("nothing", where), env=_environment(), stdin=subprocess.DEVNULL, check=True)
            each.append((time.perf_counter() - start, _cpu_of_children() - cpu))
    (plain, simulated), (plain_cpu, simulated_cpu) = (
        [statistics.median(each[clock] for each in spent[where]) for where in ("plain", "simulated")]
        for clock in (0, 1)
    )
    met = "met" if simulated - plain <= START_UP_BAR else "**missed**"
    return (
        f"| start-up, s | {plain:.2f} | {simulated:.2f} | + {simulated - plain:.2f} | "
        f"+ {simulated_cpu - plain_cpu:.2f} | ≤ + {START_UP_BAR:g} | {met} |"
    )


def _cpu_of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


class _Worker:
    """A process that takes some steps whenever it is told to."""

    def __init__(self, model: str, where: str) -> None:
        self._process = subprocess.Popen(
            _command(model, where), env=_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.steps()

    def steps(self) -> tuple[float, float]:
        """Seconds and CPU seconds a step."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()
        seconds, cpu = self._process.stdout.readline().split()
        return float(seconds), float(cpu)

    def end(self) -> None:
        self._process.communicate()


def _command(model: str, where: str) -> list[str]:
    checks = str(_checks()) if where == "simulated" else ""
    return [sys.executable, str(Path(__file__).resolve()), "--worker", model, checks]


@functools.cache
def _checks() -> Path:
    """The file with the device checks of this torch, which a replay makes once for a release."""
    from devfix.replay.device_checks import table_file

    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    return table_file(Path(spec.origin).parent, version("torch"))


def _environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def work(model: str, checks: str) -> None:
    """Warm up; then, for each line of standard input, print the time a step of as many as take about 100 ms.

    `checks` is the file with the device checks to simulate with, empty for the plain CPU.
    """
    import torch

    torch.set_num_threads(1)
    if checks:
        _simulate(Path(checks))
    if model == "nothing":
        return
    step = _steps("cuda" if checks else "cpu", torch)[model]()
    for _ in range(3):
        step()
    count = max(1, round(0.1 / _timed(step, 3)[1]))
    for _ in sys.stdin:
        print(*_timed(step, count), flush=True)


def _timed(step: Callable[[], object], count: int) -> tuple[float, float]:
    """Seconds and CPU seconds a step, of `count` steps."""
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        step()
    return (time.perf_counter() - start) / count, (time.process_time() - cpu) / count


def _simulate(checks: Path) -> None:
    """Simulate in this process as a replay does: the probe alone, without devfix."""
    sys.path.insert(0, str(PROBE))
    importlib.import_module("main").load_package(PROBE)
    simulated = importlib.import_module("_devfix_probe.simulated")
    state = importlib.import_module("_devfix_probe.simulated.state")
    simulation = state.Simulation(inside=lambda file: file == __file__)
    simulated.install(simulation, json.loads(checks.read_text(encoding="utf-8")))


def _steps(place: str, torch: object) -> dict[str, Callable[[], Callable[[], None]]]:
    """By model, what makes a training step on `place`."""
    from torch import nn, optim
    from torch.nn import functional

    def training(
        model: nn.Module, optimizer: type, inputs: object, targets: object, rate: float = 1e-3
    ) -> Callable[[], None]:
        model.to(place)
        chosen = optimizer(model.parameters(), lr=rate)
        x, y = inputs.to(place), targets.to(place)  # type: ignore[attr-defined]

        def step() -> None:
            chosen.zero_grad()
            output = model(x)
            functional.cross_entropy(output.reshape(-1, output.shape[-1]), y.reshape(-1)).backward()
            chosen.step()

        return step

    def mlp() -> Callable[[], None]:
        model = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
        return training(model, optim.Adam, torch.randn(128, 784), torch.randint(10, (128,)))  # type: ignore[attr-defined]

    def cnn() -> Callable[[], None]:
        blocks = [
            nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
            for inputs, outputs in ((3, 32), (32, 64), (64, 128))
        ]
        model = nn.Sequential(*blocks, nn.Flatten(), nn.Linear(128 * 4 * 4, 10))
        return training(model, optim.Adam, torch.randn(64, 3, 32, 32), torch.randint(10, (64,)))  # type: ignore[attr-defined]

    def small_cnn() -> Callable[[], None]:
        layers = [
            nn.Conv2d(1, 16, 3),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, 2),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, 2),
            nn.ReLU(),
        ]
        model = nn.Sequential(*layers, nn.Flatten(), nn.Linear(32 * 5 * 5, 10))
        return training(model, optim.Adam, torch.randn(64, 1, 28, 28), torch.randint(10, (64,)))  # type: ignore[attr-defined]

    def transformer() -> Callable[[], None]:
        layer = nn.TransformerEncoderLayer(256, 8, 1024, batch_first=True)
        model = nn.Sequential(nn.Embedding(1000, 256), nn.TransformerEncoder(layer, 4), nn.Linear(256, 1000))
        tokens = torch.randint(1000, (8, 128))  # type: ignore[attr-defined]
        return training(model, optim.Adam, tokens, tokens)

    def tiny() -> Callable[[], None]:
        model = nn.Sequential(nn.Linear(20, 32), nn.ReLU(), nn.Linear(32, 2))
        return training(model, optim.SGD, torch.randn(16, 20), torch.randint(2, (16,)), 0.1)  # type: ignore[attr-defined]

    return {"mlp": mlp, "cnn": cnn, "small cnn": small_cnn, "transformer": transformer, "tiny mlp": tiny}


if __name__ == "__main__":
    sys.exit(main())
