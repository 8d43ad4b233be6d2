"""What `from … import *` brings: the names of packages that another file of the project imports."""

import ast
from typing import TYPE_CHECKING

from devfix_codemods.project.units import Unit

if TYPE_CHECKING:
    from devfix_codemods.project.files import Project

_EXPORTS = "__all__"


def brought(project: "Project", unit: Unit, name: str) -> str | None:
    """The package, or what of it, that the star imports of `unit` bind `name` to: `torch` of `import torch as th`.

    None where that is something of the project itself, or where the file that binds it is none of that.
    """
    return _Stars(project).brought(unit, name) if not name.startswith("_") else None


class _Stars:
    """One search. Files that import everything of each other lead round in a circle."""

    def __init__(self, project: "Project") -> None:
        self._project = project
        self._seen: set[str] = set()

    def brought(self, unit: Unit, name: str) -> str | None:
        self._seen.add(unit.path)
        for star in unit.stars:  # the last one binds a name
            other = self._project.behind(unit, star)
            if other is None or other.path in self._seen:
                continue
            if name in other.top_level:
                return self._imported(other, name) or self._defined(other, star, name)
            found = self.brought(other, name)
            if found is not None:
                return found if _exports(other, name) else None
        return None

    def _imported(self, unit: Unit, name: str) -> str | None:
        """What a file imports a name as, if it binds that once."""
        bindings = unit.top_level[name]
        dotted = bindings[0].imported
        if len(bindings) > 1 or dotted is None or dotted.startswith(".") or not _exports(unit, name):
            return None
        return dotted if not self._project.is_of_project(unit, dotted) else None

    def _defined(self, unit: Unit, star: str, name: str) -> str | None:
        """The name of what a file of the project defines, as the file that imports everything of it would import it."""
        bindings = unit.top_level[name]
        if len(bindings) > 1 or bindings[0].imported is not None or not _exports(unit, name):
            return None
        return f"{star}{'' if star.endswith('.') else '.'}{name}"


def _exports(unit: Unit, name: str) -> bool:
    """Whether a file gives a name to those who import everything: all of them, unless it lists them."""
    if _EXPORTS not in unit.top_level:
        return True
    listed = (ast.unparse(one) for one in unit.source.tree.body if isinstance(one, ast.Assign | ast.AugAssign))
    return any(one.startswith(_EXPORTS) and repr(name) in one for one in listed)
