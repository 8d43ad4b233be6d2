"""What sort of thing each value is, by unification: values that are copies of one another are of one kind.

Evidence comes from both sides: from what makes a value, and from what is done to it. Where kinds contradict each other,
nothing is known.
"""

import ast
import re
from collections import defaultdict
from functools import cached_property

from devfix_codemods.catalogue import Kind, canonical, computes, is_module_class, kind, libraries
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.placement.arguments import calls_builtin, is_none
from devfix_codemods.placement.bare import is_bare
from devfix_codemods.placement.calls import method as method_of
from devfix_codemods.placement.differentiable import differentiable
from devfix_codemods.placement.encoded import called_with_encodings
from devfix_codemods.placement.evidence import UNKNOWN, gives_tensor, of_api, of_item, of_method, of_tokenizer
from devfix_codemods.placement.filled import say_filled
from devfix_codemods.placement.naming import bound_name, sounds_like_class, sounds_like_pipeline
from devfix_codemods.placement.outside import Outside
from devfix_codemods.placement.same_class import made_by_one_class
from devfix_codemods.placement.unpacked import returned_at


class Kinds:
    """Kinds of the values of one file."""

    def __init__(self, module: Module, calls: dict[Node, Function], outside: Outside | None = None) -> None:
        self._parent: dict[Node, Node] = {}
        self._facts: dict[Node, dict[Kind, int]] = defaultdict(lambda: defaultdict(int))
        self.module = module
        self.calls = calls
        self.outside = outside or Outside()
        self._known: dict[Node, Kind | None] = {}
        """What `of` has answered of each representative, as long as nothing is said of it."""
        self.instances: dict[Node, Class] = {}
        self._named: dict[str, list[Node]] = defaultdict(list)
        """The parameters of which an annotation says what they are, by name."""
        self.given: dict[Node, list[Node]] = defaultdict(list)
        """What the calls in this file give each parameter."""
        self.rows: set[Node] = set()
        """Parameters that are annotated as containers of tensors, which count as tensors, but have no place to ask."""
        self.stateful: list[Node] = []
        self.of_moved_classes: set[Node] = set()
        """Modules of classes of which the program moves one: making them moves none."""
        self.losses: list[Node] = []
        self.others: list[Node] = []
        """What has no tensors of its own, though it be a module: transforms."""
        self.metrics: list[Node] = []
        self.recurrent: list[Node] = []
        self.module_classes = {one for one in module.classes if self._is_module_class(one)}
        for function in module.functions:
            self._function(function)
        self._made_of_one()
        for node in module.of(Op.ATTR):  # once more, of parameters whose class the calls have told
            if (owner := self.object_class(node.args[0])) is not None:
                self._of_field(node, owner)
        self._of_torch = {self.find(one) for one in module.of(Op.CALL) if gives_tensor(one)}
        for node in module.nodes():
            if node.op is Op.CALL:
                self._call_of_module(node)
            elif node.op is Op.ITEM and isinstance(node.syntax, ast.Name):
                self._named_as(node, node.syntax.id)
        for node in module.nodes():
            if node.op is Op.ITEM:
                self._unpacked(node)
        for function in module.functions:
            say_filled(self, function)
        self._given_to_modules()
        self._moved_callables()
        self._moved_operands()
        made_by_one_class(self)
        called_with_encodings(self)
        self.differentiable = differentiable(module, calls)
        callees = [one.args[0] for one in self.differentiable if one.op is Op.CALL]
        self._trained = {self.find(one) for one in callees}
        self._trained_names = {one.extra for one in callees if one.op is Op.PARAM}
        self._called_models()
        self._called_parts()

    # Answers

    def of(self, node: Node) -> Kind | None:
        """The kind of a value, None where nothing, or too much, is known."""
        root = self.find(node)
        try:
            return self._known[root]
        except KeyError:
            found = self._known[root] = self._of(root)
            return found

    def _of(self, root: Node) -> Kind | None:
        facts = self._facts.get(root)
        if not facts:
            return None
        best = sorted(facts.items(), key=lambda one: -one[1])
        if len(best) > 1 and best[1][1] * 2 > best[0][1]:
            both = {best[0][0], best[1][0]}
            return Kind.TENSOR if both <= {Kind.TENSOR, Kind.NUMBER} and len(best) == 2 else None
        return best[0][0]

    def says(self, node: Node, kind_: Kind) -> bool:
        """Whether there is evidence for a kind, contradicted or not."""
        return bool(self._facts.get(self.find(node), {}).get(kind_))

    def says_other(self, node: Node, kind_: Kind) -> bool:
        """Whether there is evidence for any other kind."""
        return any(count for one, count in self._facts.get(self.find(node), {}).items() if one is not kind_)

    def says_surely(self, node: Node, kind_: Kind) -> bool:
        """Whether more than a name is evidence for a kind."""
        return self._facts.get(self.find(node), {}).get(kind_, 0) > 1

    def has_parameters(self, node: Node) -> bool:
        """Whether the parameters, or the state, of a module are asked for."""
        return self.find(node) in {self.find(one) for one in self.stateful}

    def is_given(self, parameter: Node) -> bool:
        """Whether all that a parameter may get stands in this file: its function is called, and nowhere else named."""
        called = self.all_calls(parameter.function) if parameter.op is Op.PARAM else []
        return bool(called) and len(self.given.get(parameter, ())) >= len(called)

    def all_calls(self, function: Function) -> list[Node]:
        """The calls of a function that is named nowhere else in this file."""
        called = self._calls_of.get(function, [])
        callees = {call.args[0] for call in called}
        named = self._spelled.get(function.name, ()) if called else ()
        return called if all(node in callees for node in named) else []

    @cached_property
    def _calls_of(self) -> dict[Function, list[Node]]:
        """The calls in this file of each of its functions."""
        found: dict[Function, list[Node]] = {}
        for call, function in self.calls.items():
            found.setdefault(function, []).append(call)
        return found

    @cached_property
    def _spelled(self) -> dict[object, list[Node]]:
        """The attributes and the names of the module that are read in functions, by what they are called."""
        found: dict[object, list[Node]] = {}
        for node in (*self.module.of(Op.ATTR), *self.module.of(Op.GLOBAL)):
            found.setdefault(node.extra, []).append(node)
        return found

    def is_row(self, node: Node) -> bool:
        """Whether a value is annotated as a container of tensors."""
        return self.find(node) in {self.find(one) for one in self.rows}

    def is_loss(self, node: Node) -> bool:
        """Whether a callee is a loss of torch, a function or a module of which all that it gets are tensors."""
        return any(
            canonical(one) in rows.LOSSES or one.rpartition(".")[2] in _LOSS_FUNCTIONS for one in names(node)
        ) or (self.find(node) in {self.find(one) for one in self.losses})

    def is_trained(self, callee: Node) -> bool:
        """Whether what a callee computes reaches `backward`, here or, under its name, in another function."""
        return self.find(callee) in self._trained or (callee.op is Op.PARAM and callee.extra in self._trained_names)

    def is_container(self, node: Node) -> bool:
        """Whether an annotation calls a value a container, or its use does."""
        return self.of(node) in _HOLDING or self.find(node) in {self.find(one) for one in self.rows}

    def is_recurrent(self, node: Node) -> bool:
        """Whether a callee is a recurrent network of torch."""
        return self.find(node) in {self.find(one) for one in self.recurrent}

    def is_metric(self, node: Node) -> bool:
        """Whether a value is a metric of torchmetrics, or a parameter that gets one."""
        made = {self.find(one) for one in self.metrics}
        return any(self.find(one) in made for one in (node, *self.given.get(node, ())))

    def losses_of(self, node: Node) -> set[str]:
        """The losses of torch of which a value may be an object."""
        return {canonical(names(one.args[0])[0]) for one in self.losses if self.find(one) is self.find(node)}

    def is_other(self, node: Node) -> bool:
        """Whether a callee has no tensors of its own, as the catalogue says of what makes it."""
        return self.find(node) in {self.find(one) for one in self.others}

    def is_bare(self, node: Node) -> bool:
        """Whether a callee is a module of torch without tensors, whatever makes it: its calls share no place."""
        made = self._makers.get(self.find(node), ())
        return bool(made) and all(map(is_bare, made))

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

    def is_module(self, node: Node) -> bool:
        return self.of(node) is Kind.MODULE

    def _moved_callables(self) -> None:
        """What is called, and moved, is a module."""
        calls = self.module.of(Op.CALL)
        called = {self.find(node.args[0]) for node in calls}
        for node in calls:
            callee = node.args[0]
            if callee.op is not Op.ATTR or callee.extra not in _MOVING or self.find(callee.args[0]) not in called:
                continue
            if not sounds_like_pipeline(callee.args[0]):
                self.say(callee.args[0], Kind.MODULE, 1)

    def _moved_operands(self) -> None:
        """What is moved, and shaped or computed with as arrays are, is a tensor."""
        calls = (node.args[0] for node in self.module.nodes() if node.op is Op.CALL and not names(node.args[0]))
        methods = [one for one in calls if one.op is Op.ATTR]
        moved = {self.find(one.args[0]) for one in methods if one.extra in _MOVING}
        shaped = [one.args[0] for one in methods if one.extra in rows.OF_ARRAYS]
        for node in self.module.nodes() if moved else ():
            if node.op is Op.OPERATION and node.extra in _ARITHMETIC:
                shaped += [node, *node.args]
        for one in shaped:
            if self.find(one) in moved:
                self.say(one, Kind.TENSOR, 1)

    def _called_models(self) -> None:
        """What is made by a class, and computes what reaches `backward`, or is called as an attribute of a module, is a
        module."""
        called = {
            self.find(node.args[0])
            for node in self.module.of(Op.CALL)
            if node in self.differentiable or self._is_of_module(node.args[0])
        }
        for made in self.module.of(Op.CALL):
            if self.find(made) in called and self.of(made) is None:
                last = made.args[0].extra if made.args[0].op in {Op.REF, Op.ATTR, Op.GLOBAL} else ""
                if str(last).rpartition(".")[2][:1].isupper():
                    self.say(made, Kind.MODULE, 1)

    def _called_parts(self) -> None:
        """What a container of modules holds, and is called, is a module."""
        for part in [node.args[0] for node in self.module.of(Op.CALL)]:
            if part.op in {Op.ITER, Op.ITEM} and self.is_module(part.args[0]) and self.of(part) is None:
                self.say(part, Kind.MODULE, 1)

    def _is_of_module(self, node: Node) -> bool:
        """`self.encoder`, in a class of modules."""
        owner = node.function.owner
        return owner in self.module_classes and node.op is Op.ATTR and node.args[0] is node.function.self_node

    def _given_to_modules(self) -> None:
        """What modules of torch get first is a tensor."""
        made = {
            self.find(node)
            for node in self.module.of(Op.CALL)
            if (qualified := name(node.args[0])) is not None and computes(qualified)
        }
        for node in self.module.of(Op.CALL) if made else ():
            called = self.find(node.args[0]) in made
            if called and len(node.args) > 1 and isinstance(node.extra, tuple) and node.extra[0] is None:
                self.say(node.args[1], Kind.TENSOR, 1)

    # Unification

    def find(self, node: Node) -> Node:
        """The representative of all values that are copies of `node`."""
        parent = self._parent
        root = parent.get(node)
        if root is None:
            return node
        while (up := parent.get(root)) is not None:
            root = up
        while node is not root:
            parent[node], node = root, parent[node]
        return root

    def unify(self, one: Node, other: Node) -> None:
        first, second = self.find(one), self.find(other)
        if first is second:
            return
        self._parent[second] = first
        self._known.pop(first, None)
        for kind_, count in self._facts.pop(second, {}).items():
            self._facts[first][kind_] += count
        if second in self.instances:
            self.instances.setdefault(first, self.instances.pop(second))

    def say(self, node: Node, kind_: Kind, weight: int = 2) -> None:
        root = self.find(node)
        self._facts[root][kind_] += weight
        self._known.pop(root, None)

    # Evidence

    def _is_module_class(self, one: Class) -> bool:
        if self.derives_from_module(one, set()):
            return True
        lineage = list(one.lineage())
        called = any("forward" in each.methods for each in lineage) or _acts_as_module(one)
        return called and any(_is_unread(base) for each in lineage for base in each.bases)

    def derives_from_module(self, one: Class, seen: set[Class]) -> bool:
        """Whether a class is one of modules by its bases, not only by its having a `forward`."""
        seen.add(one)
        for base in one.bases:
            inside = self.outside.class_of(base)
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

    def _function(self, function: Function) -> None:
        owner, itself = function.owner, function.self_node
        for node in function.parameters.values():
            annotation = getattr(node.syntax, "annotation", None)
            if annotation is not None:
                self._annotated(node, annotation)
                self._named[str(node.extra)].append(node)
            elif node.extra == "dtype":
                self.say(node, Kind.DTYPE, 1)
        for node in function.nodes:
            handler = _HANDLERS.get(node.op)
            if handler is not None:
                handler(self, node)
        if owner is not None and itself is not None and "classmethod" not in function.decorators:
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

    def _annotated(self, node: Node, annotation: ast.expr) -> None:
        text = annotation.id if isinstance(annotation, ast.Name) else ast.unparse(annotation).strip("'\"")
        if _LISTS.search(text) and _TENSORS.search(text):
            self.rows.add(node)  # it may be either
            return
        text = _KEYS.sub("", text)
        words = set(text.replace("|", " ").replace("[", " ").replace("]", " ").replace(",", " ").split())
        last = {one.rpartition(".")[2] for one in words}
        if text.partition("[")[0].rpartition(".")[2] in _CONTAINERS and not last & _ANNOTATIONS[Kind.TENSOR]:
            self.say(node, Kind.SEQUENCE, 3)  # one of tensors counts as a tensor, which its elements are
            return
        if last & (_CONTAINERS | {"dict", "Dict", "Mapping"}):
            self.rows.add(node)
        for kind_, found in _ANNOTATIONS.items():
            if last & found:
                self.say(node, kind_, 3)

    def _named_as(self, node: Node, word: str) -> None:
        """What is unpacked under a name that annotations of parameters elsewhere in the file speak of."""
        kinds = {self.of(one) for one in self._named.get(word, ())}
        found = kinds.pop() if len(kinds) == 1 else None
        if found is not None and self.of(node) is None:
            self.say(node, found, 1)

    def object_class(self, base: Node) -> Class | None:
        return self.instances.get(self.find(base)) or self._self_class(base)

    def _self_class(self, base: Node) -> Class | None:
        function = base.function
        return function.owner if function.self_node is base else None

    def _phi(self, node: Node) -> None:
        if node.syntax is node.function.syntax:  # one name for several things, as functions inside see it
            known = {kind_ for one in node.args if (kind_ := self.of(one)) is not None}
            for kind_ in known if len(known) == 1 else ():
                self.say(node, kind_, 1)
            return
        for one in node.args:
            if is_none(one):
                continue
            self.unify(node, one)

    def _const(self, node: Node) -> None:
        value = node.extra
        if isinstance(value, (int, float, complex)):
            self.say(node, Kind.NUMBER)
        elif isinstance(value, (str, bytes)):
            self.say(node, Kind.DEVICE if is_device_text(value) else Kind.TEXT)

    def _attr(self, node: Node) -> None:
        base = node.args[0]
        owner = self.object_class(base)
        if owner is not None:
            self._of_field(node, owner)
        for qualified in names(node)[:1]:
            found = kind(qualified)
            if found in {Kind.DTYPE, Kind.NUMBER}:
                self.say(node, found, 9)
        if node.extra == "shape" and node.function.owner in self.module_classes and base.op in UNKNOWN:
            self.say(base, Kind.TENSOR, 1)  # modules seldom get arrays
        if node.extra == "device":
            self.say(node, Kind.DEVICE)
        elif node.extra == "dtype":
            self.say(node, Kind.DTYPE)
        elif not names(node) and (
            node.extra == "grad" or (node.extra in rows.TENSOR_ATTRIBUTES and self.of(base) is Kind.TENSOR)
        ):
            self.say(node, Kind.TENSOR)

    def _of_field(self, node: Node, owner: Class) -> None:
        if isinstance(node.extra, str) and owner.sets(node.extra):
            self.unify(owner.field_of(node.extra), node)

    def _after(self, node: Node) -> None:
        self.unify(node, node.args[0])

    def _operation(self, node: Node) -> None:
        for one in node.args:
            if one.op is Op.CALL and one.args[0].op is Op.ATTR and one.args[0].extra in _CASTS_OF_TENSORS:
                self.say(one, Kind.TENSOR)  # modules have these methods too, but nobody computes with modules
        if any(self.of(one) is Kind.TENSOR for one in node.args):
            self.say(node, Kind.TENSOR)
        elif any(self.of(one) is Kind.ARRAY for one in node.args):
            self.say(node, Kind.ARRAY, 1)
        elif node.extra in _SHIFTS or all(self.of(one) is Kind.NUMBER for one in node.args):
            self.say(node, Kind.NUMBER, 1)

    def _made_of_one(self) -> None:
        """`torch.log(p + 1e-6)`, `torch.sum(x.view(-1))`: what is used as a tensor, and made of one other value."""
        for node in reversed(list(self.module.nodes())):
            if node.op in {Op.OPERATION, Op.CALL} and self.of(node) is Kind.TENSOR:
                rest = _sources_of(node)
                if len(rest) == 1 and self.of(rest[0]) is None:
                    self.say(rest[0], Kind.TENSOR, 1)

    def _compare(self, node: Node) -> None:
        element_wise = isinstance(node.extra, tuple) and not _IDENTITY.issuperset(node.extra)
        if element_wise and any(self.of(one) is Kind.TENSOR for one in node.args):
            self.say(node, Kind.TENSOR)
        if any(one.op is Op.CONST and isinstance(one.extra, str) for one in node.args) and node.extra in _EQUAL:
            for one in node.args:
                self.say(one, Kind.TEXT, 1)

    def _sequence(self, node: Node) -> None:
        self.say(node, Kind.SEQUENCE)

    def _mapping(self, node: Node) -> None:
        self.say(node, Kind.MAPPING)

    def _comprehension(self, node: Node) -> None:
        self.say(node, Kind.MAPPING if node.extra == "dict" else Kind.SEQUENCE)

    def _iter(self, node: Node) -> None:
        if calls_builtin(node.args[0], "range"):
            self.say(node, Kind.NUMBER, 1)
        self._iterated(node.args[0])
        of_item(self, node)

    def _iterated(self, iterable: Node) -> None:
        named = iterable.op in {Op.PARAM, Op.GLOBAL, Op.ATTR, Op.REF, Op.ITEM}
        maker = iterable.args[0] if iterable.op is Op.ITEM else iterable
        unread = maker.op is Op.CALL and maker not in self.calls
        built = unread and not sounds_like_class(maker.args[0])  # loaders of libraries may place batches
        if (named and _LOADER.search(str(iterable.extra))) or (built and _LOADER.search(bound_name(iterable))):
            self.say(iterable, Kind.LOADER, 1)

    def _function_node(self, node: Node) -> None:
        self.say(node, Kind.FUNCTION, 4)

    def _call(self, node: Node) -> None:
        callee = node.args[0]
        called = self.calls.get(node)
        if called is not None:
            self._local_call(node, called)
        of_tokenizer(self, node)
        made = self.outside.class_of(callee)
        if made is not None:
            self._object(node, made)
            return
        if callee.op is Op.ATTR and name(callee) is None:
            of_method(self, node, callee)
            return
        if calls_builtin(node, "iter"):
            self._iterated(node.args[1])
        for qualified in names(callee)[:1]:
            of_api(self, node, qualified)

    def _object(self, node: Node, made: Class) -> None:
        """An object of a class that is read; of other files, what those that are no modules keep is not followed."""
        here = made in self.module.classes
        if not here and made not in self.module_classes and self._is_module_class(made):
            self.module_classes.add(made)
        if here or made in self.module_classes:
            self.instances.setdefault(self.find(node), made)
        self.say(node, Kind.MODULE if made in self.module_classes else Kind.OTHER, 4)

    def _local_call(self, node: Node, called: Function) -> None:
        for argument, parameter in bound(node, called):
            self.unify(parameter, argument)
            self.given[parameter].append(argument)
        for value, _ in called.returns:
            if not is_none(value) and not called.yields:
                self.unify(node, value)

    def _unpacked(self, part: Node) -> None:
        """What a function of this file returns at a position is what is unpacked there."""
        called = self.calls.get(part.args[0])
        for value, _ in (returned_at(part, called) or ()) if called is not None else ():
            if not is_none(value):
                self.unify(part, value)

    def _call_of_module(self, call: Node) -> None:
        """A module gives what it gets to its `forward`."""
        owner = self.class_of(call.args[0])
        forward = method_of(owner, "forward") if owner in self.module_classes and owner is not None else None
        if forward is not None:
            for argument, parameter in bound(call, forward):
                if not is_none(argument):
                    self.unify(parameter, argument)
            if any(self.of(value) is Kind.TENSOR for value, _ in forward.returns):
                self.say(call, Kind.TENSOR)
        elif self.find(call.args[0]) in self._of_torch:
            self.say(call, Kind.TENSOR)


