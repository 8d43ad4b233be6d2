"""First values for parameters: from annotations, defaults, docstrings, names and uses, the likeliest first."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from .shapes import shape_of
from .uses import Uses
from .values import (
    BOOL,
    CHECKPOINT,
    DEVICE,
    DTYPE,
    FUNCTION,
    GENERATOR,
    LONG,
    LOSS,
    MODELS,
    NONE,
    OPTIMIZER,
    Items,
    Named,
    Net,
    Plain,
    Tensor,
    Value,
)

_TENSOR_NAMES = frozenset(
    [
        "T",
        "data",
        "device",
        "dim",
        "dtype",
        "grad",
        "is_cuda",
        "ndim",
        "requires_grad",
        "shape",
        "size",
        "view",
        "reshape",
        "permute",
        "transpose",
        "unsqueeze",
        "squeeze",
        "contiguous",
        "detach",
        "float",
        "long",
        "mean",
        "sum",
        "softmax",
        "flatten",
        "expand",
        "expand_as",
        "repeat",
        "chunk",
        "split",
        "matmul",
        "argmax",
        "max",
        "min",
        "numpy",
        "clone",
        "masked_fill",
        "masked_fill_",
        "new_zeros",
        "new_ones",
        "new_tensor",
        "type_as",
        "numel",
        "bool",
        "int",
        "half",
        "double",
        "sigmoid",
        "exp",
        "log",
        "log_softmax",
        "norm",
        "std",
        "var",
        "abs",
        "clamp",
        "scatter_",
        "gather",
        "bmm",
        "mm",
        "t",
        "cumsum",
        "topk",
        "sort",
        "sqrt",
        "pow",
        "nonzero",
        "eq",
        "ne",
        "gt",
        "lt",
        "ge",
        "le",
        "index_select",
        "backward",
        "retain_grad",
        "narrow",
        "unfold",
        "unbind",
        "roll",
        "flip",
        "add",
        "sub",
        "mul",
        "div",
        "add_",
        "mul_",
        "fill_",
        "copy_",
        "byte",
    ]
)
_MODEL_METHODS = frozenset(
    ["parameters", "train", "eval", "named_parameters", "state_dict", "load_state_dict", "modules", "forward"]
)
_OPTIMIZER_METHODS = frozenset(("zero_grad", "step", "param_groups"))
_MOVES = frozenset(("to", "cuda", "cpu"))

_TENSORS = re.compile(
    r"^(x|y|z|t|h|c|q|k|v|w|b|xs|ys|input|inputs|inp|img|image|images|imgs|feat|feats|feature|features|logits?|preds?|"
    r"predictions?|outputs?|out|query|queries|keys?|values?|hidden|latents?|emb|embeds?|embeddings?|boxes\d*|points|"
    r"weights?|src|tgt|trg|source|attn|probs?|scores?|data|noise|adj|anchors?|anchor|positive|negative|mu|mean|var|"
    r"logvar|log_var|std|real|fake|state|states|signal|audio|frames?|video|tensor|tensors|mat|matrix|a|b|seq|sequence|"
    r"batch|theta|coords?|rays?|bbox\w*|x_\w+|\w+_(?:feat|feats|features|logits|tensor|emb|embedding|pred|img|image))$"
)
_LABELS = re.compile(
    r"(^|_)(labels?|targets?|gts?|gt|ground_truth|y_true|idx|idxs|index|indices|indexes|ids?|tokens?|timesteps?|classes_"
    r"|lengths?|lens|actions?|trg|tgt_seq|src_seq)($|_)"
)
_BOXES = re.compile(r"(^|_)(bbox|box)(es)?\d*($|_)|(^|_)(rois?|anchors)($|_)")
_MASKS = re.compile(r"(^|_)(masks?|masking|padding_mask|key_padding)($|_)")
_FLOATS = re.compile(
    r"lr$|alpha|beta|gamma|eps|epsilon|drop|^p$|rate|ratio|temp|lambd|lamb|decay|margin|scale|sigma|momentum|smooth|prob$"
    r"|thresh|weight$|factor|tau|coef|^w_"
)
_FLAGS = re.compile(
    r"^(is|use|has|with|do|if|return|need|no|enable)_|^(bias|verbose|training|train|causal|pretrained)$"
)
_TEXTS = re.compile(r"name$|mode$|path|file|folder|_dir$|^dir$|root$|type$|activation|reduction|^key$|prefix|^arch$")
_NUMBERS = re.compile(
    r"^(n|m|num|nb|no|max|min|in|out|d)_|^n[A-Z]|size$|dims?$|^dim|channels?|chans|hidden|depth|heads?|^k$|kernel|stride|"
    r"padding|epochs?$|classes|length|steps?$|width|height|layers?|blocks?|units|features$|planes|vocab|len$|^n$|^i$|^ch$|"
    r"^seed$|groups?|dilation|levels?|patch|window"
)
_MODELS = re.compile(r"^(model|net|network|encoder|decoder|backbone|module|generator|discriminator|classifier)$")
_SETTINGS = re.compile(r"^(args|opt|opts|cfg|config|configs|hparams|params|conf|options|settings)$")
_SIZES: tuple[tuple[str, int], ...] = (
    (r"head", 2),
    (r"depth|layer|block|stage|level", 2),
    (r"class|label|categor", 4),
    (r"kernel", 3),
    (r"stride|dilation|group|epoch|^step", 1),
    (r"padding", 1),
    (r"vocab|num_emb|ntoken|num_tokens", 20),
    (r"patch", 8),
    (r"im(age|g)_?size|input_size|img", 32),
    (r"len|seq|max|window|time|horizon", 8),
    (r"^in_?ch|^in_channels|^input_channels|^n_?channels|^channels?$|^c_in$|^in_chans|^input_nc", 3),
    (r"batch", 2),
    (r"dim|hidden|embed|model|feature|width|planes|channels?|^d_|units|size", 16),
)


@dataclass(frozen=True)
class About:
    """What is known of a parameter: its signature, its uses, the dimensions that its docstring gives it.

    `rank` is how many a tensor usually has here, and `is_host` says that its tensors are on the host. `wanted`
    is what a module that is given it takes.
    """

    parameter: inspect.Parameter
    uses: Uses
    documented: int | None
    rank: int
    is_host: bool = False
    wanted: Tensor | None = None

    @property
    def name(self) -> str:
        return self.parameter.name


def proposed(about: About) -> list[Value]:
    """Values for a parameter, the likeliest first."""
    found = dict.fromkeys((*_by_annotation(about), *_by_uses(about, about.uses, about.name), *_by_name(about)))
    listed = list(found) or [_tensor(about, about.uses, about.name)]
    return [replace(one, is_host=True) if about.is_host and isinstance(one, Net) else one for one in listed]


def number_for(name: str) -> int:
    """A small whole number for what has that name."""
    return next((number for pattern, number in _SIZES if re.search(pattern, name.lower())), 2)


def _by_annotation(about: About) -> Iterator[Value]:
    annotation = about.parameter.annotation
    if annotation is inspect.Parameter.empty:
        return
    is_plain = isinstance(annotation, type) and not hasattr(annotation, "__origin__")
    text = annotation.__name__ if is_plain else str(annotation)  # the name of `list[Tensor]` is `list`
    yield from next((make(about) for pattern, make in _ANNOTATIONS if re.search(pattern, text)), ())


def _list(about: About) -> Iterator[Value]:
    part = _tensor(about, about.uses, about.name)
    yield Items((part, part))
    yield Items((part, part), is_tuple=True)


def _by_uses(about: About, uses: Uses, name: str) -> Iterator[Value]:
    read = uses.methods | set(uses.names)
    if uses.is_loaded:
        yield CHECKPOINT
    if _DATASETS.search(name.lower()):
        yield _dataset(uses)
    if read & _MODEL_METHODS:
        yield from MODELS
    elif read & _OPTIMIZER_METHODS:
        yield OPTIMIZER
    elif uses.is_called:
        yield from _called(name)
    elif uses.is_iterated and (uses.elements or re.search(r"load|batches|iter", name)):
        yield _loader(about, uses)
    else:
        yield from _of_data(about, uses, name)


def _of_data(about: About, uses: Uses, name: str) -> Iterator[Value]:
    """Values that are not called, by what is read of them."""
    read = uses.methods | set(uses.names)
    is_tensor = bool(read & _TENSOR_NAMES or uses.rank or (read & _MOVES and not uses.names))
    if uses.names and is_settings(name):
        yield _object(about, uses)
    elif uses.keys and not is_tensor:
        yield _dict(about, uses)
    elif "device" in name.lower():
        yield DEVICE
    elif any(isinstance(value, str) for value in uses.equal) and not is_tensor:
        yield from _strings(uses, name)
    elif uses.names and not is_tensor and not read & _MOVES:
        yield _object(about, uses)
    elif is_tensor:
        yield _tensor(about, uses, name)
    elif uses.is_iterated:
        yield Items((_tensor(about, Uses(), name),) * 2)
    elif uses.unpacked:
        yield Items(tuple(_tensor(about, Uses(), name) for _ in range(uses.unpacked)), is_tuple=True)


def _by_name(about: About) -> Iterator[Value]:
    name, uses = about.name, about.uses
    if uses.is_number:
        yield from _whole(name)
    for pattern, make in _NAMES:
        if pattern.search(name.lower()):
            yield from make(about)
    if uses.is_operand:
        yield _tensor(about, uses, name)
    yield from (Plain(number_for(name)), _tensor(about, uses, name), NONE)


def _named_tensor(about: About) -> Iterable[Value]:
    return [_tensor(about, about.uses, about.name)]


def _called(name: str) -> Iterator[Value]:
    if re.search(r"loss|crit", name.lower()):
        yield LOSS
    if re.search(r"norm", name.lower()):
        yield from (Plain(source="nn.LayerNorm"), Plain(source="nn.BatchNorm2d"))
    if re.search(r"act|nonlin", name.lower()):
        yield from (Plain(source="nn.ReLU"), Plain(source="nn.ReLU()"))
    if re.search(r"model|net|encoder|decoder|module|layer|backbone|head|policy|actor|critic", name.lower()):
        yield from MODELS
    yield FUNCTION
    yield from MODELS


def _whole(name: str) -> Iterator[Value]:
    yield Plain(number_for(name))
    yield from (Plain(number) for number in (4, 1, 2, 3, 16, 8) if number != number_for(name))


def _strings(uses: Uses, name: str) -> Iterator[Value]:
    yield from (Plain(value) for value in uses.equal if isinstance(value, str))
    yield Plain(name)


def _tensor(about: About, uses: Uses, name: str) -> Tensor:
    lower = name.lower()
    is_label, is_mask = bool(_LABELS.search(lower)), bool(_MASKS.search(lower))
    own = about.documented if name == about.name else None
    rank = uses.rank or own or max(uses.least, 1 if is_label else about.rank)
    shape = shape_of(rank)
    if _BOXES.search(lower) and rank > 1:
        shape = (*shape[:-1], 4)
    made = Tensor(shape, is_host=about.is_host)
    if about.wanted is not None and name == about.name and uses.rank in (None, len(about.wanted.shape)):
        return replace(about.wanted, is_host=about.is_host)
    if is_mask:
        return replace(made, kind=BOOL)
    return replace(made, kind=LONG) if is_label else made


def _records() -> Items:
    """Dicts, without entries: which are wanted shows when they are asked for."""
    return Items((Named(()), Named(())))


def _array(about: About, uses: Uses) -> Value:
    shape = _tensor(about, uses, about.name).shape
    return Plain(source=f"torch.rand({', '.join(map(str, shape))}).numpy()")


def _loader(about: About, uses: Uses) -> Value:
    """Two batches, which are on the host as those of a loader are."""
    count = uses.elements or 2
    image = replace(about.wanted or Tensor(shape_of(4)), is_host=True)
    batch: Value = Items((image, *(Tensor((2,), LONG, is_host=True) for _ in range(count - 1))), is_tuple=True)
    return Items((batch, batch), is_loader=True)


def _dataset(uses: Uses) -> Value:
    """Two samples, which are on the host as those of a data set are."""
    labels = (Tensor((1,), LONG, is_host=True) for _ in range((uses.elements or 2) - 1))
    sample = Items((Tensor(shape_of(3), is_host=True), *labels), is_tuple=True)
    return Items((sample, sample))


_DATASETS = re.compile(r"(^|_)data_?set$")


def _dict(about: About, uses: Uses) -> Named:
    return Named(tuple((key, _entry(about, inner, str(key))) for key, inner in uses.keys.items()))


def _object(about: About, uses: Uses) -> Value:
    return Named(tuple((name, _entry(about, inner, name)) for name, inner in uses.names.items()), is_object=True)


def _entry(about: About, uses: Uses, name: str) -> Value:
    values = settings_for if is_settings(about.name) else parts_for
    return values(name, uses, about.rank, about.is_host)[0]


def is_settings(name: str) -> bool:
    """Whether a value is called as settings are."""
    return _SETTINGS.search(name.lower()) is not None


def settings_for(name: str, uses: Uses, rank: int = 2, is_host: bool = False) -> list[Value]:
    """Values for an attribute, or an entry, of settings, the likeliest first: those hold numbers, texts and lists, and
    hardly a tensor."""
    listed = parts_for(name, uses, rank, is_host)
    if (uses.methods | set(uses.names)) & _TENSOR_NAMES:
        return listed
    plain = [_with_numbers(one, name) for one in listed if not isinstance(one, Tensor)]
    return [*dict.fromkeys(plain), *(one for one in listed if isinstance(one, Tensor))]


def _with_numbers(value: Value, name: str) -> Value:
    """Lists of numbers in the place of lists of tensors."""
    if isinstance(value, Items) and not value.is_loader:
        parts = (Plain(number_for(name)) if isinstance(one, Tensor) else one for one in value.parts)
        return replace(value, parts=tuple(parts))
    return value


def parts_for(name: str, uses: Uses, rank: int = 2, is_host: bool = False) -> list[Value]:
    """Values for an attribute or an entry of that name, the likeliest first."""
    is_word = name.isidentifier() and not keyword.iskeyword(name)
    parameter = inspect.Parameter(name if is_word else "entry", inspect.Parameter.KEYWORD_ONLY)
    inner = About(parameter, uses, None, rank, is_host)
    return list(dict.fromkeys((*_by_uses(inner, uses, name), *_by_name(inner))))


_LISTED = r"(List|Sequence|Iterable|list|Tuple|tuple)\["
_ANNOTATIONS: tuple[tuple[str, Callable[[About], Iterable[Value]]], ...] = (
    (rf"{_LISTED}(typing\.)?(Dict|Mapping|dict)\[[^\]]*Tensor", lambda about: [_records()]),
    (rf"{_LISTED}[^\]]*Tensor", _list),
    (r"(Dict|Mapping|dict)\[[^\]]*Tensor", lambda about: [_dict(about, about.uses)]),
    (r"Tensor", lambda about: [_tensor(about, about.uses, about.name)]),
    (r"ndarray", lambda about: [_array(about, about.uses)]),
    (r"device", lambda about: [DEVICE]),
    (r"dtype", lambda about: [DTYPE]),
    (r"Generator\b", lambda about: [GENERATOR]),
    (r"Module\b", lambda about: MODELS),
    (r"Optimizer", lambda about: [OPTIMIZER]),
    (r"DataLoader", lambda about: [_loader(about, about.uses)]),
    (r"\bbool\b", lambda about: [Plain(False), Plain(True)]),
    (r"\bint\b", lambda about: _whole(about.name)),
    (r"\bfloat\b", lambda about: [Plain(0.5), Plain(1.0)]),
    (r"\bstr\b", lambda about: _strings(about.uses, about.name)),
    (r"Callable", lambda about: [FUNCTION]),
)

_CARDS = Plain(source="[0] if torch.cuda.is_available() else []")
_NAMES: tuple[tuple[re.Pattern[str], Callable[[About], Iterable[Value]]], ...] = (
    (re.compile(r"^(gpu|device|cuda)_?ids$|^gpus$"), lambda about: [_CARDS]),
    (re.compile(r"device"), lambda about: [DEVICE]),
    (re.compile(r"dtype"), lambda about: [DTYPE]),
    (re.compile(r"^(generator|rng)$"), lambda about: [GENERATOR]),
    (re.compile(r"criterion|loss_f|loss_fn|^loss$"), lambda about: [LOSS, FUNCTION]),
    (re.compile(r"optim"), lambda about: [OPTIMIZER]),
    (_MODELS, lambda about: MODELS),
    (re.compile(r"loader"), lambda about: [_loader(about, about.uses)]),
    (_SETTINGS, lambda about: [_object(about, about.uses)]),
    (_MASKS, _named_tensor),
    (_LABELS, _named_tensor),
    (_TENSORS, _named_tensor),
    (_FLAGS, lambda about: [Plain(False), Plain(True)]),
    (_TEXTS, lambda about: _strings(about.uses, about.name)),
    (_FLOATS, lambda about: [Plain(0.5), Plain(1.0)]),
    (_NUMBERS, lambda about: _whole(about.name)),
)
