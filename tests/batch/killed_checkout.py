"""A checkout with two commits, in a process that kills itself: RUN SOURCE NUMBER SECONDS.

That many seconds after the command with that number has started; 0 is never. It prints the last commit and how many
commands there were.
"""

import os
import signal
import subprocess
import sys
import threading
from typing import Any

from devfix.batch.git.clones import checkout
from devfix.batch.git.process import Git
from devfix.batch.records import Plan, Repository

run, source, number, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
plan = Plan(folder=run, branch="devfix/2026-11-20-all", date="2026-11-20T10:00:00+01:00")
calls = 0


class Counted(subprocess.Popen[bytes]):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        global calls
        calls += 1
        super().__init__(*arguments, **options)
        if calls == number:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()


subprocess.Popen = Counted  # type: ignore[misc]
with checkout(plan, Repository("project", source), Git()) as there:
    there.commit_files({"train.py": b"fixed\n"}, "devfix: one")
    made = there.commit_files({"README.md": b"fixed\n"}, "devfix: two")
print(made.sha, calls)
