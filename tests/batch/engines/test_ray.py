"""The engine of a cluster, on a real one of several nodes on this machine, some of which are lost."""

import importlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from devfix.batch.engines import Finished, Lost
from devfix.batch.engines.ray import Ray, _connected
from devfix.batch.engines.supervising import Program
from devfix.batch.records import Job, State
from devfix.errors import UsageError

from .conftest import STAND_IN, JobMaker, are_gone, drive, lives, noted

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed: pip install 'devfix[ray]'"),
]

STORE = 80 << 20
NODES = 2
PROGRAM = Program("stand_in:work", grace=1.0)
RayMaker = Callable[..., Ray]


class Nodes:
    """A cluster whose head takes no jobs, and the nodes that do, one at a time each."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        quick = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_failure_threshold": 3}
        quick["worker_niceness"] = 0  # at 15, Ray's own, they starve beside other tests until their time is over
        head = {"num_cpus": 0, "object_store_memory": STORE, "include_dashboard": False, "_system_config": quick}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self.address: str = self._cluster.address
        for _ in range(NODES):
            self.add()

    def add(self) -> None:
        self._cluster.add_node(num_cpus=1, num_gpus=1, object_store_memory=STORE)

    def kill(self, raylet: int) -> None:
        """Kill the node with that process, and start another."""
        [node] = [node for node in self._cluster.worker_nodes if raylet in _processes(node)]
        self._cluster.remove_node(node, allow_graceful=False)
        self.add()

    def shutdown(self) -> None:
        self._cluster.shutdown()


def _processes(node: Any) -> list[int]:
    return [info.process.pid for info in node.all_processes["raylet"]]


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """The cluster of these tests. Its nodes can import the stand-in."""
    folder = tmp_path_factory.mktemp("modules")
    (folder / "stand_in.py").write_text(STAND_IN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
        cluster = Nodes()
        yield cluster
        cluster.shutdown()


@pytest.fixture
def engine(nodes: Nodes) -> RayMaker:
    """The engine on that cluster."""

    def make(**options: Any) -> Ray:
        return Ray(nodes.address, program=PROGRAM, **options)

    return make


@pytest.fixture(scope="class")
def connection(nodes: Nodes) -> Iterator[None]:
    """This process belongs to the cluster already: what Ray starts for a driver serves several tests."""
    with _connected(nodes.address):
        yield


def test_every_repository_is_accounted_for_though_a_node_is_lost(
    engine: RayMaker, nodes: Nodes, job: JobMaker, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    jobs = [job("hangs_once" if number == 2 else "fine", f"r{number}") for number in range(6)]
    raylets: list[int] = []

    def started(given: Job, worker: str) -> None:
        if given.repository.source == "hangs_once" and given.attempt == 1:
            process, raylet = noted(folder)
            nodes.kill(raylet)
            raylets.extend((process, raylet))

    ends, _ = drive(engine(), jobs, 2, started)
    assert capfd.readouterr() == ("", "")
    assert {end.outcome.name for end in ends if isinstance(end, Finished)} == {f"r{number}" for number in range(6)}
    [lost] = [end for end in ends if isinstance(end, Lost)]
    assert lost.job is jobs[2]
    assert lost.reason.startswith("NodeDiedError: Task failed because the node it was running on is dead")
    assert lost.worker.count(".") == 3
    assert are_gone(raylets)


def test_closing_ends_all_work(engine: RayMaker, job: JobMaker, folder: Path) -> None:
    jobs = [job("family", "b"), job("fine", "a")]
    with closing(engine().run(lambda: jobs.pop() if jobs else None, lambda job, worker: None)) as ends:
        next(ends)
        pids = noted(folder)
        assert all(map(lives, pids))
    assert are_gone(pids)
    assert not importlib.import_module("ray").is_initialized()


@pytest.mark.usefixtures("connection")
class TestJobs:
    def test_a_task_that_dies_is_done_again_on_another_node(
        self, engine: RayMaker, job: JobMaker, folder: Path
    ) -> None:
        def started(given: Job, worker: str) -> None:
            if given.attempt == 1:
                process, _ = noted(folder)
                os.kill(parent(parent(parent(process))), signal.SIGKILL)  # the task: a worker is three processes

        lost, found = drive(engine(), [job("hangs_once")], 2, started)[0]
        assert isinstance(lost, Lost)
        assert lost.reason.startswith("WorkerCrashedError: The worker died unexpectedly")
        assert isinstance(found, Finished)
        process, raylet = noted(folder)
        assert are_gone([process])
        [other] = [note for note in found.outcome.notes if note.startswith("RAY_RAYLET_PID=")]
        assert other != f"RAY_RAYLET_PID={raylet}"

    def test_what_a_repository_does_is_told_as_on_one_machine(self, engine: RayMaker, job: JobMaker) -> None:
        jobs = [job("crashes", "a"), job("hangs", "b", timeout=1.0), job("large", "c"), job("chatters", "d")]
        ends, begun = drive(engine(), jobs)
        assert len(begun) == len(ends) == 4
        told = {end.job.repository.name: end for end in ends}
        assert isinstance(told["a"], Lost)
        assert told["a"].reason == "its process was ended by SIGSEGV"
        outcomes = {end.outcome.name: end.outcome for end in ends if isinstance(end, Finished)}
        assert outcomes["b"].error is not None
        assert outcomes["b"].error.kind == "time limit"
        assert len(outcomes["c"].patch) == 25 << 20
        assert outcomes["d"].state is State.CLEAN
        assert {outcome.worker for outcome in outcomes.values()} <= {worker for _, worker in begun}

    def test_jobs_are_taken_as_there_is_room(self, engine: RayMaker, job: JobMaker) -> None:
        waiting = [job("fine", f"r{number}") for number in range(4)]
        out = 0

        def source() -> Job | None:
            nonlocal out
            out += bool(waiting)
            assert out <= 2
            return waiting.pop() if waiting else None

        for _ in engine(in_flight=2).run(source, lambda job, worker: None):
            out -= 1
        assert not waiting

    def test_code_is_run_with_an_accelerator(self, engine: RayMaker, job: JobMaker) -> None:
        ends, _ = drive(engine(), [job("tells", "runs", execute=True), job("tells", "reads")])
        notes = {end.outcome.name: end.outcome.notes for end in ends if isinstance(end, Finished)}
        assert "CUDA_VISIBLE_DEVICES=0" in notes["runs"]
        assert "CUDA_VISIBLE_DEVICES=0" not in notes["reads"]

    def test_code_that_is_not_to_have_an_accelerator_is_shown_none(self, engine: RayMaker, job: JobMaker) -> None:
        [end], _ = drive(engine(gpus_per_job=0), [job("tells", execute=True)])
        assert isinstance(end, Finished)
        assert "CUDA_VISIBLE_DEVICES=" in end.outcome.notes

    def test_nodes_with_another_devfix(self, engine: RayMaker, job: JobMaker, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("devfix.batch.engines.ray.__version__", "99.0")
        with pytest.raises(UsageError, match=r"has devfix 0\.\S+, and here it is 99\.0: install the same"):
            drive(engine(), [job("fine")])

    @pytest.mark.parametrize(
        ("options", "needed"), [({"cpus_per_job": 64}, "64 CPU"), ({"gpus_per_job": 2}, "1 CPU and 2 GPU")]
    )
    def test_a_job_that_fits_no_node(
        self, options: dict[str, float], needed: str, engine: RayMaker, job: JobMaker
    ) -> None:
        with pytest.raises(UsageError, match=f"no node of the cluster has {needed} for a job"):
            drive(engine(**options), [job("fine", execute=True)])


@pytest.mark.parametrize(
    ("address", "reason"),
    [("127.0.0.1:1", "Connection refused"), ("nowhere", "expected HOST:PORT"), ("head:x", "expected HOST:PORT")],
)
def test_an_address_where_no_cluster_is(
    address: str, reason: str, job: JobMaker, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(UsageError, match=f"--engine ray --address {address}: {reason}.*: is there a cluster"):
        drive(Ray(address), [job("fine")])
    assert capfd.readouterr() == ("", "")


def test_ray_client_is_refused() -> None:
    with pytest.raises(UsageError, match="Ray Client is not supported"):
        Ray("ray://head:10001")


def test_without_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError, match=r"--engine ray needs ray: pip install 'devfix\[ray\]'"):
        Ray()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
