"""`torch.distributed`: collectives over NCCL run over Gloo, on values that are on the host anyway.

Each process of a job has its own simulated devices. NCCL's rule that tensors are on a device is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..imports import AfterImport
from .claims import tensors_in
from .mode import ClaimMode
from .patching import wrap
from .state import Simulation

_COLLECTIVES = (
    "_allgather_base",
    "_reduce_scatter_base",
    "allgather",
    "allgather_coalesced",
    "allgather_into_tensor_coalesced",
    "allreduce",
    "allreduce_coalesced",
    "alltoall",
    "alltoall_base",
    "broadcast",
    "gather",
    "recv",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor_coalesced",
    "scatter",
    "send",
)


def install(simulation: Simulation, _mode: ClaimMode) -> None:
    """Have `init_process_group("nccl")` and what follows work, where this torch has `torch.distributed`."""
    if not torch.distributed.is_available():
        return
    _Groups(simulation).install()

    def refuse_sharded(module: Any) -> None:
        def refused(_original: Callable[..., Any], *_args: Any, **_kwargs: Any) -> Any:
            raise simulation.refuse("DTensor")

        wrap(module.DTensor, "__new__", refused)

    AfterImport({"torch.distributed.tensor._api": refuse_sharded}).install()


class _Groups:
    """The process groups and the backend that each has, by device type, as the script asked for it."""

    def __init__(self, simulation: Simulation) -> None:
        from torch.distributed import distributed_c10d

        self._simulation = simulation
        self._c10d: Any = distributed_c10d
        self._backends: dict[Any, dict[str, str]] = {}
        self._told = False

    def install(self) -> None:
        for owner in (self._c10d, torch.distributed):
            wrap(owner, "init_process_group", self._init)
            wrap(owner, "new_group", self._new)
            wrap(owner, "is_nccl_available", lambda _original: True)
        # The second is what torch called before 2.6.
        for name in ("_get_object_coll_device", "_get_pg_default_device"):
            wrap(self._c10d, name, self._object_device)
        for name in _COLLECTIVES:
            wrap(self._c10d.ProcessGroup, name, self._collect)
        wrap(self._c10d.ProcessGroup, "barrier", self._barrier)
        wrap(torch.distributed, "_verify_params_across_processes", self._verify)

    def _init(
        self, original: Callable[..., Any], backend: Any = None, *args: Any, device_id: Any = None, **kwargs: Any
    ) -> None:
        kwargs.pop("pg_options", None)
        original(self._gloo(backend), *args, **kwargs)
        group = self._c10d._get_default_group()
        self._remember(group, backend)
        if device_id is not None:
            # Only now: torch would ask the backend to connect, which Gloo does not do for a device.
            group.bound_device_id = self._simulation.resolve(device_id)

    def _new(
        self,
        original: Callable[..., Any],
        ranks: Any = None,
        timeout: Any = None,
        backend: Any = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        kwargs.pop("device_id", None)
        inherited = backend or self._c10d.get_backend()
        group = original(ranks, timeout, self._gloo(inherited), *args, **kwargs)
        if group is not self._c10d.GroupMember.NON_GROUP_MEMBER:
            self._remember(group, inherited)
        return group

    def _gloo(self, backend: Any) -> Any:
        """`backend`, with Gloo for NCCL."""
        if backend is None:
            return "gloo"
        if "nccl" not in str(backend).lower():
            return backend
        if not self._told:
            self._told = True
            self._simulation.note("torch.distributed runs over Gloo in place of NCCL")
        return "gloo"

    def _remember(self, group: Any, backend: Any) -> None:
        self._backends[group] = _by_device(backend)
        known = self._c10d._world.pg_map
        known[group] = (self._c10d.Backend("undefined" if backend is None else str(backend)), known[group][1])

    def _object_device(self, original: Callable[..., Any], group: Any = None) -> Any:
        backends = self._backends.get(group or self._c10d._get_default_group(), {})
        return original(group) if "cpu" in backends or not backends else torch.device(self._simulation.kind)

    def _verify(self, original: Callable[..., Any], group: Any, parameters: Any, *args: Any) -> Any:
        self._check(group, parameters)
        return original(group, parameters, *args)

    def _check(self, group: Any, values: Any) -> None:
        backends = self._backends.get(group)
        for tensor in tensors_in(values):
            if backends is not None and tensor.device.type not in backends:
                raise RuntimeError(f"No backend type associated with device type {tensor.device.type}")

    def _collect(self, original: Callable[..., Any], group: Any, *args: Any, **kwargs: Any) -> Any:
        self._check(group, (args, tuple(kwargs.values())))
        options = next((value for value in args if hasattr(value, "reduceOp")), None)
        if options is not None and options.reduceOp == self._c10d.ReduceOp.AVG:
            return self._average(original, group, args, options)
        try:
            return original(group, *args, **kwargs)
        except RuntimeError as error:
            if "gloo" in str(error).lower() and "support" in str(error).lower():
                raise self._simulation.refuse(f"a collective that Gloo lacks: {error}") from error
            raise

    def _barrier(self, original: Callable[..., Any], group: Any, opts: Any = None, *args: Any, **kwargs: Any) -> Any:
        """Wait on the host: C++ makes a tensor on the device that the options name."""
        options = self._c10d.BarrierOptions() if opts is None else opts
        options.device = torch.device("cpu")
        return original(group, options, *args, **kwargs)

    def _average(self, original: Callable[..., Any], group: Any, args: tuple[Any, ...], options: Any) -> Any:
        """Gloo adds, but does not average."""
        options.reduceOp = self._c10d.ReduceOp.SUM
        work = original(group, *args)
        work.wait()
        for tensor in tensors_in(args[:1]):
            tensor.div_(group.size())
        return work


def _by_device(backend: Any) -> dict[str, str]:
    """The backends by device type, as torch's `BackendConfig` has them."""
    name = "cpu:gloo,cuda:nccl" if backend is None else str(backend).lower()
    if ":" in name:
        return dict(pair.split(":") for pair in name.split(","))
    return {"cuda": name} if name == "nccl" else {"cpu": name, "cuda": name}
