"""A post-mortem in words: what met where, how it came there, and below it what else was in reach."""

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from devfix.replay.postmortem.data import (
    BatchValue,
    Member,
    ModuleValue,
    OptimizerValue,
    OtherValue,
    PostMortem,
    Step,
    TensorFacts,
    TensorValue,
    Value,
)

ROWS = 12
QUOTE_LIMIT = 70
ITEMS_TOLD = 4

_TO_NUMPY = re.compile(r"can't convert .* to numpy")
_TO_PIN = re.compile(r"cannot pin ")
_LENGTHS = re.compile(r"1D CPU int64 tensor")
_GENERATOR = re.compile(r"Expected a '(\S+)' (?:device type for generator|generator device) but found")


def lines(postmortem: PostMortem) -> list[str]:
    """The story in one line, and a table of what else was in reach."""
    return [story(postmortem), *_table(postmortem)]


def story(postmortem: PostMortem) -> str:
    """What met where, and how each of it came to be where it is."""
    culprits = _told(postmortem)
    clauses = [*_parties_clauses(culprits, _owner(postmortem)), *_other_clauses(culprits)]
    if not clauses:
        return f"{_quoted(postmortem.code)} at {_where(postmortem)} failed: {postmortem.message.rstrip('.')}."
    return "; ".join([*clauses, _end(postmortem, culprits)]) + "."


@dataclass(frozen=True, slots=True)
class _Party:
    """A tensor, or a module that is all at one place, as the story speaks of it."""

    name: str
    about: str
    place: str
    history: tuple[Step, ...]

    @property
    def origin(self) -> str:
        return _origin(self.place, self.history)


def _told(postmortem: PostMortem) -> list[Value]:
    """The culprits of the failing expression; where they show no difference, those of its surroundings as well."""
    operands = [value for value in postmortem.culprits if value.operand or not value.expression]
    if any(isinstance(value, OptimizerValue) for value in operands):
        operands = [value for value in operands if value.expression]
    if len({place for value in operands for place in _places(value)}) > 1 or _wants_host(postmortem):
        return operands
    told = list(operands)
    for value in postmortem.culprits:
        known = {place for each in told for place in _places(each)}
        if value not in told and value.alias is None and not set(_places(value)) <= known:
            told.append(value)
    return told


def _wants_host(postmortem: PostMortem) -> bool:
    return any(pattern.search(postmortem.message) for pattern in (_TO_NUMPY, _TO_PIN, _LENGTHS))


def _places(value: Value) -> list[str]:
    if isinstance(value, TensorValue):
        return [value.facts.place]
    if isinstance(value, BatchValue):
        return [item.facts.place for item in _involved_items(value)]
    if isinstance(value, ModuleValue):
        return list(value.places)
    if isinstance(value, OptimizerValue):
        return [*value.places, *value.state_places]
    return [value.place] if isinstance(value, OtherValue) else []


def _owner(postmortem: PostMortem) -> str | None:
    """What `self` of the failing frame is called further out, where several modules may be of its class."""
    names = [value.expression for value in postmortem.values if value.alias == "self"]
    return next((name for name in reversed(names) if name.isidentifier()), None)


def _parties_clauses(culprits: Iterable[Value], owner: str | None) -> list[str]:
    """One clause for all that is at one place for one reason, the host first; it alone tells shapes."""
    groups: dict[tuple[str, str], list[_Party]] = {}
    parties = {(party.name, party.about): party for value in culprits for party in _parties(value)}
    for party in parties.values():
        groups.setdefault((party.place, party.origin), []).append(party)
    ordered = sorted(groups.items(), key=lambda group: group[0][0] != "cpu")
    return [_clause(parties, number == 0, owner) for number, (_, parties) in enumerate(ordered)]


def _parties(value: Value) -> list[_Party]:
    if isinstance(value, TensorValue):
        if value.expression:
            return [_Party(f"`{value.expression}`", _kind(value.facts), value.facts.place, value.facts.history)]
        about = f"`{value.argument}`, {_kind(value.facts)}"
        return [_Party("an intermediate tensor", about, value.facts.place, value.facts.history)]
    if isinstance(value, BatchValue):
        return [_member(item) for item in _involved_items(value)]
    if isinstance(value, ModuleValue):
        odd = [member for member in value.odd if member.name in value.involved]
        if len(value.places) == 1:
            (place,) = value.places
            return [_Party(f"`{value.expression}`", value.type, place, value.history)]
        if odd and len(odd) == len(value.involved):
            return [_member(Member(member.name, member.facts, f"{value.expression}.{member.name}")) for member in odd]
    return []


