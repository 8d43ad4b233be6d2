"""The output of a tokenizer or processor never reaches the model's device.

## What it does

Finds encodings made with `return_tensors="pt"`, or by CLIP's `tokenize`, that stay on the host while the model is on a
device, and moves the whole encoding where it is made.

## Why it fails

Tokenizers and processors return host tensors. The model's embedding then raises

    RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! (when
    checking argument for argument index in method wrapper_CUDA__index_select)

## Before

    model.to(device)
    inputs = tokenizer(texts, padding=True, return_tensors="pt")
    outputs = model(**inputs)

## After

    model.to(device)
    inputs = tokenizer(texts, padding=True, return_tensors="pt").to(device)
    outputs = model(**inputs)

## Fix safety

Safe: the output of a tokenizer with `return_tensors="pt"` has `.to`, and moving it to where the model is changes
nothing that worked. Unsafe where the way to the model leads through attributes or calls that say less, and where only
another function moves what it encodes in the same way.

## Since torch

Any.
"""

from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.search import Conflict
from devfix_codemods.rules import Rule


def _owns(conflict: Conflict) -> bool:
    return conflict.birth.birth is Birth.ENCODING


RULE = Rule("DVF102", "encoding-not-moved", owns=_owns)
