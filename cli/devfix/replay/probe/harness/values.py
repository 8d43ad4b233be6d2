"""Values of arguments as the text that makes them: what the search changes, and what the driver says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Union

FLOAT, LONG, BOOL = "float", "long", "bool"


@dataclass(frozen=True)
class Tensor:
    """A tensor of random numbers: whole ones are below `high`. On the device, or with `is_host` on the host."""

    shape: tuple[int, ...]
    kind: str = FLOAT
    high: int = 2
    is_host: bool = False

    def text(self) -> str:
        place = "" if self.is_host else ", device=device"
        sizes = ", ".join(map(str, self.shape))
        if self.kind == LONG:
            tail = "," if len(self.shape) == 1 else ""
            return f"torch.randint(0, {self.high}, ({sizes}{tail}){place})"
        if self.kind == BOOL:
            return f"torch.rand({sizes or '()'}{place}) > 0.5"
        return f"torch.rand({sizes or '()'}{place})"


@dataclass(frozen=True)
class Plain:
    """A number, a string, None: what `repr` writes; or with `source` any expression of the driver."""

    value: Any = None
    source: str = ""

    def text(self) -> str:
        return self.source or repr(self.value)


@dataclass(frozen=True)
class Items:
    """A list, or with `is_tuple` a tuple, or with `is_loader` what stands for a loader of these batches."""

    parts: tuple[Value, ...]
    is_tuple: bool = False
    is_loader: bool = False

    def text(self) -> str:
        inside = ", ".join(part.text() for part in self.parts)
        if self.is_loader:
            return f"Batches([{inside}])"
        if self.is_tuple:
            return f"({inside}{',' if len(self.parts) == 1 else ''})"
        return f"[{inside}]"


@dataclass(frozen=True)
class Named:
    """A dict, or with `is_object` an object with these attributes."""

    parts: tuple[tuple[Any, Value], ...] = ()
    is_object: bool = False

    def text(self) -> str:
        if self.is_object:
            return f"Namespace({', '.join(f'{name}={part.text()}' for name, part in self.parts)})"
        return "{" + ", ".join(f"{name!r}: {part.text()}" for name, part in self.parts) + "}"

    def having(self, name: Any, part: Value) -> Named:
        """The same with one more entry, or another one of that name."""
        rest = tuple(entry for entry in self.parts if entry[0] != name)
        return replace(self, parts=(*rest, (name, part)))


@dataclass(frozen=True)
class Net:
    """What stands for a model that gives outputs of that form; with `parts` that are its own.

    With `is_maker` it is what makes the model, and with `is_host` the model is on the host.
    """

    form: str
    parts: tuple[tuple[str, Value], ...] = ()
    is_maker: bool = False
    is_host: bool = False

    def text(self) -> str:
        return self.made() if self.is_maker or self.is_host else f"{self.made()}.to(device)"

    def made(self) -> str:
        """The model before it is moved."""
        own = [f"{name}={part.made() if isinstance(part, Net) else part.text()}" for name, part in self.parts]
        kind = "Maker" if self.is_maker else "Model"
        return f"{kind}({', '.join([repr(self.form), *own])})"

    def having(self, name: str, part: Value) -> Net:
        """The same with one more part, or another one of that name."""
        rest = tuple(entry for entry in self.parts if entry[0] != name)
        return replace(self, parts=(*rest, (name, part)))


Value = Union[Tensor, Plain, Items, Named, Net]

NONE = Plain(None)
DEVICE = Plain(source="device")
DTYPE = Plain(source="torch.float32")
GENERATOR = Plain(source="torch.Generator(device=device)")
LOSS = Plain(source="nn.CrossEntropyLoss()")
CHECKPOINT = Plain(source="checkpoint()")
FUNCTION = Plain(source="lambda *given, **named: given[0] if given else None")
OPTIMIZER = Plain(source="torch.optim.SGD([nn.Parameter(torch.zeros(1, device=device))], lr=0.1)")
MODELS = tuple(map(Net, ("logits", "same", "number", "pair")))


@dataclass(frozen=True)
class Path:
    """Where in the arguments a value stands: `call`, `init` or `module`, the parameter, and the way into its value."""

    where: str
    name: str
    inside: tuple[Any, ...] = ()


def parts(value: Value, path: Path) -> Iterator[tuple[Path, Value]]:
    """The value and what is inside of it, each with its path."""
    yield path, value
    if isinstance(value, Items):
        for index, part in enumerate(value.parts):
            yield from parts(part, replace(path, inside=(*path.inside, index)))
    elif isinstance(value, (Named, Net)):
        for name, part in value.parts:
            yield from parts(part, replace(path, inside=(*path.inside, name)))


def changed(value: Value, inside: tuple[Any, ...], new: Value) -> Value:
    """The value with another one in it."""
    if not inside:
        return new
    if isinstance(value, Items):
        listed = list(value.parts)
        listed[inside[0]] = changed(listed[inside[0]], inside[1:], new)
        return replace(value, parts=tuple(listed))
    if isinstance(value, (Named, Net)):
        return value.having(inside[0], changed(dict(value.parts)[inside[0]], inside[1:], new))
    raise TypeError(f"{value} has nothing inside")


@dataclass(frozen=True)
class Arguments:
    """The values that are given: those of the constructor and those of the call, by parameter.

    `module` are those of names that the file binds only where it is run as a script.
    """

    init: tuple[tuple[str, Value], ...] = ()
    call: tuple[tuple[str, Value], ...] = ()
    module: tuple[tuple[str, Value], ...] = ()

    def all(self) -> Iterator[tuple[Path, Value]]:
        """Each value, and what is inside of each."""
        for where in ("call", "init", "module"):
            for name, value in getattr(self, where):
                yield from parts(value, Path(where, name))

    def top(self, where: str, name: str) -> Value | None:
        """What a parameter is given."""
        return dict(getattr(self, where)).get(name)

    def with_value(self, path: Path, new: Value) -> Arguments:
        """The same with another value at `path`, which may be a parameter that was given none."""
        listed = dict(getattr(self, path.where))
        listed[path.name] = changed(listed[path.name], path.inside, new) if path.inside else new
        return replace(self, **{path.where: tuple(listed.items())})
