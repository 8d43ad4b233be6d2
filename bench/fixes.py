"""Which hunks of a change are a device fix and nothing else: told from their tokens alone."""

import io
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

HARDCODED = "hardcoded"
"""One device is replaced by another: the class of `.cuda()` that becomes `.to(device)`."""

MOST_LINES = 6
"""A hunk that adds or removes more is not small."""

AROUND = 15
"""Names that stand so many lines from a hunk are not new in it."""

_METHODS = frozenset({"to", "cuda", "cpu", "register_buffer"})
_KEYWORDS = frozenset({"device", "map_location"})
_PUTS = frozenset({".to(", ".cuda(", ".cpu(", ".register_buffer(", "device=", "map_location="})
_WORDS = frozenset(
    {"torch", "non_blocking", "True", "False", "None", "is_available", "if", "else", "self", "detach", "0"}
)
_SIGNS = frozenset("()[],.=:")
_TYPES = ("dtype", "half", "bfloat16", "double", "long", "bool", "int", "uint", "float")
_STRINGS = ("cpu", "cuda", "cuda:0")
_NO_CODE = frozenset(
    {tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


@dataclass(frozen=True)
class Hunk:
    """The lines that a commit took away from the old file, and those that it put into the new one."""

    old: range
    new: range

    @property
    def place(self) -> tuple[int, ...]:
        """The lines of the old file that were changed, or the one after which lines were inserted."""
        return tuple(self.old) or (max(self.old.start, 1),)

    @property
    def is_small(self) -> bool:
        return max(len(self.old), len(self.new)) <= MOST_LINES


@dataclass(frozen=True)
class Fix:
    """A class of bug, guessed from the words of its fix, and the lines of both files that the fix touched.

    It is alone if nothing else was changed in the file.
    """

    kind: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    alone: bool


def fix_of(before: bytes, after: bytes, hunks: Iterable[Hunk]) -> Fix | None:
    """The device fix that is in a change: all hunks that are about devices and put something on one."""
    try:
        old, new = _Words(before), _Words(after)
    except (SyntaxError, tokenize.TokenError, UnicodeDecodeError):
        return None
    kinds: Counter[str] = Counter()
    places: tuple[set[int], set[int]] = (set(), set())
    alone = True
    for hunk in hunks:
        kind = _kind(old.on(hunk.old), new.on(hunk.new), old.names_near(hunk.place)) if hunk.is_small else None
        alone &= kind is not None
        if kind:
            kinds[kind] += 1
            places[0].update(hunk.place)
            places[1].update(hunk.new)
    if not kinds:
        return None
    name = HARDCODED if HARDCODED in kinds else kinds.most_common(1)[0][0]
    return Fix(name, tuple(sorted(places[0])), tuple(sorted(places[1])), alone)


class _Words:
    """The tokens of a file by line; what puts a value on a device is one word: `.to(`, or `device=` in a call."""

    def __init__(self, source: bytes) -> None:
        self._on: dict[int, list[str]] = defaultdict(list)
        found = [one for one in tokenize.tokenize(io.BytesIO(source).readline) if one.type not in _NO_CODE]
        for line, word in _joined(found):
            self._on[line].append(word)

    def on(self, lines: Iterable[int]) -> list[str]:
        return [word for line in lines for word in self._on.get(line, ())]

    def names_near(self, lines: Sequence[int]) -> frozenset[str]:
        near = range(min(lines) - AROUND, max(lines) + AROUND + 1)
        return frozenset(word for word in self.on(near) if word.isidentifier())


def _joined(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[tuple[int, str]]:
    texts = [one.string for one in tokens]
    place, depth, heads = 0, 0, ""
    while place < len(tokens):
        line, word, next_word = tokens[place].start[0], texts[place], "".join(texts[place + 1 : place + 2])
        heads = heads or word
        if tokens[place].type == tokenize.NEWLINE:
            depth, heads = 0, ""
        elif word == "." and next_word in _METHODS and texts[place + 2 : place + 3] == ["("]:
            yield line, f".{next_word}("
            place, depth = place + 2, depth + 1
            if next_word == "register_buffer" and place + 1 < len(tokens):
                place += 1
                yield line, texts[place].strip("\"'")
        elif word in _KEYWORDS and next_word == "=" and depth and heads not in ("def", "async"):
            yield line, f"{word}="
            place += 1
        else:
            yield line, word
            depth += (word in "([{") - (word in ")]}") if word else 0
        place += 1


def _kind(old: list[str], new: list[str], known: frozenset[str]) -> str | None:
    """The class of bug that a hunk repairs; empty where it only helps, None where it does something else."""
    added, removed = Counter(new) - Counter(old), Counter(old) - Counter(new)
    if not all(_is_allowed(word, known) for word in added):
        return None
    puts = [word for word in added if word in _PUTS]
    if not puts:
        return None if any(word[0].isalnum() or word in _PUTS for word in removed) else ""
    if any(word in _PUTS or _is_device(word) for word in removed):
        return None if ".to(" in removed and ".to(" not in added else HARDCODED
    if any(word[0] in "\"'_" or word[0].isalnum() for word in removed):
        return None
    return _named(puts, new)


def _is_allowed(word: str, known: frozenset[str]) -> bool:
    if word.startswith(_TYPES):
        return False
    return word in _SIGNS or word in _PUTS or word in _WORDS or word in known or _is_device(word)


def _is_device(word: str) -> bool:
    return "device" in word.lower() or word in ("cuda", "cpu") or word.strip("\"'") in _STRINGS


def _named(puts: Sequence[str], new: Sequence[str]) -> str:
    kinds = {
        ".register_buffer(": "plain_attr_not_buffer",
        "map_location=": "torch_load_map_location",
        "device=": "creation_without_device",
        ".cpu(": "numpy_on_cuda",
    }
    for word, kind in kinds.items():
        if word in puts:
            return kind
    text = " ".join(new).lower()
    return (
        "model_not_moved"
        if any(word in text for word in ("model", "net", "module", "criterion"))
        else "batch_not_moved"
    )
