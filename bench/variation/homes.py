"""Where the lines of a program stand: at the top level, in a function, in a class, in two files."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from variation.plans import New
from variation.shapes import ABSENT
from variation.texts import indented

if TYPE_CHECKING:
    from variation.writing import Writer

_IMPORTS = {
    r"\bcopy\.": "import copy",
    r"\bos\.": "import os",
    r"\bdeque\b": "from collections import deque",
    r"@dataclass": "from dataclasses import dataclass",
    r"\bislice\(": "from itertools import islice",
    r"\bnp\.": "import numpy as np",
    r"": "import torch",
    r"\bF\.": "import torch.nn.functional as F",
    r"\bnn\.": "from torch import nn",
}
_DATA_NAMES = ("DataLoader", "Dataset", "TensorDataset")


def lay_out(writer: Writer) -> dict[str, str]:
    """The program's files by name."""
    plan, name = writer.plan, writer.names
    defs = [*_definitions(writer), *writer.lines(plan.defs)]
    is_trainer = writer.shape.home == "trainer"
    writer.owner = "self." if is_trainer else ""
    setup = [*_start(writer), *_data(writer), *writer.lines(plan.setup)]
    writer.used.clear()
    alias = []
    if is_trainer and writer.shape.move == "to-device":
        alias, writer.aliased_device = [f"{name['dev']} = self.{name['dev']}"], True
    body = [*alias, *_body(writer)]
    if writer.needs_helper:
        defs = [*writer.helper(), "", "", *defs]
    shared = [name[role] for role in writer.shared if role in writer.used]
    return _HOMES[writer.shape.home](writer, defs, setup, body, shared)


def _definitions(writer: Writer) -> list[str]:
    """What a shape needs above all others: the progress bar, the data's classes, a network."""
    name, shape = writer.names, writer.shape
    lines: list[str] = []
    if shape.loop == "progress":
        lines += [f"class {name['bar']}:", "    def __init__(self, items):", "        self.items = items", ""]
        lines += ["    def __iter__(self):", "        yield from self.items", "", ""]
    elif shape.loop == "progress-import":
        lines += ["try:", "    from tqdm import tqdm", "except ImportError:", ""]
        lines += ["    def tqdm(items, **_):", "        return items", "", ""]
    roles = [field.role for field in writer.plan.fields]
    keys = [name[f"k{role}"] for role in roles]
    if shape.batch == "object":
        lines += ["@dataclass", f"class {name['Pack']}:", *(f"    {key}: torch.Tensor" for key in keys), "", ""]
        lines += [f"def {name['gather']}(rows):"]
        lines += [f"    return {name['Pack']}(*[torch.stack(column) for column in zip(*rows)])", "", ""]
    if shape.data == "class":
        made = [f"        self.{key} = {field.made}" for key, field in zip(keys, writer.plan.fields)]
        got = [f"self.{key}[index]" for key in keys]
        if shape.batch == "dict":
            row = "{" + ", ".join(f'"{key}": {value}' for key, value in zip(keys, got)) + "}"
        else:
            row = ", ".join(got)
        lines += [f"class {name['Rows']}(Dataset):", "    def __init__(self):", *made, ""]
        lines += ["    def __len__(self):", f"        return len(self.{keys[0]})", ""]
        lines += ["    def __getitem__(self, index):", f"        return {row}", "", ""]
    if shape.network == "class":
        lines += [f"class {name['Net']}(nn.Module):", "    def __init__(self):", "        super().__init__()"]
        lines += [f"        self.{name['fc']} = nn.Linear(4, 2)", ""]
        lines += [
            f"    def forward(self, {name['x']}):",
            f"        return self.{name['fc']}({name['x']})",
            "",
            "",
        ]
    if shape.network == "builder":
        parts, depth = name["parts"], name["n"]
        lines += [f"def {name['build']}({depth}):", f"    {parts} = []", f"    for _ in range({depth}):"]
        lines += [f"        {parts}.append(nn.Linear(4, 4))", f"    {parts}.append(nn.Linear(4, 2))"]
        lines += [f"    return nn.Sequential(*{parts})", "", ""]
    return lines


def _start(writer: Writer) -> list[str]:
    """Seeds, and the device or the flag."""
    shape = writer.shape
    lines = ["torch.manual_seed(0)"]
    condition = "torch.cuda.is_available()"
    if shape.guard == "flag":
        lines.append(f"{writer.name('flag')} = {condition}")
    if not shape.has_device:
        return lines
    device = writer.name("dev")
    if shape.guard == "ternary":
        chosen = (
            f'torch.device("cuda" if {condition} else "cpu")',
            f'"cuda" if {condition} else "cpu"',
            f'torch.device("cuda:0") if {condition} else torch.device("cpu")',
        )
        return [*lines, f"{device} = {shape.pick(chosen)}"]
    return [*lines, f"{device} = " + shape.pick(['torch.device("cuda")', '"cuda"', 'torch.device("cuda:0")'])]


