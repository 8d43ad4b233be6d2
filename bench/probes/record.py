"""Records on a machine with a GPU what CUDA really says: `python bench/probes/record.py OUT.json`.

It takes the torch of the interpreter that runs it (no devfix is needed), and some minutes: every probe, and every
program of the corpus in a process of its own. `run.py --against OUT.json` then compares the simulation with it.
"""

from __future__ import annotations

import json
import platform
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import programs
import torch

HERE = Path(__file__).resolve().parent
AT_A_TIME = 4


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    if not torch.cuda.is_available():
        print("torch sees no GPU here: nothing recorded", file=sys.stderr)
        return 1
    record = {**_machine(), "probes": _probes(), "programs": _programs()}
    Path(sys.argv[1]).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"{len(record['probes'])} probes and {len(record['programs'])} programs recorded in {sys.argv[1]}")
    return 0


def _machine() -> dict[str, object]:
    return {
        "date": time.strftime("%Y-%m-%d"),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "driver": _driver(),
        "gpus": [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())],
        "python": platform.python_version(),
        "system": platform.platform(),
    }


def _driver() -> str | None:
    command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()[0]
    except (OSError, subprocess.CalledProcessError, IndexError):
        return None


def _probes() -> dict[str, object]:
    """In a process of its own, in which no device was used yet: some probes fork."""
    command = [sys.executable, str(HERE / "run.py"), "--on", "cuda", "--json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    answers: dict[str, object] = json.loads(done.stdout)
    return answers


def _programs() -> dict[str, dict[str, object]]:
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        paths = programs.paths()
        return dict(zip(map(programs.name, paths), pool.map(programs.end_on_hardware, paths)))


if __name__ == "__main__":
    sys.exit(main())
