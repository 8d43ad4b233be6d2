"""Why edits could not be applied.

EditError
├── EditConflict     two edits want different things of one place
├── AnchorMissing    an edit names a place where nothing fitting stands
├── InvalidCode      the code that an edit brings does not parse
├── FormattingLost   an edit stands on a line that libcst does not write as it was
└── NotEditable      the file itself cannot be edited, whatever the edits are
"""

from devfix_codemods.edits.operations import Edit


class EditError(Exception):
    """Edits could not be applied; the message is one line for people."""


class EditConflict(EditError):  # noqa: N818 (names what happened)
    """`second` contradicts `first`, or stands in text that `first` throws away."""

    def __init__(self, first: Edit, second: Edit) -> None:
        super().__init__(f"two edits exclude each other: {first} and {second}")
        self.first = first
        self.second = second


class AnchorMissing(EditError):  # noqa: N818 (names what happened)
    """No statement, expression or imported name is where `edit` says."""

    def __init__(self, edit: Edit) -> None:
        super().__init__(f"nothing to edit at the place of {edit}")
        self.edit = edit


class InvalidCode(EditError):  # noqa: N818 (names what happened)
    """`code`, brought by an edit, is not the Python that its place needs."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"the new code {code!r} does not parse: {reason}")
        self.code = code


class FormattingLost(EditError):  # noqa: N818 (names what happened)
    """An edit changes a line that libcst itself does not write as it was, so that more than the edit would change."""

    def __init__(self, line: int) -> None:
        super().__init__(f"libcst, which keeps the formatting, does not keep that of line {line}")
        self.line = line


class NotEditable(EditError):  # noqa: N818 (names what happened)
    """The file cannot be edited safely: nested too deeply, or beyond the parser that keeps formatting."""
