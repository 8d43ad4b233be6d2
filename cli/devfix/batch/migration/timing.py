"""How long each phase of the work on a repository took."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass
class Timer:
    """Seconds by phase, in the order in which they began."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextlib.contextmanager
    def of(self, phase: str) -> Iterator[None]:
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[phase] = round(self.seconds.get(phase, 0.0) + time.monotonic() - started, 3)
