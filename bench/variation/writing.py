"""Writes a program of a kind in a shape."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from variation.homes import lay_out
from variation.names import names
from variation.plans import Again, Discard, Either, Item, Kind, Like, Loop, Move, New, Plan
from variation.shapes import ABSENT, Shape
from variation.texts import indented, with_device

_HOLE = re.compile(r"\{(\w+)\}")
_ASSIGNED = re.compile(r"\{(\w+)\} = ")
_KEYS = {"x": "kx", "y": "ky", "m": "km"}


@dataclass(frozen=True)
class Program:
    """The files of a wrong program and of its correct twin, by name. `main.py` is what is run."""

    kind: str
    shape: Shape
    wrong: dict[str, str]
    right: dict[str, str]

    @property
    def omitted(self) -> dict[str, set[int]]:
        """The lines of the wrong program, by file, where it differs from the right one: for lines that are not there,
        those around."""
        return {
            name: lines for name, text in self.wrong.items() if (lines := _differing(text, self.right.get(name, "")))
        }


def write(kind: Kind, shape: Shape) -> Program:
    """The program of `kind` in `shape`, and its twin."""
    plan = kind.plan(shape)
    wrong, right = (lay_out(Writer(plan, shape, left_out)) for left_out in (kind.omitted, None))
    return Program(kind.name, shape, wrong, right)


def _differing(wrong: str, right: str) -> set[int]:
    found: set[int] = set()
    matcher = difflib.SequenceMatcher(None, wrong.splitlines(), right.splitlines(), autojunk=False)
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag == "insert":
            found |= {max(start, 1), start + 1}
        elif tag != "equal":
            found |= set(range(start + 1, end + 1))
    return found


class Writer:
    """Makes lines of a plan's items. `omitted` are the roles that are not moved; None makes the correct program."""

    def __init__(self, plan: Plan, shape: Shape, omitted: frozenset[str] | None) -> None:
        self.plan, self.shape = plan, shape
        self.names = names(shape.names)
        self.used: set[str] = set()
        """The shared roles that were named since this was cleared."""
        self.owner = ""
        """What stands before shared names."""
        self.needs_helper = False
        self.aliased_device = False
        self._omitted = omitted or frozenset()
        self._is_wrong = omitted is not None
        self._parts: dict[str, str] = {}
        made = [role for item in plan.setup if (role := _made(item)) is not None]
        self.shared = dict.fromkeys(["dev", "flag", "src", "src2", *made])

    @property
    def is_guarded(self) -> bool:
        """Whether moves stand below an `if`."""
        return self.shape.guard in {"flag", "available"}

    def name(self, role: str) -> str:
        """What stands in a line for a role."""
        if role == "place":
            return self._place()
        if role in self._parts:
            return self._parts[role]
        if role not in self.shared:
            return self.names[role]
        self.used.add(role)
        if role == "dev" and self.aliased_device:
            return self.names[role]
        return self.owner + self.names[role]

    def fill(self, text: str) -> str:
        """`text` with its holes filled."""
        return _HOLE.sub(lambda found: self.name(found[1]), text)

    def lines(self, items: Iterable[Item]) -> list[str]:
        return [line for item in items for line in self._item(item)]

    def _item(self, item: Item) -> list[str]:
        match item:
            case str():
                return [self.fill(item)]
            case New():
                return self._new(item)
            case Again():
                is_left_out = (item.key or item.role) in self._omitted and not item.always
                return [] if is_left_out else self._guarded([self.moved(self.name(item.role))])
            case Discard():
                return self._discard(item)
            case Move():
                return self._move(item)
            case Like():
                return self._like(item)
            case Either():
                return self.lines(item.wrong if self._is_wrong else item.right)
            case Loop():
                return self.loop(item.items)

    def _place(self) -> str:
        return self.name("dev") if self.shape.has_device else '"cuda"'

    def _guarded(self, lines: Sequence[str]) -> list[str]:
        if not lines or not self.is_guarded:
            return list(lines)
        condition = self.name("flag") if self.shape.guard == "flag" else "torch.cuda.is_available()"
        return [f"if {condition}:", *indented(lines)]

    def moved(self, expression: str, device: str | None = None) -> str:
        """`expression`, moved; `device` stands for the declared one."""
        match self.shape.move:
            case "cuda":
                return f"{expression}.cuda()"
            case "to-0":
                return f"{expression}.to(0)"
            case "to-string":
                return f'{expression}.to("cuda")'
            case "to-keyword":
                return f"{expression}.to(device={device or self.name('dev')})"
            case _:
                return f"{expression}.to({device or self.name('dev')})"

    def _put(self, expression: str) -> str:
        return f"{self.names['put']}({expression}{', ' + self.name('dev') if self.shape.has_device else ''})"

    def helper(self) -> list[str]:
        """The function that moves what it is given."""
        tensor, device = self.names["t"], self.names["d"]
        moved = self.moved(tensor, device)
        lines = [f"def {self.names['put']}({tensor}{f', {device}' if self.shape.has_device else ''}):"]
        if self.shape.guard == "available":
            return [*lines, "    if torch.cuda.is_available():", f"        return {moved}", f"    return {tensor}"]
        return [*lines, f"    return {moved}"]

    def _new(self, new: New) -> list[str]:
        name, made, form = self.name(new.role), self.fill(new.made), self.shape.form
        line = f"{name} = {made}"
        if form == "helper" and not new.is_module:
            self.needs_helper = True
        if new.role in self._omitted:
            return [line]
        if form == "helper" and not new.is_module:
            move = [f"{name} = {self._put(name)}"]
            return [line, *(move if self.shape.guard == "available" else self._guarded(move))]
        if not self.is_guarded and form == "comprehension" and not new.is_module and new.is_factory:
            return [f"{name} = {with_device(made, self.name('place'))}"]
        if not self.is_guarded and (form == "inline" or form != "named"):
            return [f"{name} = {self.moved(made)}"]
        in_place = new.is_module and self.shape.variant % 2
        return [line, *self._guarded([self.moved(name) if in_place else f"{name} = {self.moved(name)}"])]

    def _like(self, like: Like) -> list[str]:
        name, made, beside = self.name(like.role), self.fill(like.made), self.name(like.like)
        line = f"{name} = {made}"
        if self._is_wrong:
            lines = [line]
        elif self.shape.form == "inline":
            lines = [f"{line}.to({beside}.device)"]
        elif self.shape.form == "comprehension":
            lines = [f"{name} = {with_device(made, f'{beside}.device')}"]
        elif self.shape.form == "named":
            lines = [line, f"{name} = {name}.to({beside}.device)"]
        else:
            lines = [line, f"if {beside}.is_cuda:", f"    {name} = {name}.cuda()"]
        return [like.indent + line for line in lines]

    def _discard(self, discard: Discard) -> list[str]:
        part, name = self.name(discard.role), self.names[discard.role]
        self._parts.pop(discard.role, None)
        moved = self.moved(name)
        first = [f"{name} = {part}"] if part != name else []
        return [*first, *self._guarded([moved if self._is_wrong else f"{name} = {moved}"])]

    def _move(self, move: Move) -> list[str]:
        roles = [role for role in move.roles if move.always or role not in self._omitted]
        if self.shape.form == "inline":
            self._parts |= {role: self.moved(self.name(role)) for role in roles}
            return []
        if self._moves_whole(move):
            pair = f"{self.names['k']}: {self.moved(self.names['t'])} for {self.names['k']}, {self.names['t']}"
            batch = self.names["q"]
            return self._guarded([f"{batch} = {{{pair} in {batch}.items()}}"] if roles else [])
        values = {role: self.name(role) for role in move.roles}
        for role in move.roles:
            self._parts.pop(role, None)
        own = {role: self.names[role] for role in move.roles}
        bound = [
            f"{own[role]} = {value}"
            for role, value in values.items()
            if value != own[role] and (self.is_guarded or role not in roles)
        ]
        if self.is_guarded:
            values = own
        moves = self._moves({role: values[role] for role in roles}, self.names[move.roles[0]])
        if self.shape.form == "helper":
            self.needs_helper = True
        if self.shape.form == "helper" and self.shape.guard == "available":
            return [*bound, *moves]
        return [*bound, *self._guarded(moves)]

    def _moves_whole(self, move: Move) -> bool:
        whole = {field.role for field in self.plan.fields}
        omitted = self._omitted & whole if not move.always else set()
        return (
            self.shape.batch == "dict"
            and self.shape.form == "comprehension"
            and self.plan.moves_whole
            and set(move.roles) == whole
            and omitted in (set(), whole)
        )

    def _moves(self, values: dict[str, str], anchor: str) -> list[str]:
        """Statements that move the values of some roles."""
        targets = [self.names[role] for role in values]
        form = self.shape.form
        if form == "comprehension" and len(values) > 1:
            tensor = self.names["t"]
            made = f"[{self.moved(tensor)} for {tensor} in ({', '.join(values.values())})]"
            return [f"{', '.join(targets)} = {made}"]
        if form == "helper":
            return [f"{target} = {self._put(value)}" for target, value in zip(targets, values.values())]
        by_other = self.shape.move == "to-other"
        moved = [
            self.moved(value, f"{anchor}.device" if by_other and name != anchor else None)
            for name, value in zip(targets, values.values())
        ]
        if len(moved) > 1 and not by_other and self.shape.variant % 3 == 0:
            return [f"{', '.join(targets)} = {', '.join(moved)}"]
        return [f"{target} = {value}" for target, value in zip(targets, moved)]

    def loop(self, items: Iterable[Item]) -> list[str]:
        """A loop over the loader, or over a range where there is none."""
        name, shape = self.names, self.shape
        self._parts.clear()
        if shape.loop == ABSENT:
            inside = self.lines(items)
            self._parts.clear()
            return ["for _ in range(2):", *indented(inside)]
        roles = [field.role for field in self.plan.fields]
        fields = ", ".join(name[role] for role in roles)
        one = fields if shape.batch == "header" else name["q"]
        source = self.name("src")
        inner = [f"{fields} = {one}"] if shape.batch == "body" else []
        if shape.batch not in {"header", "body"}:
            self._parts |= {role: self._part(number, role) for number, role in enumerate(roles)}
        nested = f"({one})" if shape.batch == "header" else one
        inner += [line for role in roles for line in self._looked_at(self.name(role))]
        inner += self.lines(items)
        self._parts.clear()
        step = {"iter-next": [f"{one} = next({name['it']})"], "while": [f"{one} = next({name['it']})"]}
        inner = [*step.get(shape.loop, []), *inner]
        start = [f"{name['it']} = iter({source})"]
        match shape.loop:
            case "enumerate":
                return [f"for {name['i']}, {nested} in enumerate({source}):", *indented(inner)]
            case "zip":
                seen = f"{name['n']} = len({name['k']})"
                head = f"for {nested}, {name['k']} in zip({source}, {self.name('src2')}):"
                return [head, *indented([seen, *inner])]
            case "progress" | "progress-import":
                bar = name["bar"] if shape.loop == "progress" else "tqdm"
                return [f"for {one} in {bar}({source}):", *indented(inner)]
            case "iter-next":
                return [*start, f"for _ in range(len({source})):", *indented(inner)]
            case "while":
                count = name["n"]
                return [*start, f"{count} = 0", f"while {count} < 2:", *indented([*inner, f"{count} += 1"])]
            case "next-iter":
                return [f"{one} = next(iter({source}))", *inner]
            case "islice":
                return [f"for {one} in islice({source}, 2):", *indented(inner)]
            case _:
                return [f"for {one} in {source}:", *indented(inner)]

    def _looked_at(self, value: str) -> list[str]:
        """Statements that read a value before it is moved, and leave it where it is."""
        match self.shape.looks:
            case "shape":
                return [f"print({value}.shape)"]
            case "sum":
                return [f"print({value}.sum())"]
            case "length":
                return [f"assert len({value}) > 0"]
            case "branch":
                return [f"if {value}.dim() > 9:", f"    print({value}.sum())"]
            case _:
                return []

    def _part(self, number: int, role: str) -> str:
        batch, key = self.names["q"], self.names[_KEYS[role]]
        return {"index": f"{batch}[{number}]", "dict": f'{batch}["{key}"]'}.get(self.shape.batch, f"{batch}.{key}")


def _made(item: Item) -> str | None:
    """The role of what a line makes."""
    if isinstance(item, Either):
        return next((role for line in (*item.right, *item.wrong) if (role := _made(line)) is not None), None)
    if isinstance(item, New):
        return item.role
    found = _ASSIGNED.match(item) if isinstance(item, str) else None
    return found[1] if found is not None else None
