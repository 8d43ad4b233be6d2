"""What torch's sentences about devices mean.

Wordings of torch 1.x to 2.13. The names of arguments are those of `native_functions.yaml`; what they stand for in the
modules that people write is from the sources of `torch.nn.functional`.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Category(StrEnum):
    """The classes of device errors. A closed set."""

    TWO_DEVICES = "two-devices"
    INPUT_TYPE = "input-type"
    INDEX = "index"
    HIDDEN = "hidden-state"
    TO_NUMPY = "to-numpy"
    LENGTHS = "lengths"
    GENERATOR = "generator"
    GRADIENT = "gradient"
    PIN_MEMORY = "pin-memory"
    LOAD = "load"
    NO_ACCELERATOR = "no-accelerator"
    AUTOCAST = "autocast"
    FORK = "fork"
    WRAPPER = "wrapper"
    METRIC = "metric"
    RNG_STATE = "rng-state"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Message:
    """A sentence of torch, read.

    `meaning` is one or two sentences, `repair` what usually helps. `argument` and `method` are torch's names of the
    argument that is elsewhere and of the operator that noticed (`mat2`, `addmm`), `places` the places it names.
    """

    text: str
    category: Category
    meaning: str
    repair: str
    argument: str | None = None
    method: str | None = None
    places: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Class:
    category: Category
    patterns: tuple[str, ...]
    meaning: str
    repair: str


_MOVE = "move the value where it is made or loaded to the device that the others are on: `.to(device)` or `device=`"

_CLASSES = (
    _Class(
        Category.LENGTHS,
        (r"lengths.* should be a 1D CPU int64 tensor(?!, but got \d+D cpu )",),
        "`pack_padded_sequence` reads the lengths on the host, but got them on a device.",
        "pass `lengths.cpu()`, and do not move the lengths with the rest of the batch",
    ),
    _Class(
        Category.OTHER,
        (r"tensor_split expected \w+ to be on cpu",),
        "`tensor_split` reads where to split on the host, but got that on a device.",
        "pass the indices or sections as `.cpu()`, or as numbers",
    ),
    _Class(
        Category.INDEX,
        (r"indices should be (?:either )?on", r"expected self and mask to be on the same device"),
        "A tensor on the host is indexed by a mask or index on a device. The reverse is legal.",
        "make the indexed tensor on the device of the index (`device=index.device`), or index with `index.cpu()`",
    ),
    _Class(
        Category.INPUT_TYPE,
        (r"Input type \(.+\) and \w+ type \(.+\) should be the same",),
        "The input of a layer and its parameters are on different devices: `torch.FloatTensor` is a tensor on the "
        "host, `torch.cuda.FloatTensor` one on a CUDA device. Convolutions say it in this way.",
        "where the weight is on the host: `model.to(device)` after the model is complete; where the input is: "
        "`x = x.to(device)`",
    ),
    _Class(
        Category.HIDDEN,
        (r"Input and \w+ tensors are not at the same device",),
        "The initial hidden state of a recurrent layer is not on the device of its input.",
        "make the state with `device=x.device`",
    ),
    _Class(
        Category.TO_NUMPY,
        (r"can't convert \S+(?: device type)? tensor to numpy",),
        "numpy works on the host, and was given a tensor on a device.",
        "`.cpu()` before `.numpy()` (`.detach().cpu()` where the tensor requires grad)",
    ),
    _Class(
        Category.GENERATOR,
        (r"Expected a '\S+' (?:device type for generator|generator device) but found",),
        "A random generator of one device was asked for numbers on another.",
        "`torch.Generator(device=device)`; samplers and loaders shuffle on the host unless the default device is "
        "another",
    ),
    _Class(
        Category.GRADIENT,
        (
            r"assigned grad has data located on a different device",
            r"attempting to assign a gradient (?:with device type|located on device)",
        ),
        "A gradient was assigned to a tensor that is on another device.",
        "assign `grad.to(parameter.device)`",
    ),
    _Class(
        Category.PIN_MEMORY,
        (r"cannot pin '\S+' only dense CPU tensors can be pinned",),
        "Pinned memory is host memory: a tensor on a device cannot be pinned.",
        "let the dataset return host tensors, or drop `pin_memory=True`",
    ),
    _Class(
        Category.LOAD,
        (r"Attempting to deserialize object on (?:a )?\S+ device",),
        "The file was saved from a device that is not here.",
        "`torch.load(path, map_location=device)`",
    ),
    _Class(
        Category.AUTOCAST,
        (
            r"__init__\(\) missing 1 required positional argument: 'device_type'",
            r"autocast\S* got an unexpected keyword argument 'device'",
            r"User specified an unsupported autocast device_type",
            r"User specified autocast device_type must be",
            r"Expected `device_type` of type `str`",
        ),
        "`autocast` wants the type of a device as a string: `cuda`, not `cuda:0` and not a `torch.device`.",
        "`torch.autocast(device_type=device.type, …)`",
    ),
    _Class(
        Category.FORK,
        (r"Cannot re-initialize CUDA in forked subprocess", r"CUDA error: initialization error"),
        "A worker that was forked after CUDA had been used touched CUDA.",
        "keep device work out of datasets and `collate_fn`, or start workers with `spawn`",
    ),
    _Class(
        Category.WRAPPER,
        (
            r"module must have its parameters and buffers on device",
            r"DistributedDataParallel device_ids and output_device arguments only work",
        ),
        "A parallel wrapper was given a module that is not where the wrapper works.",
        "`model.to(device)` before the wrapper",
    ),
    _Class(
        Category.METRIC,
        (r"Encountered different devices in metric calculation",),
        "A metric's state and what it was given are on different devices.",
        "`metric.to(device)` once, in plain loops",
    ),
    _Class(
        Category.RNG_STATE,
        (r"RNG state must be a torch\.ByteTensor",),
        "A state of a random generator must be on the host.",
        "load the state with `map_location='cpu'`, or pass `state.cpu()`",
    ),
    _Class(
        Category.NO_ACCELERATOR,
        (
            r"Torch not compiled with \w+ enabled",
            r"[Nn]ot linked with support for \w+ devices",
            r"No (?:CUDA|XPU|HIP) (?:GPUs|devices) are available",
            r"Found no NVIDIA driver",
            r"Cannot access accelerator device when none is available",
            r"Cannot get \w+ generator without ATen_\w+ library",
            r"module 'torch\._C' has no attribute '_cuda_\w+'",
            r"invalid device ordinal",
        ),
        "The program asks for an accelerator that this installation or machine does not have.",
        'choose the device once, `"cuda" if torch.cuda.is_available() else "cpu"`, and use that name; '
        "`devfix audit` tells what torch sees here",
    ),
    _Class(
        Category.TWO_DEVICES,
        (
            r"(?:to|must) (?:all )?(?:be (?:on|in)|have) (?:the )?same (?:GPU )?device",
            r"Input, output and indices must be on the current device",
            r"\bmust be (?:a )?(?:CPU|CUDA) tensor",  # extensions of torch, such as torch_scatter
            r"should have same device type, but got",
            r"Expected self\.device\(\) == \w+\.device\(\) to be true",
            r"Trying to pass too many CPU scalars to non-CPU kernel",
            r"set the storage of a tensor on device \S+ to a storage on different device",
            r"[Ee]xpected device \S+ but got device",
            r"legacy constructor expects device type: \w+ but device type: \w+ was passed",
            r"Tensor on device \S+ is not on the expected device",
            r"Tensor for argument #?\d+ '\w+' is on \w+, but expected (?:it|them) to be on",
            r"Tensor for argument \w+ is on \w+ but expected on",
            r"Expected object of (?:backend|device type) \w+ but got (?:backend|device type)",
            r"expected backend \w+ and dtype \w+ but got backend",
            r"arguments are located on different GPUs",
            r"Placeholder storage has not been allocated on MPS device",
            r"Expected out tensor to have device \S+ but got \S+ instead",
            r"Bad in-place call: input tensor device \S+ and output tensor device",
            r"[Ss]calar tensor (?:is )?expected to be on \S+ but is on",
            r"Expected \w+\.get_device\(\) == \w+\.get_device\(\) to be true",
            r"Expected tensor to have \w+ Device, but got tensor with \w+ Device",
        ),
        "An operation got tensors that are on different devices.",
        _MOVE,
    ),
)

_COMPILED = tuple((one, tuple(re.compile(pattern) for pattern in one.patterns)) for one in _CLASSES)

_ARGUMENT = (
    re.compile(r"checking argument for argument (?P<argument>\w+) in method (?P<method>\w+)"),
    re.compile(r"but got (?P<argument>\w+) is on \S+, different from other tensors.*in method (?P<method>\w+)"),
    re.compile(r"Tensor for argument #?\d+ '(?P<argument>\w+)' is on .*while checking arguments for (?P<method>\w+)"),
    re.compile(r"Tensor for argument #?\d+ '(?P<argument>\w+)' is on"),
)
_TYPES = re.compile(r"(?P<one>Input) type \((?P<first>[\w.:]+)\) and (?P<other>\w+) type \((?P<second>[\w.:]+)\)")
_WRAPPER = re.compile(r"^wrapper_(?:\w*?(?:CUDA|XPU|MPS|PrivateUse1)_)?_*")
_PLACE = re.compile(r"\b(?:(?:cuda|xpu|mps|npu|hpu)(?::\d+)?|cpu)\b")

_INPUT, _WEIGHT, _BIAS = "the input of the layer", "the weight of the layer", "the bias of the layer"
_TARGET, _CLASS_WEIGHTS = "the target", "the class weights of the loss"

_MEANINGS: dict[str, dict[str, str]] = {
    "addmm": {"mat1": "the input of a Linear layer", "mat2": "the weight of a Linear layer", "self": "its bias"},
    "mm": {"self": "the first matrix", "mat2": "the second matrix, such as the weight of a Linear layer without bias"},
    "bmm": {"self": "the first batch of matrices", "mat2": "the second batch of matrices"},
    "baddbmm": {"batch1": "the first batch of matrices", "batch2": "the second batch of matrices"},
    "mv": {"self": "the matrix", "vec": "the vector"},
    "dot": {"self": "the first vector", "tensor": "the second vector"},
    "index_select": {
        "index": "the indices: of an Embedding, the tokens",
        "self": "the table: of an Embedding, its weight",
    },
    "embedding": {"weight": "the table of the Embedding", "indices": "the indices, the tokens"},
    "nll_loss_forward": {"target": _TARGET, "weight": _CLASS_WEIGHTS, "self": "the predictions"},
    "nll_loss2d_forward": {"target": _TARGET, "weight": _CLASS_WEIGHTS, "self": "the predictions"},
    "binary_cross_entropy": {"target": _TARGET, "weight": "the weights of the loss", "self": "the predictions"},
    "mse_loss": {"target": _TARGET, "self": "the predictions"},
    "smooth_l1_loss": {"target": _TARGET, "self": "the predictions"},
    "huber_loss": {"target": _TARGET, "self": "the predictions"},
    "native_layer_norm": {"input": "the input of the LayerNorm", "weight": _WEIGHT, "bias": _BIAS},
    "native_group_norm": {"input": "the input of the GroupNorm", "weight": _WEIGHT, "bias": _BIAS},
    "native_batch_norm": {
        "input": "the input of the BatchNorm",
        "weight": _WEIGHT,
        "running_mean": "the running mean, a buffer of the BatchNorm",
        "running_var": "the running variance, a buffer of the BatchNorm",
    },
    "cudnn_batch_norm": {
        "input": "the input of the BatchNorm",
        "weight": _WEIGHT,
        "running_mean": "the running mean, a buffer of the BatchNorm",
    },
    "cudnn_convolution": {"input": "the input of the convolution", "weight": "the weight of the convolution"},
    "prelu": {"self": "the input", "weight": "the weight of the PReLU"},
    "gather": {"index": "the index", "self": "the tensor that is gathered from"},
    "scatter": {"index": "the index", "src": "the values", "self": "the tensor that is written to"},
    "scatter_add": {"index": "the index", "src": "the values", "self": "the tensor that is added to"},
    "index_add": {"index": "the index", "source": "the values", "self": "the tensor that is added to"},
    "cat": {"tensors": "one of the tensors of the list"},
    "where": {"condition": "the condition", "self": "the first choice", "other": "the second choice"},
    "masked_fill": {"mask": "the mask", "self": "the tensor that is filled"},
    "ctc_loss": {"targets": "the targets", "log_probs": "the predictions"},
    "lstm_mps": {"hx": "the hidden state", "input": _INPUT},
}
"""What an operator's arguments are to the person who wrote the layer, by operator and argument."""


