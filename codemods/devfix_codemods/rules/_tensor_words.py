"""Names by which syntax tells models, tensors, numbers and what is made on the host from each other."""

import re

from devfix_codemods.flow import tables

HOST_MAKERS = tables.FACTORIES | tables.HOST_FACTORIES | tables.LEGACY_CONSTRUCTORS
ARRAY_PACKAGES = ("numpy.", "pandas.", "sklearn.", "scipy.")
HOST_LIBRARIES = ("numpy.", "PIL.", "cv2.", "torchaudio.load", "torchvision.io.", "torchvision.transforms.", "pandas.")


TO_NUMBERS = frozenset({"int", "float", "bool", "len"})
PLAIN = frozenset({"int", "float", "bool", "str"})


def sounds_like_model(text: str) -> bool:
    """Whether a name, or the last part of a dotted one, is what a model is called."""
    return MODEL.search(text.rpartition(".")[2]) is not None


MODEL = re.compile(
    r"(?i)(?:^|_)(?:model|net|network|encoder|decoder|generator|discriminator|backbone|policy|critic|actor)\d*$"
)
FROM_MODELS = frozenset(f"sentence_transformers.util.{name}" for name in ("cos_sim", "pytorch_cos_sim", "dot_score"))
OF_TENSORS = frozenset({"unsqueeze", "unbind", "permute", "detach", "masked_fill"})
"""Methods that only tensors have."""
PLACES = re.compile(r"(?i)device|cuda|gpu|move|prepare")
COPIES = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.Tensor"})
NO_TENSORS = frozenset(
    {"torch._shape_as_tensor", "torch.Size", "torch.broadcast_shapes", "torch.numel", "torch.is_tensor", "torch.finfo"}
)
NUMBERS = frozenset({"ndim", "size", "numel", "dim", "item", "tolist", "element_size", "nelement", "ndimension"})
"""Methods and attributes of tensors that give no tensor."""
SHAPES = frozenset(
    {"sum", "max", "min", "round", "abs", "exp", "log", "sqrt", "to", "cuda", "split", "repeat", "astype", "type"}
    | {"prod", "cumsum", "sort", "topk", "masked_select", "nonzero", "roll", "flip", "movedim", "moveaxis", "any"}
)
"""Methods that give a tensor where they are called on one."""
