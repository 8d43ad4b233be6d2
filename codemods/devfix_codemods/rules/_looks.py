"""Closer looks at the bytes of a file, for rules whose byte triggers stand in every second file.

Each may say yes in vain. None may say no where its rule is likely to find something: what the words below leave out is
a model that is built inside a function and only called there, outside of training, evaluation and `no_grad`. Looks that
several rules take keep the answer for the last file.
"""

import re
from functools import lru_cache

from devfix_codemods.flow.tables import MAKERS

_MOVE = re.compile(rb"\.(?:to|cuda|cpu)\(")
_STATEMENT = re.compile(rb"(?:^|[;:])[ \t]*[A-Za-z_\x80-\xff][\w.\x80-\xff]*(?:\[[^\]\n]*\])*$")
_MAKERS = b"|".join(name.encode() for name in sorted(MAKERS))
_MAKES = re.compile(rb"\.(?:" + _MAKERS + rb")\(")
_MAKES_BY_NAME = re.compile(rb"\b(?:" + _MAKERS + rb")\(")
_BEFORE = 120
"""How far before a move its receiver is looked for."""


@lru_cache(maxsize=1)
def makes_tensors(data: bytes) -> bool:
    """Something is called like a factory of torch, or a distribution may be sampled."""
    if _MAKES.search(data) or (b"distributions" in data and b"sample(" in data):
        return True
    return b"from torch" in data and _MAKES_BY_NAME.search(data) is not None


def discards_move(data: bytes) -> bool:
    """Some move may begin its line."""
    return any(_STATEMENT.search(before) for before in _before_moves(data))


def _before_moves(data: bytes) -> list[bytes]:
    """For each move, the part of its line that stands before it."""
    found: list[bytes] = []
    for move in _MOVE.finditer(data):
        start = max(data.rfind(b"\n", 0, move.start()) + 1, move.start() - _BEFORE)
        found.append(data[start : move.start()])
    return found


def loads_to_anywhere(data: bytes) -> bool:
    """Some call that may be `torch.load`, or one of its kin, names no `map_location`."""
    for found in _LOAD.finditer(data):
        owner = _OWNER.search(data, max(0, found.start() - _BEFORE), found.start())
        if owner is not None and owner.group(1) in _OTHER_LOADERS:
            continue
        if b"map_location" not in data[found.end() : _closing(data, found.end())]:
            return True
    return False


_LOAD = re.compile(rb"\b(?:load|load_url|load_state_dict_from_url)\(")
_OWNER = re.compile(rb"([\w\x80-\xff]+)\.$")
_OTHER_LOADERS = frozenset(
    b"json yaml np numpy pickle pkl joblib toml tomllib tomli librosa torchaudio OmegaConf marshal dill cloudpickle "
    b"cPickle ujson orjson simplejson jnp onnx spm self".split()
)


def _closing(data: bytes, start: int) -> int:
    """The end of the brackets that were opened before `start`; brackets in strings count, to the call's loss."""
    depth = 1
    for found in _BRACKETS.finditer(data, start, start + 800):
        depth += 1 if found.group() in b"([{" else -1
        if depth == 0:
            return found.start()
    return start + 800


_BRACKETS = re.compile(rb"[()\[\]{}]")