def read_message(lines: Iterable[str]) -> Message | None:
    """The first of `lines` that is a sentence of torch about devices, read; None where none is."""
    for line in lines:
        for one, patterns in _COMPILED:
            if any(pattern.search(line) for pattern in patterns) and not _is_of_one_place(line):
                return _read(line.strip(), one)
    return None


def _read(text: str, known: _Class) -> Message:
    argument, method = _argument(text)
    told = _told(argument, method) or _told_types(text)
    meaning = known.meaning if told is None else f"{known.meaning} {told}"
    places = tuple(dict.fromkeys(_PLACE.findall(text)))
    return Message(text, known.category, meaning, known.repair, argument, method, places)


def _argument(text: str) -> tuple[str | None, str | None]:
    for pattern in _ARGUMENT:
        found = pattern.search(text)
        if found is not None:
            names = found.groupdict()
            return names["argument"], _operator(names.get("method"))
    return None, None


def _operator(method: str | None) -> str | None:
    """`addmm` for `wrapper_CUDA_addmm`; `index_select` for `wrapper_CUDA__index_select`."""
    return None if method is None else _WRAPPER.sub("", method)


def _told(argument: str | None, method: str | None) -> str | None:
    if argument is None:
        return None
    operators = (method or "", (method or "").rstrip("_"), (method or "").removesuffix("_out"))
    role = next((_MEANINGS[name][argument] for name in operators if argument in _MEANINGS.get(name, ())), None)
    where = f" of `{method}`" if method else ""
    return f"The one that differs is `{argument}`{where}" + (f": {role}." if role else ".")


def _told_types(text: str) -> str | None:
    """Which of the two types of a convolution's message is that of a tensor on the host."""
    found = _TYPES.search(text)
    if found is None:
        return None
    hosts = [
        name for name, kind in ((found["one"], found["first"]), (found["other"], found["second"])) if _is_host(kind)
    ]
    return f"Here the {hosts[0].lower()} is on the host." if len(hosts) == 1 else None


def _is_of_one_place(text: str) -> bool:
    """Whether the two types of a convolution's message differ in their dtypes alone."""
    found = _TYPES.search(text)
    return found is not None and _is_host(found["first"]) == _is_host(found["second"])


def _is_host(kind: str) -> bool:
    return kind.startswith("CPU") or (kind.startswith("torch.") and kind.count(".") == 1)