def _data(writer: Writer) -> list[str]:
    """The loaders."""
    fields, name, shape = writer.plan.fields, writer.names, writer.shape
    if shape.loop == ABSENT:
        return []
    made = [field.made for field in fields]
    if shape.data == "tensors":
        rows = f"TensorDataset({', '.join(made)})"
    elif shape.data == "class":
        rows = f"{name['Rows']}()"
    elif shape.batch == "dict":
        short = [name[field.role] for field in fields]
        row = ", ".join(f'"{name[f"k{field.role}"]}": {one}' for field, one in zip(fields, short))
        rows = f"[{{{row}}} for {', '.join(short)} in zip({', '.join(made)})]"
    else:
        rows = f"list(zip({', '.join(made)}))"
    collate = f", collate_fn={name['gather']}" if shape.batch == "object" else ""
    lines = [f"{name['rows']} = {rows}", f"{writer.name('src')} = DataLoader({name['rows']}, batch_size=2{collate})"]
    if shape.loop == "zip":
        lines.append(f"{writer.name('src2')} = DataLoader(torch.arange(4), batch_size=2)")
    return lines


def _body(writer: Writer) -> list[str]:
    """What the program does once all is made."""
    plan, noise = writer.plan, writer.shape.noise
    has_net = any(isinstance(item, New) and item.role == "net" for item in plan.setup)
    step = list(plan.step)
    if plan.trains:
        step += ["{loss}.backward()", "{opt}.step()"]
    if noise == "zero-grad" and plan.trains:
        step.insert(0, "{opt}.zero_grad()")
    start: list[str] = []
    if noise == "train" and has_net:
        start.append(writer.fill("{net}.train()"))
    if noise == "prints":
        step.append('print("loss", {loss}.item())' if plan.trains else 'print("done")')
    if noise == "no-grad" and plan.scores:
        step += ["with torch.no_grad():", "    {top} = {out}.argmax(dim=1)", "    print({top}.tolist())"]
    if noise == "metrics" and plan.scores:
        start.append(writer.fill("{hits} = 0"))
        step.append("{hits} += ({out}.argmax(dim=1) == 1).sum().item()")
    before, loop, after = writer.lines(plan.before), writer.loop(step), writer.lines(plan.after)
    if noise == "epochs":
        loop = [writer.fill("for {epoch} in range(2):"), *indented(loop)]
    return [*start, *before, *loop, *after]


def _script(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    return _one([*defs, *setup, *body])


def _function(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    fit, listed = writer.names["fit"], ", ".join(shared)
    function = [f"def {fit}({listed}):", *indented(body), "", ""]
    return _one([*defs, *function, *_main([*setup, f"{fit}({listed})"])])


def _method(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    owner, fit = writer.names["Owner"], writer.names["fit"]
    method = [f"    def {fit}({', '.join(['self', *shared])}):", *indented(indented(body)), "", ""]
    call = f"{owner}().{fit}({', '.join(shared)})"
    return _one([*defs, f"class {owner}:", *method, *_main([*setup, call])])


def _trainer(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    name, given = writer.names, ""
    owner, fit, device = name["Owner"], name["fit"], name["dev"]
    call = [f"{owner}().{fit}()"]
    if writer.shape.variant % 2:
        # The device is made by who makes the trainer.
        for number, line in enumerate(setup):
            if line.startswith(f"self.{device} = "):
                given = f", {device}"
                call = [line.removeprefix("self."), f"{owner}({device}).{fit}()"]
                setup = [*setup[:number], f"self.{device} = {device}", *setup[number + 1 :]]
                break
    made = [f"    def __init__(self{given}):", *indented(indented(setup)), ""]
    method = [f"    def {fit}(self):", *indented(indented(body)), "", ""]
    return _one([*defs, f"class {owner}:", *made, *method, *_main(call)])


def _closure(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    fit = writer.names["fit"]
    return _one([*defs, *_main([*setup, "", f"def {fit}():", *indented(body), "", f"{fit}()"])])


def _two_files(
    writer: Writer, defs: Sequence[str], setup: Sequence[str], body: Sequence[str], shared: Sequence[str]
) -> dict[str, str]:
    fit, module, listed = writer.names["fit"], writer.names["file"], ", ".join(shared)
    other = _with_imports([*defs, f"def {fit}({listed}):", *indented(body)])
    script = [*setup, f"{fit}({listed})"]
    text = "\n".join(script)
    needed = sorted(name for name in _defined(other) if re.search(rf"\b{re.escape(name)}\b", text))
    return {
        "main.py": _with_imports(["", f"from {module} import {', '.join(needed)}", "", *script]),
        f"{module}.py": other,
    }


_HOMES = {
    "script": _script,
    "function": _function,
    "method": _method,
    "trainer": _trainer,
    "closure": _closure,
    "two-files": _two_files,
}


def _one(lines: Sequence[str]) -> dict[str, str]:
    return {"main.py": _with_imports(["", *lines])}


def _main(lines: Sequence[str]) -> list[str]:
    return ["def main():", *indented(lines), "", "", 'if __name__ == "__main__":', "    main()"]


def _with_imports(lines: Sequence[str]) -> str:
    text = "\n".join(lines)
    found = [line for pattern, line in _IMPORTS.items() if re.search(pattern, text)]
    data = [name for name in _DATA_NAMES if re.search(rf"\b{name}\(|\({name}\)", text)]
    if data:
        found.append(f"from torch.utils.data import {', '.join(data)}")
    return "\n".join(found) + "\n" + text + "\n"


def _defined(text: str) -> set[str]:
    """The names that a module defines at its top level."""
    found: set[str] = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found
