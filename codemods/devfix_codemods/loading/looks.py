"""A closer look at the bytes of a file: whether something in it may load to wherever that was saved.

It may say yes in vain, and no only where nothing is to be found.
"""

import re

_BEFORE = 120
"""How far before a load its owner is looked for."""


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
