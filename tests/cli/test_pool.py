"""Processes that die or hang cost only the job that they were at."""

import faulthandler
import multiprocessing.util
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from devfix.analysis.pool import Lost, Pool, forks


def work(job: str) -> str:
    what, _, argument = job.partition(" ")
    if what == "kill":
        faulthandler.disable()  # it is meant to die: no trace in the output of the tests
        os.kill(os.getpid(), int(argument))
    if what == "exit":
        os._exit(int(argument))
    if what == "sleep":
        time.sleep(float(argument))
    if what == "compute":
        end = time.process_time() + float(argument)
        while time.process_time() < end:
            pass
    if what == "once":
        if not Path(argument).exists():
            Path(argument).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return "second try"
    return job * 2


def run(jobs: list[str], size: int = 2, seconds: float = 30, clock: float = 300) -> list[str | Lost]:
    answers = dict(Pool(work, size, seconds, clock).run(enumerate(jobs)))
    return [answers[number] for number in range(len(jobs))]


def test_no_jobs() -> None:
    assert run([]) == []


@pytest.mark.parametrize("size", [1, 2, 5])
def test_each_job_gets_its_answer(size: int) -> None:
    jobs = [f"{number} " for number in range(40)]
    assert run(jobs, size) == [job * 2 for job in jobs]


def pid(_: str) -> int:
    return os.getpid()


def test_what_is_asked_for_one_process_goes_to_it_alone() -> None:
    jobs, lanes = list(range(30)), dict[int, int]()

    def following(lane: int) -> tuple[int, str] | None:
        if not jobs:
            return None
        lanes[jobs[-1]] = lane
        return jobs.pop(), ""

    answers = dict(Pool(pid, 3, 30).run_lanes(following))
    processes = {(lane, answers[number]) for number, lane in lanes.items()}
    assert len(answers) == 30
    assert sorted(lane for lane, _ in processes) == [0, 1, 2]


def test_one_that_follows_a_dead_process_has_its_number() -> None:
    asked: list[int] = []
    jobs = ["b", "a", "kill 9"]

    def following(lane: int) -> tuple[int, str] | None:
        asked.append(lane)
        return (len(jobs), jobs.pop()) if jobs else None

    answers = dict(Pool(work, 1, 30).run_lanes(following))
    assert asked == [0, 0, 0, 0]
    assert (answers[1], answers[2]) == ("bb", "aa")
    assert isinstance(answers[3], Lost)


def test_an_interrupt_does_not_come_into_the_midst_of_making_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    make, begun, made = multiprocessing.util.Finalize.__init__, list[object](), list[object]()

    def interrupted(self: object, *arguments: object, **options: object) -> None:
        begun.append(self)
        os.kill(os.getpid(), signal.SIGINT)
        make(self, *arguments, **options)  # type: ignore[arg-type]
        made.append(self)

    monkeypatch.setattr(multiprocessing.util.Finalize, "__init__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(["a", "b"])
    assert begun
    assert begun == made
    assert multiprocessing.active_children() == []


def test_large_jobs_and_answers() -> None:
    jobs = [chr(97 + number) * 2_000_000 for number in range(6)]
    assert run(jobs) == [job * 2 for job in jobs]


@pytest.mark.parametrize("job", [f"kill {signal.SIGSEGV:d}", f"kill {signal.SIGKILL:d}", f"kill {signal.SIGABRT:d}"])
def test_a_worker_that_is_killed(job: str) -> None:
    reason = f"the analysis process died (signal {job.split()[1]})"
    assert run(["a", job, "b", "c", job, "d"]) == ["aa", Lost(reason), "bb", "cc", Lost(reason), "dd"]


def test_a_worker_that_leaves() -> None:
    assert run(["exit 3", "a"]) == [Lost("the analysis process died (exit code 3)"), "aa"]


def test_a_job_whose_worker_died_is_tried_again_alone(tmp_path: Path) -> None:
    assert run(["a", f"once {tmp_path / 'flag'}", "b"]) == ["aa", "second try", "bb"]


def test_a_worker_that_hangs_is_ended() -> None:
    started = time.monotonic()
    assert run(["a", "sleep 600", "b"], clock=3) == ["aa", Lost("not done within 3 s"), "bb"]
    assert time.monotonic() - started < 300


def test_a_worker_that_computes_for_too_long_is_ended() -> None:
    lost = Lost("not done within 1 s of processor time")
    assert run(["a", "compute 600", "b"], seconds=1) == ["aa", lost, "bb"]


@pytest.mark.slow
def test_only_processor_time_counts_and_each_job_has_its_own() -> None:
    jobs = ["sleep 1.5", "compute 0.6", "compute 0.6", "compute 0.6"]
    assert run(jobs, size=1, seconds=1) == [job * 2 for job in jobs]


def test_a_consumer_that_stops_ends_the_workers() -> None:
    answers = Pool(work, 2, 30).run(enumerate(["a", "sleep 60", "sleep 60"]))
    assert next(answers) == (0, "aa")
    answers.close()  # type: ignore[attr-defined]
    assert multiprocessing.active_children() == []


def test_fork_is_used_only_while_no_other_thread_runs() -> None:
    before = forks()
    ended = threading.Event()
    thread = threading.Thread(target=ended.wait)
    thread.start()
    try:
        assert not forks()
        answers = Pool(eval, 1, 30).run(enumerate(["1 + 1", "__import__('os').abort()", "[2]"]))
        assert dict(answers) == {0: 2, 1: Lost("the analysis process died (signal 6)"), 2: [2]}
    finally:
        ended.set()
        thread.join()
    assert forks() == before
