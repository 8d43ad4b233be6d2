"""The ledger: what it refuses, what a killed run leaves in it, and what it tells."""

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import devfix.batch
import msgspec
import pytest
from devfix.batch.choices import Commits, Existing, Publish
from devfix.batch.ledger import ErrorGroup, Ledger, Row, View
from devfix.batch.records import Error, Fix, Outcome, Plan, Replay, Repository, Rules, State, Verdict
from devfix.errors import UsageError

PLAN = Plan("/run", "devfix/2030-01-02-all", "2030-01-02T03:04:05+00:00")


def repositories(count: int, first: int = 0) -> list[Repository]:
    return [Repository(f"r{number}", f"https://host/r{number}") for number in range(first, first + count)]


def begun(folder: Path, wanted: list[Repository]) -> Ledger:
    ledger = Ledger.open(folder)
    ledger.begin(PLAN)
    ledger.enter(wanted)
    return ledger


def fix(dropped: str | None = None) -> Fix:
    return Fix("a.py", 1, 1, "DVF101", "batch-not-moved", "m", "safe", "t", dropped=dropped)


def finish_all(ledger: Ledger, state: State = State.CLEAN) -> list[str]:
    done = []
    for waiting in ledger.queued():
        name = waiting.repository.name
        ledger.start(name, waiting.attempt)
        ledger.finish(Outcome(name, state, error=Error("kind", "why") if state is State.FAILED else None))
        done.append(name)
    return done


def states(view: View) -> dict[str, str]:
    return {row.name: row.state.value for row in view.rows()}


