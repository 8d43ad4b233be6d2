"""One open text through the analysis, as `devfix check FILE` would do it: in a process of its own, one at a time."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from devfix.analysis.cache import cache_for
from devfix.analysis.jobs import Job, Task
from devfix.analysis.one_file import analyse, with_chosen
from devfix.analysis.pool import Lost, Pool
from devfix.analysis.runner import SECONDS_PER_FILE, jobs_of
from devfix.errors import UsageError
from devfix.operations import baselines
from devfix.project.discovery import File, choice_of, discover, leaves_out
from devfix.project.settings import Overrides, SettingsTree
from devfix.reporting.tally import remaining
from devfix.results import Checked, Failed, Problem, Result, Target
from devfix.rules.selection import options_of
from devfix.server.texts import OpenText

_RUN_SECONDS = 10.0
"""How long what was read of other files is believed, where nothing said that one of them changed."""

_SETTINGS = Overrides(force_exclude=True)

T = TypeVar("T")


@dataclass(frozen=True)
class Found:
    """What is known of one version of a document.

    `rests_on` are the other files that had a say. `trouble` is what the user has to mend first; `reason` is why the
    text could not be analysed, which is common while somebody types.
    """

    text: OpenText
    problems: tuple[Problem, ...] = ()
    job: Job | None = None
    rests_on: frozenset[str] = frozenset()
    trouble: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class _Request:
    """A file to check, or, with the findings that are `chosen`, to be fixed."""

    job: Job
    chosen: tuple[Problem, ...] | None = None


class Analyst:
    """Answers from a thread, so that the server goes on talking, and from a process, so that no file can end it."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "analysis")
        self._pool: Pool[_Request, Result] = Pool(_answer, 1, SECONDS_PER_FILE)
        self._cache = cache_for(str(Path.cwd()))
        self._run: tuple[object, float, int] = (None, 0.0, 0)

    async def check(self, text: OpenText, others: Sequence[OpenText], epoch: int) -> Found:
        """What is wrong in `text`, beside `others` that are open too. `epoch` is another when files changed."""
        return await self._in_thread(lambda: self._check(text, others, epoch))

    async def fixed(self, job: Job, chosen: Sequence[Problem]) -> Result | Lost:
        """The file of `job` with the fixes of some of its findings."""
        request = _Request(replace(job, task=Task.REWRITE), tuple(chosen))
        return await self._in_thread(lambda: self._pool.ask(request))

    def close(self) -> None:
        self._pool.kill()
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _check(self, text: OpenText, others: Sequence[OpenText], epoch: int) -> Found:
        if text.data is None:
            return Found(text)
        try:
            file = _file(text, text.data)
            return Found(text) if file is None else self._analysed(text, file, others, epoch)
        except UsageError as error:
            return Found(text, trouble=" ".join((str(error), *error.details)))
        except Exception as error:  # what was found before must not stay as if it held
            return Found(text, trouble=f"a defect of devfix, please report it: {type(error).__name__}: {error}")

    def _analysed(self, text: OpenText, file: File, others: Sequence[OpenText], epoch: int) -> Found:
        job = replace(jobs_of([file], self._cache)(file, file.target.read()), task=Task.CHECK)
        if job.place is not None:
            unsaved = tuple((one.path, one.data) for one in others if one.path and one.data is not None)
            run = self._run_number((text.uri, epoch, unsaved))
            job = replace(job, place=replace(job.place, run=run, unsaved=unsaved))
        answer = self._pool.ask(_Request(job))
        if isinstance(answer, Checked):
            known = _without_known(file, answer)
            return Found(text, known.problems, job, frozenset(answer.rests_on or ()))
        return Found(text, reason=answer.reason if isinstance(answer, (Failed, Lost)) else None)

    def _run_number(self, key: object) -> int:
        """The number under which the process keeps what it read of other files, for as long as they are the same."""
        known, since, number = self._run
        if known != key or time.monotonic() - since > _RUN_SECONDS:
            self._run = (key, time.monotonic(), number + 1)
        return self._run[2]


def _answer(request: _Request) -> Result:
    return analyse(request.job) if request.chosen is None else with_chosen(request.job, request.chosen)


def _file(text: OpenText, data: bytes) -> File | None:
    """The document as a file to handle, or None where the settings leave it out.

    Raises:
        UsageError: a settings file holds a mistake.
    """
    target = Target(text.path or "", text.label, content=data)
    if text.path is None or not Path(text.path).exists():
        if text.path is not None and leaves_out(text.path, _SETTINGS):
            return None
        return File(target, choice_of(text.label, _SETTINGS), 0, len(data))
    files = discover([text.path], _SETTINGS).files
    return replace(files[0], target=target) if files else None


def _without_known(file: File, checked: Checked) -> Checked:
    """`checked` without what the project's baseline has.

    Raises:
        UsageError: the baseline cannot be read.
    """
    baseline = SettingsTree(_SETTINGS).of(str(Path(file.target.label).absolute().parent)).baseline
    if baseline is None:
        return checked
    sifted = baselines.sift(baseline, [checked], (options_of(file.choice),))
    return replace(checked, problems=tuple(one for result in sifted.results for one in remaining(result)))
