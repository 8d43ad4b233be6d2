"""Post-mortems from the probe's journal, and as JSON for programs.

The probe runs beside code that may do anything to it, so nothing is taken on trust: what has the wrong type is left
out, and a kind of value that is not known as well.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from devfix.replay.postmortem.data import (
    BatchValue,
    Form,
    Frame,
    Member,
    ModuleValue,
    Named,
    OptimizerValue,
    OtherValue,
    PostMortem,
    Step,
    TensorFacts,
    TensorValue,
    Value,
)

Made = TypeVar("Made")

FORM_DEPTH = 5
"""How deep containers in containers are read."""

KINDS = {
    TensorValue: "tensor",
    ModuleValue: "module",
    OptimizerValue: "optimizer",
    BatchValue: "batch",
    OtherValue: "other",
}


def decode(data: object) -> PostMortem | None:
    """The post-mortem that the probe wrote, or None where it does not even say where the script crashed."""
    record = _record(data)
    file, line = _text(record.get("file")), _number(record.get("line"))
    if file is None or line is None:
        return None
    return PostMortem(
        message=_text(record.get("message")) or "",
        file=file,
        line=line,
        code=_text(record.get("code")) or "",
        operation=_text(record.get("operation")) or "",
        function=_text(record.get("function")) or "",
        column=_number(record.get("column")),
        end_line=_number(record.get("end_line")),
        end_column=_number(record.get("end_column")),
        frames=_all(record.get("frames"), _frame),
        values=_all(record.get("values"), decode_value),
        forms=_all(record.get("forms"), _named),
    )


def as_json(postmortem: PostMortem) -> dict[str, Any]:
    """The post-mortem for the JSON report; `decode` reads it back."""
    document: dict[str, Any] = _plain(dataclasses.asdict(postmortem))
    document["values"] = [_value_as_json(value) for value in postmortem.values]
    document["forms"] = [_named_as_json(named) for named in postmortem.forms]
    return document


def _value_as_json(value: Value) -> dict[str, Any]:
    document: dict[str, Any] = _plain(dataclasses.asdict(value))
    facts = document.pop("facts", {})
    for members, name in (("odd", "name"), ("items", "key")):
        if members in document:
            document[members] = [_member_as_json(member, name) for member in document[members]]
    return {"kind": KINDS[type(value)], **document, **facts}


def _named_as_json(named: Named) -> dict[str, Any]:
    return {"frame": named.frame, "expression": named.expression, **_form_as_json(named.form)}


def _form_as_json(form: Form) -> dict[str, Any]:
    parts = [_form_as_json(part) for part in form.parts]
    return {"type": form.type, "moves": form.moves, "dict": form.is_dict, "parts": parts}


def _member_as_json(member: dict[str, Any], name: str) -> dict[str, Any]:
    return {name: member["name"], "expression": member["expression"], **member["facts"]}


def _plain(value: Any) -> Any:
    """`value` with lists for its tuples."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return value


def _frame(record: Mapping[str, Any]) -> Frame | None:
    file, line = _text(record.get("file")), _number(record.get("line"))
    if file is None or line is None:
        return None
    return Frame(file, line, _text(record.get("function")) or "")


def _named(record: Mapping[str, Any]) -> Named | None:
    frame, expression, form = _number(record.get("frame")), _text(record.get("expression")), _form(record)
    return None if frame is None or expression is None or form is None else Named(frame, expression, form)


def _form(record: Mapping[str, Any], depth: int = FORM_DEPTH) -> Form | None:
    kind = _text(record.get("type"))
    if kind is None or not depth:
        return None
    parts = _all(record.get("parts"), lambda part: _form(part, depth - 1))
    return Form(kind, record.get("moves") is True, record.get("dict") is True, parts)


def decode_value(record: Mapping[str, Any]) -> Value | None:
    """One value in reach, None where it is of no known kind."""
    expression = _text(record.get("expression"))
    special = _SPECIAL.get(str(record.get("kind")))
    if expression is None or special is None:
        return None
    common = {
        "expression": expression,
        "frame": _number(record.get("frame")) or 0,
        "operand": record.get("operand") is True,
        "culprit": record.get("culprit") is True,
        "alias": _text(record.get("alias")),
    }
    return special(record, common)


def _tensor(record: Mapping[str, Any], common: dict[str, Any]) -> Value | None:
    facts = _facts(record)
    return None if facts is None else TensorValue(**common, facts=facts, argument=_text(record.get("argument")))


def _module(record: Mapping[str, Any], common: dict[str, Any]) -> Value:
    return ModuleValue(
        **common,
        type=_text(record.get("type")) or "Module",
        places=_places(record.get("places")),
        odd=_all(record.get("odd"), _member),
        history=_all(record.get("history"), _step),
        involved=_texts(record.get("involved")),
    )


def _optimizer(record: Mapping[str, Any], common: dict[str, Any]) -> Value:
    return OptimizerValue(
        **common,
        type=_text(record.get("type")) or "Optimizer",
        places=_places(record.get("places")),
        state_places=_places(record.get("state_places")),
        history=_all(record.get("history"), _step),
        state_history=_all(record.get("state_history"), _step),
    )


def _batch(record: Mapping[str, Any], common: dict[str, Any]) -> Value:
    return BatchValue(
        **common,
        type=_text(record.get("type")) or "tuple",
        items=_all(record.get("items"), _member),
        involved=_texts(record.get("involved")),
    )


def _other(record: Mapping[str, Any], common: dict[str, Any]) -> Value | None:
    kind, place = _text(record.get("type")), _text(record.get("place"))
    return None if kind is None or place is None else OtherValue(**common, type=kind, place=place)


_SPECIAL: Mapping[str, Callable[[Mapping[str, Any], dict[str, Any]], Value | None]] = {
    "tensor": _tensor,
    "module": _module,
    "optimizer": _optimizer,
    "batch": _batch,
    "other": _other,
}


def _member(record: Mapping[str, Any]) -> Member | None:
    name, facts = _text(record.get("name", record.get("key"))), _facts(record)
    if name is None or facts is None:
        return None
    return Member(name, facts, _text(record.get("expression")) or "")


def _facts(record: Mapping[str, Any]) -> TensorFacts | None:
    place = _text(record.get("place"))
    if place is None:
        return None
    return TensorFacts(
        place, _shape(record.get("shape")), _text(record.get("dtype")), _all(record.get("history"), _step)
    )


def _step(record: Mapping[str, Any]) -> Step | None:
    place, how = _text(record.get("place")), _text(record.get("how"))
    if place is None or how is None:
        return None
    code = _text(record.get("code")) or ""
    return Step(place, how, _text(record.get("file")), _number(record.get("line")), code)


def _shape(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list):
        return None
    sizes = tuple(size for size in map(_number, value) if size is not None)
    return sizes if len(sizes) == len(value) else None


def _places(value: object) -> dict[str, int]:
    return {place: count for place, count in _record(value).items() if _number(count) is not None}


def _all(value: object, make: Callable[[Mapping[str, Any]], Made | None]) -> tuple[Made, ...]:
    if not isinstance(value, list):
        return ()
    made = (make(_record(entry)) for entry in value)
    return tuple(entry for entry in made if entry is not None)


def _record(value: object) -> dict[str, Any]:
    return {key: each for key, each in value.items() if isinstance(key, str)} if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