def _acts_as_module(owner: Class) -> bool:
    """Whether the constructor of a class calls what only modules have, and the class does not define."""
    made = owner.methods.get("__init__")
    return made is not None and any(
        node.op is Op.ATTR
        and node.args[0] is made.self_node
        and node.extra in rows.MODULE_ONLY | {"eval"}
        and node.extra not in owner.methods
        for node in made.nodes
    )


def _is_unread(base: Node) -> bool:
    """Whether a base of a class may be one of modules, for all that is known of it."""
    return base.op is not Op.CLASS and not any(one.rpartition(".")[2] in PLAIN_BASES for one in names(base))


def _sources_of(node: Node) -> list[Node]:
    """What arithmetic computes with beside numbers, and what a method shows in another shape."""
    if node.op is Op.OPERATION:
        return [one for one in node.args if one.op is not Op.CONST]
    callee = node.args[0]
    shown = callee.op is Op.ATTR and callee.extra in rows.SHAPING and not names(callee)
    return [callee.args[0]] if shown else []


def bound(call: Node, called: Function) -> list[tuple[Node, Node]]:
    """Which argument of a call is which parameter, as far as no star hides it."""
    parameters = list(called.parameters.items())
    if called.self_node is not None:
        parameters = parameters[1:]
    found: list[tuple[Node, Node]] = []
    keywords = call.extra if isinstance(call.extra, tuple) else ()
    position = 0
    for argument, keyword in zip(call.args[1:], keywords):
        if keyword is None:
            if position < len(parameters) and not str(parameters[position][1].extra).startswith("*"):
                found.append((argument, parameters[position][1]))
                position += 1
        elif keyword == "*":
            break
        elif keyword != "**" and keyword in called.parameters:
            found.append((argument, called.parameters[keyword]))
    return found


