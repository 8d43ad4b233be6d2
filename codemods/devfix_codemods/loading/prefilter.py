"""A closer look at the bytes of a file: whether something in it may load to wherever that was saved.

It may say yes where nothing is, and no only where nothing is to be found.
"""

import re

_BEFORE = 120
"""How far before a load its owner is looked for."""
_LOAD = re.compile(rb"load(?<![^\W_]load)(?<!\W_load)(?!_dataset|_state_dict\()(?:_\w+)?\(")
_OWNER = re.compile(rb"([\w\x80-\xff]+)\.(?:\w+_)?$")
_OTHER_LOADERS = frozenset(
    b"json yaml np numpy pickle pkl joblib toml tomllib tomli librosa torchaudio OmegaConf marshal dill cloudpickle "
    b"cPickle ujson orjson simplejson jnp onnx spm self".split()
)


def loads_to_anywhere(data: bytes) -> bool:
    """Some call may be `torch.load`, one of its kin, or of what wraps them."""
    owners = (_OWNER.search(data, max(0, one.start() - _BEFORE), one.start()) for one in _LOAD.finditer(data))
    return any(one is None or one.group(1) not in _OTHER_LOADERS for one in owners)
