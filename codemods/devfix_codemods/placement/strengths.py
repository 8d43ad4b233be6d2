"""How strong each kind of constraint is: the probability that it holds where nothing contradicts it.

`bench/calibrate.py` fits these numbers on deletions, variations and mined fixes, by repositories that it did not see.
"""

from math import log

STRENGTHS: dict[str, float] = {
    "certain": 1.0,
    # births
    "factory": 1.0,
    "conversion": 0.97,
    "maybe-scalar": 0.75,
    "loader-item": 0.97,
    "unpacked-beside-moved": 0.9,
    "module-made": 0.97,
    "built-by-unknown": 0.6,
    "built-beside-device": 0.5,
    "used-as-module": 0.85,
    "built-of-options": 0.6,
    "maybe-bare": 0.4,
    "moved-elsewhere": 0.3,
    "given-away": 0.6,
    "named-loader": 0.85,
    "named-otherwise": 0.5,
    "parameter-beside-moved": 0.5,
    "moved-by-call": 0.8,
    "field-rewritten": 0.6,
    "array-made": 0.97,
    "array-of-tensors": 0.65,
    "encoding": 0.93,
    "needs-host": 0.97,
    "kept-in-dataset": 0.8,
    "attribute-not-moved": 0.97,
    # ends
    "move": 1.0,
    "move-by-name": 0.95,
    "data-parallel": 0.8,
    "module-place": 0.93,
    "forward-input": 0.9,
    "parameter": 0.5,
    "parameter-device-asked": 0.9,
    # meetings
    "operation": 0.98,
    "operation-unknown-operand": 0.75,
    "module-call": 0.95,
    "module-call-by-use": 0.93,
    "differentiable-call": 0.95,
    "unknown-call": 0.5,
    "unread-function": 0.5,
    "module-method": 0.8,
    "index": 0.9,
    "index-maybe-scalar": 0.35,
    # flow
    "field": 0.9,
    "element": 0.93,
    "part": 0.9,
    "call": 0.95,
    "global": 0.9,
    "view": 1.0,
    "unknown-result": 0.55,
    "unknown-method": 0.7,
    "loop": 1.0,
    # families
    "other-path": 0.6,
    "factories-one": 0.45,
    "factories-two": 0.5,
    "factories-many": 0.55,
    "loop-one": 0.75,
    "loop-two": 0.8,
    "loop-many": 0.85,
    "unused-device": 0.7,
    "plain-attribute": 0.5,
    "beside-buffers": 0.67,
    "copied-one": 0.5,
    "copied-two": 0.6,
    "copied-many": 0.66,
    "twin-one": 0.8,
    "twin-two": 0.87,
    "twin-many": 0.9,
    "made-beside-moves": 0.55,
    "family-one": 0.6,
    "family-two": 0.75,
    "family-many": 0.85,
}

COSTS: dict[str, float] = {name: -log(strength) for name, strength in STRENGTHS.items()}
"""The same as lengths of edges: a path's length is the logarithm of its confidence."""
