"""Items under constant indices: how an environment calls them, where they stand; and attributes of objects."""

import ast
from collections.abc import Container, Iterator

from devfix_codemods.ir.nodes import Class, Node, Op


def item_key(index: Node) -> str | None:
    """How an environment calls an item under a constant: `['x']`."""
    return f"[{index.extra!r}]" if index.op is Op.CONST and isinstance(index.extra, (str, int)) else None


def unkeyed(name: str) -> object:
    """The constant of an item, or the name of an attribute."""
    return ast.literal_eval(name[1:-1]) if name.startswith("[") else name


def part_of(display: Node, key: object) -> Node | None:
    """What surely stands in a display under a constant index, or a key; None for any other value."""
    if display.op is Op.SEQUENCE:
        return _element_of(display, key)
    return _value_of(display, key) if display.op is Op.MAPPING else None


def _element_of(display: Node, index: object) -> Node | None:
    """An element of a display, where no star moves it."""
    if not isinstance(index, int) or not -len(display.args) <= index < len(display.args):
        return None
    counted = display.args[: index + 1] if index >= 0 else display.args[index:]
    return None if any(isinstance(each.syntax, ast.Starred) for each in counted) else display.args[index]


def whole(node: Node, through: Container[Op] = (Op.ITEM,)) -> Node:
    """What a value is taken out of, in one step or several."""
    while node.op in through:
        node = node.args[0]
    return node


def choices(node: Node) -> list[Node]:
    """What a choice is made between, also by way of other choices; another value itself."""
    found = [node]
    for one in found:  # grows
        found += [each for each in one.args if each not in found] if one.op is Op.PHI else []
    return [one for one in found if one.op is not Op.PHI]


def made_of(value: Node, *, through_choices: bool = True) -> list[Node]:
    """A value, and what it is computed of, as far as a few steps lead."""
    found = [value]
    for one in found:  # grows
        if len(found) < MOST_MAKING:
            inner = (each for each in one.args if through_choices or each.op is not Op.PHI)
            found += [each for each in inner if each not in found]
    return found


MOST_MAKING = 40


def is_slice(item: Node) -> bool:
    """`paths[:3]`: several, and no element."""
    return len(item.args) > 1 and item.args[1].op is Op.UNKNOWN and item.args[1].extra == "slice"


def _value_of(display: Node, index: object) -> Node | None:
    """The value under a key of a display, where nothing after it may have the same key: `{"x": x, **other}`."""
    for key, value in zip(reversed(display.extras), reversed(display.args)):
        if key is None:
            return None
        if key == index:
            return value
    return None


def reads_of(owner: Class, attribute: str) -> Iterator[Node]:
    """Where the methods of a class read an attribute of their object."""
    for method in owner.methods.values():
        read = (one for one in method.nodes if one.op is Op.ATTR and one.extra == attribute)
        yield from (one for one in read if one.args[0] is method.self_node)
