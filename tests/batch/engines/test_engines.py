"""The engines of one machine: every repository is accounted for, and nothing goes on after the end."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest
from devfix.batch.engines import Engine, Finished, Lost
from devfix.batch.engines.inline import Inline
from devfix.batch.engines.local import Local
from devfix.batch.engines.slots import Slot
from devfix.batch.engines.supervising import Program
from devfix.batch.records import Job, Outcome, State
from msgspec.structs import replace

from .conftest import JobMaker, are_gone, drive, lives, noted

EngineMaker = Callable[..., Engine]

DRIVER = """
import sys
import msgspec
from devfix.batch.engines.local import Local
from devfix.batch.engines.supervising import Program
from devfix.batch.records import Job

jobs = msgspec.json.decode(sys.argv[1], type=list[Job])
engine = Local(workers=2, program=Program("stand_in:work", grace=float(sys.argv[2])))
try:
    for ended in engine.run(lambda: jobs.pop() if jobs else None, lambda job, worker: None):
        print(ended)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(params=["inline", "local"])
def engine(request: pytest.FixtureRequest, program: Program, monkeypatch: pytest.MonkeyPatch) -> Iterator[EngineMaker]:
    """Either engine, with its slots."""
    monkeypatch.syspath_prepend(os.environ["PYTHONPATH"].split(os.pathsep)[0])

    def make(*slots: Slot) -> Engine:
        return Inline(slots, program) if request.param == "inline" else Local(2, slots, program)

    yield make
    sys.modules.pop("stand_in", None)


def driver(program: Program, jobs: list[Job]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", DRIVER, msgspec.json.encode(jobs).decode(), str(program.grace)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_workers_and_all_that_they_started_die_with_the_driver(
    number: signal.Signals, program: Program, job: JobMaker, folder: Path
) -> None:
    process = driver(program, [job("family", "a"), job("deaf", "b")])
    pids = noted(folder, 2)
    assert len(pids) == 4
    assert all(map(lives, pids))
    process.send_signal(number)
    process.communicate(timeout=120)
    assert are_gone(pids)


