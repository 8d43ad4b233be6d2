"""The variables that a replayed program inherits."""

import os
from collections.abc import Mapping
from pathlib import Path

from devfix.replay.confinement import Confinement

_DEFAULTS = {"MPLBACKEND": "Agg", "WANDB_MODE": "offline", "OMP_WAIT_POLICY": "passive"}
"""Set unless the user set them: a replay opens no window, uploads nothing, and threads that wait leave their processor
to another run: by default they turn in circles for a while, which on a busy machine takes most of the time."""


OF_A_REPOSITORY = frozenset(
    (
        *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES"),
        *("GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE"),
    )
)
"""What git tells its hooks and commands of where they work: in a copy, git would still change that repository."""


def inherited(
    python: str,
    variables: Mapping[str, str],
    seed: int,
    confinement: Confinement | None,
    network: bool = False,
    without: frozenset[str] = frozenset(),
) -> dict[str, str]:
    """What `python` gets, wherever it runs: our own environment but for the names in `without`, and `variables`."""
    ours = os.environ if confinement is None else _confined(python, confinement, network)
    left_out = without | OF_A_REPOSITORY
    return {
        **_DEFAULTS,
        **{name: value for name, value in ours.items() if name not in left_out},
        "PYTHONHASHSEED": str(seed),
        **variables,
        "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _confined(python: str, confinement: Confinement, network: bool) -> dict[str, str]:
    """With the interpreter and what is installed beside it first on the path."""
    variables = confinement.environment(network)
    beside = [str(Path(python).parent)] if os.sep in python else []
    return {**variables, "PATH": os.pathsep.join((*beside, variables["PATH"]))}
