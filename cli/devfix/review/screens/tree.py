"""The tree of files and findings."""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from devfix.review.decisions import Decision
from devfix.review.documents import Item
from devfix.review.screens.code import harmless
from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

Data = Item | str
"""A finding, or the path of a file."""

MARKS = {None: ("·", ""), Decision.ACCEPTED: ("✓", "green"), Decision.REFUSED: ("✗", "red")}
MARKS[Decision.IGNORED] = ("#", "blue")
SAFETIES = {"safe": ("", ""), "unsafe": ("!", "bold yellow"), "suggestion": ("~", "yellow"), "advice": ("?", "cyan")}

Told = Callable[[Item], tuple[Decision | None, str]]
"""What is to be said of a finding: its decision, and the words of a replay's verdict."""


class FindingsTree(Tree[Data]):
    """Files, and below them their findings, each with its decision."""

    def __init__(self, told: Told) -> None:
        super().__init__("", id="findings")
        self.show_root = False
        self.show_guides = False
        self.guide_depth = 2
        self._told = told
        self._leaves: dict[int, TreeNode[Data]] = {}
        self._files: dict[str, TreeNode[Data]] = {}
        self._members: dict[str, list[Item]] = {}

    def fill(self, items: Sequence[Item], at: int | None) -> None:
        """Show `items`, with the cursor on the one numbered `at`, or else on the first."""
        self.clear()
        self._leaves, self._files, self._members = {}, {}, {}
        for path, members in groupby(items, key=lambda item: item.path):
            self._members[path] = list(members)
            node = self._files[path] = self.root.add(self._file_label(path), data=path, expand=True)
            for item in self._members[path]:
                self._leaves[item.number] = node.add_leaf(self._label(item), data=item)
        if items:
            self.go(items[0].number if at not in self._leaves else at)
            self.call_after_refresh(self._reveal)

    def _reveal(self) -> None:
        """Scroll so far that the cursor is seen, and the file above it where it is the file's first finding."""
        node = self.cursor_node
        if node is not None:
            is_first = node.parent is not None and node.parent.children[0] is node
            self.scroll_to_line(max(node.line - is_first, 0), animate=False)

    def go(self, number: int | None) -> None:
        """Put the cursor on the finding of that number."""
        node = self._leaves.get(number) if number is not None else None
        if node is not None:
            if node.parent is not None:
                node.parent.expand()
            _ = self._tree_lines  # lines are counted before the cursor can move to them
            self.move_cursor(node)

    @property
    def numbers(self) -> list[int]:
        """The findings that are shown, from top to bottom."""
        return list(self._leaves)

    @property
    def current(self) -> Item | None:
        """The finding under the cursor, or the first of the file under it."""
        data = self.cursor_node.data if self.cursor_node is not None else None
        if isinstance(data, str):
            return self._members[data][0]
        return data

    @property
    def on_file(self) -> bool:
        return self.cursor_node is not None and isinstance(self.cursor_node.data, str)

    def renew(self, changed: Iterable[Item]) -> None:
        """Show these findings and their files as they are now."""
        for item in changed:
            if item.number in self._leaves:
                self._leaves[item.number].set_label(self._label(item))
        for path in {item.path for item in changed} & self._files.keys():
            self._files[path].set_label(self._file_label(path))

    def to_file(self, step: int) -> None:
        """Put the cursor on the first finding of the next file, or of one before."""
        current, paths = self.current, list(self._members)
        if current is not None:
            at = (paths.index(current.path) + step) % len(paths)
            self.go(self._members[paths[at]][0].number)

    def _label(self, item: Item) -> Text:
        decision, verdict = self._told(item)
        mark, style = MARKS[decision]
        sign, sign_style = SAFETIES[item.safety]
        parts = [(f"{mark} ", style), (f"{item.place} ", "dim"), (item.code, "bold"), (sign, sign_style)]
        if verdict:
            parts.append((f" {verdict}", "italic"))
        return Text.assemble(*parts, (f" {item.problem.name}", ""))

    def _file_label(self, path: str) -> Text:
        members = self._members[path]
        decided = sum(self._told(item)[0] is not None for item in members)
        done = decided == len(members)
        return Text.assemble((f"{decided}/{len(members)} ", "green" if done else "dim"), (_short(members[0]), "bold"))


def _short(item: Item) -> str:
    """The end of a file's path comes first: it is what tells files apart where there is little room."""
    folder, _, name = harmless(item.document.label).rpartition("/")
    return f"{name}  {folder}" if folder else name
