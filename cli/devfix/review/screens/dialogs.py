"""What stands in front of the review for a moment: pages, choices, the last look before writing."""

from collections.abc import Sequence
from typing import ClassVar

from devfix.reporting.terminal import Line
from devfix.review.screens.code import harmless
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Markdown, OptionList, Static
from textual.widgets.option_list import Option

_STYLES = {"path": "bold", "unsafe": "$text-warning", "error": "bold $text-error", "good": "$text-success"}
_PATCH = {"+": "$text-success on $success 12%", "-": "$text-error on $error 12%", "@": "$text-accent"}


class Page(ModalScreen[None]):
    """Text to read; Markdown where it says so."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,r,question_mark,P,enter", "dismiss", "Back")]
    DEFAULT_CSS = """
    Page { align: center middle; }
    Page > VerticalScroll { width: 90%; max-width: 104; height: 90%; border: round $primary; padding: 0 1; }
    Page Markdown { padding: 0; background: transparent; }
    """

    def __init__(self, body: str, is_markdown: bool = False) -> None:
        super().__init__()
        self._body = body
        self._is_markdown = is_markdown

    def compose(self) -> ComposeResult:
        with VerticalScroll() as pane:
            pane.border_subtitle = "esc: back"
            if self._is_markdown:
                yield Markdown(self._body, open_links=False)
            else:
                yield Static(self._body, markup=False)


class Choices(ModalScreen[str | None]):
    """A list to choose one from; None where nothing was chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f", "dismiss(None)", "Back"),
        Binding("j", "step(1)", show=False),
        Binding("k", "step(-1)", show=False),
    ]
    DEFAULT_CSS = """
    Choices { align: center middle; }
    Choices OptionList { width: 64; max-width: 90%; height: auto; max-height: 90%; border: round $primary; }
    """

    def __init__(self, options: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._options = options

    def compose(self) -> ComposeResult:
        choices = OptionList(*(Option(text, id=key) for key, text in self._options), markup=False)
        choices.border_title = "show only"
        choices.border_subtitle = "enter: choose   esc: back"
        yield choices

    def action_step(self, step: int) -> None:
        choices = self.query_one(OptionList)
        choices.action_cursor_down() if step > 0 else choices.action_cursor_up()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option.id)


class Question(ModalScreen[str]):
    """One line, and keys for its answers."""

    DEFAULT_CSS = """
    Question { align: center middle; }
    Question Static { width: auto; max-width: 90%; border: round $primary; padding: 1 2; }
    """

    def __init__(self, text: str, answers: Sequence[tuple[str, str]]) -> None:
        super().__init__()
        self._text = text
        self._answers = answers
        for key, _ in answers:
            self._bindings.bind(key, f"answer('{key}')")

    def compose(self) -> ComposeResult:
        keys = "   ".join(f"{key}: {meaning}" for key, meaning in self._answers)
        yield Static(f"{self._text}\n\n{keys}", markup=False)

    def action_answer(self, key: str) -> None:
        self.dismiss(key)


class Confirm(ModalScreen[bool]):
    """The last look: what would be written, what does not come true, and the combined diff."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("w,enter,y", "write", "Write"),
        Binding("escape,n,q", "dismiss(False)", "Back"),
        Binding("D", "allow", "Write uncommitted", show=False),
        Binding("j,down", "scroll(1)", show=False),
        Binding("k,up", "scroll(-1)", show=False),
        Binding("pagedown,space", "scroll(10)", show=False),
        Binding("pageup", "scroll(-10)", show=False),
    ]
    DEFAULT_CSS = """
    Confirm { align: center middle; }
    Confirm > Vertical { width: 100%; height: 100%; border: round $primary; background: $surface; padding: 0 1; }
    Confirm #summary { height: auto; max-height: 40%; }
    Confirm #patch { height: 1fr; border-top: solid $primary; }
    Confirm #keys { height: auto; text-style: bold; }
    """

    def __init__(self, headline: str, lines: Sequence[Line], patch: bytes, dirty: str | None) -> None:
        super().__init__()
        self._headline = headline
        self._lines = lines
        self._patch = patch
        self._dirty = dirty

    def compose(self) -> ComposeResult:
        with Vertical():
            with VerticalScroll(id="summary"):
                yield Static(_styled(self._lines), id="lines")
            with VerticalScroll(id="patch", can_focus=False):
                yield Static(_coloured(self._patch))
            yield Static(self._keys(), id="keys")

    @property
    def allowed(self) -> bool:
        return self._dirty is None

    def action_write(self) -> None:
        if self.allowed:
            self.dismiss(True)
        else:
            self.app.bell()

    def action_allow(self) -> None:
        """Write files with uncommitted changes after all."""
        self._dirty = None
        self.query_one("#keys", Static).update(self._keys())

    def action_scroll(self, lines: int) -> None:
        self.query_one("#patch", VerticalScroll).scroll_relative(y=lines, animate=False)

    def _keys(self) -> Content:
        if self._dirty is not None:
            told = Content.styled(self._dirty, "$text-error")
            return Content("\n").join([told, Content("D: write them all the same   esc: back")])
        return Content(f"w: write {self._headline}   esc: back, nothing is written")


def _styled(lines: Sequence[Line]) -> Content:
    return Content("\n").join(
        Content.assemble(*((text, _STYLES.get(style, "")) for text, style in line)) for line in lines
    )


def _coloured(patch: bytes) -> Content:
    lines = patch.decode("utf-8", "replace").split("\n")
    return Content("\n").join(Content.styled(harmless(line), _style(line)) for line in lines)


def _style(line: str) -> str:
    return "bold" if line.startswith(("--- ", "+++ ")) else _PATCH.get(line[:1], "")
