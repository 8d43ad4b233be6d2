"""What nothing in the project comes to: a function that nothing calls, a class of which nothing makes an object.

A driver shows that such code fails, and not that anybody meets it.
"""

import ast
from collections.abc import Callable, Set

from devfix.replay.harness.reaching import Reached
from devfix.replay.probe.harness.alone import definition

DEEPEST = 8
"""Through so many callers it is asked whether anything calls these."""
_PLAIN_BASES = frozenset({"object", "Module", "nn.Module", "torch.nn.Module"})
"""Bases that call none of the methods that have names of their own."""
_BY_BASES = frozenset({"forward", "extra_repr"})


def uncalled(
    reached: Reached, name: str, is_named: Callable[[str], bool], seen: Set[tuple[str, str]] = frozenset()
) -> str | None:
    """The function `name` of a file, or the class that it is a method of, if nothing in the project uses it but what
    nothing uses either; None where something does, or may.

    `is_named` says whether a word stands in a file that is no Python source: settings name classes, scripts functions.
    """
    owner = name.rpartition(".")[0]
    parts = [owner, name] if owner else [name] if name else []
    return next((one for one in parts if _is_unused(reached, one, is_named, seen)), None)


def _is_unused(reached: Reached, name: str, is_named: Callable[[str], bool], seen: Set[tuple[str, str]]) -> bool:
    last = name.rpartition(".")[2]
    if len(seen) > DEEPEST or not _is_called_by_name(reached.tree, name) or is_named(last):
        return False
    if any(_spells(home.tree, last) for home in reached.speaking(last)):
        return False
    seen = {*seen, (reached.path, name)}
    others = (
        (home, caller)
        for home, caller in reached.users(name)
        if (home.path, caller) not in seen and not (home is reached and caller.startswith(f"{name}."))
    )
    return all(caller and uncalled(home, caller, is_named, seen) for home, caller in others)


def _is_called_by_name(tree: ast.Module, name: str) -> bool:
    """Whether whoever uses a function or a class has to name it: no decorator, no base and no test runner does."""
    found = definition(tree, name.split("."))
    owner, _, last = name.rpartition(".")
    if found is None or found.decorator_list or last.startswith(("__", "test", "Test")) or "." in owner:
        return False
    holder = definition(tree, [owner]) if owner else None
    return holder is None or (last not in _BY_BASES and {ast.unparse(one) for one in holder.bases} <= _PLAIN_BASES)


def _spells(tree: ast.Module, word: str) -> bool:
    """Whether a text in a file is a name that ends with the word, other than in `__all__`: it may be looked up."""
    listed = {id(one) for node in tree.body if _exports(node) for one in ast.walk(node)}
    texts = (one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and id(one) not in listed)
    return any(isinstance(one, str) and one.rpartition(".")[2] == word for one in texts)


def _exports(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(one, ast.Name) and one.id == "__all__" for one in targets)
