"""The change of a finding, and below it the reason."""

from devfix.reporting.terminal import cells_of
from devfix.review.changes import blocks
from devfix.review.documents import Item
from devfix.review.screens.code import harmless, side_by_side, unified
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

WIDE = 110
"""From so many columns on, the change is shown side by side unless the user says otherwise."""

NARROWEST = 60
"""With fewer, two columns may not fit."""


class Pane(VerticalScroll):
    """Text that is scrolled by keys of the screen, and never has the focus."""

    DEFAULT_CSS = """
    Pane { scrollbar-size-vertical: 1; }
    """

    def __init__(self, name: str) -> None:
        super().__init__(id=name, can_focus=False)
        self.text = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self.text

    def turn(self, step: int) -> None:
        """Scroll by about a page."""
        self.scroll_relative(y=step * max(self.size.height - 2, 1), animate=False)


class ChangePane(Pane):
    """What a fix changes, in one column or two."""

    def __init__(self) -> None:
        super().__init__("change")
        self._two_columns: bool | None = None
        self._shown: tuple[Item, int, bool] | None = None

    @property
    def _width(self) -> int:
        return self.scrollable_content_region.width

    @property
    def _is_wide(self) -> bool:
        return self._two_columns if self._two_columns is not None else self._width >= WIDE

    @property
    def is_too_narrow(self) -> bool:
        """Whether two columns were asked for and may not fit."""
        return self._is_wide and self._width < NARROWEST

    def toggle(self) -> None:
        """One column instead of two, or two instead of one."""
        self._two_columns = not self._is_wide

    def show(self, item: Item | None) -> bool:
        """Draw the change anew where that is needed. Returns whether it is of another finding than before."""
        if item is None or self._width <= 0:
            self.text.update("Nothing is shown." if item is None else "")
            self._shown = None
            return True
        state = (item, self._width, self._is_wide)
        if state == self._shown:
            return False
        is_new = self._shown is None or self._shown[0] != item
        self._shown = state
        draw = side_by_side if self._is_wide else unified
        title = _ending(f"{harmless(item.document.label)}:{item.place}", self._width)
        self.text.update(Content("\n").join([Content.styled(title, "bold"), draw(item, blocks(item), self._width)]))
        if is_new:
            self.scroll_home(animate=False)
        return is_new


def _ending(text: str, width: int) -> str:
    """The end of `text` that fits."""
    return text if cells_of(text) <= width else f"…{text[max(len(text) - width + 1, 1) :]}"
