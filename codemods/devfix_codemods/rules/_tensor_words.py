"""Names by which syntax tells models, arrays and plain values."""

import re

ARRAY_PACKAGES = ("numpy.", "pandas.", "sklearn.", "scipy.")
PLAIN = frozenset({"int", "float", "bool", "str"})


def sounds_like_model(text: str) -> bool:
    """Whether a name, or the last part of a dotted one, is what a model is called."""
    return MODEL.search(text.rpartition(".")[2]) is not None


MODEL = re.compile(
    r"(?i)(?:^|_)(?:model|net|network|encoder|decoder|generator|discriminator|backbone|policy|critic|actor)\d*$"
)
