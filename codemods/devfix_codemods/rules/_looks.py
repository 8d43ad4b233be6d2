"""Closer looks at the bytes of a file, for rules whose byte triggers stand in every second file.

Each may say yes in vain. None may say no where its rule is likely to find something: what the words below leave out is
a model that is built inside a function and only called there, outside of training, evaluation and `no_grad`. Looks that
several rules take keep the answer for the last file.
"""

import re
from functools import lru_cache

from devfix_codemods.flow.tables import MAKERS

_MOVE = re.compile(rb"\.(?:to|cuda|cpu)\(")
_RECEIVER = re.compile(rb"([A-Za-z_\x80-\xff][\w\x80-\xff]*)(?:\.[\w\x80-\xff]+|\[[^\]\n]*\])*$")
_STATEMENT = re.compile(rb"(?:^|[;:])[ \t]*[A-Za-z_\x80-\xff][\w.\x80-\xff]*(?:\[[^\]\n]*\])*$")
_LOOP = re.compile(rb"\bfor ((?:[(*]*[\w\x80-\xff]+\)*\s*,\s*)*[(*]*[\w\x80-\xff]+\)*,?) in\b")
_LOADER = re.compile(rb"(?i)loader\b|loaders?\[")
_FREE = re.compile(rb"(?m)^[\w\x80-\xff][\w, \x80-\xff]*\s*=\s*(?:[\w.\x80-\xff]+\.)?[A-Z][\w\x80-\xff]*\(")
_RUNS = (b".backward(", b".eval()", b".train()", b"optim.", b"with torch.no_grad", b"with torch.inference", b"__main__")
_CUDA = re.compile(
    rb"\.cuda\(|(?:\.to\(|device\(|(?:device|dev)(?:\s*:[\w.\[\]|\s]+)?\s*=)\s*(?:torch\.device\(\s*)?[\"']cuda"
    rb"|torch\.cuda\.\w*Tensor|device\)?\s*[!=]=\s*[\"']cuda|device[\"']\s*:\s*(?:torch\.device\()?[\"']cuda"
    rb"|Generator\(\s*(?:torch\.device\(\s*)?[\"']cuda|[\"']cuda[\"'] (?:not )?in |\.type\([\w.]+\.type\(\)\)",
    re.IGNORECASE,
)
_TRANSFORMS = (b"torchaudio", b"quantization.observer")
"""Libraries whose modules are built where they are used."""
_MAKERS = b"|".join(name.encode() for name in sorted(MAKERS))
_MAKES = re.compile(rb"\.(?:" + _MAKERS + rb")\(")
_MAKES_BY_NAME = re.compile(rb"\b(?:" + _MAKERS + rb")\(")
_BEFORE = 120
"""How far before a move its receiver is looked for."""


@lru_cache(maxsize=1)
def moves_loop_items(data: bytes) -> bool:
    """A loop's own variable is moved, or a loader is spoken of."""
    if b"oader" in data and _LOADER.search(data):
        return True
    targets = {name for names in _LOOP.findall(data) for name in re.findall(rb"[\w\x80-\xff]+", names)}
    return bool(targets) and any(_names_in_receiver(before) & targets for before in _before_moves(data))


@lru_cache(maxsize=1)
def makes_tensors(data: bytes) -> bool:
    """Something is called like a factory of torch, or a distribution may be sampled."""
    if _MAKES.search(data) or (b"distributions" in data and b"sample(" in data):
        return True
    return b"from torch" in data and _MAKES_BY_NAME.search(data) is not None


def makes_or_passes_device(data: bytes) -> bool:
    """Tensors are made; or a `device`, which may be None, is passed on again and again."""
    passes = data.count(b"device=device") > 1 and _NO_DEVICE.search(data) is not None
    return passes or makes_tensors(data)


_NO_DEVICE = re.compile(rb"\bdevice\b[^,()\n=]*=\s*None")


def keeps_tensors(data: bytes) -> bool:
    """Tensors are made, or buffers registered."""
    return b".register_buffer(" in data or makes_tensors(data)


def holds_host_tensors(data: bytes) -> bool:
    """Tensors may be on the host: made there by a factory, brought there, or yielded by a loader."""
    return b".cpu(" in data or makes_tensors(data) or moves_loop_items(data)


def discards_move(data: bytes) -> bool:
    """Some move may begin its line."""
    return any(_STATEMENT.search(before) for before in _before_moves(data))


def spells_cuda(data: bytes) -> bool:
    """CUDA is named in a move, in a device, or in a legacy type."""
    return _CUDA.search(data) is not None


def builds_and_runs(data: bytes) -> bool:
    """The file trains or evaluates, or its top level builds something: it does not only define modules."""
    return any(word in data for word in (*_RUNS, *_TRANSFORMS)) or _FREE.search(data) is not None


def builds_and_runs_or_calls(data: bytes) -> bool:
    """As above, or a module is called where it is built."""
    return builds_and_runs(data) or _CALLED_AT_ONCE.search(data) is not None


_CALLED_AT_ONCE = re.compile(rb"\bnn\.[A-Z]\w*\((?:[^()]|\([^()]*\)){0,400}\)\(")


def _names_in_receiver(before: bytes) -> set[bytes]:
    """The name that is moved; where it is the result of a call, every name on the line before the move."""
    found = _RECEIVER.search(before)
    return {found.group(1)} if found else set(re.findall(rb"[A-Za-z_\x80-\xff][\w\x80-\xff]*", before))


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