def is_device_text(value: object) -> bool:
    """`cuda:0`, `cpu`, `mps`."""
    return isinstance(value, str) and value.partition(":")[0] in {"cuda", "cpu", "mps", "xpu", "npu", "hpu", "gpu"}


_MOVING = frozenset({"to", "cuda", "cpu"})
_ARITHMETIC = frozenset({"Add", "Sub", "Mult", "Div", "MatMult"})
PLAIN_BASES = frozenset({"object", "ABC", "Protocol", "Generic", "Enum", "dict", "list", "NamedTuple", "Exception"})
"""What classes are derived from that are no modules."""

_LOSS_FUNCTIONS = frozenset(
    one.rpartition(".")[2] for one in rows.FUNCTIONS if one.endswith(("_loss", "cross_entropy", "kl_div"))
)
_IDENTITY = frozenset({"Is", "IsNot", "In", "NotIn"})
"""Comparisons that give one truth value, whatever they compare."""
_EQUAL = frozenset({("Eq",), ("NotEq",)})
_HOLDING = frozenset({Kind.SEQUENCE, Kind.MAPPING})
_CASTS_OF_TENSORS = frozenset({"to", "cuda", "float", "half", "double", "bfloat16"})
_LOADER = re.compile(r"(?i)loader|_dl$|^dl$")
"""A name that speaks of a loader: weak evidence, which a loop over it turns into a guess."""

