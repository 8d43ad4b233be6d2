"""From what the command line says to an engine."""

from devfix.batch.choices import EngineName
from devfix.batch.engines import Engine
from devfix.batch.engines.slots import slots
from devfix.errors import UsageError


def choose(
    name: EngineName, workers: int | None, accelerators: str, address: str | None, gpus: float, cpus: float
) -> Engine:
    """The engine called `name`. On Ray each repository has so many `cpus`, and each that runs code so many `gpus`.

    Raises:
        UsageError: it cannot run here, or is told what it has no use for.
    """
    if name is not EngineName.RAY and address is not None:
        raise UsageError("--address is that of a Ray cluster: it goes with --engine ray")
    if name is EngineName.RAY:
        if workers is not None:
            raise UsageError("--workers is for this machine; on Ray the nodes' cores and --cpus decide")
        from devfix.batch.engines.ray import Ray

        return Ray(address, cpus_per_job=cpus, gpus_per_job=gpus)
    if name is EngineName.INLINE:
        from devfix.batch.engines.inline import Inline

        return Inline(slots(accelerators))
    from devfix.batch.engines.local import Local

    return Local(workers, slots(accelerators))
