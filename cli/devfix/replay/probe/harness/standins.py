"""What a driver holds to stand for packages that are not installed. Its own text goes into the driver."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import sys
import types
from typing import Any

import torch
from torch import nn

MODULES = frozenset(("LightningModule", "PreTrainedModel", "ModelMixin"))
"""Classes of Lightning, transformers and diffusers that derive from `nn.Module`, and have a `device`."""

_SAME = {one: one for one in ("float", "int", "bool", "object", "str", "complex")}
_RENAMED = (
    "float_:float64 complex_:complex128 unicode_:str_ string_:bytes_ bool8:bool_ Inf:inf Infinity:inf NaN:nan "
    "product:prod cumproduct:cumprod trapz:trapezoid alltrue:all sometrue:any in1d:isin row_stack:vstack"
)
OF_NUMPY = {**_SAME, **dict(one.split(":") for one in _RENAMED.split())}
"""Names that numpy had once, and what they were: of Python where it is the same word, else of numpy."""


class StandIn:
    """Stands for something of a package that is not installed: it is imported, called, subclassed, and does nothing."""

    def __init__(self, name: str = "", given: tuple[Any, ...] = ()) -> None:
        self._name, self._given = name, given

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return StandIn(f"{self._name}.{name}")

    def __call__(self, *given: Any, **named: Any) -> Any:
        if len(given) == 1 and not named and isinstance(given[0], (type, types.FunctionType)):
            return given[0]  # as of a decorator
        return StandIn(f"{self._name}()", given)

    def __iter__(self) -> Any:
        return iter(next((one for one in self._given if hasattr(one, "__iter__")), ()))

    def __mro_entries__(self, bases: Any) -> tuple[type, ...]:
        first = next(one for one in bases if isinstance(one, StandIn))
        if first is not self or any(isinstance(one, type) and issubclass(one, Base) for one in bases):
            return ()  # one such base is enough, and no class can have it twice
        return (ModuleBase if self._name.rpartition(".")[2] in MODULES else Base,)

    def __getitem__(self, key: Any) -> Any:
        return StandIn(f"{self._name}[...]")

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, other: Any) -> bool:
        return False

    def __setitem__(self, key: Any, value: Any) -> None:
        return None

    def _computed(self, other: Any) -> Any:
        return self

    def _is_newer(self, other: Any) -> bool:
        """Who compares what is not there compares versions, and has ways around those that are old."""
        return True

    def _is_older(self, other: Any) -> bool:
        return False

    __gt__ = __ge__ = _is_newer
    __lt__ = __le__ = _is_older
    __or__ = __ror__ = __add__ = __radd__ = __sub__ = __rsub__ = _computed
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __pow__ = __rpow__ = _computed


class Base:
    """Stands for a class of a package that is not installed, as one that others derive from."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__()

    def __getattr__(self, name: str) -> Any:
        """What the class of the package would have; what another base has comes first."""
        with contextlib.suppress(AttributeError):
            return super().__getattr__(name)  # type: ignore[misc]
        if name.startswith("_"):
            raise AttributeError(name)
        return StandIn(f"{type(self).__name__}.{name}")


class ModuleBase(Base, nn.Module):
    """Stands for a class of a package that is not installed and whose objects are modules."""

    @property
    def device(self) -> torch.device:
        """Where the module is, as all `MODULES` tell it."""
        return next(self.parameters(), torch.empty(0)).device


class Version(importlib.metadata.Distribution):
    """What is known of a package that is not installed: its name and its version."""

    def __init__(self, text: str) -> None:
        self.text = text

    def read_text(self, filename: str) -> Any:
        package, _, version = self.text.partition("==")
        return f"Name: {package}\nVersion: {version}\n" if filename == "METADATA" else None

    def locate_file(self, path: Any) -> Any:
        return path


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of these packages, and the versions of those that are named with one: `package==0`."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    def find_distributions(self, context: Any) -> Any:
        return [Version(one) for one in self.names if one.startswith(f"{context.name}==")]

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if not any(name == one or name.startswith(f"{one}.") for one in self.names):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: Any) -> Any:
        module = types.ModuleType(spec.name)
        vars(module)["__getattr__"] = StandIn(spec.name).__getattr__
        vars(module).update({"__version__": "0", "__version_tuple__": (0,), "__version_info__": (0,)})
        return module

    def exec_module(self, module: Any) -> None:
        return None


def stand_in(*names: str) -> None:
    """Have these packages importable, give numpy those of its old names, and others the names that they lack."""
    for one in [one for one in names if one.startswith("numpy.")]:
        numpy, word = importlib.import_module("numpy"), one.partition(".")[2]
        meant = OF_NUMPY[word]
        setattr(numpy, word, getattr(builtins if meant == word else numpy, meant))
    for module, _, word in [one.partition(":") for one in names if ":" in one]:
        setattr(importlib.import_module(module), word, StandIn(f"{module}.{word}"))
    sys.meta_path.insert(0, Absent(names))
