"""What is reviewed: files as they were read, and the findings in them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

from devfix_codemods import suppressions
from devfix_codemods.notebooks.cells import ForeignNotebookError
from devfix_codemods.notebooks.notebook import is_notebook, read
from devfix_codemods.source import Source, SourceError

from devfix.project.discovery import File
from devfix.reporting.fingerprints import surroundings
from devfix.reporting.frame import split_lines
from devfix.results import Checked, Failed, Problem, Result
from devfix.review.matching import Fingerprint


@dataclass(frozen=True)
class Document:
    """A file with findings: its bytes as they were read, and its text, which of a notebook is its program."""

    file: File
    data: bytes = field(repr=False)
    text: str = field(repr=False)
    problems: tuple[Problem, ...] = field(repr=False)

    @property
    def path(self) -> str:
        return self.file.target.path

    @property
    def label(self) -> str:
        return self.file.target.label

    @cached_property
    def lines(self) -> list[str]:
        return split_lines(self.text)

    @property
    def obstacle(self) -> str | None:
        """Why the file is not written, whatever is decided."""
        outside = "a symbolic link that leads out of the tree; name the file that it leads to"
        return outside if self.file.target.outside else None


@dataclass(frozen=True)
class Item:
    """One finding. Its `number` stays the same when the file is analysed anew and the finding is still there."""

    number: int
    document: Document
    problem: Problem

    @property
    def path(self) -> str:
        return self.document.path

    @property
    def code(self) -> str:
        return self.problem.code

    @property
    def safety(self) -> str:
        """`safe`, `unsafe`, `suggestion`, or `advice` where there is nothing to apply."""
        repair = self.problem.repair
        return repair.safety if repair is not None and self.problem.fixable else "advice"

    @property
    def can_accept(self) -> bool:
        return self.problem.fixable and self.document.obstacle is None

    @property
    def can_ignore(self) -> bool:
        """Whether a comment can silence it; what is found about the comments themselves is repaired by hand."""
        return self.code != suppressions.CODE and self.document.obstacle is None

    @property
    def place(self) -> str:
        """`21`, or `cell 3:4` in a notebook."""
        cell, line = self.problem.place(self.problem.span.line)
        return str(line) if cell is None else f"cell {cell}:{line}"

    @property
    def remedy(self) -> str:
        """What the fix does, or what to do by hand."""
        repair = self.problem.repair
        if self.problem.fixable and repair is not None:
            return repair.title
        return self.problem.advice or (repair.title if repair is not None else "")

    @cached_property
    def fingerprint(self) -> Fingerprint:
        around = surroundings(self.problem, self.document.lines)
        return Fingerprint(self.path, self.code, self.problem.message, around.text, (around.before, around.after))


def documents(files: Sequence[File], results: Sequence[Result]) -> Iterator[Document | Failed]:
    """The files that have findings, or could not be handled; each with the text that its findings speak of."""
    for file, result in zip(files, results, strict=True):
        if isinstance(result, Failed):
            yield result
        elif isinstance(result, Checked) and result.problems:
            yield _document(file, result.problems)


def items(found: Iterable[Document]) -> list[Item]:
    """Every finding of the documents."""
    pairs = chain.from_iterable(((one, problem) for problem in one.problems) for one in found)
    return [Item(number, document, problem) for number, (document, problem) in enumerate(pairs)]


def _document(file: File, problems: tuple[Problem, ...]) -> Document | Failed:
    try:
        data = file.target.read()
        source = Source(file.target.path, data)
        text = read(source.path, data).source.text if is_notebook(source.path) else source.text
    except OSError as error:
        return Failed(file.target, f"cannot be read: {error.strerror}")
    except (SourceError, ForeignNotebookError) as error:
        return Failed(file.target, str(error))
    return Document(file, data, text, problems)