def refusal(do: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        do()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_folder_that_is_for_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    assert refusal(lambda: Ledger.open(tmp_path)) == (
        f"{tmp_path} is not the folder of a batch run, and not empty; use another"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]
    assert refusal(lambda: Ledger.open(tmp_path / "thesis.txt")).endswith("cannot hold a batch run: File exists")
    assert refusal(lambda: Ledger.read_only(tmp_path)) == f"no batch run in {tmp_path}: it holds no ledger.sqlite"
    assert refusal(lambda: Ledger.read_only(tmp_path / "none")).startswith("no batch run in ")


@pytest.mark.parametrize("do", [Ledger.open, Ledger.read_only])
def test_another_file_in_place_of_the_ledger_is_left_alone(tmp_path: Path, do: Callable[[Path], object]) -> None:
    file = tmp_path / "ledger.sqlite"
    file.write_bytes(b"what a nice file this is " * 100)
    said = f"{file} is damaged or no ledger (file is not a database); use another folder"
    assert refusal(lambda: do(tmp_path)) == said
    assert file.read_bytes() == b"what a nice file this is " * 100
    file.unlink()
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE theirs (it)")
    connection.close()
    before = file.read_bytes()
    assert refusal(lambda: do(tmp_path)) == f"{file} is no ledger of devfix; use another folder"
    assert file.read_bytes() == before
    file.unlink()
    file.mkdir()
    assert refusal(lambda: do(tmp_path))


def test_links_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    for name in ("lock", "ledger.sqlite"):
        link = tmp_path / "run" / name
        link.symlink_to(tmp_path / "elsewhere")
        assert refusal(lambda: Ledger.open(tmp_path / "run"))
        assert not (tmp_path / "elsewhere").exists()
        link.unlink()


@pytest.mark.parametrize("do", [Ledger.open, Ledger.read_only])
def test_a_newer_devfix_is_not_guessed_at(tmp_path: Path, do: Callable[[Path], object]) -> None:
    begun(tmp_path, repositories(1)).close()
    connection = sqlite3.connect(tmp_path / "ledger.sqlite")
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    said = f"{tmp_path / 'ledger.sqlite'} was written by a newer devfix; use that, or another folder"
    assert refusal(lambda: do(tmp_path)) == said


def test_damage_is_one_line(tmp_path: Path) -> None:
    begun(tmp_path, repositories(500)).close()
    file = tmp_path / "ledger.sqlite"
    data = bytearray(file.read_bytes())
    data[4096 * 3 :] = b"\xff" * (len(data) - 4096 * 3)
    file.write_bytes(data)
    with Ledger.read_only(tmp_path) as view:
        assert refusal(lambda: list(view.rows())) == (
            f"{file} is damaged or no ledger (database disk image is malformed); use another folder"
        )


HOLD = """
import sys, time
from devfix.batch.ledger import Ledger
with Ledger.open(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_driver_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    begun(tmp_path, repositories(1)).close()
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        said = f"another devfix batch runs in {tmp_path} (process {other.pid})"
        assert refusal(lambda: Ledger.open(tmp_path)) == said
        with Ledger.read_only(tmp_path) as view:
            assert states(view) == {"r0": "queued"}
        other.send_signal(signal.SIGKILL)
    with Ledger.open(tmp_path) as ledger:
        assert refusal(lambda: Ledger.open(tmp_path)).endswith(f"(process {os.getpid()})")
        assert states(ledger) == {"r0": "queued"}


def test_a_lock_that_only_an_orphan_of_a_dead_driver_has_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun(tmp_path, repositories(1)).close()
    with subprocess.Popen([sys.executable, "-c", ""]) as driver:
        (tmp_path / "lock").write_text(str(driver.pid))
    orphan = os.open(tmp_path / "lock", os.O_RDWR)
    fcntl.flock(orphan, fcntl.LOCK_EX)
    monkeypatch.setattr("devfix.batch.ledger.locking.time.sleep", lambda _seconds: os.close(orphan))
    with Ledger.open(tmp_path) as ledger:
        assert states(ledger) == {"r0": "queued"}


@pytest.mark.parametrize(
    ("plan", "rules", "began"),
    [
        ({"publish": Publish.PR}, "all", "--publish patch"),
        ({"commits": Commits.ALL, "execute": True}, "all", "--commits rule and no --replay"),
        ({"tests": True}, "all", "no --replay-tests"),
        ({}, "dvf1", "the rules all"),
    ],
)
def test_results_are_never_mixed(tmp_path: Path, plan: dict[str, object], rules: str, began: str) -> None:
    with Ledger.open(tmp_path) as ledger:
        ledger.begin(PLAN, "all")
        other = msgspec.structs.replace(PLAN, **plan)
        assert refusal(lambda: ledger.begin(other, rules)) == (
            f"the run in {tmp_path} began with {began}; ask for the same, or use another folder"
        )
        assert ledger.run().plan == PLAN


def test_the_first_start_fixes_the_date_and_the_branch(tmp_path: Path) -> None:
    with Ledger.open(tmp_path) as ledger:
        assert refusal(ledger.run) == f"no batch run in {tmp_path}: nothing was started there"
        assert ledger.begin(PLAN, "all") == PLAN
        created = ledger.run().created
    later = msgspec.structs.replace(
        PLAN, folder="/moved", date="2030-02-02T00:00:00+00:00", branch="devfix/2030-02-02-all", trust_code=True
    )
    with Ledger.open(tmp_path) as ledger:
        kept = ledger.begin(later, "all")
        assert kept == msgspec.structs.replace(PLAN, folder="/moved", trust_code=True)
        run = ledger.run()
    assert (run.plan, run.rules, run.created) == (kept, "all", created)
    assert run.started >= created
    assert run.fingerprint
    assert run.version


def test_what_was_skipped_is_done_where_it_may_be_replaced_now(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(2)) as ledger:
        [first, second] = ledger.queued()
        ledger.start(first.repository.name, 1)
        ledger.finish(Outcome("r0", State.SKIPPED))
        ledger.start(second.repository.name, 1)
        ledger.finish(Outcome("r1", State.CLEAN))
        ledger.begin(PLAN)
        assert states(ledger) == {"r0": "skipped", "r1": "clean"}
        ledger.begin(msgspec.structs.replace(PLAN, existing=Existing.REPLACE))
        assert states(ledger) == {"r0": "queued", "r1": "clean"}


KILLED = """
import json, os, shutil, signal, sqlite3, sys
from devfix.batch.ledger import Ledger
from devfix.batch.records import Error, Outcome, Plan, Repository, Rules, State
from devfix.analysis.cache import fingerprint

PLAN = Plan("/run", "branch", "2030-01-02T03:04:05+00:00")
FIRST = [Repository(name, "https://host/" + name) for name in "abc"]
EDITED = [FIRST[0], Repository("d", "https://host/d"), Repository("b", "https://host/b", rules=Rules(("DVF1",)))]
statements = 0
connect = sqlite3.connect

def counted(*arguments, **options):
    connection = connect(*arguments, **options)
    connection.set_trace_callback(count)
    return connection

def count(statement):
    global statements
    statements += 1
    if statements == last:
        os.kill(os.getpid(), signal.SIGKILL)

def drive(folder, wanted, again=False):
    with Ledger.open(folder) as ledger:
        ledger.begin(PLAN)
        ledger.interrupted()
        ledger.enter(wanted)
        while work(ledger):
            pass

def work(ledger):
    done = 0
    for waiting in ledger.queued():
        name = waiting.repository.name
        ledger.start(name, waiting.attempt)
        if name == "b" and waiting.attempt == 1:
            ledger.put_back(name)
        else:
            failed = Error("kind", "why") if name == "a" else None
            state = State.FAILED if failed else State.CLEAN
            ledger.finish(Outcome(name, state, files=len(name), seconds={"clone": 1.0}, error=failed))
        done += 1
    return done

def rows(folder):
    with Ledger.read_only(folder) as view:
        told = [[row.name, row.state, row.attempt, row.key, row.files, str(row.error)] for row in view.rows()]
        return [told, view.summary().seconds, view.summary().unwanted]

def killed_at(number, folder, wanted):
    global last, statements
    child = os.fork()
    if not child:
        last, statements = number, 0
        drive(folder, wanted)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])