def test_ctrl_c_ends_all_work(program: Program, job: JobMaker, folder: Path) -> None:
    patient = Program(program.function, grace=60.0)  # a busy machine takes its time
    process = driver(patient, [job("family", "a"), job("tidy", "b")])
    pids = noted(folder, 2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (out, err) == ("interrupted\n", "")
    assert are_gone(pids)
    assert (folder / "b.tidied").exists()


def test_closing_ends_all_work(program: Program, job: JobMaker, folder: Path) -> None:
    jobs = [job("family", "b"), job("fine", "a")]
    with closing(Local(2, program=program).run(lambda: jobs.pop() if jobs else None, lambda job, worker: None)) as ends:
        next(ends)
        pids = noted(folder)
    assert are_gone(pids)
    assert threading.active_count() == 1


def test_an_exception_of_the_driver_ends_all_work(program: Program, job: JobMaker, folder: Path) -> None:
    jobs = [job("fine", "b"), job("family", "a")]

    def source() -> Job | None:
        if not jobs:
            noted(folder)
            raise LookupError
        return jobs.pop()

    with pytest.raises(LookupError):
        list(Local(2, program=program).run(source, lambda job, worker: None))
    assert are_gone(noted(folder))


def test_a_worker_that_dies_costs_its_own_repository_alone(program: Program, job: JobMaker) -> None:
    does = ["fine", "crashes", "fine", "leaves", "killed", "babbles", "raises", "fine"]
    ends, begun = drive(Local(2, program=program), [job(what, f"r{number}") for number, what in enumerate(does)])
    assert len(begun) == len(ends) == len(does)
    lost = {end.job.repository.source: end for end in ends if isinstance(end, Lost)}
    assert set(lost) == {"crashes", "leaves", "killed", "babbles", "raises"}
    assert {job.repository.source: worker for job, worker in begun}["crashes"] == lost["crashes"].worker


def test_a_time_limit_is_a_failure_and_no_loss(engine: EngineMaker, job: JobMaker) -> None:
    ends, _ = drive(engine(), [job("hangs", "a", timeout=1.0), job("fine", "b")])
    outcomes = {end.job.repository.name: end.outcome for end in ends if isinstance(end, Finished)}
    assert outcomes["b"].state is State.CLEAN
    assert outcomes["a"].state is State.FAILED
    assert outcomes["a"].error is not None
    assert outcomes["a"].error.kind == "time limit"


@pytest.mark.slow
def test_each_of_many_is_answered_once(program: Program, job: JobMaker) -> None:
    jobs = [job("fine", f"r{number}") for number in range(60)]
    taken = []
    inflight = 0
    waiting = iter(jobs)

    def source() -> Job | None:
        nonlocal inflight
        found = next(waiting, None)
        inflight += found is not None
        assert inflight <= 2, "a job was taken without room for it"
        return found

    for end in Local(2, program=program).run(source, lambda job, worker: None):
        assert isinstance(end, Finished)
        assert end.outcome.name == end.job.repository.name
        taken.append(end.job)
        inflight -= 1
    assert sorted(taken, key=jobs.index) == jobs


def test_a_lost_job_may_be_given_again(engine: EngineMaker, job: JobMaker) -> None:
    ends, begun = drive(engine(), [job("raises", "a")], attempts=2)
    assert [end.job.attempt for end in ends if isinstance(end, Lost)] == [1, 2]
    assert [job.attempt for job, _ in begun] == [1, 2]
    assert all(isinstance(end, Lost) and end.reason.endswith("ValueError: a mistake of ours") for end in ends)


def test_the_job_that_comes_back_is_the_one_that_was_given(engine: EngineMaker, job: JobMaker) -> None:
    given = job("tells", execute=True)
    [end], [(begun, worker)] = drive(engine(Slot("cuda", "3")), [given])
    assert end.job is given
    assert begun is given
    assert isinstance(end, Finished)
    assert end.outcome.worker == worker
    assert "CUDA_VISIBLE_DEVICES=3" in end.outcome.notes


def test_both_engines_tell_the_same(program: Program, job: JobMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(os.environ["PYTHONPATH"].split(os.pathsep)[0])
    jobs = [job("fine", "a"), job("huge", "b"), job("hangs", "c", timeout=1.0)]
    answers = []
    for engine in (Inline(program=program), Local(1, program=program)):
        ends, _ = drive(engine, jobs)
        outcomes = [end.outcome for end in ends if isinstance(end, Finished)]
        answers.append([replace(outcome, worker="", patch=b"", branch=_digest(outcome)) for outcome in outcomes])
    assert answers[0] == answers[1]
    assert len(answers[0]) == 3


def _digest(outcome: Outcome) -> str:
    """Of its patch, which is too long to be compared in a message."""
    return sha256(outcome.patch).hexdigest()


def test_the_environment_of_the_driver_stays(engine: EngineMaker, job: JobMaker) -> None:
    before = dict(os.environ)
    drive(engine(Slot("cuda", "3")), [job("tells", execute=True)])
    assert dict(os.environ) == before


def test_workers_work_side_by_side(program: Program, job: JobMaker) -> None:
    ends, begun = drive(Local(2, program=program), [job("meets", "a"), job("meets", "b")])
    assert len(ends) == 2
    assert len({worker for _, worker in begun}) == 2


def test_who_executes_code_has_a_slot_to_itself(program: Program, job: JobMaker, folder: Path) -> None:
    jobs = [job("tells", f"r{number}", execute=True) for number in range(6)]
    running: set[str] = set()
    most = 0
    waiting = iter(jobs)
    engine = Local(3, [Slot("cuda", "0"), Slot("cuda", "1")], program)
    shown = []

    def started(job: Job, worker: str) -> None:
        nonlocal most
        running.add(worker)
        most = max(most, len(running))

    for end in engine.run(lambda: next(waiting, None), started):
        assert isinstance(end, Finished)
        running.remove(end.outcome.worker)
        shown.append(next(note for note in end.outcome.notes if note.startswith("CUDA_VISIBLE_DEVICES=")))
    assert most == 2
    assert len(shown) == 6
    assert set(shown) == {"CUDA_VISIBLE_DEVICES=0", "CUDA_VISIBLE_DEVICES=1"}


def test_who_executes_nothing_waits_for_no_slot(program: Program, job: JobMaker) -> None:
    ends, _ = drive(Local(2, [Slot("cuda", "0")], program), [job("meets", "a"), job("meets", "b")])
    assert len(ends) == 2


def test_the_cores_are_shared(program: Program, job: JobMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("devfix.batch.engines.local.processors", lambda: 12)
    assert Local().workers == 6
    [end], _ = drive(Local(4, program=program), [job("tells")])
    assert isinstance(end, Finished)
    assert end.outcome.notes[0] == "3"
