"""Diagnoses of short programs, written down by hand, and what their candidates make of the program."""

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import dedent

import pytest
from devfix_codemods.diagnosis import (
    Diagnosis,
    Form,
    Frame,
    Kind,
    Operand,
    Repair,
    Sink,
    Stop,
    misplaced_among,
    repairs,
)
from devfix_codemods.diagnosis.messages import read_message
from devfix_codemods.edits.apply import apply
from devfix_codemods.edits.verify import problems
from devfix_codemods.source import Source, Span

TWO_DEVICES = "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
GPU = "cuda:0"


@dataclass(frozen=True)
class Case:
    """A program of one or more files, and a diagnosis of a crash in it."""

    sources: Mapping[str, Source]
    diagnosis: Diagnosis

    @property
    def repairs(self) -> Sequence[Repair]:
        return repairs(self.diagnosis, self.sources)

    def results(self) -> list[str]:
        """For each candidate the lines that it adds, stripped; checks that the file stays sound."""
        return [self._added(repair) for repair in self.repairs]

    def _added(self, repair: Repair) -> str:
        added: list[str] = []
        for file, edits in repair.edits:
            before = self.sources[file]
            after = Source(file, apply(before, edits))
            assert problems(before, after) == []
            old = before.text.splitlines()
            added += [line.strip() for line in after.text.splitlines() if line not in old]
        return "\n".join(added)


class Crash:
    """Builds a case from a program in which things are named by their text."""

    def __init__(self, files: Mapping[str, str] | str) -> None:
        texts = {"train.py": files} if isinstance(files, str) else files
        self.sources = {name: Source(name, dedent(text).lstrip("\n").encode()) for name, text in texts.items()}

    def at(
        self,
        code: str,
        *operands: Operand,
        through: Sequence[tuple[str, str]] = (),
        file: str = "train.py",
        message: str = TWO_DEVICES,
        live: Mapping[tuple[int, str], Form] | None = None,
    ) -> Case:
        """A crash in the expression `code` of `file`, reached through the calls (file, text), outermost first.

        Operands whose text stands in the sink get their span there.
        """
        span = self.span(file, code)
        frames = [self._frame(name, text) for name, text in through] + [self._frame(file, code)]
        inside = [self._placed(file, span, one, len(frames) - 1) for one in operands]
        wrong, anchors = misplaced_among(inside)
        read = read_message([message])
        assert read is not None
        sink = Sink(file, span, code)
        diagnosis = Diagnosis(message, read.category, sink, wrong, anchors, (), tuple(frames), live or {})
        return Case(self.sources, diagnosis)

    def span(self, file: str, text: str) -> Span:
        source = self.sources[file]
        nodes = (node for node in ast.walk(source.tree) if isinstance(node, (ast.expr, ast.stmt)))
        return next(span for node in nodes if source.segment(span := source.span(node)) == text)

    def line(self, text: str, file: str = "train.py") -> int:
        """The line that begins with `text`."""
        lines = self.sources[file].lines
        return next(number for number, line in enumerate(lines, 1) if line.strip().startswith(text))

    def _frame(self, file: str, text: str) -> Frame:
        source, span = self.sources[file], self.span(file, text)
        around = [
            node
            for node in ast.walk(source.tree)
            if isinstance(node, ast.FunctionDef) and source.span(node).contains(span)
        ]
        return Frame(file, span.line, around[-1].name if around else "<module>")

    def _placed(self, file: str, sink: Span, operand: Operand, frame: int) -> Operand:
        from dataclasses import replace

        source = self.sources[file]
        spans = [
            span
            for node in ast.walk(source.tree)
            if isinstance(node, ast.expr)
            and sink.contains(span := source.span(node))
            and source.segment(span) == operand.expression
        ]
        return replace(operand, span=spans[0] if spans else None, frame=frame if operand.frame < 0 else operand.frame)


def tensor(expression: str, place: str = "cpu", *history: Stop, frame: int = -1) -> Operand:
    return Operand(expression, Kind.TENSOR, place, history=history, frame=frame)


def module(expression: str, place: str = "cpu", *odd: tuple[str, tuple[Stop, ...]], frame: int = -1) -> Operand:
    return Operand(expression, Kind.MODULE, place, odd=odd, frame=frame)


@pytest.fixture
def crash() -> Callable[..., Crash]:
    return Crash
