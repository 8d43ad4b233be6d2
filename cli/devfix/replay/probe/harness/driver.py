"""The text of a driver: a program that anybody can read and run."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .alone import mangled
from .values import Arguments, Value

_HELPERS = {
    "models.py": ("Model(", "Maker(", "Batches("),
    "checkpoints.py": ("checkpoint()",),
    "shown.py": ("show(",),
}
_FUTURE = "from __future__ import annotations\n"


@dataclass(frozen=True)
class Target:
    """What is driven: in the module of that dotted name the function with that qualified name.

    `paths` go onto the module path, relative to the tree; `lines` are the patched ones, in `file`. `host` are the
    parameters whose values are on the host; `kind` is the type of the device. With `is_relative` the file
    imports from its own package.

    `parts` are the first and last lines of what may be run alone, those that say most first. `before` has for each line
    the one of the file before, whose `checksum` it is, and 0 for a patched one. `local_host` are names of which a
    finding says that they are on the host, `made_on_host` those that their own making puts there, and
    `init_host` such parameters of the constructor. The `new_names` and `new_attributes` are read since the patch.
    """

    file: str
    module: str
    name: str
    paths: tuple[str, ...]
    lines: tuple[int, ...]
    host: tuple[str, ...] = ()
    kind: str = "cuda"
    is_relative: bool = False
    parts: tuple[tuple[int, int], ...] = ()
    before: tuple[int, ...] = ()
    checksum: int = 0
    local_host: tuple[str, ...] = ()
    made_on_host: tuple[str, ...] = ()
    init_host: tuple[str, ...] = ()
    new_names: tuple[str, ...] = ()
    new_attributes: tuple[str, ...] = ()

    def is_patched(self, first: int, last: int) -> bool:
        """Whether one of these lines is new."""
        known = self.before[first - 1 : last]
        return not all(known) or any(first <= line <= last for line in self.lines)

    @property
    def owner(self) -> str:
        """The class whose method it is."""
        return self.name.rpartition(".")[0]

    @property
    def own_name(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def attribute(self) -> str:
        """The method's name outside of its class."""
        return mangled(self.own_name, self.owner.rpartition(".")[2])


@dataclass(frozen=True)
class Shape:
    """How it is called. `is_module` says that what is made is a module, which is moved to the device as users do.

    `kind` is `function`, `method`, `static`, `property` or `constructor`; `positional` are parameters without names
    for callers; a `generator` is asked for its first elements, and what a `test` sets up is set up.
    """

    kind: str = "function"
    is_module: bool = False
    positional: tuple[str, ...] = ()
    is_generator: bool = False
    is_test: bool = False


def head(target: Target, absent: Sequence[str], is_run: bool = False) -> str:
    """The imports, up to where arguments are made. With `is_run` the module path is there already."""
    top = target.name.partition(".")[0]
    paths = "" if is_run else _paths(target)
    return "".join(
        (
            f'"""Calls `{target.name}` of {target.file} with arguments that devfix made."""\n\n',
            "import sys\nfrom argparse import Namespace\nfrom itertools import islice\nfrom pathlib import Path\n",
            "from typing import Any\n\n",
            "import torch\nfrom torch import nn\n",
            paths,
            _standing_in(absent, is_run),
            f"\n{_import(target.module, top)}\n\n" if top else "",
            f'device = torch.device("{target.kind}" if {_is_there(target.kind)} else "cpu")\n',
        )
    )


def _import(module: str, name: str) -> str:
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in module.split(".")):
        return f"from {module} import {name}"
    return f"import importlib\n\n{name} = importlib.import_module({module!r}).{name}"


def script(target: Target, absent: Sequence[str], is_run: bool = False) -> str:
    """The driver of the file itself. With `is_run` it is run from the tree's own folder."""
    file = f'str(Path(__file__).resolve().parent / "{target.file}")'
    run = f'runpy.run_module("{target.module}", ' if target.is_relative else "runpy.run_path(sys.argv[0], "
    lines = f'sys.argv = [{file}]\n{run}run_name="__main__")\n'
    doc = f'"""Runs {target.file} with stand-ins for what is not installed."""'
    return f"{doc}\n\nimport runpy\n" + head(target, absent, is_run).partition('"""\n\n')[2] + "\n" + lines


def body(target: Target, shape: Shape, given: Arguments) -> str:
    """From the arguments to the call."""
    lines = ["torch.manual_seed(0)"]
    top = target.name.partition(".")[0]
    lines += [f"sys.modules[{top}.__module__].{name} = {value.text()}" for name, value in given.module]
    called = f"{target.owner}.{target.attribute}" if target.owner else target.name
    if shape.kind in ("method", "property", "constructor"):
        moved = ".to(device)" if shape.is_module else ""
        lines.append(f"subject = {target.owner}({_listed(given.init, ())}){moved}")
        lines += ["subject.setUp()"] if shape.is_test else []
        called = "subject" if target.own_name in ("forward", "__call__") else f"subject.{target.attribute}"
    if shape.kind == "constructor":
        called = "subject"
    if shape.kind == "property" or (shape.kind == "constructor" and not shape.is_module):
        lines.append(f"result = {called}")
    else:
        lines += _called(called, given.call, shape.positional)
    if shape.is_generator:
        lines.append("result = list(islice(result, 3))")
    return "\n".join(lines) + "\n"