def _member(member: Member) -> _Party:
    return _Party(f"`{member.expression}`", _kind(member.facts), member.facts.place, member.facts.history)


def _involved_items(batch: BatchValue) -> list[Member]:
    involved = [item for item in batch.items if item.name in batch.involved]
    return involved or list(batch.items)


def _clause(parties: Sequence[_Party], in_full: bool, owner: str | None) -> str:
    names = _joined([_in_full(party, owner) if in_full else party.name for party in parties])
    place, origin = _at(parties[0].place), parties[0].origin
    if len(parties) == 1:
        return f"{names} is on {place}{origin}"
    plural = origin.replace(": it comes", ": they come").replace(" and was never", " and were never")
    return f"{names} are on {place}{plural}"


def _in_full(party: _Party, owner: str | None) -> str:
    of = f", in `{owner}`" if owner is not None and party.name.startswith("`self.") else ""
    return f"{party.name} ({party.about}{of})"


def _other_clauses(culprits: Iterable[Value]) -> list[str]:
    clauses = []
    for value in culprits:
        if isinstance(value, ModuleValue) and len(value.places) > 1:
            clauses.append(_mixed_module(value))
        elif isinstance(value, OptimizerValue):
            clauses.append(_optimizer(value))
        elif isinstance(value, OtherValue) and value.expression.strip("'\"") != value.place:
            clauses.append(_other(value))
    return clauses


def _mixed_module(module: ModuleValue) -> str:
    """`12 of the 14 parameters and buffers of `model` (Net) are on cuda:0 …; `head.weight` is on the host …`."""
    total, (main, most) = sum(module.places.values()), max(module.places.items(), key=lambda entry: entry[1])
    whole = f"{most} of the {total} parameters and buffers of `{module.expression}` ({module.type})"
    clause = f"{whole} {'is' if most == 1 else 'are'} on {_at(main)}{_origin(main, module.history)}"
    if {member.name for member in module.odd} <= set(module.involved):
        return clause  # the others have been told of
    groups: dict[tuple[str, str], list[Member]] = {}
    for member in module.odd:
        groups.setdefault((member.facts.place, _origin(member.facts.place, member.facts.history)), []).append(member)
    for (place, origin), members in groups.items():
        names = _joined([f"`{member.name}`" for member in members[:ITEMS_TOLD]])
        more = f" and {len(members) - ITEMS_TOLD} more" if len(members) > ITEMS_TOLD else ""
        clause += f"; {names}{more} {'is' if len(members) == 1 else 'are'} on {_at(place)}{origin}"
    return clause


def _optimizer(optimizer: OptimizerValue) -> str:
    clause = f"the parameters of `{optimizer.expression}` ({optimizer.type}) are {_all_at(optimizer.places)}"
    if len(optimizer.places) == 1:
        clause += _origin(next(iter(optimizer.places)), optimizer.history)
    if optimizer.state_places:
        clause += f", its state is {_all_at(optimizer.state_places)}"
    if len(optimizer.state_places) == 1:
        clause += _origin(next(iter(optimizer.state_places)), optimizer.state_history)
    return clause


def _other(value: OtherValue) -> str:
    if value.type == "generator":
        return f"`{value.expression}` is a generator on {_at(value.place)}"
    if value.type == "array":
        return f"`{value.expression}` is a numpy array, so on the host"
    return f"`{value.expression}` says {_at(value.place)}"


def _end(postmortem: PostMortem, culprits: Sequence[Value]) -> str:
    operation, where = _operation(postmortem), _where(postmortem)
    if _TO_NUMPY.search(postmortem.message):
        return f"{operation} at {where} needs it on the host: numpy knows no other place"
    if _TO_PIN.search(postmortem.message):
        return f"{operation} at {where} pins memory of the host only"
    if _LENGTHS.search(postmortem.message):
        return f"{operation} at {where} wants the lengths on the host"
    if wanted := _GENERATOR.search(postmortem.message):
        return f"{operation} at {where} draws on {_at(wanted[1])}, with a generator of that device only"
    if len({place for value in culprits for place in _places(value)}) > 1:
        return f"they meet in {operation} at {where}"
    return f"{operation} at {where} failed: {postmortem.message.rstrip('.')}"


