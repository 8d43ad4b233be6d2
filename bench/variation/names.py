"""What things are called: the same roles under names that help a reader, and under names that help nobody."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

_USUAL: Mapping[str, str] = {
    # Values that several functions share.
    "net": "model",
    "net2": "teacher",
    "src": "loader",
    "src2": "other_loader",
    "rows": "dataset",
    "opt": "optimizer",
    "opt2": "optimizer_d",
    "crit": "criterion",
    "dev": "device",
    "flag": "use_cuda",
    "w": "weight",
    "gen": "generator",
    "tok": "tokenizer",
    "memory": "memory",
    "path": "path",
    "table": "table",
    # Values of one function.
    "x": "inputs",
    "y": "targets",
    "m": "mask",
    "q": "batch",
    "out": "outputs",
    "out2": "expected",
    "loss": "loss",
    "it": "iterator",
    "i": "step",
    "n": "count",
    "k": "other",
    "z": "noise",
    "h": "hidden",
    "t": "tensor",
    "d": "where",
    "acc": "total",
    "top": "predicted",
    "hot": "one_hot",
    "got": "result",
    "p": "parameter",
    "s": "shadow",
    "state": "state",
    "epoch": "epoch",
    "seen": "seen",
    "hits": "correct",
    "texts": "texts",
    "r": "reward",
    "part": "layer",
    # Attributes and keys.
    "fc": "fc",
    "fc2": "embedding",
    "buf": "scale",
    "parts": "layers",
    "rnn": "rnn",
    "kx": "inputs",
    "ky": "labels",
    "km": "mask",
    # Functions, classes and a module.
    "Net": "Net",
    "Critic": "Discriminator",
    "Rows": "Rows",
    "Pack": "Sample",
    "Owner": "Trainer",
    "Enc": "Encoding",
    "Tok": "Tokenizer",
    "main": "main",
    "fit": "train",
    "put": "to_device",
    "build": "build_model",
    "gather": "collate",
    "bar": "tqdm",
    "file": "training",
    "Avg": "EMA",
    "update": "update",
}

_FRUITS = """
    apple banana cherry damson elder fig guava hazel ilama jujube kiwi lemon mango nectar olive papaya quince
    raisin salak tamarind ugli vanilla walnut ximenia yuzu zucca acai bilberry citron date endive feijoa grape
    hop icaco jambul kumquat lime mulberry nutmeg orange pear quandong rambutan sloe tangelo ugni voavanga
    wampee yangmei acerola bael cassis durian emblic fennel garlic huckle imbe jaboti korlan longan medlar noni
    oak peach rowan sorb
"""
_LETTERS = [*"abcegjklopqrsuvwxyz", *(first + second for first in "abcegh" for second in "abcgkmpquvxyz")]


def names(style: str) -> Mapping[str, str]:
    """The names by role. Classes are capitalised in all styles; the functions of a style are ordinary words of it."""
    if style == "usual":
        return _USUAL
    numbered = (f"v{number}" for number in count(1))
    words = {"fruits": iter(_FRUITS.split()), "letters": iter(_LETTERS), "numbers": numbered}[style]
    taken = {role: next(words) for role in _USUAL}
    return {role: name.capitalize() if role[0].isupper() else name for role, name in taken.items()} | {"main": "main"}
