"""On a Ray cluster: a task for each repository, which watches the same process that a worker of one machine is.

So a crash, a hang or a limit is told the same way everywhere, and where a task dies it is its node that is to blame.
Ray itself never repeats a task: only the driver knows whether that is wanted.
"""

import contextlib
import io
import logging
import math
import re
import socket
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec.structs import replace

from devfix import __version__
from devfix.batch.engines import Ended, Source, Started, ended
from devfix.batch.engines.slots import environment, executes
from devfix.batch.engines.supervising import Program, supervise
from devfix.batch.records import Job, Outcome
from devfix.errors import UsageError
from devfix.replay.processes import Tick, nobody_watches
from devfix.reporting.terminal import one_line

AUTO = "auto"
_LOCAL = "local"
_CLIENT = "ray://"
_WAIT_SECONDS = 1.0
_LOOK_SECONDS = 2.0
_KNOCK_SECONDS = 10.0
_PATIENCE_SECONDS = 300.0
"""How long a run waits for a node that could take a job, when the last one is gone."""
_REASON_LETTERS = 300
_MISSING = re.compile(r"No module named '[\w.]+'")


class Ray:
    """The engine of a cluster. `address` is Ray's: `auto` for the cluster that this machine is a node of, None for a
    cluster of this machine alone, which lives as long as the run.

    A job has `cpus_per_job` cores to itself and, if it executes code and the cluster has accelerators, `gpus_per_job`
    of these; Ray shows it no others. One job more than the nodes have room for is given out, but at most `in_flight`.

    Raises:
        UsageError: ray is not installed, or the address is of a kind that cannot be used.
    """

    name = "ray"

    def __init__(
        self,
        address: str | None = AUTO,
        *,
        cpus_per_job: float = 1.0,
        gpus_per_job: float = 1.0,
        in_flight: int | None = None,
        program: Program | None = None,
    ) -> None:
        _ray()
        if address is not None and address.startswith(_CLIENT):
            raise UsageError(f"--address {address}: Ray Client is not supported: run devfix on a node of the cluster")
        self._address = address
        self._cpus = cpus_per_job
        self._gpus = gpus_per_job
        self._in_flight = in_flight
        self._program = program or Program()

    def run(self, source: Source, started: Started, tick: Tick = nobody_watches) -> Generator[Ended, None, None]:
        """See `Engine`."""
        with _connected(self._address):
            cluster = _Cluster(self._cpus, self._gpus, self._program)
            try:
                while True:
                    while len(cluster) < cluster.room(self._in_flight) and (job := source()) is not None:
                        cluster.submit(job)
                    if not len(cluster):
                        return
                    yield from cluster.news(started)
                    tick()
            finally:
                cluster.cancel()


@dataclass(slots=True)
class _Task:
    """A job that was given out, and the node that has it, as soon as it is known."""

    job: Job
    node: str | None = None
    address: str = "a node of the cluster"


