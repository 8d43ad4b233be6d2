"""Ends a training script after a number of optimizer steps.

The script ends where one of its optimizers is about to make step N + 1, so that all of its first N turns have run: what
comes after the step too, such as the update of an average, and each of several optimizers as often as the others.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from types import ModuleType
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from .journal import Journal


class Stopped(BaseException):
    """Ends the script. It is no `Exception`, so that handlers of errors let it pass, and `finally` blocks run."""


class StepLimit:
    """Counts the steps of each optimizer. `was_reached` says that the script was told to end.

    A worker, which the script started, is ended and not unwound, so that its parent sees it succeed.
    """

    def __init__(self, steps: int | None, journal: Journal, is_worker: bool = False) -> None:
        self.was_reached = False
        self._owner = None if is_worker else os.getpid()
        self._steps = steps
        self._journal = journal
        self._made: WeakKeyDictionary[Any, int] = WeakKeyDictionary()

    def install(self, _torch: ModuleType) -> None:
        """An action for `AfterImport` on torch."""
        if self._steps is not None:
            optimizers = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_pre_hook(self._step_begins)

    def _step_begins(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        made = self._made.get(optimizer, 0)
        if self._steps is not None and made >= self._steps:
            self._stop(self._steps)
        self._made[optimizer] = made + 1

    def _stop(self, steps: int) -> NoReturn:
        """Unwind the script. End it at once where it caught that before, or where only a thread would unwind."""
        is_main = os.getpid() == self._owner and threading.current_thread() is threading.main_thread()
        if self.was_reached or not is_main:
            self._journal.write("stopped", steps=steps)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(0)
        self.was_reached = True
        self._journal.write("stopped", steps=steps)
        raise Stopped(f"stopped after {steps} steps")
