"""The choices of a batch that have names, apart from all else: the command line reads them when it starts."""

from enum import StrEnum


class Publish(StrEnum):
    """What becomes of a repository's commits, beside the branch that holds them in the cached clone."""

    NONE = "none"
    PATCH = "patch"
    PUSH = "push"
    PR = "pr"


class Existing(StrEnum):
    """What to do where the branch is there already and is not ours to the letter."""

    SKIP = "skip"
    REPLACE = "replace"


class Commits(StrEnum):
    """How the fixes of a repository are divided into commits."""

    RULE = "rule"
    ALL = "all"


class EngineName(StrEnum):
    """Where repositories are worked on."""

    INLINE = "inline"
    LOCAL = "local"
    RAY = "ray"
