"""What is asked of the analysis, apart from the analysis itself: a run that the cache answers never imports that."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from devfix_codemods.source import Source

from devfix.results import Place, Target

if TYPE_CHECKING:
    from devfix_codemods.outcomes import Options


class Task(StrEnum):
    CHECK = "check"
    REWRITE = "rewrite"


@dataclass(frozen=True)
class Job:
    """What a worker needs. `detailed` asks for the text of each edit, which costs a parse with libcst."""

    target: Target
    data: bytes
    options: "Options"
    task: Task
    detailed: bool = True
    place: Place | None = None

    @property
    def source(self) -> Source:
        """The file under the name that its project knows it by."""
        return Source(self.place.path if self.place is not None else self.target.label, self.data)
