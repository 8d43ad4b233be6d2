"""How a move is written."""

import ast
from dataclasses import dataclass, replace
from itertools import count

from devfix_codemods.edits.operations import Edit
from devfix_codemods.edits.quotes import unquoted
from devfix_codemods.repairs.points import names_in


@dataclass(frozen=True, slots=True)
class Suffix:
    """How a move is written: `.to(device, non_blocking=True)`.

    `device` is what `device=` would say, None where nothing can. `test` is the condition under which alone it works.
    """

    text: str
    device: str | None
    follows: bool = False
    test: str | None = None
    edits: tuple[Edit, ...] = ()
    """What declares the device."""

    @property
    def chosen(self) -> str:
        """What `device=` says where the condition holds, and where it does not."""
        return f"{self._told} if {self.test} else None"

    @property
    def _told(self) -> str:
        """The device that the move is told: `"cuda"` where a call of `cuda` is told none."""
        code = f"_{self.text}"
        call = ast.parse(code, mode="eval").body
        given = [*call.args, *(one.value for one in call.keywords if one.arg == "device")]  # type: ignore[attr-defined]
        return (ast.get_source_segment(code, given[0]) if given else None) or '"cuda"'

    def beside(self, name: str) -> str:
        """A name for what a comprehension moves: `name`, or one like it that the move does not read itself."""
        read = names_in(f"_{self.text}")
        return next(one for number in count() for one in [name + number * "_"] if one not in read)

    @property
    def of_module(self) -> "Suffix":
        """The same for a module, which is told no more than where to: `cuda` of one takes no `non_blocking`."""
        code = f"_{self.text}"
        call = ast.parse(code, mode="eval").body
        assert isinstance(call, ast.Call)
        told = [*call.args[:1], *(one for one in call.keywords if one.arg == "device")]
        head = ast.get_source_segment(code, call.func) or code
        given = ", ".join(ast.get_source_segment(code, one) or "" for one in told)
        return replace(self, text=f"{head.removeprefix('_')}({given})")

    @property
    def of_encoding(self) -> "Suffix":
        """The same for what a tokenizer gives, which has `to`, and no `cuda`."""
        code = f"_{self.text}"
        call = ast.parse(code, mode="eval").body
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "cuda":
            return self
        return replace(self, text=f".to({self._told})")

    def title(self, name: str, sibling: str | None = None) -> str:
        """What a move does, in words: "Move `y` to `device`, as `x` is"."""
        where = (
            f"Move `{name}`: `{self.text}`" if self.device is None else f"Move `{name}` to `{unquoted(self.device)}`"
        )
        return where if sibling is None else f"{where}, as `{sibling}` is"

    def statement(self, name: str, may_be_none: bool = False) -> str:
        """The statement that moves what is called `name`."""
        tests = [f"{name} is not None"] if may_be_none else []
        tests += [self.test] if self.test is not None else []
        move = f"{name} = {name}{self.text}"
        return f"if {' and '.join(tests)}:\n    {move}" if tests else move
