"""The pictures of the packages, made from their imports.

    python docs/packages.py

writes `docs/pictures/packages-*.svg`; a test fails where they are out of date. A line leads down from a package to one
that it imports: dashed where it does so only when that is needed. Lines that others imply (a over b, b over c: a over
c) are left out, so that the layers can be seen.
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent / "pictures"
PACKAGES = (Path("cli/devfix"), Path("codemods/devfix_codemods"))
_WIDTH, _HEIGHT, _ACROSS, _DOWN, _EDGE = 112, 28, 20, 48, 16
_STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328; text-anchor: middle }
  rect { fill: #f6f8fa; stroke: #8c959f; rx: 5px }
  path { fill: none; stroke: #57606a; stroke-width: 1.1 }
  .when-needed { stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } rect { fill: #151b23; stroke: #656c76 } path { stroke: #9198a1 }
  }
"""


@dataclass(frozen=True)
class Box:
    """A package, or a module that stands in none, with its place in the picture."""

    name: str
    left: float
    top: float


@dataclass(frozen=True)
class Imports:
    """The parts of one package, and what each imports of the others; True where it does when it is imported itself."""

    parts: frozenset[str]
    edges: Mapping[str, Mapping[str, bool]]


def imports_of(package: Path) -> Imports:
    """The parts directly below `package` and their imports, types for annotations included."""
    parts: set[str] = set()
    edges: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for path in sorted(package.rglob("*.py")):
        part = path.relative_to(package).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue
        parts.add(part)
        for other, at_start in _imported(ast.parse(path.read_bytes()), package.name):
            if other != part:
                edges[part][other] = edges[part].get(other, False) or at_start
    found = {one: {other: start for other, start in to.items() if other in parts} for one, to in edges.items()}
    return Imports(frozenset(parts), found)


def _imported(tree: ast.Module, package: str) -> Iterator[tuple[str, bool]]:
    """The parts of `package` that a file imports, and whether it does when it is imported itself."""
    at_start = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == package:
            below = (node.module or "").split(".")[1:]
            for part in {below[0]} if below else {alias.name for alias in node.names}:
                yield part, id(node) in at_start


def layers_of(edges: Mapping[str, Iterable[str]], names: Iterable[str]) -> dict[str, int]:
    """How high each part stands: above all that it imports.

    Raises:
        RecursionError: the imports go in a circle.
    """
    heights: dict[str, int] = {}

    def height(name: str) -> int:
        if name not in heights:
            heights[name] = 1 + max(map(height, edges.get(name, ())), default=-1)
        return heights[name]

    return {name: height(name) for name in names}


def not_implied(edges: Mapping[str, Mapping[str, bool]]) -> Iterator[tuple[str, str, bool]]:
    """The imports that do not follow from the others."""

    def reached(name: str) -> set[str]:
        return {name}.union(*map(reached, edges.get(name, ())))

    for one, to in sorted(edges.items()):
        for other in sorted(to):
            if not any(other in reached(between) for between in to if between != other):
                yield one, other, to[other]


def drawn(package: Path) -> str:
    """The picture of one package."""
    found = imports_of(package)
    heights = layers_of(found.edges, sorted(found.parts))
    rows = [[name for name in sorted(heights) if heights[name] == level] for level in range(max(heights.values()) + 1)]
    links = list(not_implied(found.edges))
    boxes = _placed(_untangled(rows, links))
    width = 2 * _EDGE + max(map(len, rows)) * (_WIDTH + _ACROSS) - _ACROSS
    height = 2 * _EDGE + len(rows) * (_HEIGHT + _DOWN) - _DOWN
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}">'
    title = f"<title>The packages of {escape(package.name)}, each above what it imports</title>"
    lines = [_line(boxes[one], boxes[other], at_start) for one, other, at_start in links]
    return "\n".join([head, title, f"<style>{_STYLE}</style>", *lines, *map(_box, boxes.values()), "</svg>", ""])


def _untangled(rows: list[list[str]], links: list[tuple[str, str, bool]]) -> list[list[str]]:
    """The rows, the lowest first, each in an order that keeps what is linked near each other."""
    linked: defaultdict[str, list[str]] = defaultdict(list)
    for one, other, _ in links:
        linked[one].append(other)
        linked[other].append(one)
    for _ in range(8):
        middle = {name: (index + 0.5) / len(row) for row in rows for index, name in enumerate(row)}

        def pull(name: str, middle: Mapping[str, float] = middle) -> tuple[float, str]:
            near = [middle[other] for other in linked[name]] or [middle[name]]
            return round(sum(near) / len(near), 6), name

        rows = [sorted(row, key=pull) for row in rows]
    return rows


def _placed(rows: list[list[str]]) -> dict[str, Box]:
    full = max(map(len, rows)) * (_WIDTH + _ACROSS) - _ACROSS
    boxes: dict[str, Box] = {}
    for level, row in enumerate(reversed(rows)):
        step = full / len(row)
        for index, name in enumerate(row):
            left = _EDGE + step * (index + 0.5) - _WIDTH / 2
            boxes[name] = Box(name, round(left, 1), _EDGE + level * (_HEIGHT + _DOWN))
    return boxes


def _line(upper: Box, lower: Box, at_start: bool) -> str:
    x1, y1 = upper.left + _WIDTH / 2, upper.top + _HEIGHT
    x2, y2 = lower.left + _WIDTH / 2, lower.top
    bend = (y2 - y1) / 2
    kind = "" if at_start else ' class="when-needed"'
    return f'<path{kind} d="M{x1:g} {y1:g} C{x1:g} {y1 + bend:g} {x2:g} {y2 - bend:g} {x2:g} {y2:g}"/>'


def _box(box: Box) -> str:
    middle = box.left + _WIDTH / 2
    return (
        f'<rect x="{box.left:g}" y="{box.top:g}" width="{_WIDTH}" height="{_HEIGHT}"/>'
        f'<text x="{middle:g}" y="{box.top + 18:g}">{escape(box.name)}</text>'
    )


def pictures() -> Iterator[tuple[Path, str]]:
    """Where each picture lies, and what it is now."""
    for package in PACKAGES:
        yield FOLDER / f"packages-{package.name}.svg", drawn(ROOT / package)


def main() -> None:
    for path, picture in pictures():
        path.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