class _Cluster:
    """The nodes and the tasks that they were given."""

    def __init__(self, cpus: float, gpus: float, program: Program) -> None:
        self._ray = _ray()
        self._program = program
        self._needs = {"CPU": cpus}
        self._tasks: dict[Any, _Task] = {}
        self._lost_on: dict[str, str] = {}
        self._nodes: list[dict[str, Any]] = []
        self._looked = self._fitted = -math.inf
        self._look()
        self._gpus = gpus if any("GPU" in node["Resources"] for node in self._nodes) else 0.0

    def __len__(self) -> int:
        return len(self._tasks)

    def room(self, most: int | None) -> int:
        """How many tasks keep all nodes busy, and one that tells the cluster to grow."""
        self._look()
        room = 1 + sum(self._fits(node) for node in self._nodes)
        return room if most is None else min(most, room)

    def submit(self, job: Job) -> None:
        """Give `job` out; one that was lost goes to another node, if there is one."""
        gpus = self._gpus if executes(job) else 0.0
        if gpus and "GPU" not in self._needs:
            self._needs["GPU"] = gpus
            self._looked = self._fitted = -math.inf
            self._look()
        cpus = self._needs["CPU"]
        shown = job.environment if gpus else environment(job, None)
        told = replace(job, cores=max(1, int(cpus)), environment=shown)
        task = self._ray.remote(_on_node).options(
            name=f"devfix {job.repository.name}",
            num_cpus=cpus,
            num_gpus=gpus,
            num_returns="streaming",
            max_retries=0,
            scheduling_strategy=self._elsewhere(job.repository.name),
        )
        self._tasks[task.remote(msgspec.json.encode(told), self._program, __version__)] = _Task(job)

    def news(self, started: Started) -> Iterator[Ended]:
        """Wait a little for tasks that begin, of which `started` is told, or end."""
        ready, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_WAIT_SECONDS, fetch_local=False)
        for stream in ready:
            task = self._tasks[stream]
            answer = self._next(stream)
            if isinstance(answer, _Begun):
                _check_version(answer)
                task.node, task.address = answer.node, answer.address
                started(task.job, task.address)
                continue
            del self._tasks[stream]
            if isinstance(answer, str) and task.node is not None:
                self._lost_on[task.job.repository.name] = task.node
            yield ended(task.job, answer, task.address)

    def cancel(self) -> None:
        """End all tasks, and with them the processes that they watch."""
        for stream in self._tasks:
            with contextlib.suppress(Exception):  # the cluster may be gone
                self._ray.cancel(stream, force=True)
        self._tasks.clear()

    def _next(self, stream: Any) -> "_Begun | Outcome | str":
        """What a task says next: that it has begun, the outcome, or why there is none."""
        from ray.exceptions import RayError, RayTaskError

        try:
            said = self._ray.get(next(stream))
        except StopIteration:
            return "its task ended without an answer"
        except RayTaskError as error:
            _check_installed(error)
            return f"its task failed: {_first_sentence(error.cause or error)}"
        except RayError as error:
            return f"{type(error).__name__}: {_first_sentence(error)}"
        return msgspec.json.decode(said, type=Outcome) if isinstance(said, bytes) else said

    def _look(self) -> None:
        """Which nodes there are.

        Raises:
            UsageError: none could take a job, and none has come for a while.
        """
        now = time.monotonic()
        if now < self._looked + _LOOK_SECONDS:
            return
        self._looked = now
        self._nodes = [node for node in self._ray.nodes() if node["Alive"]]
        if any(self._fits(node) for node in self._nodes):
            self._fitted = now
        elif now > self._fitted + _PATIENCE_SECONDS:
            needed = " and ".join(f"{amount:g} {kind}" for kind, amount in self._needs.items())
            raise UsageError(f"--engine ray: no node of the cluster has {needed} for a job")

    def _fits(self, node: dict[str, Any]) -> int:
        """How many jobs it can have at a time."""
        return int(min(node["Resources"].get(kind, 0) / amount for kind, amount in self._needs.items()))

    def _elsewhere(self, name: str) -> Any:
        """Where a repository goes: the least busy of the other nodes, if one was lost with it; else where Ray likes."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        busy = [task.node for task in self._tasks.values()]
        others = [node["NodeID"] for node in self._nodes if self._fits(node)]
        others = [node for node in others if node != self._lost_on.get(name)]
        if name not in self._lost_on or not others:
            return "DEFAULT"
        return NodeAffinitySchedulingStrategy(min(others, key=busy.count), soft=True)


@dataclass(frozen=True, slots=True)
class _Begun:
    """What a task says first."""

    node: str
    address: str
    version: str


def _on_node(job: bytes, program: Program, version: str) -> Iterator["_Begun | bytes | str"]:
    """The task: says where it is, then gives the outcome as JSON, or in one line why there is none."""
    ray = _ray()
    yield _Begun(ray.get_runtime_context().get_node_id(), ray.util.get_node_ip_address(), __version__)
    if version == __version__:
        answer = supervise(msgspec.json.decode(job, type=Job), program)
        yield answer if isinstance(answer, str) else msgspec.json.encode(answer)


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError("--engine ray needs ray: pip install 'devfix[ray]'") from error
    return ray


@contextlib.contextmanager
def _connected(address: str | None) -> Iterator[None]:
    """Be a driver of that cluster; one that this process is connected to already is left as it is."""
    ray = _ray()
    if ray.is_initialized():
        yield
        return
    _silence(ray)
    try:
        _knock(address)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            ray.init(
                address or _LOCAL,
                log_to_driver=False,
                logging_level=logging.CRITICAL,
                namespace="devfix",
                **({} if address else {"include_dashboard": False}),
            )
    except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or _first_sentence(error)
        raise UsageError(
            f"--engine ray --address {address}: {reason}: is there a cluster? `ray start --head` starts one"
        ) from error
    try:
        yield
    finally:
        ray.shutdown()


def _knock(address: str | None) -> None:
    """See that somebody answers at that address: Ray itself tries for minutes, and says so."""
    if address is not None:
        from ray._private.services import canonicalize_bootstrap_address_or_die

        if address != AUTO and not address.rpartition(":")[2].isdigit():
            raise ValueError("expected HOST:PORT or auto")
        host, _, port = canonicalize_bootstrap_address_or_die(address).rpartition(":")
        socket.create_connection((host.strip("[]"), int(port)), _KNOCK_SECONDS).close()


def _silence(ray: Any) -> None:
    """What happens to nodes is ours to report; Ray would print it, whatever `log_to_driver` says."""
    ray._private.worker._worker_logs_enabled = False


def _check_version(begun: _Begun) -> None:
    if begun.version != __version__:
        raise UsageError(
            f"--engine ray: node {begun.address} has devfix {begun.version}, and here it is {__version__}: "
            "install the same version on all nodes"
        )


def _check_installed(error: BaseException) -> None:
    missing = _MISSING.search(str(error))
    if missing:
        raise UsageError(
            f"--engine ray: devfix cannot be imported on the nodes ({missing[0]}): "
            f"pip install devfix=={__version__} there"
        )


def _first_sentence(error: BaseException) -> str:
    return one_line(str(error)).partition(". ")[0].rstrip(".")[:_REASON_LETTERS]
