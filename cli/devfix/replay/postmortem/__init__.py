"""Post-mortems: what was in reach when a script crashed with a device error, and the words for it."""

from devfix.replay.postmortem.data import (
    BatchValue,
    Form,
    Frame,
    Member,
    ModuleValue,
    Named,
    OptimizerValue,
    OtherValue,
    PostMortem,
    Step,
    TensorFacts,
    TensorValue,
    Value,
)
from devfix.replay.postmortem.decoding import as_json, decode
from devfix.replay.postmortem.words import lines, story

__all__ = [
    "BatchValue",
    "Form",
    "Frame",
    "Member",
    "ModuleValue",
    "Named",
    "OptimizerValue",
    "OtherValue",
    "PostMortem",
    "Step",
    "TensorFacts",
    "TensorValue",
    "Value",
    "as_json",
    "decode",
    "lines",
    "story",
]