last = -1
sqlite3.connect = counted
fingerprint()
os.chdir(sys.argv[1])
drive("fresh", FIRST[:2])
whole = {"fresh": rows("fresh")}
drive("done", FIRST)
shutil.copytree("done", "edited")
drive("edited", EDITED)
whole["edited"] = rows("edited")
answer = {"whole": whole, "different": [], "kills": 0}
for kind, wanted in (("fresh", FIRST[:2]), ("edited", EDITED)):
    number = 1
    while True:
        shutil.rmtree("run", ignore_errors=True)
        if kind == "edited":
            shutil.copytree("done", "run")
        if not killed_at(number, "run", wanted):
            break
        drive("run", wanted)
        if rows("run") != whole[kind]:
            answer["different"].append([kind, number, rows("run")])
        answer["kills"] += 1
        number += 1
print(json.dumps(answer))
"""


@pytest.fixture
def in_memory() -> Iterator[str]:
    """A folder in memory, where there is one: a process that is killed leaves there what it leaves on a disk."""
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if os.access(shared, os.W_OK) else None) as folder:
        yield folder


@pytest.mark.slow
def test_a_run_killed_at_any_statement_goes_on_to_the_same_end(in_memory: str) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, in_memory], capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    answer = json.loads(done.stdout)
    assert answer["different"] == []
    assert answer["kills"] > 60
    told, seconds, unwanted = answer["whole"]["edited"]
    assert [(name, state, attempt) for name, state, attempt, *_ in told] == [
        ("a", "failed", 1), ("d", "clean", 1), ("b", "clean", 2),
    ]  # fmt: skip
    assert (seconds, unwanted) == (3.0, 1)


DIE = """
import os, signal, sys
from devfix.batch.ledger import Ledger
from devfix.batch.records import Plan, Repository
ledger = Ledger.open(sys.argv[1])
ledger.begin(Plan("/run", "branch", "2030-01-02T03:04:05+00:00"))
ledger.enter([Repository("a", "https://host/a"), Repository("b", "https://host/b")])
ledger.start("a", 1, "machine")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_view_reads_what_a_killed_run_left(tmp_path: Path) -> None:
    assert subprocess.run([sys.executable, "-c", DIE, str(tmp_path)], check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "ledger.sqlite-wal").stat().st_size
    with Ledger.read_only(tmp_path) as view:
        assert states(view) == {"a": "running", "b": "queued"}
        assert view.run().plan.branch == "branch"
    with Ledger.open(tmp_path) as ledger:
        assert ledger.interrupted() == ("a",)
        assert [(one.repository.name, one.attempt) for one in ledger.queued()] == [("a", 1), ("b", 1)]
        assert ledger.row("a") == Row(0, "a", "https://host/a", None, "", (), next(ledger.rows()).key, State.QUEUED)