def _called(function: str, given: Sequence[tuple[str, Value]], positional: Sequence[str]) -> list[str]:
    """The call. What it is given has a name, so that it can be printed what becomes of it."""
    if not given:
        return [f"result = {function}()"]
    if positional:
        first = ", ".join(f"given[{name!r}]" for name, _ in given if name in positional)
        named = ", ".join(f"{name}=given[{name!r}]" for name, _ in given if name not in positional)
        arguments = ", ".join(filter(None, (first, named)))
    else:
        arguments = "**given"
    return [f"given = dict({_listed(given, ())})", f"result = {function}({arguments})"]


def part_lines(target: Target, given: Arguments) -> str:
    """From the values of names to the lines that are run alone."""
    bound = [f"sys.modules[{target.module!r}].{name} = {value.text()}" for name, value in given.module]
    return "\n".join([*bound, f"part.run({_listed((*given.module, *given.call), ())})"]) + "\n"


def part_text(target: Target, plans: Any, began: Arguments, given: Arguments, absent: Sequence[str]) -> str:
    """The whole driver of lines that are run alone."""
    own = [f"{name!r}: {value.text()}" for name, value in (*began.init, *began.call)]
    file = f'str(Path(__file__).resolve().parent / "{target.file}")'
    rest = "".join(
        (
            f"\ntorch.manual_seed(0)\npart = Part({file}, {target.module!r}, {target.name!r}, {plans!r}, device)\n",
            f"part.begin({{{', '.join(own)}}})\n",
            part_lines(target, given),
        )
    )
    where = f"`{target.name}` of {target.file}" if target.name else target.file
    doc = f'"""Runs lines of {where} with values that devfix made; what cannot run here before them is left out."""'
    start = head(replace(target, name=""), absent).partition('"""\n\n')[2]
    files = dict.fromkeys((*_needed(rest), "checkpoints.py", "alone.py", "shown.py", "parts.py"))
    helpers = "".join(f"\n\n{_source(file)}\n" for file in files)
    return f"{doc}\n\n{start}{helpers}{rest}"


def _needed(rest: str) -> list[str]:
    return [file for file, names in _HELPERS.items() if any(one in rest for one in names)]


def text(target: Target, shape: Shape, given: Arguments, absent: Sequence[str]) -> str:
    """The whole driver."""
    lines = body(target, shape, given)
    shown = [name for name in ("result", "subject", "given") if f"\n{name} = " in lines]
    rest = lines + "print(result)\n" + "".join(f"show({name!r}, {name})\n" for name in shown)
    helpers = "".join(f"\n\n{_source(file)}\n" for file in _needed(rest))
    return f"{head(target, absent)}{helpers}\n{rest}"


def _paths(target: Target) -> str:
    here = "Path(__file__).resolve().parent"
    listed = ", ".join(f'str({here} / "{path}")' if path else f"str({here})" for path in target.paths)
    return f"\nsys.path[:0] = [{listed}]\n"


def packages(absent: Sequence[str]) -> list[str]:
    """Those that are no statements."""
    return [one for one in absent if "#" not in one]


def _standing_in(absent: Sequence[str], is_run: bool) -> str:
    """The stand-ins. With `is_run` the files of the project are imported by what finds out what cannot run."""
    lines = ""
    if absent:
        lines += f"\n{_source('standins.py')}\n\nstand_in({', '.join(map(repr, packages(absent)))})\n"
    if len(packages(absent)) < len(absent) and not is_run:
        left_out = ", ".join(repr(one) for one in absent if "#" in one)
        finder = f"Partly(Path(__file__).resolve().parent, [{left_out}])"
        lines += f"\n{_source('partly.py')}\n\nsys.meta_path.insert(0, {finder})\n"
    return lines


def _source(file: str) -> str:
    """The code of a helper without what stands at its top but imports that the driver has not."""
    code = Path(__file__).with_name(file).read_text(encoding="utf-8")
    code = re.sub(r'\A""".*?"""\n', "", code, flags=re.DOTALL).replace(_FUTURE, "")
    code = re.sub(r"^from \.\w+ import .*\n", "", code, flags=re.MULTILINE)
    for line in (
        "import sys\n",
        "from pathlib import Path\n",
        "from typing import Any\n",
        "import torch\n",
        "from torch import nn\n",
    ):
        code = code.replace(line, "", 1)
    return code.strip()


def _is_there(kind: str) -> str:
    return f"torch.backends.{kind}.is_available()" if kind == "mps" else f"torch.{kind}.is_available()"


def _listed(given: Sequence[tuple[str, Value]], positional: Sequence[str]) -> str:
    """The arguments; those without names first."""
    first = [value.text() for name, value in given if name in positional]
    named = [f"{name}={value.text()}" for name, value in given if name not in positional]
    line = ", ".join([*first, *named])
    return line if len(line) < 90 else "\n    " + ",\n    ".join([*first, *named]) + ",\n"


def positional(parameters: Sequence[Any]) -> tuple[str, ...]:
    """The names of parameters that callers cannot name."""
    return tuple(
        one.name
        for one in parameters
        if one.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
    )
