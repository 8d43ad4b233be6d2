"""Comma-separated lists: leave elements out, reorder them, add some, and keep the layout that the list has.

Works on call arguments and imported names alike: both carry the comma that follows them, and in that comma the
comment beside them and the white space before the next element.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import dropwhile
from typing import Generic, TypeVar

import libcst as cst

Element = TypeVar("Element", cst.Arg, cst.ImportAlias)
White = cst.BaseParenthesizableWhitespace
_SPACE = cst.SimpleWhitespace(" ")
_NOTHING = cst.SimpleWhitespace("")


@dataclass(frozen=True)
class Listing(Generic[Element]):
    """The elements between two brackets, with the white space after the first bracket and before the second.

    `closing` is what follows the last element where that has no comma.
    """

    elements: Sequence[Element]
    opening: White
    closing: White

    def arranged(self, order: Sequence[int | Element]) -> "Listing[Element]":
        """The same list with the elements of `order`: an old one by its index, or a new one."""
        if not order:
            return Listing((), _NOTHING, _NOTHING)
        if not self.elements:
            return Listing([one for one in order if not isinstance(one, int)], self.opening, self.closing)
        last = len(order) - 1
        commas = [self._comma(order[at], order[at + 1]) for at in range(last)] + [self._last_comma(order[last])]
        elements = [self._element(one).with_changes(comma=comma) for one, comma in zip(order, commas)]
        return Listing(elements, self._opening(order[0]), self._closing(order[last]))

    def _opening(self, one: "int | Element") -> White:
        """The first line's comment is the list's; those above the first element are that one's."""
        broken, above = self._line_break(), tuple(dropwhile(lambda line: line.comment is None, self._above(one)))
        if one == 0 or broken is None:
            return self.opening
        if isinstance(self.opening, cst.ParenthesizedWhitespace):
            return self.opening.with_changes(empty_lines=above)
        return broken.with_changes(first_line=_plain(broken.first_line), empty_lines=above) if above else self.opening

    def _element(self, one: "int | Element") -> Element:
        return self.elements[one] if isinstance(one, int) else one

    def _comma(self, one: "int | Element", following: "int | Element") -> cst.Comma:
        """The comma between two elements: the old one where they were neighbours already."""
        if isinstance(one, int) and following == one + 1:
            comma = self.elements[one].comma
            assert isinstance(comma, cst.Comma)  # every element but the last has one
            return comma
        return cst.Comma(whitespace_after=self._gap(self._beside(one), self._above(following)))

    def _last_comma(self, one: "int | Element") -> cst.Comma | cst.MaybeSentinel:
        comma = self.elements[-1].comma
        if one == len(self.elements) - 1 or not isinstance(comma, cst.Comma):
            return comma
        return comma.with_changes(whitespace_after=_with_comment(comma.whitespace_after, self._beside(one)))

    def _closing(self, one: "int | Element") -> White:
        if one == len(self.elements) - 1 or isinstance(self.elements[-1].comma, cst.Comma):
            return self.closing
        return _with_comment(self.closing, self._beside(one))

    def _after(self, index: int) -> White:
        comma = self.elements[index].comma
        return comma.whitespace_after if isinstance(comma, cst.Comma) else self.closing

    def _beside(self, one: "int | Element") -> cst.TrailingWhitespace | None:
        """The end of the line on which an old element stands, if a comment is there."""
        white = self._after(one) if isinstance(one, int) else _NOTHING
        if isinstance(white, cst.ParenthesizedWhitespace) and white.first_line.comment is not None:
            return white.first_line
        return None

    def _above(self, one: "int | Element") -> Sequence[cst.EmptyLine]:
        """The comment lines above an old element."""
        before = self._after(one - 1) if isinstance(one, int) and one > 0 else self.opening
        white = before if isinstance(one, int) else _NOTHING
        return white.empty_lines if isinstance(white, cst.ParenthesizedWhitespace) else ()

    def _gap(self, beside: cst.TrailingWhitespace | None, above: Sequence[cst.EmptyLine]) -> White:
        broken = self._line_break()
        one_a_line = all(isinstance(gap, cst.ParenthesizedWhitespace) for gap in self._gaps())
        if broken is None or not (one_a_line or beside or above):
            return _SPACE
        return broken.with_changes(first_line=beside or _plain(broken.first_line), empty_lines=above)

    def _gaps(self) -> list[White]:
        inner = [self._after(index) for index in range(len(self.elements) - 1)]
        return inner or [self.opening]

    def _line_break(self) -> cst.ParenthesizedWhitespace | None:
        """The first line break inside the list, whose indentation new lines take on."""
        for white in (*self._gaps(), self.opening, self._after(len(self.elements) - 1)):
            if isinstance(white, cst.ParenthesizedWhitespace):
                return white
        return None


def _plain(line: cst.TrailingWhitespace) -> cst.TrailingWhitespace:
    return line.with_changes(whitespace=_NOTHING, comment=None)


def _with_comment(white: White, beside: cst.TrailingWhitespace | None) -> White:
    """`white` before the closing bracket, with the comment of another element than before."""
    if isinstance(white, cst.ParenthesizedWhitespace):
        return white.with_changes(first_line=beside or _plain(white.first_line))
    if beside is None:
        return white
    return cst.ParenthesizedWhitespace(first_line=beside, indent=True)
