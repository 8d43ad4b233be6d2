"""How a repository can fail."""

from devfix.batch.records import Error


class RepositoryError(Exception):
    """A repository cannot be handled any further. `kind` groups equal reasons, the message is one line."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    @property
    def record(self) -> Error:
        return Error(self.kind, str(self))


class BranchTakenError(Exception):
    """The source has the branch already, it is not of this run, and `Existing.SKIP` was asked for."""
