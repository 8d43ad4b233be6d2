"""Modules that were imported before the script, and are out of its sight until it imports them itself.

A run in a fork of a process that has imported torch has to look as if the run itself had done that. So what is
installed beside the standard library is taken out of `sys.modules`, and comes back where the script imports it, with
whatever else that import did. Where the script would have found something else, a module of its own, or variables that
are read when a library is loaded say something else by then, it has to be run again, in an interpreter of its own.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

from .imports import AfterImport

_READ_AT_IMPORT = (
    *("OMP_", "GOMP_", "KMP_", "MKL_", "OPENBLAS_", "GOTO_", "BLIS_", "VECLIB_", "NUMEXPR_", "NPY_", "NUMPY_"),
    *("TORCH", "PYTORCH", "ATEN_", "CUDA_", "CUDNN_", "HIP_", "ROCR_", "HSA_", "ONEDNN_", "DNNL_"),
)
"""How variables begin that are read once, when a library is loaded."""
_READ_LATER = frozenset(
    (
        *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "HIP_VISIBLE_DEVICES"),
        *("ROCR_VISIBLE_DEVICES", "KMP_DUPLICATE_LIB_OK", "TORCH_HOME", "PYTORCH_NVML_BASED_CUDA_CHECK"),
    )
)
"""But these are read when a device is first used, or each time."""
_PROBE = __name__.partition(".")[0]
_OUTPUTS = (1, 2)
_ABSENT = object()

Unlike = Callable[[str], NoReturn]
"""Called with the reason for which a run has to be made again."""


class _Attribute(NamedTuple):
    """An attribute of a module that an import elsewhere changed, such as that of a package for a module in it."""

    owner: ModuleType
    name: str
    before: Any
    after: Any

    def change(self, before: Any, after: Any) -> None:
        """Have it be `after`, where it is `before`."""
        if vars(self.owner).get(self.name, _ABSENT) is before:
            if after is _ABSENT:
                delattr(self.owner, self.name)
            else:
                setattr(self.owner, self.name, after)


@dataclass
class _Group:
    """What an import in a package did: modules, filters of warnings, variables, and what was printed."""

    package: str
    modules: dict[str, ModuleType] = field(default_factory=dict)
    attributes: list[_Attribute] = field(default_factory=list)
    filters: list[Any] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    printed: dict[int, bytes] = field(default_factory=dict)


class Shelf(MetaPathFinder):
    """What a process imports for the runs that are forked from it: `fill` it there, and in a run `hide` it."""

    def __init__(self) -> None:
        self._groups: list[_Group] = []
        self._known = set(sys.modules)
        self._of_system: dict[str, ModuleType] = {}
        self._filters = list(warnings.filters)
        self._path = list(sys.path)
        self._processors = _processors()
        self._temporary = tempfile.gettempdir()
        self._variables: dict[str, str] = {}
        self._unlike: Unlike = _nobody_listens
        self._is_looking = False

    def fill(self, name: str) -> None:
        """Import a module, and remember what that did.

        Raises:
            ImportError: there is none.
        """
        self._groups.append(self._filled(name))

    def extend(self, name: str) -> None:
        """Import a module as if it belonged to the last one."""
        last, more = self._groups[-1], self._filled(name)
        last.modules |= more.modules
        last.attributes += more.attributes
        last.filters += more.filters
        last.variables |= more.variables

    def _filled(self, name: str) -> _Group:
        filters, variables, attributes = list(warnings.filters), dict(os.environ), _attributes()
        sizes = {descriptor: os.fstat(descriptor).st_size for descriptor in _OUTPUTS}
        importlib.import_module(name)
        new = {one: module for one, module in sys.modules.items() if one not in self._known}
        self._known |= new.keys()
        self._of_system |= {one: module for one, module in new.items() if _is_of_system(one) and "." not in one}
        return _Group(
            _package(name),
            {one: module for one, module in new.items() if not (_is_of_system(one) or _is_ours(one))},
            list(_changed(attributes)),
            [one for one in warnings.filters if one not in filters],
            {name: value for name, value in os.environ.items() if variables.get(name) != value},
            {descriptor: _printed(descriptor, size) for descriptor, size in sizes.items()},
        )

    def hide(self) -> None:
        """Take out of sight what is installed, in a run that has its variables. The standard library stays."""
        for group in reversed(self._groups):
            for name in group.modules:
                del sys.modules[name]
            for attribute in group.attributes:
                attribute.change(attribute.after, attribute.before)
        _filter_warnings(self._filters)
        self._variables = dict(os.environ)
        tempfile.tempdir = None
        sys.meta_path.insert(0, self)

    def begin(self, unlike: Unlike) -> None:
        """The script is about to run, with its module path."""
        self._unlike = unlike
        for name in self._shadowed(self._of_system):
            unlike(f"it has a module {name}")

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        module = next((group.modules[fullname] for group in self._groups if fullname in group.modules), None)
        if module is None or self._is_looking:
            return None
        self._is_looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._is_looking = False
        if spec is None or module.__spec__ is None or spec.origin != module.__spec__.origin:
            self._unlike(f"it has a module {fullname}")
        spec.loader = _Returning(self, module)
        return spec

    def give_back(self, fullname: str) -> None:
        """Put back what the import of a module brings.

        That is all that was imported with its package, and before. Of a package that came along with others it is what
        there is of that one: what it needs comes when it is asked for.
        """
        groups = self._taken(fullname)
        for why in self._differences({name: module for group in groups for name, module in group.modules.items()}):
            self._unlike(why)
        for group in groups:
            sys.modules.update(group.modules)
            for attribute in group.attributes:
                attribute.change(attribute.before, attribute.after)
            _filter_warnings([*group.filters, *warnings.filters])
            os.environ.update({name: self._moved(value) for name, value in group.variables.items()})
            for descriptor, text in group.printed.items():
                _print(descriptor, text)
        _act_on([name for group in groups for name in group.modules if name != fullname])

    def _taken(self, fullname: str) -> list[_Group]:
        number = next(number for number, group in enumerate(self._groups) if fullname in group.modules)
        package, group = _package(fullname), self._groups[number]
        if package == group.package:
            taken, self._groups = self._groups[: number + 1], self._groups[number + 1 :]
            return taken
        members = {name: module for name, module in group.modules.items() if _package(name) == package}
        for name in members:
            del group.modules[name]
        attributes = [one for one in group.attributes if _package(one.owner.__name__) == package]
        group.attributes = [one for one in group.attributes if one not in attributes]
        return [_Group(package, members, attributes)]

    def _differences(self, modules: dict[str, ModuleType]) -> Iterator[str]:
        """Why importing these modules now would have done something else."""
        for name in sorted(os.environ.keys() | self._variables.keys()):
            if _is_read_at_import(name) and os.environ.get(name) != self._variables.get(name):
                yield f"it sets {name} before an import"
        if _processors() != self._processors:
            yield "it chooses its processors before an import"
        for name, module in modules.items():
            if sys.modules.get(name, module) is not module:
                yield f"it makes a module {name}"
        for name in self._shadowed({**modules, **self._of_system}):
            yield f"it has a module {name}"

    def _shadowed(self, modules: dict[str, ModuleType]) -> Iterator[str]:
        """The names of modules for which the module path has something else now."""
        offered = self._offered()
        for name, module in modules.items():
            known = None if "." in name or (offered is not None and name not in offered) else module.__spec__
            if known is not None and known.has_location:
                spec = PathFinder.find_spec(name)
                # A folder without `__init__.py` has no loader, and hides nothing that comes after it on the path.
                if spec is not None and spec.origin is not None and spec.origin != known.origin:
                    yield name

    def _offered(self) -> set[str] | None:
        """The modules that the path may have beside those that it had, None where that cannot be told at a glance."""
        before = set(self._path)
        if [one for one in sys.path if one in before] != [one for one in self._path if one in set(sys.path)]:
            return None
        new = [Path(one) for one in sys.path if one not in before]
        if any(one.is_file() or not os.access(one, os.R_OK) for one in new if one.exists()):  # such as an archive
            return None
        files = [file.name for one in new if one.exists() for file in one.iterdir()]
        return {file.partition(".")[0] for file in files}

    def _moved(self, value: str) -> str:
        """A variable that names the temporary folder names that of the run."""
        return value.replace(self._temporary, tempfile.gettempdir())


class _Returning(Loader):
    """Loads a module by giving it back."""

    def __init__(self, shelf: Shelf, module: ModuleType) -> None:
        self._shelf = shelf
        self._module = module
        self._spec = module.__spec__

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # importlib has set its own
        self._shelf.give_back(module.__name__)


def _nobody_listens(_why: str) -> NoReturn:
    sys.exit(1)


def _is_of_system(name: str) -> bool:
    """Whether a module is of the standard library, or of the interpreter."""
    return _package(name) in sys.stdlib_module_names or name in ("__main__", "__mp_main__")


def _is_ours(name: str) -> bool:
    return _package(name) == _PROBE


def _package(name: str) -> str:
    return name.partition(".")[0]


def _attributes() -> list[tuple[ModuleType, dict[str, Any]]]:
    """What is in the modules that are installed."""
    installed = [module for name, module in sys.modules.items() if not (_is_of_system(name) or _is_ours(name))]
    return [(module, dict(vars(module))) for module in installed]


def _changed(attributes: list[tuple[ModuleType, dict[str, Any]]]) -> Iterator[_Attribute]:
    """What is otherwise by now."""
    for module, before in attributes:
        after = dict(vars(module))
        for name in before.keys() | after.keys():
            old, new = before.get(name, _ABSENT), after.get(name, _ABSENT)
            if old is not new:
                yield _Attribute(module, name, old, new)


def _is_read_at_import(name: str) -> bool:
    return name.startswith(_READ_AT_IMPORT) and name not in _READ_LATER


def _processors() -> object:
    return os.sched_getaffinity(0) if sys.platform == "linux" else None


def _filter_warnings(filters: Iterable[Any]) -> None:
    filters = list(filters)
    warnings.resetwarnings()  # which also lets go of what is remembered of the old ones
    warnings.filters.extend(filters)  # type: ignore[attr-defined]


def _printed(descriptor: int, start: int) -> bytes:
    """What a file, in the place of an output, has after `start`."""
    size = os.fstat(descriptor).st_size - start
    return os.pread(descriptor, size, start) if size > 0 else b""


def _print(descriptor: int, text: bytes) -> None:
    stream = sys.stdout if descriptor == 1 else sys.stderr
    if text and stream is not None:
        stream.write(text.decode("utf-8", "replace"))


def _act_on(names: list[str]) -> None:
    for finder in list(sys.meta_path):
        if isinstance(finder, AfterImport):
            finder.imported(names)
