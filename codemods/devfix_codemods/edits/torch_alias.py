"""Code that fixes write, by the name that a file has for torch: `th` where it says `import torch as th`."""

import ast
import re
from collections.abc import Iterable
from dataclasses import replace

from devfix_codemods.edits.operations import (
    AddImport,
    Edit,
    InsertStatement,
    ReplaceExpression,
    ReplaceStatement,
    RewriteCall,
)

_TORCH = re.compile(r"(?<![\w.\"'])torch(?=\.)")


def torch_names(tree: ast.Module, before: int | None = None) -> set[str]:
    """The names that statements of a file itself bind to torch, above the line `before` if given."""
    imports = (one for one in tree.body if isinstance(one, ast.Import) and (before is None or one.lineno < before))
    return {
        alias.asname or "torch"
        for one in imports
        for alias in one.names
        if alias.name == "torch" or (alias.asname is None and alias.name.startswith("torch."))
    }


def by_alias(tree: ast.Module, edits: Iterable[Edit]) -> tuple[Edit, ...]:
    """`edits`, which speak of `torch`, in the words of a file that has another name for it alone."""
    names = torch_names(tree)
    if not names or "torch" in names:
        return tuple(edits)
    alias = min(names)
    return tuple(_spelled(one, alias) for one in edits if one != AddImport("torch"))


def _spelled(edit: Edit, alias: str) -> Edit:
    match edit:
        case InsertStatement(code=code) | ReplaceExpression(code=code) | ReplaceStatement(code=code):
            return replace(edit, code=_TORCH.sub(alias, code))
        case RewriteCall(function=function, arguments=arguments):
            given = None
            if arguments is not None:
                texts = ((one, one.value) for one in arguments)
                given = tuple(
                    replace(one, value=_TORCH.sub(alias, text)) if isinstance(text, str) else one for one, text in texts
                )
            return replace(edit, function=function and _TORCH.sub(alias, function), arguments=given)
    return edit
