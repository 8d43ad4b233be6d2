"""What a driver holds to run some lines of a file alone. Its own text goes into the driver."""

from __future__ import annotations
import __future__

import ast
import importlib
import importlib.util
import sys
import zlib
from pathlib import Path
from typing import Any

import torch
from torch import nn

from .alone import Alone, Left, complete, definition, inner_blocks, leaves
from .checkpoints import find_checkpoints
from .shown import show


class NotLedError(Exception):
    """A condition in front of the lines does not hold."""


class Part:
    """Lines of a function, or of a file without a `name`, and what stands before them.

    `plans` has, by the checksum of the file's text, the first and the last line, the lines of the statements in front
    that are left out since they cannot run here, and those of conditions that are taken to hold, though they do not
    with the values that are there.
    """

    def __init__(self, file: str, module: str, name: str, plans: dict[int, Any], device: Any) -> None:
        source = Path(file).read_bytes()
        self.first, self.last, self.left_out, self.assumed = plans[zlib.crc32(source)]
        self.file, self.module, self.name, self.device = file, module, name, device
        self.tree = ast.parse(source)
        future = [one for one in self.tree.body if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        self.flags = __future__.annotations.compiler_flag if future else 0
        self.statements: list[Any] = []
        self.rest: list[Any] = []
        self.owner: Any = None
        self.names: dict[str, Any] = {}
        self.finder: Any = next((one for one in sys.meta_path if hasattr(one, "stands_for")), None)
        complete(file)
        find_checkpoints()

    def load(self) -> None:
        """Import the file as far as its statements run; a script up to the lines."""
        spec = importlib.util.spec_from_file_location(self.module, self.file)
        assert spec is not None
        made = importlib.util.module_from_spec(spec)
        made.__name__ = self.module if self.name else "__main__"
        self.attempt(lambda: importlib.import_module(self.module.rpartition(".")[0]))
        sys.modules[self.module] = made
        self.names = vars(made)
        if not self.name:
            self.enter(self.tree.body)
            return
        for statement in self.tree.body:
            self.do(statement)

    def begin(self, given: dict[str, Any]) -> None:
        """Run what stands before the lines, with these values of parameters."""
        self.load()
        if not self.name:
            return
        self.names = {**self.names, **given}
        self.enter(self.subject(self.name.split("."), given).body)

    def subject(self, path: list[str], given: dict[str, Any]) -> Any:
        """The function; of a method also the object, made by what of its constructor can run."""
        function = definition(self.tree, path)
        kinds = {one.id for one in function.decorator_list if isinstance(one, ast.Name)}
        if len(path) == 1 or "staticmethod" in kinds or not function.args.args:
            return function
        self.owner = self.names[path[0]]
        for part in path[1:-1]:
            self.owner = getattr(self.owner, part)
        self.names["its_class"] = self.owner
        self.names[function.args.args[0].arg] = self.owner
        if "classmethod" not in kinds:
            self.names[function.args.args[0].arg] = self.made(path, function)
        self.names.update(given)
        return function

    def made(self, path: list[str], function: Any) -> Any:
        """The object whose method the function is."""
        made = self.owner.__new__(self.owner)
        init = definition(self.tree, [*path[:-1], "__init__"])
        if init is None:
            self.attempt(made.__init__)
        elif init is not function:
            kept, self.names = self.names, {**self.names, init.args.args[0].arg: made}
            for statement in init.body:
                self.do(statement)
            self.names = kept
        if isinstance(made, nn.Module) and hasattr(made, "_modules"):
            self.attempt(lambda: made.to(self.device))
        return made

    def enter(self, block: list[Any]) -> None:
        """Run the statements of a block up to the lines, and go into the one that they stand in."""
        for index, statement in enumerate(block):
            if statement.lineno >= self.first:
                self.statements = [one for one in block[index:] if one.lineno <= self.last]
                self.rest = [one for one in block[index:] if one.lineno > self.last]
                return
            if statement.end_lineno >= self.first:
                blocks = list(inner_blocks(statement))
                inner = next(one for one in blocks if one[0].lineno <= self.first <= one[-1].end_lineno)
                self.lead(statement, inner is blocks[0])
                self.enter(inner)
                return
            self.do(statement)

    def lead(self, statement: Any, is_first: bool) -> None:
        """Run the head of a statement around the lines."""
        if isinstance(statement, (ast.If, ast.While)):
            self.names["is_led"] = is_first
            self.do(ast.parse(f"is_led = bool({ast.unparse(statement.test)})").body[0], statement.lineno)
            self.judge(statement.lineno, self.names["is_led"] == is_first)
        elif isinstance(statement, ast.For):
            head = f"{ast.unparse(statement.target)} = next(iter({ast.unparse(statement.iter)}))"
            self.do(ast.parse(head).body[0], statement.lineno)
        elif isinstance(statement, ast.With):
            for item in statement.items:
                name = f"{ast.unparse(item.optional_vars)} = " if item.optional_vars else ""
                self.do(ast.parse(f"{name}({ast.unparse(item.context_expr)}).__enter__()").body[0], statement.lineno)

    def judge(self, line: int, holds: bool) -> None:
        """Refuse to go where a condition does not lead. One that is assumed must not hold anywhere: then no device
        decides.
        """
        if holds == (line in self.assumed):
            raise NotLedError(f"the condition of line {line} {'holds' if holds else 'does not hold'}")

    def do(self, statement: Any, line: Any = None) -> None:
        """Run a statement, if it is not left out."""
        if line is not None:
            for one in ast.walk(statement):
                one.lineno = one.end_lineno = line  # type: ignore[attr-defined]
        finder = self.finder if line is None else None
        stands_in = finder is not None and finder.stands_for(statement, self.file, self.names)
        if not stands_in and statement.lineno not in self.left_out:
            self.execute([statement])

    def attempt(self, action: Any) -> None:
        """Do what may fail."""
        try:
            action()
        except (Exception, SystemExit):
            return

    def execute(self, statements: list[Any]) -> None:
        """Run statements as if they stood alone in the file."""
        self.names["Left"] = Left
        alone = [Alone(self.owner).visit(one) for one in statements]
        if any(leaves(one) for one in alone):
            loop = ast.copy_location(ast.For(ast.Name("once", ast.Store()), ast.Constant("1"), alone, []), alone[0])
            alone = [loop]
        module = ast.fix_missing_locations(ast.Module(alone, []))
        exec(compile(module, self.file, "exec", self.flags, dont_inherit=True), self.names)

    def run(self, **given: Any) -> None:
        """Run the lines with these values of names, and print what they bind."""
        self.names.update(given)
        torch.manual_seed(0)
        try:
            self.execute(self.statements)
            self.follow()
        except Left as left:
            self.names["returned"] = left.args[0] if left.args else None
        read = [one for part in self.statements for one in ast.walk(part)]
        for name in sorted({"returned", *(one.id for one in read if isinstance(one, ast.Name))}):
            show(name, self.names.get(name))

    def follow(self) -> None:
        """Run what stands behind the lines in their block, as far as it goes on with what they bind.

        It fails where that meets something on another device: then they alone do not repair it.
        """
        kept, bound = dict(self.names), {name for name, is_stored in _names(self.statements) if is_stored}
        for statement in self.rest:
            read = {name for name, is_stored in _names([statement]) if not is_stored}
            calls = [ast.unparse(one.func) for one in ast.walk(statement) if isinstance(one, ast.Call)]
            if hasattr(statement, "body") or not (read & bound or all(one.startswith("torch.") for one in calls)):
                break
            try:
                self.execute([statement])
            except Exception as error:
                if any(word in str(error) for word in ("device", "cuda", "backend")):
                    raise
                break
        self.names.update(kept)


def _names(statements: list[Any]) -> list[tuple[str, bool]]:
    """The names in statements, and whether they are bound there."""
    found = [one for statement in statements for one in ast.walk(statement) if isinstance(one, ast.Name)]
    return [(one.id, isinstance(one.ctx, ast.Store)) for one in found]
