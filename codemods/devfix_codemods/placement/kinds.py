"""What sort of thing each value is, by unification: values that are copies of one another are of one kind.

Evidence comes from both sides: from what makes a value, and from what is done to it. Where kinds contradict each other,
nothing is known.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from types import MappingProxyType

from devfix_codemods.annotated import Assign as AnnotatedAssign
from devfix_codemods.catalogue import Kind, canonical, is_module_class, libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement import containers_by_use, slice_bounds, uses
from devfix_codemods.placement.annotations import annotated
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import is_other_method
from devfix_codemods.placement.data_graphs import data_graphs
from devfix_codemods.placement.differentiable import differentiable, losses_by_name
from devfix_codemods.placement.facts import Facts
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.imported_modules import arrays_of_modules
from devfix_codemods.placement.module_bases import is_unread
from devfix_codemods.placement.named_models import made_and_called, made_beside_modules
from devfix_codemods.placement.non_tensors import context_of_autograd
from devfix_codemods.placement.same_class import made_by_one_class
from devfix_codemods.placement.saved_files import same_kinds
from devfix_codemods.placement.stateless_modules import is_stateless
from devfix_codemods.placement.values import given_elsewhere, of_fields, of_value


class Kinds(Facts):
    """Kinds of the values of one file."""

    def __init__(
        self,
        module: Module,
        calls: dict[Node, Function],
        imported: ImportedDefinitions | None = None,
        elsewhere: Mapping[Node, list[Node]] = MappingProxyType({}),
    ) -> None:
        super().__init__()
        self.module = module
        self.calls = calls
        self.imported = imported or ImportedDefinitions()
        self.named: dict[str, list[Node]] = defaultdict(list)
        """The parameters of which an annotation says what they are, by name."""
        self.given: dict[Node, list[Node]] = defaultdict(list)
        """What the calls in this file give each parameter."""
        self.elsewhere = elsewhere
        """What calls in other files give parameters, and what other files make other values by."""
        self.gone_through: dict[Node, Node] = {}
        """Objects that give the elements of another value, and which."""
        self.rows: set[Node] = set()
        """Parameters that are annotated as containers of tensors, which count as tensors, but have no place to ask."""
        self.of_own_words: dict[Function, frozenset[Node]] = {}
        """Parameters that take no names of devices, of the functions that were asked for theirs."""
        self.stateful: list[Node] = []
        self.models: list[Node] = []
        """What computes of a batch what a loss gets."""
        self.of_moved_classes: set[Node] = set()
        """Modules of classes of which the program moves one: making them moves none."""
        self.losses: list[Node] = []
        self.itemized: list[Node] = []
        """What is asked for its items, as no tensor is."""
        self.others: list[Node] = []
        """What has no tensors of its own, though it be a module: transforms."""
        self.has_graphs = any(str(one.extra).startswith(libraries.OF_GRAPHS) for one in module.of(Op.REF))
        self.converters: list[Node] = []
        """Transforms that turn pictures into tensors."""
        self.metrics: list[Node] = []
        self.recurrent: list[Node] = []
        self.placing_labels: list[Node] = []
        self.module_classes = {one for one in module.classes if self.is_module_class(one)}
        self.set_outside = {
            str(one.key) for one in module.stores if one.is_attribute and one.base is not one.base.function.self_node
        }
        """The attributes that the file sets of other objects than those that its methods are of."""
        self.declared: set[Node] = set()
        """Attributes that the body of their class declares, as those of dataclasses are."""
        for one in module.classes:
            self._declarations(one)
        given_elsewhere(self)
        for function in module.functions:
            self._function(function)
        self.data_graphs = set(data_graphs(self)) if self.has_graphs else set()
        for node in self.data_graphs:
            self.say(node, Kind.ENCODING, 4)
        for evidence in _OF_USES:
            evidence(self)
        self.differentiable = differentiable(module, calls)
        self.losses_by_name = losses_by_name(module)
        callees = [one.args[0] for one in self.differentiable if one.op is Op.CALL]
        self._trained = {self.find(one) for one in callees}
        self._trained_names = {one.extra for one in callees if one.op is Op.PARAM}
        for evidence in _OF_MODELS:
            evidence(self)
        for function in module.functions:
            uses.say_filled(self, function)

    def _function(self, function: Function) -> None:
        owner, itself = function.owner, function.object_node
        self._parameters(function)
        for node in function.nodes:
            of_value(self, node)
            said = node.statement if node.op in _ANNOTATED else None
            if isinstance(said, AnnotatedAssign) and said.value is node.syntax:
                annotated(self, node, said.annotation)
        if owner is not None and itself is not None:
            self.instances.setdefault(self.find(itself), owner)
            if owner in self.module_classes:
                self.say(itself, Kind.MODULE, 4)
        for parameter, node in function.parameters.items():
            default = function.defaults.get(parameter)
            if default is not None and not is_none(default):
                self.unify(node, default)
        for store in function.stores:
            if store.is_attribute and (one := self.object_class(store.base)) is not None:
                self.unify(one.field_of(str(store.key)), store.value)

    def _parameters(self, function: Function) -> None:
        for node in function.parameters.values():
            annotation = getattr(node.syntax, "annotation", None)
            if annotation is not None:
                annotated(self, node, annotation)
                self.named[str(node.extra)].append(node)
            elif node.extra == "dtype":
                self.say(node, Kind.DTYPE, 1)
        if (given := context_of_autograd(function)) is not None:
            self.say(given[0], Kind.OTHER, 9)
            for node in given[1]:
                self.say(node, Kind.NUMBER, 1)

    def _declarations(self, owner: Class) -> None:
        for attribute, annotation in owner.annotations():
            field = owner.field_of(attribute)
            self.declared.add(field)
            annotated(self, field, annotation)

    def is_module_class(self, one: Class) -> bool:
        """Whether a class is one of modules, or has what only modules have, and a base that is not read."""
        if self.derives_from_module(one):
            return True
        lineage = list(one.lineage())
        called = any("forward" in each.methods for each in lineage) or _acts_as_module(one)
        return called and any(is_unread(base) for each in lineage for base in each.bases)

    def has_parameters_method(self, one: Class) -> bool:
        """Whether objects of a class surely have `parameters()`: by its bases, or by what its methods ask of them. A
        base that is not read may be anything, and layers are kept by what is no module, too."""
        methods = [method for each in one.lineage() for method in each.methods.values()]
        own = {text for each in one.lineage() for text in each.methods}
        asked = (
            node.extra
            for method in methods
            for node in method.nodes
            if node.op is Op.ATTR and node.args[0] is method.self_node and node.extra not in own
        )
        return self.derives_from_module(one) or any(text in rows.MODULE_ONLY for text in asked)

    def derives_from_module(self, one: Class, seen: frozenset[Class] = frozenset()) -> bool:
        """Whether a class is one of modules by its bases, not only by its having a `forward`."""
        seen |= {one}
        for base in one.bases:
            inside = self.imported.class_of(base)
            if inside is not None and inside not in seen and self.derives_from_module(inside, seen):
                return True
            for qualified in names(base):
                last = qualified.rpartition(".")[2]
                if (
                    is_module_class(qualified)
                    or last in {"Module", *libraries.MODULE_CLASSES}
                    or qualified in rows.MODULE_BASES
                ):
                    return True
        return False

    def object_class(self, base: Node) -> Class | None:
        """The class of an object, or of the one whose method this is."""
        found = self.instances.get(self.find(base))
        return found or (base.function.owner if base.function.self_node is base else None)

    # Answers

    def has_parameters(self, node: Node) -> bool:
        """Whether the parameters, or the state, of a module are asked for."""
        return self.is_among(node, self.stateful)

    def is_model(self, node: Node) -> bool:
        """Whether what a module computes of a batch is given to a loss."""
        return self.is_among(node, self.models)

    def given_anywhere(self) -> Mapping[Node, list[Node]]:
        """What the calls in this file and in others give each parameter."""
        known = dict.fromkeys((*self.given, *self.elsewhere))
        return {one: [*self.given.get(one, ()), *self.elsewhere.get(one, ())] for one in known}

    def is_given(self, parameter: Node) -> bool:
        """Whether all that a parameter may get stands in this file: its function is called, and nowhere else named."""
        called = self.all_calls(parameter.function) if parameter.op is Op.PARAM else []
        return bool(called) and len(self.given.get(parameter, ())) >= len(called)

    def all_calls(self, function: Function) -> list[Node]:
        """The calls of a function, or of a constructor, that is named nowhere else in this file."""
        called = self.calls_of(function)
        if function.name == "__init__" and function.owner is not None:
            return [] if function.owner in self._handed_on or self._is_base(function.owner) else called
        callees = {call.args[0] for call in called}
        named = (one for one in (self._spelled.get(function.name, ()) if called else ()) if one not in callees)
        return called if all(is_other_method(self.object_class, node, function) for node in named) else []

    def _is_base(self, owner: Class) -> bool:
        return any(owner in one.lineage() for one in self.module.classes if one is not owner)

    def is_handed_on(self, function: Function) -> bool:
        """Whether something is done with a function beside calling it: it is given, kept or returned."""
        return function in self._handed_on

    def calls_of(self, function: Function) -> list[Node]:
        """The calls in this file that surely run a function."""
        return self._calls_of.get(function, [])

    @cached_property
    def _calls_of(self) -> dict[Function, list[Node]]:
        found: dict[Function, list[Node]] = {}
        for call, function in self.calls.items():
            found.setdefault(function, []).append(call)
        return found

    @cached_property
    def _handed_on(self) -> set[object]:
        users = self.module.users
        kept = {store.value for store in self.module.stores if not store.is_attribute} | self.module.returned
        return {
            node.extra
            for node in (*self.module.of(Op.FUNCTION), *self.module.of(Op.CLASS))
            if node in kept or any(node in one.args[one.op is Op.CALL :] for one in users.get(node, ()))
        }

    @cached_property
    def _spelled(self) -> dict[object, list[Node]]:
        """The attributes and the names of the module that are read in functions, by what they are called."""
        found: dict[object, list[Node]] = {}
        for node in (*self.module.of(Op.ATTR), *self.module.of(Op.GLOBAL)):
            found.setdefault(node.extra, []).append(node)
        return found

    def is_fed(self, node: Node) -> bool:
        """Whether a value is given to what computes a loss, or to what computes something of it that is given so."""
        return self.find(node) in self._fed

    @cached_property
    def _fed(self) -> set[Node]:
        calls = [one for one in self.module.of(Op.CALL) if not names(one.args[0])]
        found = {self.find(one) for call in self.differentiable if call.op is Op.CALL for one in call.args[1:]}
        count = 0
        while count < len(found):
            count = len(found)
            found.update(self.find(one) for call in calls if self.find(call) in found for one in call.args[1:])
        return found

    def is_row(self, node: Node) -> bool:
        """Whether a value is annotated as a container of tensors."""
        return self.is_among(node, self.rows)

    def is_loss(self, node: Node) -> bool:
        """Whether a callee is a loss of torch, a function or a module of which all that it gets are tensors."""
        return any(
            canonical(one) in rows.LOSSES or one.rpartition(".")[2] in _LOSS_FUNCTIONS for one in names(node)
        ) or self.is_among(node, self.losses)

    def is_trained(self, callee: Node) -> bool:
        """Whether what a callee computes reaches `backward`, here or, under its name, in another function."""
        return self.find(callee) in self._trained or (callee.op is Op.PARAM and callee.extra in self._trained_names)

    def is_container(self, node: Node) -> bool:
        """Whether an annotation calls a value a container, or its use does."""
        return self.of(node) in _HOLDING or self.is_among(node, self.rows)

    def is_recurrent(self, node: Node) -> bool:
        """Whether a callee is a recurrent network of torch."""
        return self.is_among(node, self.recurrent)

    def places_labels(self, node: Node) -> bool:
        """Whether a callee brings labels to where the embeddings are that it gets."""
        return self.is_among(node, self.placing_labels)

    def is_metric(self, node: Node) -> bool:
        """Whether a value is a metric of torchmetrics, or a parameter that gets one."""
        return any(self.is_among(one, self.metrics) for one in (node, *self.given.get(node, ())))

    def is_converter(self, node: Node) -> bool:
        """Whether a callee turns pictures into tensors."""
        return self.is_among(node, self.converters)

    def losses_of(self, node: Node) -> set[str]:
        """The losses of torch of which a value may be an object."""
        return {canonical(names(one.args[0])[0]) for one in self._losses_like(node)}

    def _losses_like(self, node: Node) -> list[Node]:
        return [one for one in self.losses if self.find(one) is self.find(node)]

    def is_other(self, node: Node) -> bool:
        """Whether a callee has no tensors of its own, as the catalogue says of what makes it."""
        return self.is_among(node, self.others)

    def is_stateless(self, node: Node) -> bool:
        """Whether a callee is a module of torch without tensors, whatever makes it: its calls share no place."""
        made = self._makers.get(self.find(node), ())
        return bool(made) and all(map(is_stateless, made))

    @cached_property
    def _makers(self) -> dict[Node, list[Node]]:
        """The calls that make values, beside methods that give back what they are called on, by representatives."""
        found: dict[Node, list[Node]] = defaultdict(list)
        for call in self.module.of(Op.CALL):
            if call.args[0].op is not Op.ATTR or names(call.args[0]):
                found[self.find(call)].append(call)
        return found

    def class_of(self, node: Node) -> Class | None:
        """The class of this file of which a value is an object."""
        return self.instances.get(self.find(node))

    def imported_class_of(self, node: Node) -> Class | None:
        """The class of another file of which a value is an object, wherever this file makes it."""
        found = {self.imported.class_of(one.args[0]) for one in self.makers(node)}
        return found.pop() if len(found) == 1 else None

    def makers(self, node: Node) -> Sequence[Node]:
        """The calls that make a value, and what copies of it."""
        return self._makers.get(self.find(node), ())

    def may_live(self, node: Node) -> bool:
        """Whether a value may be somewhere at all."""
        if node.op in {Op.CONST, Op.FUNCTION, Op.CLASS, Op.REF}:
            return False
        return self.of(node) not in PLACELESS

    def is_module(self, node: Node) -> bool:
        return self.of(node) is Kind.MODULE


_ANNOTATED = frozenset({Op.CALL, Op.ATTR, Op.ITEM, Op.PHI})
"""What gets a name with an annotation, and does not show by itself what it is."""


def _acts_as_module(owner: Class) -> bool:
    """Whether the constructor of a class calls what only modules have, and the class does not define."""
    made = owner.methods.get("__init__")
    return made is not None and any(
        node.op is Op.ATTR
        and node.args[0] is made.self_node
        and node.extra in rows.MODULE_ONLY | {"eval", "to", "cuda"}
        and node.extra not in owner.methods
        for node in made.nodes
    )


_LOSS_FUNCTIONS = frozenset(
    one.rpartition(".")[2] for one in rows.FUNCTIONS if one.endswith(("_loss", "cross_entropy", "kl_div"))
)
_HOLDING = frozenset({Kind.SEQUENCE, Kind.MAPPING})
_OF_USES = (
    *(
        same_kinds,
        uses.given_weights,
        uses.made_of_one,
        uses.asked_for_both,
        uses.made_of_pictures,
        of_fields,
        uses.parts_of_displays,
    ),
    *(uses.given_and_got, uses.parts_of_one, uses.given_to_modules, uses.moved_callables, uses.moved_operands),
    *(uses.masked, containers_by_use.holds_lists, containers_by_use.kept_as_attributes, containers_by_use.of_firsts),
    *(containers_by_use.of_constants, containers_by_use.filled_by_keys, containers_by_use.keys, slice_bounds.bounds),
    *(made_by_one_class, uses.called_with_encodings, uses.sliced),
)
"""What is said of values by what is done with them, each on the ground of those before it."""
_OF_MODELS = (
    *(uses.called_models, uses.trained_models, uses.called_parts, uses.computed_by_modules),
    *(made_beside_modules, made_and_called, arrays_of_modules),
)
PLACELESS = frozenset(
    {Kind.NUMBER, Kind.TEXT, Kind.DTYPE, Kind.DEVICE, Kind.ARRAY, Kind.FUNCTION, Kind.OPTIMIZER, Kind.LOADER}
    | {Kind.DATASET, Kind.NONE, Kind.TOKENIZER}
)
"""Kinds of what is nowhere: it has no tensors that could be on a device."""