def test_a_view_follows_a_run(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(3)) as ledger, Ledger.read_only(tmp_path) as view:
        rows = view.rows()
        assert next(rows).state is State.QUEUED
        assert finish_all(ledger) == ["r0", "r1", "r2"]
        assert len([*rows]) == 2
        assert view.summary().states[State.CLEAN] == 3
        with pytest.raises(UsageError, match="readonly"):
            view._database.do("DELETE FROM repositories")


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap for a read-only disk")
def test_a_view_of_a_read_only_disk(tmp_path: Path) -> None:
    begun(tmp_path, repositories(1)).close()
    script = (
        "import sys; from devfix.batch.ledger import Ledger\n"
        "with Ledger.read_only(sys.argv[1]) as view: print(*view.rows())"
    )
    sandbox = ["bwrap", "--ro-bind", "/", "/", sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(sandbox, capture_output=True, check=False, text=True)
    if "Operation not permitted" in done.stderr:
        pytest.skip("bubblewrap may not make namespaces here")
    assert done.stderr == ""
    assert "name='r0'" in done.stdout


def test_nothing_is_done_twice_or_out_of_turn(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(1)) as ledger:
        with pytest.raises(LookupError):
            ledger.finish(Outcome("r0", State.CLEAN))
        with pytest.raises(LookupError):
            ledger.put_back("r0")
        ledger.start("r0", 1)
        for _ in range(2):
            with pytest.raises(LookupError):
                ledger.start("r0", 1)
        ledger.finish(Outcome("r0", State.CLEAN))
        with pytest.raises(LookupError):
            ledger.finish(Outcome("r0", State.FAILED))
        assert states(ledger) == {"r0": "clean"}
        assert [*ledger.queued()] == []


def test_the_same_manifest_again_changes_nothing(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(3)) as ledger:
        finish_all(ledger)
        before = [*ledger.rows()]
        entered = ledger.enter(repositories(3))
        assert (entered.added, entered.superseded) == (0, ())
        assert [*ledger.rows()] == before


def test_an_edited_manifest_redoes_what_was_edited(tmp_path: Path) -> None:
    first, second, third = repositories(3)
    with begun(tmp_path, [first, second, third]) as ledger:
        finish_all(ledger)
        edited = msgspec.structs.replace(second, replay=Replay(steps=3))
        entered = ledger.enter([*repositories(1, first=7), edited, first])
        assert (entered.added, entered.superseded) == (1, ("r1",))
        assert states(ledger) == {"r7": "queued", "r1": "queued", "r0": "clean"}
        assert ledger.summary().unwanted == 1
        assert ledger.row("r2") is None
        assert [one.repository for one in ledger.queued()] == [*repositories(1, first=7), edited]
        assert ledger.enter([third]).added == 0
        assert states(ledger) == {"r2": "clean"}


@pytest.mark.parametrize(
    "changed",
    [
        {"source": "https://host/other"}, {"revision": "main"}, {"subfolder": "a"}, {"rules": Rules(unsafe=True)},
        {"replay": Replay(env=(("A", "1"),))}, {"setup": "make"}, {"checks": ("make",)}, {"timeout": 1.0},
    ],
)  # fmt: skip
def test_whatever_can_change_the_result_makes_another_row(tmp_path: Path, changed: dict[str, object]) -> None:
    [one] = repositories(1)
    with begun(tmp_path, [one]) as ledger:
        finish_all(ledger)
        assert ledger.enter([msgspec.structs.replace(one, **changed)]).superseded == ("r0",)
        assert states(ledger) == {"r0": "queued"}


def test_another_devfix_does_it_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with begun(tmp_path, repositories(1)) as ledger:
        finish_all(ledger)
        monkeypatch.setattr("devfix.__version__", "99")
        ledger.begin(PLAN)
        assert ledger.enter(repositories(1)).superseded == ("r0",)
        assert ledger.run().version.startswith("99")


def test_labels_and_credentials_change_no_result_and_are_not_shown(tmp_path: Path) -> None:
    old, new = (
        Repository("a", f"https://user:{token}@host/a", labels=(token,)) for token in ("old-secret", "new-secret")
    )
    with begun(tmp_path, [old, *repositories(1)]) as ledger:
        ledger.start("a", 1)
        ledger.finish(Outcome("a", State.CLEAN))
        assert ledger.enter([new, *repositories(1)]).superseded == ()
        row = ledger.row("a")
        assert row is not None
        assert (row.source, row.labels, row.state) == ("https://***@host/a", ("new-secret",), State.CLEAN)
        ledger.requeue(["a"])
        assert [*ledger.repositories()] == [new, *repositories(1)]
        assert next(ledger.queued()).repository == new
        assert stat.S_IMODE((tmp_path / "ledger.sqlite").stat().st_mode) == 0o600
        assert stat.S_IMODE((tmp_path / "ledger.sqlite-wal").stat().st_mode) == 0o600


def test_a_lost_worker_costs_an_attempt_and_a_killed_driver_none(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(1)) as ledger:
        ledger.start("r0", 1, "machine")
        assert ledger.interrupted() == ("r0",)
        assert [one.attempt for one in ledger.queued()] == [1]
        ledger.start("r0", 1, "machine")
        ledger.put_back("r0")
        assert [one.attempt for one in ledger.queued()] == [2]
        ledger.start("r0", 2, "other")
        ledger.finish(Outcome("r0", State.FAILED, error=Error("lost", "twice")))
        row = ledger.row("r0")
        assert row is not None
        assert (row.attempt, row.worker, row.error) == (2, "other", Error("lost", "twice"))


def test_failed_repositories_are_queued_again_as_if_new(tmp_path: Path) -> None:
    with begun(tmp_path, repositories(4)) as ledger:
        fresh = [*ledger.rows()]
        for name, state in (("r0", State.FAILED), ("r1", State.CLEAN), ("r2", State.REFUTED)):
            ledger.start(name, 1, "machine")
            ledger.finish(
                Outcome(
                    name, state, "c", "b", 1, 2, (fix(), fix("why")), (Verdict("a.py", "refuted"),), published="p",
                    unhandled=(("b.py", "why"),), error=Error("k", "m"), seconds={"clone": 1.0}, worker="w",
                )
            )  # fmt: skip
        assert ledger.requeue() == ("r0",)
        assert states(ledger) == {"r0": "queued", "r1": "clean", "r2": "refuted", "r3": "queued"}
        assert refusal(lambda: ledger.requeue(["r1", "r22"])) == "the run has no repository 'r22'; did you mean 'r2'?"
        assert states(ledger)["r1"] == "clean"
        assert ledger.requeue(["r2", "R1", "r3"]) == ("r2", "r1")
        assert [*ledger.rows()] == fresh


def test_what_is_queued_comes_in_order_and_while_the_run_goes_on(tmp_path: Path) -> None:
    wanted = repositories(210)
    with begun(tmp_path, wanted) as ledger:
        assert finish_all(ledger, State.FAILED) == [one.name for one in wanted]
        assert [row.name for row in ledger.rows()] == [one.name for one in wanted]
        assert [*ledger.rows(State.CLEAN)] == []


def test_a_row_tells_what_became_of_a_repository(tmp_path: Path) -> None:
    wanted = Repository("a", "https://host/a", "main", "sub", labels=("x", "y"))
    with begun(tmp_path, [wanted]) as ledger:
        ledger.start("a", 1, "machine")
        [row] = ledger.rows()
        assert (row.state, row.attempt, row.worker, row.finished) == (State.RUNNING, 1, "machine", None)
        assert row.started
        ledger.finish(
            Outcome(
                "a", State.REFUTED, "c0ffee", "branch", 5, 4, (fix(), fix(), fix("refuted")),
                (Verdict("a.py", "confirmed"), Verdict("b.py", "refuted"), Verdict("c.py", "confirmed")),
                published="https://host/pr/1", unhandled=(("d.py", "why"),), error=Error("kind", "bad \udcff name"),
                seconds={"clone": 0.5, "replay": 1.5}, worker="other",
            )
        )  # fmt: skip
        [row] = ledger.rows()
    assert row.finished
    assert row == Row(
        0, "a", "https://host/a", "main", "sub", ("x", "y"), row.key, State.REFUTED, 1, "c0ffee", row.started,
        row.finished, 2.0, {"clone": 0.5, "replay": 1.5}, 5, 4, 2, 1, 1, {"confirmed": 2, "refuted": 1},
        "https://host/pr/1", Error("kind", "bad \\udcff name"), "other",
    )  # fmt: skip


def test_the_sums(tmp_path: Path) -> None:
    with begun(tmp_path, [*repositories(12), Repository("gone", "https://host/gone")]) as ledger:
        for number, waiting in enumerate(ledger.queued()):
            kind = "no such revision" if number % 2 else "time limit"
            failed = 2 <= number < 11
            ledger.start(waiting.repository.name, 1)
            ledger.finish(
                Outcome(
                    waiting.repository.name, State.FAILED if failed else State.CHANGED, files=2, findings=1,
                    fixes=(fix(), fix("why")), verdicts=(Verdict("a", "confirmed"), Verdict("b", "harmless")),
                    published=None if failed else "b", unhandled=(("x", "y"),), seconds={"clone": 1.0, "replay": 2.0},
                    error=Error(kind, f"of r{number}") if failed else None,
                )
            )  # fmt: skip
        ledger.enter([*repositories(12), *repositories(1, first=50)])
        ledger.start("r50", 1)
        told = ledger.summary()
        assert told.states == {
            State.QUEUED: 0, State.RUNNING: 1, State.CHANGED: 3, State.CLEAN: 0, State.REFUTED: 0, State.SKIPPED: 0,
            State.FAILED: 9,
        }  # fmt: skip
        assert (told.total, told.finished, told.unwanted, told.published) == (13, 12, 1, 3)
        assert (told.files, told.findings, told.kept, told.dropped, told.unhandled) == (24, 12, 12, 12, 12)
        assert (told.seconds, told.phases) == (36.0, {"clone": 12.0, "replay": 24.0})
        assert told.verdicts == {"confirmed": 12, "harmless": 12}
        assert told.errors == (
            ErrorGroup("time limit", 5, ("r2", "r4", "r6", "r8", "r10")),
            ErrorGroup("no such revision", 4, ("r3", "r5", "r7", "r9")),
        )
        assert told.first_started is not None
        assert told.last_finished is not None
        assert told.first_started <= told.last_finished
        json.loads(msgspec.json.encode(told))


def test_no_method_loads_all_rows(tmp_path: Path) -> None:
    """What the package holds in the middle of its rows; other threads of the process allocate as they please."""
    own = tracemalloc.Filter(inclusive=True, filename_pattern=f"{Path(devfix.batch.__file__).parent}/*")

    def held(rows: Iterable[object], count: int) -> int:
        seen = 0
        size = 0
        for seen, _ in enumerate(rows, 1):
            if seen == count // 2:
                size = sum(one.size for one in tracemalloc.take_snapshot().filter_traces([own]).statistics("filename"))
        assert seen == count
        return size

    def most(count: int) -> int:
        ledger.enter(repositories(count))
        tracemalloc.start()
        try:
            return max(held(rows, count) for rows in (ledger.rows(), ledger.queued()))
        finally:
            tracemalloc.stop()

    with begun(tmp_path, repositories(300)) as ledger:
        few = most(300)
        assert few > 0
        assert most(6000) < 2 * few
