"""Functions whose values are on the host: what loaders run in their workers, tests, and what says so itself."""

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.arguments import keyword
from devfix_codemods.placement.calls import function_of, method, only_called_by
from devfix_codemods.placement.device_tests import host_tests
from devfix_codemods.placement.documented import works_on_host
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.targets import Targets

_DATA = ("Dataset", "Transform", "DataProcessor", "Collator", "FeatureExtractor", "ProcessorMixin")
"""How the names of classes end whose objects prepare data for loaders, as those of a base."""
_PREPARING = ("Collator", "FeatureExtractor")
"""The same, by the name of the class itself."""


def host_functions(module: Module, kinds: Kinds, calls: dict[Node, Function]) -> set[Function]:
    """The functions that get and make tensors of the host, unless one of their class moves something itself."""
    found = {one for one in module.functions if is_test(one, kinds)}
    found |= _called_on_host(module, kinds, calls)
    for owner in module.classes:
        if prepares_data(owner, kinds):
            found |= set(owner.methods.values())
    for node in module.of(Op.CALL):
        collate = keyword(node, "collate_fn")
        if collate is not None:
            found |= _run_by(collate, module, kinds)
    targets = Targets(kinds)
    placing = {one.function for one in module.of(Op.CALL) if targets.given(one) is not None}
    placing |= {one for each in placing if each.owner is not None for one in each.owner.methods.values()}
    found -= placing
    found |= {one for one in module.functions if works_on_host(one, moves=one in placing)}
    return found | only_called_by(found, calls)


def is_test(function: Function, kinds: Kinds) -> bool:
    """Whether a test runner alone calls a function, with what other functions make for it on the host."""
    return function.name.startswith("test_") and not any(
        kinds.given.get(one) for one in function.parameters.values() if one is not function.self_node
    )


def prepares_data(owner: Class, kinds: Kinds) -> bool:
    """Whether the objects of a class give loaders what they load: a data set, a transform, a collator."""
    if owner.name.endswith(_PREPARING) and owner not in kinds.module_classes:
        return True
    return not kinds.derives_from_module(owner) and any(
        one.endswith(_DATA) for each in kinds.imported.lineage(owner) for base in each.bases for one in names(base)
    )


def _run_by(collate: Node, module: Module, kinds: Kinds) -> set[Function]:
    """What a loader calls to make a batch of items: a function, or an object of a class of this file."""
    owner = kinds.class_of(collate)
    called = function_of(collate) if owner is None else method(owner, "__call__")
    return {called} if called is not None else set()


def _called_on_host(module: Module, kinds: Kinds, calls: dict[Node, Function]) -> set[Function]:
    """The functions that are called only where a test has found a tensor on the host."""
    literals = set(host_tests(module, kinds))
    elsewhere = {called for call, called in calls.items() if literals.isdisjoint(call.guard)}
    return set(calls.values()) - elsewhere
