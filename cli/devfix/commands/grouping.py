"""Options that several commands share, each declared once: as the fields of a dataclass."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any


def grouped(command: Callable[..., int]) -> Callable[..., int]:
    """`command` as Typer is to see it: each parameter annotated with a dataclass is an option for each of its fields.

    Fields are annotated like parameters, and have defaults. A subclass that declares a field anew changes that option
    and leaves its place.
    """
    own = inspect.signature(command, eval_str=True)
    groups = {name: one.annotation for name, one in own.parameters.items() if _is_group(one)}

    @functools.wraps(command)
    def called(**values: Any) -> int:
        for name, group in groups.items():
            fields = [field.name for field in dataclasses.fields(group)]
            values[name] = group(**{field: values.pop(field) for field in fields})
        return command(**values)

    parameters = [shown for one in own.parameters.values() for shown in _shown(one)]
    called.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called


def _shown(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    if not _is_group(parameter):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    for field in dataclasses.fields(parameter.annotation):
        kind = inspect.Parameter.KEYWORD_ONLY
        yield inspect.Parameter(field.name, kind, default=field.default, annotation=field.type)


def _is_group(parameter: inspect.Parameter) -> bool:
    return dataclasses.is_dataclass(parameter.annotation)