def _operation(postmortem: PostMortem) -> str:
    """The callee; of an operator the whole expression, which says more."""
    operation = postmortem.operation
    if operation.replace(".", "").replace("_", "").isidentifier() and not keyword.iskeyword(operation):
        return f"`{operation}`"
    return _quoted(postmortem.code)


def _where(postmortem: PostMortem) -> str:
    return f"{postmortem.file}:{postmortem.line}"


def _origin(place: str, history: Sequence[Step]) -> str:
    """How it came to be at `place`: what follows "is on …"."""
    if not history:
        return ""
    step = history[-1]
    where = f" at {step.file}:{step.line}" if step.file else ""
    if step.how.startswith("it "):
        return f": {step.how}{where}" + (" and was never moved" if place == "cpu" else "")
    never = " and never moved" if place == "cpu" else ""
    verb, _, callee = step.how.partition(" by ")
    if verb == "made" and callee.rpartition(".")[2] not in step.code and step.code:
        return f": made by {_quoted(step.code)}{where}{never}"  # by a library: `nn.Linear` calls `torch.empty`
    if verb in ("made", "loaded"):
        return f": {verb} by `{callee}`{where}{never}"
    if step.code:
        return f" since {_quoted(step.code)}{where}"
    return f": {step.how}{where}"


def _table(postmortem: PostMortem) -> list[str]:
    """What else was in reach: a row for each value that the story has not told of."""
    told = {value.expression for value in _told(postmortem)}
    rest = [value for value in postmortem.values if value.alias is None and value.expression not in told]
    if not rest:
        return []
    # The same name in several frames often stands for the same.
    rows = list(dict.fromkeys((value.expression, _what(value), _whereabouts(value)) for value in rest))
    widths = [max(len(row[column]) for row in rows[:ROWS]) for column in (0, 1)]
    table = [f"  {name:{widths[0]}}  {what:{widths[1]}}  {where}".rstrip() for name, what, where in rows[:ROWS]]
    more = [f"  and {len(rows) - ROWS} more"] if len(rows) > ROWS else []
    return ["also in reach:", *table, *more]


def _what(value: Value) -> str:
    if isinstance(value, TensorValue):
        return _kind(value.facts)
    return value.type if isinstance(value, (BatchValue, ModuleValue, OptimizerValue, OtherValue)) else ""


def _whereabouts(value: Value) -> str:
    if isinstance(value, TensorValue):
        return _short(value.facts.place)
    if isinstance(value, BatchValue):
        items = [f"{item.name}: {_kind(item.facts)} {_short(item.facts.place)}" for item in value.items[:ITEMS_TOLD]]
        return ", ".join(items) + (", …" if len(value.items) > ITEMS_TOLD else "")
    if isinstance(value, ModuleValue):
        odd = ", ".join(member.name for member in value.odd[:ITEMS_TOLD])
        return _counts(value.places) + (f" ({odd}{', …' if len(value.odd) > ITEMS_TOLD else ''})" if odd else "")
    if isinstance(value, OptimizerValue):
        state = f", state: {_counts(value.state_places)}" if value.state_places else ""
        return f"parameters: {_counts(value.places)}{state}"
    return _short(value.place) if isinstance(value, OtherValue) else ""


def _counts(places: Mapping[str, int]) -> str:
    """`cuda:0`, or `12 on cuda:0, 2 on the host`."""
    if len(places) == 1:
        return _short(next(iter(places)))
    return ", ".join(f"{count} {_short(place)}" for place, count in places.items())


def _all_at(places: Mapping[str, int]) -> str:
    """`on cuda:0`, or `on cuda:0 (12) and on the host (2)`."""
    if len(places) == 1:
        return f"on {_at(next(iter(places)))}"
    return _joined([f"on {_at(place)} ({count})" for place, count in places.items()])


def _kind(facts: TensorFacts) -> str:
    """`float32[64, 10]`."""
    shape = "" if facts.shape is None else f"[{', '.join(map(str, facts.shape))}]"
    return f"{facts.dtype or 'tensor'}{shape}"


def _at(place: str) -> str:
    return {"cpu": "the host", "meta": "the meta device"}.get(place, place)


def _short(place: str) -> str:
    return "host" if place == "cpu" else place


def _quoted(code: str) -> str:
    """`code` on one line, a long one without its middle: what moves a tensor often stands at the end."""
    text = " ".join(code.split())
    half = QUOTE_LIMIT // 2
    return f"`{text}`" if len(text) <= QUOTE_LIMIT else f"`{text[:half].rstrip()} … {text[-half:].lstrip()}`"


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