_ANNOTATIONS = {
    Kind.TENSOR: {"Tensor", "FloatTensor", "LongTensor", "BoolTensor", "IntTensor", "FloatTensorType"},
    Kind.MODULE: {"Module", "PreTrainedModel"},
    Kind.DEVICE: {"device"},
    Kind.NUMBER: {"int", "float", "bool"},
    Kind.TEXT: {"str", "Path"},
    Kind.LOADER: {"DataLoader"},
    Kind.ARRAY: {"ndarray", "array"},
    Kind.MAPPING: {"dict", "Dict", "Mapping", "MutableMapping"},
    Kind.OPTIMIZER: {"Optimizer"},
}
_LISTS = re.compile(r"(?i)\b(?:list|sequence|tuple)\[(?:int|float|bool|str)")
_KEYS = re.compile(r"(?i)^(?:\w+\.)*(?:dict|mapping|mutablemapping)\[\w+,\s*")
"""Of a mapping, what is told is what its values are."""
_TENSORS = re.compile(r"\bTensor\b")
_CONTAINERS = frozenset({"Sequence", "List", "list", "Tuple", "tuple", "Iterable", "Set", "set", "Collection"})
_SHIFTS = frozenset({"LShift", "RShift"})
"""What is computed of whole numbers, as far as no tensor is known to be among them."""
_HANDLERS = {
    Op.PHI: Kinds._phi,
    Op.CONST: Kinds._const,
    Op.ATTR: Kinds._attr,
    Op.AFTER: Kinds._after,
    Op.OPERATION: Kinds._operation,
    Op.COMPARE: Kinds._compare,
    Op.ITEM: of_item,
    Op.ITER: Kinds._iter,
    Op.SEQUENCE: Kinds._sequence,
    Op.MAPPING: Kinds._mapping,
    Op.COMPREHENSION: Kinds._comprehension,
    Op.FUNCTION: Kinds._function_node,
    Op.CALL: Kinds._call,
}
