"""Which device checks the CUDA operators of a torch release make, derived from the release itself.

torchgen ships `native_functions.yaml` inside the torch wheel: for each operator whether the generated CUDA wrapper checks
devices, whether TensorIterator does so instead, and the wrapper's name, which is what stands in the message.
"""

from pathlib import Path


def table_file(folder: Path, version: str) -> Path:
    """The file with the checks of the torch `version` whose package is in `folder`, made on first use and cached.

    Raises:
        DeviceChecksError: torch is too old or has no readable `native_functions.yaml`.
    """
    raise NotImplementedError


class DeviceChecksError(Exception):
    """The checks cannot be derived; the message says why."""
