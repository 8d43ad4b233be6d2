"""One worker process: whatever becomes of it is told, and nothing of it is left."""

import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from devfix.batch.engines.supervising import Program, supervise
from devfix.batch.records import Job, Outcome, State

from .conftest import JobMaker, are_gone, lives, noted


def start(program: Program, job: Job) -> subprocess.Popen[bytes]:
    """A worker that has its job, and whose standard input is still open."""
    process = subprocess.Popen(
        program.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(job) + b"\n")
    process.stdin.flush()
    return process


def close(process: subprocess.Popen[bytes]) -> None:
    process.wait(60)
    for stream in (process.stdin, process.stdout, process.stderr):
        assert stream is not None
        stream.close()


def test_the_end_of_its_input_is_its_end(program: Program, job: JobMaker, folder: Path) -> None:
    worker = start(program, job("family"))
    pids = noted(folder)
    assert all(map(lives, pids))
    assert worker.stdin is not None
    worker.stdin.close()
    assert are_gone([worker.pid, *pids])
    close(worker)


def test_it_may_tidy_up_when_it_is_asked_to_end(program: Program, job: JobMaker, folder: Path) -> None:
    worker = start(replace(program, grace=60.0), job("tidy"))  # a busy machine takes its time
    noted(folder)
    worker.terminate()
    close(worker)
    assert (folder / "repository.tidied").exists()


def test_one_that_does_not_listen_is_killed(program: Program, job: JobMaker, folder: Path) -> None:
    worker = start(program, job("deaf"))
    pids = noted(folder)
    worker.terminate()
    assert are_gone([worker.pid, *pids])
    assert worker.wait(60) == -signal.SIGKILL
    close(worker)


@pytest.mark.parametrize("does", ["deaf", "family"])
def test_one_that_is_killed_leaves_nothing(does: str, program: Program, job: JobMaker, folder: Path) -> None:
    worker = start(program, job(does))
    pids = noted(folder)
    worker.kill()
    assert are_gone(pids)
    close(worker)


@pytest.mark.parametrize("does", ["daemon", "crashes_with_daemon"])
def test_not_even_a_daemon_outlives_it(does: str, program: Program, job: JobMaker, folder: Path) -> None:
    answer = supervise(job(does), program)
    assert isinstance(answer, Outcome) is (does == "daemon")
    [daemon] = noted(folder)
    assert are_gone([daemon])


def test_without_a_job_nothing_happens(program: Program) -> None:
    done = subprocess.run(program.command, input=b'{"plan": ', capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (2, b"")


def test_its_output_is_the_outcome_alone(program: Program, job: JobMaker) -> None:
    done = subprocess.Popen(program.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert done.stdin is not None
    assert done.stdout is not None
    assert done.stderr is not None
    done.stdin.write(msgspec.json.encode(job("chatters")) + b"\n")
    done.stdin.flush()
    assert msgspec.json.decode(done.stdout.read(), type=Outcome) == Outcome("repository", State.CLEAN)
    assert sorted(done.stderr.read().split()) == sorted([b"{}", b"[1,", b"2]{}"])
    close(done)


def test_nothing_is_imported_from_the_folder_that_the_user_is_in(
    program: Program, job: JobMaker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("msgspec", "devfix", "typing"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('from the folder of the user')")
    monkeypatch.chdir(tmp_path)
    assert isinstance(supervise(job("fine"), program), Outcome)


def test_threads_are_as_many_as_its_cores_unless_the_user_chose(
    program: Program, job: JobMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MKL_NUM_THREADS", "7")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    told = msgspec.structs.replace(job("tells"), cores=3, environment=(("CUDA_VISIBLE_DEVICES", "5"),))
    answer = supervise(told, program)
    assert isinstance(answer, Outcome)
    assert {"OMP_NUM_THREADS=3", "MKL_NUM_THREADS=7", "CUDA_VISIBLE_DEVICES=5"} < set(answer.notes)


REASONS = {
    "crashes": "its process was ended by SIGSEGV",
    "killed": "its process was killed (SIGKILL), perhaps for want of memory",
    "leaves": "its process ended with exit code 7; its last words: first | \ufffd[31mred\ufffd[0m | last",
    "ends_in_real_time": "its process was ended by SIGRTMIN+6",
    "babbles": "its process gave an answer that cannot be read",
}


@pytest.mark.parametrize("does", REASONS)
def test_how_it_died_is_told(does: str, program: Program, job: JobMaker) -> None:
    assert supervise(job(does), program) == REASONS[does]


def test_what_it_raised_is_told(program: Program, job: JobMaker) -> None:
    answer = supervise(job("raises"), program)
    assert isinstance(answer, str)
    assert answer.startswith("its process ended with exit code 1; its last words: ")
    assert answer.endswith("ValueError: a mistake of ours")


def test_a_program_that_cannot_be_started_is_told(
    program: Program, job: JobMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    assert supervise(job("fine"), program) == "its process could not be started: No such file or directory"


@pytest.mark.parametrize("does", ["deaf", *(pytest.param(one, marks=pytest.mark.slow) for one in ("hangs", "family"))])
def test_a_repository_that_takes_too_long_has_failed(does: str, program: Program, job: JobMaker, folder: Path) -> None:
    answer = supervise(job(does, timeout=3.0), program)
    assert isinstance(answer, Outcome)
    assert answer.state is State.FAILED
    assert answer.error is not None
    assert (answer.error.kind, answer.error.message) == ("time limit", "took longer than 3 seconds")
    assert are_gone(noted(folder))


@pytest.mark.parametrize("does", ["floods", "chatters", "huge"])
def test_what_it_writes_does_not_stop_it(does: str, program: Program, job: JobMaker) -> None:
    answer = supervise(job(does), program)
    assert isinstance(answer, Outcome)
    assert len(answer.patch) == (100 << 20 if does == "huge" else 0)


def test_no_descriptor_is_left(program: Program, job: JobMaker) -> None:
    supervise(job("fine"), program)
    before = list(Path("/proc/self/fd").iterdir())
    supervise(job("crashes"), program)
    assert len(list(Path("/proc/self/fd").iterdir())) == len(before)
