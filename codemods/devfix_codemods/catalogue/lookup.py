"""From a qualified name to its row."""

from functools import lru_cache

from devfix_codemods.catalogue import libraries, torch
from devfix_codemods.catalogue.effects import Effect, Kind

_REEXPORTS = (
    ("torch.nn.modules.", "torch.nn."),
    ("torch.nn.parameter.", "torch.nn."),
    ("torch.quantization.observer.", "torch.ao.quantization."),
    ("torch.ao.quantization.observer.", "torch.ao.quantization."),
    ("torch.quantization.", "torch.ao.quantization."),
    ("torch.functional.", "torch."),
    ("torch._C.", "torch."),
)
_ALIASES = {
    "torch.autograd.variable.Variable": "torch.autograd.Variable",
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.concat": "torch.cat",
    "torch.serialization.load": "torch.load",
    "torchvision.models.utils.load_state_dict_from_url": "torch.hub.load_state_dict_from_url",
    "torchvision._internally_replaced_utils.load_state_dict_from_url": "torch.hub.load_state_dict_from_url",
}
_NOT_MODULES = frozenset({"ParameterList", "ParameterDict", "Module", "LinearCrossEntropyOptions"})

_remembered = lru_cache(maxsize=1 << 14)
"""The same few thousand names are asked for again and again."""


@_remembered
def canonical(qualified: str) -> str:
    """The public name of what is exported in several places."""
    found = _ALIASES.get(qualified)
    if found is not None:
        return found
    for long, short in _REEXPORTS:
        if qualified.startswith(long):
            return short + qualified.rpartition(".")[2]
    return qualified


@_remembered
def is_module_class(qualified: str) -> bool:
    """Whether the name is that of a class of torch whose objects are modules."""
    head, _, last = canonical(qualified).rpartition(".")
    if head == "torch.ao.quantization":  # https://docs.pytorch.org/docs/stable/quantization-support.html
        return last.endswith("Observer")
    is_class = head == "torch.nn" and last[:1].isupper() and last not in _NOT_MODULES
    return is_class and f"{head}.{last}" not in torch.PARAMETERS


def makes_module(qualified: str) -> bool:
    """Whether the name is that of a class method of torch that makes a module: `Embedding.from_pretrained`."""
    head, _, last = qualified.rpartition(".")
    return last in libraries.MODULE_MAKERS and is_module_class(head)


def is_metric_class(qualified: str | None) -> bool:
    """Whether a name is that of a class of torchmetrics."""
    head, _, last = (qualified or "").rpartition(".")
    return head.partition(".")[0] == "torchmetrics" and "functional" not in head and last[:1].isupper()


def computes(qualified: str) -> bool:
    """Whether the name is that of a class of modules that get tensors when they are called."""
    public = canonical(qualified)
    return (is_module_class(public) and public not in torch.CONTAINERS) or public.startswith("torchaudio.transforms.")


@_remembered
def effect(qualified: str) -> Effect | None:
    """What calling `qualified` does; None where the catalogue does not know it."""
    name = canonical(qualified)
    found = torch.FUNCTIONS.get(name) or libraries.FUNCTIONS.get(name)
    if found is not None:
        return found
    if name in torch.BARE_MODULES or name in torch.WEIGHTED_LOSSES:
        return Effect.BARE
    if name in torch.PARAMETERS:
        return Effect.OTHER
    if is_module_class(name) or makes_module(name):
        return Effect.MODULE
    if ".__dict__." in name:  # `torchvision.models.__dict__.keys`: of Python, not of the package
        return None
    prefix, row = next((one for one in libraries.PREFIXES if name.startswith(one[0])), ("", None))
    is_class = name.rpartition(".")[2][:1].isupper()
    return row if is_class else libraries.FUNCTIONS_BESIDE_CLASSES.get(prefix, row)


@_remembered
def method_effect(name: str) -> Effect | None:
    """What a method of a tensor or a module does, by its name."""
    found = torch.METHODS.get(name)
    if found is None and name.endswith("_") and not name.startswith("_"):
        found = torch.METHODS.get(name[:-1])
    return found


@_remembered
def kind(qualified: str) -> Kind | None:
    """What calling `qualified`, or the name itself, gives."""
    name = canonical(qualified)
    return torch.KINDS.get(name) or libraries.KINDS.get(name)
