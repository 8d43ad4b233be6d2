"""Which qualified names are modules, tokenizers and model factories, in torch and the libraries around it."""

import ast

from devfix_codemods.flow import tables

_MODULE_PACKAGES = (
    "torch.nn",
    "torch.quantization.observer",
    "torch.ao.quantization.observer",
)
"""Packages whose classes are modules with parameters or buffers."""

_TRANSFORMS = frozenset(
    {"GriffinLim", "InverseMelScale", "InverseSpectrogram", "LFCC", "MelScale", "MelSpectrogram", "MFCC", "PitchShift"}
    | {"Resample", "Speed", "SpeedPerturbation", "SpectralCentroid", "Spectrogram", "TimeStretch"}
)
"""The transforms of torchaudio that hold buffers."""


def is_module_api(name: str) -> bool:
    """A class of `torch.nn`, a transform of torchaudio, or an observer of quantization."""
    head, _, last = name.rpartition(".")
    if head == "torchaudio.transforms":
        return last in _TRANSFORMS
    return (
        head.startswith(_MODULE_PACKAGES)
        and "functional" not in head
        and last[:1].isupper()
        and name not in tables.NOT_MODULES
    )


def is_metric_api(name: str) -> bool:
    """A metric class of torchmetrics: a module, with the state that it accumulates in buffers of its own kind."""
    head, _, last = name.rpartition(".")
    return head.partition(".")[0] == "torchmetrics" and "functional" not in head and last[:1].isupper()


def is_tokenizer_api(name: str) -> bool:
    """`transformers.AutoTokenizer.from_pretrained` and its relatives."""
    head, _, last = name.rpartition(".")
    return last == "from_pretrained" and name.startswith("transformers.") and head.endswith(tables.TOKENIZER_CLASSES)


def is_model_factory(name: str) -> bool:
    """Functions of well-known libraries that build a model on the host."""
    last = name.rpartition(".")[2]
    if name.startswith("transformers."):
        built = last in {"from_pretrained", "from_config"} or "For" in last or last.endswith("Model")
        return built and last[:1].isalpha() and "Config" not in name
    if name.startswith("torchvision.models.feature_extraction."):
        return False  # it takes apart what it is given
    return name == "timm.create_model" or (name.startswith("torchvision.models.") and last[:1].islower())


def returns_tensors(node: ast.Call) -> bool:
    """`return_tensors="pt"`: the call of a tokenizer or a processor, by whichever name."""
    return any(
        one.arg == "return_tensors" and isinstance(one.value, ast.Constant) and one.value.value == "pt"
        for one in node.keywords
    )
