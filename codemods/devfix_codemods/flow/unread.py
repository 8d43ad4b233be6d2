"""Which calls build a module of a class that cannot be read: one of a library, or one that a caller gives."""

import ast
import re

from devfix_codemods.flow.evidence import Evidence, dotted, last_name
from devfix_codemods.flow.names import Names

_CLASS = re.compile(r"[A-Z][A-Za-z]*[a-z0-9]\w*$")
_GIVEN_CLASS = re.compile(r"(?:model|net|network|module|backbone)_(?:cls|class|type)$")
_NO_MODULE = re.compile(
    r"(?i)pipe|agent|trainer|runner|engine|predictor|wrapper|parallel|distributed|learner|session|manager|loader|dataset"
    r"|optim|schedul|estimator|processor|sentence|tokeniz|solver|detector|policy|algorithm|environment|experiment|loss"
)
"""Names of what has methods like those of a module and places itself, its parts or its inputs."""

_OPTIONS = re.compile(
    r"(?i)args?|opts?|options?|cfg|conf|config\w*|hparams|hps?|params?|flags|settings?|\w+_args|\w+_cfg"
)
"""Names of objects that may name a device too."""


def is_unread_module(names: Names, node: ast.Call, evidence: Evidence) -> bool:
    """`net = Net(10)` of an imported class, or `net = net_class()`, with `net.parameters()` in the same scope."""
    name = kept_as(names, node)
    return name is not None and evidence.bindings.get(name) == 1 and name in evidence.modules


def kept_as(names: Names, node: ast.Call) -> str | None:
    """The plain name of what a call builds of a class that is not in this file; None for any other call."""
    statement, last = names.parent(node), last_name(node.func)
    if last is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or _NO_MODULE.search(last):
        return None
    given = isinstance(node.func, ast.Name) and _GIVEN_CLASS.match(last) is not None
    imported = given or (_CLASS.match(last) is not None and names.imported(node.func) is not None)
    return target.id if imported and not _may_be_told(node) else None


def _may_be_told(node: ast.Call) -> bool:
    """Whether the class may be told a place: by options, or by a device."""
    given = [*node.args, *(one.value for one in node.keywords)]
    named = any(
        one.arg is None or "device" in one.arg or "gpu" in one.arg or "cuda" in one.arg for one in node.keywords
    )
    parts = [(dotted(one) or "").split(".") for one in given]
    return (
        named
        or any(isinstance(one, ast.Starred) for one in given)
        or any("device" in part or _OPTIONS.fullmatch(part) for each in parts for part in each)
    )
