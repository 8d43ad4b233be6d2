"""Sources: where values are born, moved and wanted, and the families that they stand in."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Set
from functools import cached_property

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names
from devfix_codemods.ir.nodes import Store
from devfix_codemods.placement.asked import host_tests
from devfix_codemods.placement.batches import Batches
from devfix_codemods.placement.calls import method as method_of
from devfix_codemods.placement.datasets import Datasets
from devfix_codemods.placement.documented import gives_host
from devfix_codemods.placement.families import Families
from devfix_codemods.placement.flags import flags
from devfix_codemods.placement.graph import Birth, Graph, Source
from devfix_codemods.placement.kinds import PLAIN_BASES, Kinds, bound
from devfix_codemods.placement.loaders import Loaders, is_no_tensor
from devfix_codemods.placement.outside import Outside
from devfix_codemods.placement.places import CUDA, HOST, Place, Where, place_of, sounds_like_device
from devfix_codemods.placement.readers import Readers, is_of_tensors
from devfix_codemods.placement.replaced import replaced, speaks_of_moving

CALLER = Place(Where.CALLER)
MODULE = Place(Where.MODULE)
_CHAINED = frozenset(
    [
        "float",
        "long",
        "double",
        "half",
        "int",
        "bool",
        "detach",
        "unsqueeze",
        "squeeze",
        "view",
        "contiguous",
        "requires_grad_",
        "eval",
        "train",
    ]
)


class Births:
    """Adds the sources of one file to its graph."""

    def __init__(
        self, module: Module, kinds: Kinds, graph: Graph, calls: dict[Node, Function], outside: Outside
    ) -> None:
        self.module = module
        self.outside = outside
        self.datasets = Datasets(kinds, outside, module.nodes())
        self.kinds = kinds
        self.graph = graph
        self.calls = calls
        self.moves: dict[Node, Place] = {}
        """Each call that moves, and where to."""
        self._called_moves: dict[Node, Place] = {}
        """Each call of a function of this file that moves what it gets, and where to."""
        self._called_with: dict[Node, Node] = {}
        """What that is."""
        self.sent_to_host: set[Node] = set()
        """What is copied to the host on purpose."""
        self.movers: dict[Node, list[Node]] = defaultdict(list)
        """The moves of each value, by what it was unpacked or made as."""
        self.moved_in_place: set[Node] = set()
        """Each `AFTER` whose statement moved a module."""
        self.used = {one for node in module.nodes() for one in node.args}
        self.used |= {store.value for function in module.functions for store in function.stores}
        self.used |= {value for function in module.functions for value, _ in function.returns}
        self.callees = {node.args[0] for node in module.nodes() if node.op is Op.CALL}
        self.loaders = Loaders(self)
        self.owned = self._inside_modules()
        self._readers = Readers(self)
        self._places_itself = {one for one in module.classes if self._constructor_places(one)}
        self._parallel: list[Node] = []
        self.batches = Batches(self)

    def all(self) -> None:
        self._refilling = list(self._refills())
        self._refilled = {store.base for store in self._refilling}
        self._replaced = replaced(self)
        for function in self.module.functions:
            for node in list(function.nodes):
                if node.op is Op.CALL:
                    self._call(node)
                elif node.op is Op.AFTER and self._after(node):
                    self.moved_in_place.add(node)
                if node not in self.callees and self._is_born_of_batch(node):
                    link = (
                        "loader-item" if self.kinds.says_surely(self._iterable(node), Kind.LOADER) else "named-loader"
                    )
                    link = "named-otherwise" if sounds_otherwise(node) else link
                    self.graph.add(Source(node, HOST, Birth.LOADER, (link,)))
        for function in self.module.functions:
            self._parameters(function)
            if gives_host(function):
                for value, _ in function.returns:
                    self.graph.add(Source(value, HOST, Birth.CHOSEN_HOST, ("documented",)))
        self._movers_called()
        self._wrappers()
        flags(self)
        self._readers.flags()
        self.graph.host_only.update(host_tests(self.module, self.kinds))
        Families(self).all()

    def _movers_called(self) -> None:
        """A call moves what it gets, if that is what the function does with it: `batch = to_cuda(batch)`."""
        for call, called in self.calls.items():
            given = {parameter: argument for argument, parameter in bound(call, called)}
            for parameter, argument in given.items():
                for root in self.roots(argument):
                    self.movers[root] += self.moves_of(parameter)
            for value, _ in called.returns:
                self._given_back(call, value, given)

    def _given_back(self, call: Node, value: Node, given: dict[Node, Node]) -> None:
        """What a function returns is a parameter of it that was moved, or all elements of one."""
        move = value.args[0] if value.op is Op.COMPREHENSION else value
        place = self.moves.get(move)
        if place is None or place.where is not Where.DEVICE or not self.is_move(move):
            return
        device = given.get(place.node, place.node) if place.node is not None else None
        for root in self.roots(move):
            argument = given.get(root.args[0] if root.op is Op.ITER else root)
            if argument is not None:
                self._called_with[call] = argument
                self._called_moves[call] = Place(place.where, device)
                for one in self.roots(argument):
                    self.movers[one].append(call)

    def _wrappers(self) -> None:
        """`DataParallel` wants its module on a device; a move of the wrapper takes the module there."""
        for node in self._parallel:
            if not any(self.moves_of(root) for root in self.roots(node)):
                self.graph.add(Source(node, CUDA, Birth.MOVE, ("data-parallel",)))

    def _is_born_of_batch(self, node: Node) -> bool:
        """Whether a value is a part of a loader's batch that nothing has placed yet."""
        if not self._comes_from_host(node) or not self.is_of_batch(node) or self._is_refilled(node):
            return False
        if node in self._replaced:
            return False
        known = self.kinds.of(node) in {None, Kind.TENSOR, Kind.ENCODING}
        return known and not self._comes_otherwise(node) and not self._stays(node) and not self.comes_placed(node)

    def _comes_from_host(self, node: Node) -> bool:
        """Whether no framework places what the function of a value is given."""
        return not self.managed and not self.outside.is_managed(node.function.owner)

    def _stays(self, node: Node) -> bool:
        """Whether the data set of a loader has placed a part of a batch, or gives a text there."""
        part = node.extra if node.op is Op.ITEM and len(node.args) == 1 else None
        return self.datasets.stays(self._iterable(node), part)

    def _refills(self) -> Iterator[Store]:
        """`batch[key] = batch[key].to(device)`"""
        for function in self.module.functions:
            yield from (one for one in function.stores if not one.is_attribute and self.is_move(one.value))

    # What constraints ask

    def class_of(self, base: Node) -> Class | None:
        """The class of this file of which `base` is an object."""
        return self.kinds.class_of(base)

    def place_of_module(self, owner: Class) -> Node:
        """The value that stands for where the modules of a class are."""
        node = owner.field_of("")
        if not self.graph.sources.get(node):
            self.graph.add(Source(node, MODULE, Birth.PARAMETER, ("module-place",)))
        return node

    def is_registered(self, value: Node) -> bool:
        """Whether an attribute with this value moves with the module that has it: a module or a parameter."""
        if self.kinds.is_module(value):
            return True
        return value.op is Op.CALL and any(canonical(one) in rows.PARAMETERS for one in names(value.args[0]))

    def has_device(self, node: Node) -> bool:
        """Whether a call says on which device its result is."""
        return isinstance(node.extra, tuple) and not _PLACING.isdisjoint(node.extra)

    def comes_placed(self, node: Node) -> bool:
        """Whether a part of a batch is no tensor, or may be on a device before it is read."""
        if (
            is_no_tensor(node)
            or self.loaders.is_no_tensor(node)
            or self.loaders.is_placed_in_place(node)
            or self.module_sets_default
        ):
            return True
        return self.loaders.may_place(self._iterable(node))

    def is_of_batch(self, node: Node) -> bool:
        """Whether a value is a loader's batch, or a part of one that is no tensor itself."""
        base = self._iterable(node)
        return base is not node and self.is_loader(base)

    def _is_refilled(self, node: Node) -> bool:
        """Whether a batch, or what it is a part of, is given moved values under its own keys."""
        if any(_refills_part(one, node) for one in self._refilling):
            return True
        while node not in self._refilled and node.op in {Op.ITEM, Op.ATTR}:
            node = node.args[0]
        return node in self._refilled

    def _comes_otherwise(self, node: Node) -> bool:
        """Whether what makes the elements of an iterable puts a part of them on a device, or makes numbers of it."""
        iterable = self._iterable(node)
        if iterable is node:
            return False
        key = node.extra if node.op is Op.ITEM and node.args[0].op is not Op.ITEM else None
        return self.batches.is_placed(iterable, key) or (key is not None and self.batches.is_plain(iterable, key))

    def _iterable(self, node: Node) -> Node:
        """What a loop, or `next(iter(…))`, takes a value or a part of one from; itself where it is no such part."""
        for _ in range(4):
            if node.op not in {Op.ITEM, Op.ATTR} or self.kinds.of(node.args[0]) is Kind.TENSOR:
                break
            node = node.args[0]
        if node.op is Op.ITER or _calls_builtin(node, "next"):
            node = node.args[-1 if node.op is Op.ITER else 1]
            while _calls_builtin(node, "iter", "next"):
                node = node.args[1]
        return node

    def is_loader(self, node: Node) -> bool:
        return self.kinds.of(node) is Kind.LOADER

    def unmoved_arguments(self, call: Node) -> tuple[Node, ...]:
        """What a module gets, but for what its `forward`, which is read, moves itself."""
        lengths = self.host_arguments(call)
        owner = self.class_of(call.args[0])
        forward = method_of(owner, "forward") if owner is not None else None
        if forward is None:
            return tuple(one for one in call.args[1:] if one not in lengths)
        moved = lengths | {argument for argument, parameter in bound(call, forward) if self.takes_itself(parameter)}
        return tuple(one for one in call.args[1:] if one not in moved)

    def place_given(self, node: Node) -> Place | None:
        """Where a call moves its receiver, or makes its result; None where it does not say."""
        if node.op is not Op.CALL:
            return None
        device = self.keyword(node, "device")
        return self._target(node) or (place_of(device, self.kinds) if device is not None else None)

    def function_of(self, node: Node) -> Function | None:
        """The function of this file that a value is."""
        found = self.module.top.finals.get(str(node.extra), node) if node.op is Op.GLOBAL else node
        return found.extra if found.op is Op.FUNCTION and isinstance(found.extra, Function) else None

    def host_arguments(self, call: Node) -> set[Node]:
        """What a call takes from the host, or must: lengths."""
        found = [canonical(one) for one in names(call.args[0])] or sorted(self.kinds.losses_of(call.args[0]))
        wanted = next((rows.HOST_ARGUMENTS[one] for one in found if one in rows.HOST_ARGUMENTS), None)
        if wanted is None or not isinstance(call.extra, tuple):
            return set()
        return {
            one
            for at, (one, keyword) in enumerate(zip(call.args[1:], call.extra))
            if (at if keyword is None else keyword) in wanted
        }

    def takes_itself(self, parameter: Node) -> bool:
        """Whether a function brings what it gets as `parameter` to where it needs it, on a device or on the host."""
        if self.movers.get(parameter) or is_index(parameter):
            return True
        users = [one for one in parameter.function.nodes if parameter in one.args and one.op is not Op.COMPARE]
        taken = parameter in self.sent_to_host or any(parameter in self._host_arguments_of(one) for one in users)
        return taken and all(
            (one.op is Op.ATTR and one.extra in _NOT_MEETING) or parameter in self._host_arguments_of(one)
            for one in users
        )

    def _host_arguments_of(self, node: Node) -> set[Node]:
        return self.host_arguments(node) if node.op is Op.CALL else set()

    def is_moving_call(self, node: Node) -> bool:
        """Whether what is called, and not read, is told a device: then it places what it gets, and what it gives."""
        if node in self.calls:
            return False
        if speaks_of_moving(node.args[0]) and len(node.args) > 1:
            return True
        if any(self._moves_leaves(one) for one in node.args[1:]):
            return True
        return any(
            one.op is not Op.CONST
            and self.kinds.says(one, Kind.DEVICE)
            and (place := place_of(one, self.kinds)) is not None
            and place.where is not Where.HOST
            for one in node.args[1:]
        )

    def _moves_leaves(self, given: Node) -> bool:
        """`lambda leaf: leaf.to(device)`, which is called with all leaves of what stands beside it."""
        function = given.extra
        return (
            given.op is Op.FUNCTION
            and isinstance(function, Function)
            and any(
                self.is_move(one)
                and self.is_elsewhere(one)
                and not self.roots(one).isdisjoint(function.parameters.values())
                for one in function.nodes
            )
        )

    def is_read(self, module: Node) -> bool:
        """Whether the class of a module is known, so that it does not move what it gets behind our back."""
        if self.class_of(module) is not None:
            return True
        root = next(iter(self.roots(module)), module)
        return root.op is Op.CALL and any(one.startswith("torch") for one in names(root.args[0]))

    def scatters(self, module: Node) -> bool:
        """Whether a module takes what it gets to its own devices: `DataParallel`."""
        return any(
            one.op is Op.CALL and any(each.endswith("DataParallel") for each in names(one.args[0]))
            for one in (module, *self._wrapped(module))
        )

    def _wrapped(self, module: Node) -> list[Node]:
        found: list[Node] = []
        pending = [module]
        while pending and len(found) < 12:
            one = pending.pop()
            if one in found:
                continue
            found.append(one)
            if one.op in {Op.PHI, Op.AFTER}:
                pending += one.args
            elif (
                one.op is Op.CALL and one.args[0].op is Op.ATTR and one.args[0].extra in {"to", "cuda", "eval", "train"}
            ):
                pending.append(one.args[0].args[0])
            elif one.op is Op.ATTR and (owner := self.class_of(one.args[0])) is not None:
                key = str(one.extra)
                pending += [
                    store.value
                    for function in self.module.functions
                    for store in function.stores
                    if store.is_attribute and store.key == key and self.class_of(store.base) is owner
                ]
        return found

    def placed_at(self, node: Node, device: Node) -> None:
        """`node` is where `device`, which is given to what makes it, says."""
        place = place_of(device, self.kinds)
        if place is not None:
            self._at(node, place)

    def _at(self, node: Node, place: Place) -> None:
        if place.where is Where.FOLLOWS:
            if place.node is not None:
                self.graph.same(place.node, node, "move", node.guard)
            return
        birth = Birth.CHOSEN_HOST if place == HOST else Birth.MOVE
        self.graph.add(Source(node, place, birth, ("move" if place.sure else "move-by-name",)))

    def is_move(self, node: Node) -> bool:
        return node.op is Op.CALL and self._target(node) is not None

    def _after(self, node: Node) -> bool:
        if self.kinds.of(node.args[0]) is Kind.TENSOR:
            return False
        place = self._target(self._moving_call(node.args[1]))
        if place is None:
            return False
        if place.where is Where.FOLLOWS:
            self.graph.same(place.node or node, node, "move", node.guard)
            return True
        birth = Birth.CHOSEN_HOST if place == HOST else Birth.MOVE
        self.graph.add(Source(node, place, birth, ("move" if self.kinds.is_module(node.args[0]) else "move-by-name",)))
        for one in self.roots(node.args[0]):
            self.movers[one].append(node)
        return True

    def _moving_call(self, call: Node) -> Node:
        """`net.to(device)` in `net.to(device).eval()`."""
        while call.op is Op.CALL and call.args[0].op is Op.ATTR:
            if method_effect(str(call.args[0].extra)) in {Effect.MOVE, Effect.CUDA, Effect.TO_HOST} or _is_typed_cuda(
                call
            ):
                return call
            call = call.args[0].args[0]
        return call

    # Calls

    def _call(self, node: Node) -> None:
        callee = node.args[0]
        found = names(callee)
        if (not found or effect(canonical(found[0])) is None) and self._moves_what_it_gets(node):
            return
        if self.is_encoding(node):
            if node in self._replaced:
                return
            self.graph.add(Source(node, HOST, Birth.ENCODING, ("encoding",)))
        elif found:
            self._api(node, canonical(found[0]))
        elif callee.op is Op.ATTR and node not in self.calls:
            if str(callee.extra)[:1].isupper() and self.kinds.is_module(node):
                self._module(node, self._sort_of_module(node))
            else:
                self._method(node, callee.args[0], str(callee.extra))
        elif callee.op is Op.GLOBAL and str(callee.extra)[:1].isupper() and self.kinds.is_module(node):
            self._module(node, self._sort_of_module(node))
        elif callee.op is Op.CLASS and isinstance(callee.extra, Class):
            made = callee.extra
            if made in self.kinds.module_classes and made not in self._places_itself:
                self._module(node, "module-made" if self._holds_tensors(made) else "maybe-bare")

    def _moves_what_it_gets(self, node: Node) -> bool:
        """`batch = to_device(batch, device)`"""
        callee = node.args[0]
        if (callee.op is Op.ATTR and method_effect(str(callee.extra)) is not None) or not self.is_moving_call(node):
            return False
        if self.kinds.is_module(node) or self.kinds.is_module(callee) or callee.op is Op.CLASS:
            return False
        for one in node.args[1:]:
            if self.kinds.of(one) in {None, Kind.TENSOR, Kind.SEQUENCE, Kind.MAPPING}:
                for root in self.roots(one):
                    self.movers[root].append(node)
                    self.moves.setdefault(node, CUDA)
        self.graph.add(Source(node, CUDA, Birth.MOVE, ("moved-by-call",)))
        return True

    def is_encoding(self, node: Node) -> bool:
        """`tokenizer(text, return_tensors="pt")`, whatever it is that is called."""
        given = self.keyword(node, "return_tensors")
        return given is not None and given.op is Op.CONST and given.extra == "pt"

    def _holds_tensors(self, owner: Class, around: tuple[Class, ...] = ()) -> bool:
        """Whether the modules of a class, parts of one `around` them, have parameters, as far as the class is read."""
        within = (*around, owner)
        for one in owner.lineage():
            for function in (*one.methods.values(),):
                if any(self._makes_tensors(node, within) for node in function.nodes if node.op is Op.CALL):
                    return True
        return False

    def _holds_bare_ones(self, node: Node, qualified: str) -> bool:
        """`nn.Sequential(nn.Softmax(1), nn.Flatten())`: parts that hold no tensors, and nothing else."""
        parts = node.args[1:]
        return (
            qualified in rows.CONTAINERS
            and bool(parts)
            and all(one.op is Op.CALL and effect(name(one.args[0]) or "") is Effect.BARE for one in parts)
        )

    def _makes_tensors(self, call: Node, within: tuple[Class, ...]) -> bool:
        callee = call.args[0]
        if callee.op is Op.CLASS and isinstance(callee.extra, Class):
            part = callee.extra
            return part in self.kinds.module_classes and part not in within and self._holds_tensors(part, within)
        if callee.op is Op.ATTR and callee.extra in {"register_buffer", "register_parameter", "add_module"}:
            return True
        return any(
            effect(canonical(one)) is Effect.MODULE
            or canonical(one) in rows.PARAMETERS
            or (effect(canonical(one)) is None and one.rpartition(".")[2][:1].isupper())
            for one in names(callee)
        )

    def _sort_of_module(self, node: Node) -> str:
        """How surely what an unread class makes is a module with parameters."""
        if not self.kinds.says(node, Kind.MODULE) or not self.kinds.has_parameters(node):
            return "maybe-bare"
        if _RUNNER.search((name(node.args[0]) or "").rpartition(".")[2]):
            return "named-as-runner"
        return "built-of-options" if self._gets_options(node) else "used-as-module"

    def _gets_options(self, node: Node) -> bool:
        """`Encoder(options)`: all that it is told stands in one object, which may name a device as well."""
        return (
            len(node.args) == 2
            and node.extra == (None,)
            and node.args[1].op in _GIVEN
            and self.kinds.of(node.args[1]) is None
        )

    def _api(self, node: Node, qualified: str) -> None:
        row = effect(qualified)
        if qualified.endswith("DataParallel"):
            self._parallel.append(node)
        elif row in {Effect.FACTORY, Effect.CONVERSION}:
            self._factory(node, qualified, row)
        elif row is Effect.HOST:
            self._from_host(node, qualified)
        elif row is Effect.LIKE and self.has_device(node):
            self._placed(node)
        elif row is Effect.MODULE:
            if not self._holds_bare_ones(node, qualified):
                self._module(node, "module-made")
        elif row is Effect.LOAD:
            self._loaded(node)
        elif row is Effect.DRAW:
            self._drawn(node, qualified)
        elif row is Effect.ARRAY:
            self._readers.function(node, canonical(qualified))
        elif qualified.startswith("torch.cuda.") and qualified.endswith("Tensor"):
            self.graph.add(Source(node, CUDA, Birth.MOVE, ("move",)))
        elif self.kinds.of(node) is Kind.DATASET:
            self._kept(node)
        elif row is None and self.kinds.is_module(node):
            last = qualified.rpartition(".")[2]
            if last in libraries.MODULE_MAKERS:
                self._module(node, "used-as-module")
            elif last[:1].isupper():
                self._module(node, self._sort_of_module(node))
            else:
                self._module(node, "built-beside-device" if self._knows_device(qualified) else "built-by-unknown")

    def _kept(self, dataset: Node) -> None:
        """What a dataset keeps is on the host by convention: workers and pinned memory need it there."""
        for one in dataset.args[1:]:
            self.graph.flows(one, dataset, "element", dataset.guard)
        self.graph.add(Source(dataset, HOST, Birth.CHOSEN_HOST, ("kept-in-dataset",)))

    def _knows_device(self, builder: str) -> bool:
        """Whether the file that a builder comes from has a device: then it may place what it builds."""
        home = builder.rpartition(".")[0]
        return any(
            one.op is Op.REF and str(one.extra).rpartition(".")[0] == home and place_of(one, self.kinds) is not None
            for one in self.module.nodes()
        )

    def keyword(self, node: Node, keyword: str) -> Node | None:
        if not isinstance(node.extra, tuple) or keyword not in node.extra:
            return None
        return node.args[1 + node.extra.index(keyword)]

    def _placed(self, node: Node) -> None:
        """What `device=` says of the result of a call."""
        device = self.keyword(node, "device")
        place = place_of(device, self.kinds) if device is not None else None
        if place is None:
            return
        self._at(node, place)
        self.moves[node] = place

    def _factory(self, node: Node, qualified: str, row: Effect) -> None:
        if self.has_device(node):
            self._placed(node)
            return
        if self._under_device(node) or self.module_sets_default:
            return
        link = "factory"
        scalar = False
        if row is Effect.CONVERSION:
            if len(node.args) < 2 or self.kinds.of(node.args[1]) is Kind.TENSOR:
                return
            scalar, link = _is_number(node.args[1], self.kinds)
        elif qualified.rpartition(".")[2] in {"zeros", "ones", "empty", "rand", "randn", "full"} and len(node.args) > 1:
            first = node.args[1]
            scalar = first.op is Op.SEQUENCE and not first.args
        self.graph.add(Source(node, HOST, Birth.FACTORY, (link,), scalar))

    def _from_host(self, node: Node, qualified: str) -> None:
        if self._under_device(node) or self.module_sets_default:
            return
        link = "array-of-tensors" if any(is_of_tensors(one, self) for one in node.args[1:2]) else "array-made"
        self.graph.add(Source(node, HOST, Birth.ARRAY, (link,)))

    @property
    def module_sets_default(self) -> bool:
        """Whether the file changes where factories make tensors."""
        found = self.__dict__.get("_sets_default")
        if found is None:
            found = self.__dict__["_sets_default"] = any(
                one.op is Op.CALL
                and (name(one.args[0]) or "").startswith("torch.set_default_")
                and (name(one.args[0]) or "") != "torch.set_default_dtype"
                for one in self.module.nodes()
            )
        return bool(found)

    def _under_device(self, node: Node) -> bool:
        """`with torch.device(d): …`"""
        return any(self.kinds.of(one) is Kind.DEVICE for one in self.module.managed.get(node, ()))

    def _module(self, node: Node, link: str) -> None:
        if (
            node in self.owned
            or self._under_device(node)
            or self.managed
            or self.module_sets_default
            or self._same_module(node) is not None
        ):
            return
        if self.has_device(node):
            self._placed(node)
            return
        if self.keyword(node, "map_location") is not None:
            self._loaded(node)
            return
        if isinstance(node.extra, tuple) and not _PLACED_BY.isdisjoint(node.extra):
            return
        if self._is_told(node):
            return
        if link == "built-by-unknown" and not node.args[1:]:
            link = "used-as-module"
        self.graph.add(Source(node, HOST, Birth.MODULE, (link,)))

    def _is_told(self, node: Node) -> bool:
        """Whether what makes a module gets a device, by position or by a keyword that speaks of one: `gpu=0`."""
        keywords = node.extra if isinstance(node.extra, tuple) else ()
        for one, keyword in zip(node.args[1:], keywords):
            number = _is_number_node(one)
            if isinstance(keyword, str) and sounds_like_device(keyword) and (number or self.kinds.of(one) is None):
                return True
            if not number and (place_of(one, self.kinds) or HOST) != HOST:
                return True
        return False

    def _drawn(self, node: Node, qualified: str) -> None:
        """`torch.normal` of numbers; what a distribution of numbers gives is born where it is asked."""
        if self._draws_of_numbers(node) and qualified == "torch.normal":
            self._factory(node, qualified, Effect.FACTORY)

    def _draws_of_numbers(self, node: Node) -> bool:
        return all(one.op in {Op.CONST, Op.SEQUENCE} or self.kinds.of(one) is Kind.NUMBER for one in node.args[1:])

    @cached_property
    def _of_numbers(self) -> set[Node]:
        """Distributions of numbers, which live on the host and have no `device=`, unless an attribute of theirs is set."""
        stores = (store for function in self.module.functions for store in function.stores if store.is_attribute)
        refilled = {self.kinds.find(store.base) for store in stores}
        made = {
            self.kinds.find(node)
            for node in self.module.nodes()
            if node.op is Op.CALL
            and (name(node.args[0]) or "").startswith("torch.distributions.")
            and not self._under_device(node)
            and not self.module_sets_default
            and self._draws_of_numbers(node)
        }
        return made - refilled

    def _loaded(self, node: Node) -> None:
        device = self.keyword(node, "map_location")
        if device is None and len(node.args) > 2:
            device = node.args[2]
        place = place_of(device, self.kinds) if device is not None else None
        if place is not None and place.where is not Where.FOLLOWS:
            birth = Birth.CHOSEN_HOST if place == HOST else Birth.MOVE
            self.graph.add(Source(node, place, birth, ("move-by-name",)))

    def _method(self, node: Node, base: Node, method: str) -> None:
        row = method_effect(method)
        kind = self.kinds.of(base)
        if row in {Effect.MOVE, Effect.CUDA}:
            self._move(node, base)
        elif row is Effect.TO_HOST:
            self.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("certain",)))
            self._readers.copied(node)
            self.sent_to_host |= self.roots(base)
        elif row is Effect.NEEDS_HOST:
            self._readers.method(node, base)
        elif method.startswith("new_") and self.has_device(node):
            self._placed(node)
        elif _is_typed_cuda(node):
            self.graph.add(Source(node, CUDA, Birth.MOVE, ("move",)))
            for one in self.roots(base):
                self.movers[one].append(node)
            self.moves[node] = CUDA
        elif method == "type_as" and len(node.args) > 1:
            self.graph.same(node.args[1], node, "move", node.guard)
            for one in self.roots(base):
                self.movers[one].append(node)
        elif method in {"sample", "rsample"} and self.kinds.find(base) in self._of_numbers:
            self.graph.add(Source(node, HOST, Birth.ARRAY, ("factory",), scalar=len(node.args) < 2))
        elif row is None and method in libraries.MODULE_MAKERS and self.kinds.is_module(node):
            self._module(node, "used-as-module")

    def _target(self, call: Node) -> Place | None:
        """Where a call moves its receiver; None where it does not move."""
        if call.op is not Op.CALL or call.args[0].op is not Op.ATTR:
            return None
        row = method_effect(str(call.args[0].extra))
        if row is Effect.CUDA or _is_typed_cuda(call):
            return CUDA
        if row is Effect.TO_HOST:
            return HOST
        if row is not Effect.MOVE:
            return None
        device = self.keyword(call, "device")
        if device is None and len(call.args) > 1 and isinstance(call.extra, tuple) and call.extra[0] is None:
            device = call.args[1]
        return place_of(device, self.kinds) if device is not None else None

    def _move(self, node: Node, base: Node) -> None:
        place = self._target(node)
        if place is None:
            if self._keeps_place(node):
                self.graph.same(base, node, "certain", node.guard)
            return
        self.moves[node] = place
        if place != HOST:
            for one in self.roots(base):
                self.movers[one].append(node)
        self._at(node, place)

    def _keeps_place(self, call: Node) -> bool:
        """`x.to(torch.float32)`, `x.to(dtype=…)`."""
        given = call.args[1:]
        return bool(given) and all(self.kinds.of(one) in {Kind.DTYPE, Kind.NUMBER, None} for one in given)

    def roots(self, node: Node) -> set[Node]:
        """The values that a chain of conversions, and of choices, starts from: `x` in `Variable(x).float()`."""
        found: set[Node] = set()
        pending, seen = [node], set()
        while pending and len(seen) < 40:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            inner = self._inner(one)
            if inner is not None:
                pending.append(inner)
            elif one.op is Op.PHI:
                pending += one.args
            elif (display := self._display_of(one)) is not None:
                found.add(one)
                pending += display.args
            else:
                found.add(one)
        return found

    def _display_of(self, node: Node) -> Node | None:
        """The display of which a value is any element: `(x, y)` for `t` in `[t.cuda() for t in (x, y)]`."""
        iterable = node.args[0] if node.op is Op.ITER else self._mapped.get(node)
        return iterable if iterable is not None and iterable.op is Op.SEQUENCE else None

    @cached_property
    def _mapped(self) -> dict[Node, Node]:
        """The parameter of each function that is given to `map`, and what that is called with the elements of."""
        found: dict[Node, Node] = {}
        for node in self.module.nodes():
            if _calls_builtin(node, "map") and len(node.args) == 3:
                called = self.function_of(node.args[1])
                if called is not None and len(called.parameters) == 1:
                    found[next(iter(called.parameters.values()))] = node.args[2]
        return found

    def _inner(self, node: Node) -> Node | None:
        """What a conversion, or a move, was given."""
        if node.op is Op.AFTER:
            return node.args[0]
        if node.op is not Op.CALL:
            return None
        if node in self._called_with:
            return self._called_with[node]
        callee = node.args[0]
        qualified = name(callee)
        if qualified is not None:
            wraps = effect(canonical(qualified)) in {Effect.PASS, Effect.WRAP}
            return node.args[1] if wraps and len(node.args) > 1 else self._same_module(node)
        if callee.op is Op.ATTR and (
            callee.extra in _CHAINED or method_effect(str(callee.extra)) in {Effect.MOVE, Effect.CUDA}
        ):
            return callee.args[0]
        return self._same_module(node)

    def _same_module(self, call: Node) -> Node | None:
        """What gets one module and gives one probably gives the same: `net = load_weights(net, path)`."""
        if not self.kinds.is_module(call) or effect(name(call.args[0]) or "") is Effect.MODULE:
            return None
        given = [one for one in call.args[1:] if self.kinds.is_module(one)]
        return given[0] if len(given) == 1 and call.args[0].op is not Op.CLASS else None

    # Parameters

    def _parameters(self, function: Function) -> None:
        owner = function.owner
        inside = owner in self.kinds.module_classes if owner is not None else False
        itself = function.self_node
        for parameter in function.parameters.values():
            if parameter is itself:
                if inside and owner is not None:
                    self.graph.same(self.place_of_module(owner), parameter, "certain", parameter.guard)
                continue
            if parameter in self.callees or str(parameter.extra).startswith("*"):
                continue
            if self.kinds.of(parameter) in {None, Kind.TENSOR}:
                link = "parameter"
                if inside and function.name == "forward":
                    link = "forward-input"
                    if owner is not None and not is_index(parameter):
                        self.graph.meets(parameter, self.place_of_module(owner), "forward-input", parameter.guard)
                self.graph.add(Source(parameter, CALLER, Birth.PARAMETER, (link,)))

    # What families ask

    def beside_moved(self, node: Node, base: Node | None, link: str = "unpacked-beside-moved") -> None:
        """What is moved was on the host, and so was what came with it."""
        if self.comes_placed(node):
            return
        known = [*(self.graph.sources.get(base, ()) if base is not None else ()), *self.graph.sources.get(node, ())]
        if (
            not self._comes_from_host(node)
            or self._is_refilled(node)
            or self._is_given(node)
            or self._comes_otherwise(node)
        ):
            return
        if all(one.place == CALLER for one in known):
            link = "named-otherwise" if sounds_otherwise(node) else link
            self.graph.add(Source(node, HOST, Birth.SIBLING, (link,)))

    def _is_given(self, node: Node) -> bool:
        return self.is_of_batch(node) and self._stays(node)

    def made_beside(self, node: Node) -> None:
        """A module that came with one which is moved."""
        if not self.managed and not self.graph.sources.get(node):
            self.graph.add(Source(node, HOST, Birth.MODULE, ("unpacked-beside-moved",)))

    def made_on_host(self, node: Node) -> None:
        """A tensor that something makes which is told no device."""
        self.graph.add(Source(node, HOST, Birth.FACTORY, ("built-by-unknown",)))

    def was_elsewhere(self, node: Node) -> None:
        """What the program copies to the host was not there. Only readers of numpy believe that."""
        if not any(one.birth is Birth.COPIED for one in self.graph.sources.get(node, ())):
            self.graph.add(Source(node, CUDA, Birth.COPIED, ("certain",)))

    def wanted_at(self, parameter: Node) -> None:
        """A parameter names the device that a function is told."""
        if not self.graph.sources.get(parameter):
            self.graph.add(Source(parameter, Place(Where.DEVICE, parameter), Birth.MOVE, ("certain",)))

    @cached_property
    def managed(self) -> bool:
        """Whether a framework that the file imports may place what it is given."""
        return self.imports(libraries.MANAGING)

    def imports(self, packages: Set[str]) -> bool:
        """Whether the file imports one of these packages, or something of it."""
        return any(node.op is Op.REF and str(node.extra).partition(".")[0] in packages for node in self.module.nodes())

    def moves_of(self, node: Node) -> list[Node]:
        """The moves of a value to a device."""
        return [one for one in self.movers.get(node, ()) if self.is_elsewhere(one)]

    def is_elsewhere(self, move: Node) -> bool:
        place = self.place_of_move(move) or (self._target(move) if move.op is Op.CALL else None)
        return place is None or place.where is not Where.HOST

    def place_of_move(self, move: Node) -> Place | None:
        if move.op is Op.AFTER:
            return self._target(self._moving_call(move.args[1]))
        return self.moves.get(move) or self._called_moves.get(move)

    # Modules

    def _inside_modules(self) -> set[Node]:
        """Modules that move with another one: parts of containers, attributes of modules."""
        owned: set[Node] = set()
        for function in self.module.functions:
            for store in function.stores:
                owner = self.kinds.class_of(store.base)
                if store.is_attribute and (self._may_be_module(owner) or self.kinds.is_module(store.base)):
                    self._own(store.value, owned)
            for node in function.nodes:
                if node.op is Op.CALL and self._takes_over(node):
                    for one in node.args[1:]:
                        self._own(one, owned)
            if function.owner in self.kinds.module_classes:
                for value, _ in function.returns:
                    self._own(value, owned)
        return owned

    def _may_be_module(self, owner: Class | None) -> bool:
        """Whether a class is one of modules, or has a base elsewhere that may be one."""
        if owner is None or owner in self.kinds.module_classes:
            return owner is not None
        bases = [one for each in owner.lineage() for one in each.bases]
        return any(names(one) and names(one)[0].rpartition(".")[2] not in PLAIN_BASES for one in bases)

    def _takes_over(self, node: Node) -> bool:
        callee = node.args[0]
        found = name(callee)
        if found is not None:
            row = effect(canonical(found))
            return row in {Effect.MODULE, Effect.BARE} or (row is None and found.rpartition(".")[2][:1].isupper())
        if callee.op is Op.ATTR:
            return callee.extra in {"append", "add_module", "register_module", "extend", "insert", "__init__"}
        return callee.op is Op.CLASS

    def _own(self, value: Node, owned: set[Node]) -> None:
        pending = [value]
        while pending:
            one = pending.pop()
            if one in owned:
                continue
            owned.add(one)
            if one.op in {Op.SEQUENCE, Op.MAPPING, Op.COMPREHENSION, Op.PHI, Op.ITER}:
                pending += one.args
            elif one.op is Op.CALL and self.calls.get(one) is None:
                pending += one.args[1:]

    def _constructor_places(self, owner: Class) -> bool:
        """Whether objects move themselves when they are made."""
        made = owner.methods.get("__init__")
        if made is None:
            return False
        return any(
            one.op is Op.CALL
            and one.args[0].op is Op.ATTR
            and one.args[0].extra in {"to", "cuda"}
            and one.args[0].args[0] is made.self_node
            for one in made.nodes
        )


_PLACING = frozenset({"device", "**", "out"})
_PLACED_BY = frozenset({"device_map", "load_in_4bit", "load_in_8bit", "quantization_config"})
"""Keywords of `from_pretrained` that place what it loads."""
_GIVEN = frozenset({Op.PARAM, Op.GLOBAL, Op.ATTR})
"""What may hold a device among other things: options."""
_NOT_MEETING = rows.PLAIN_ATTRIBUTES | {"cpu", "size"}


def is_index(parameter: Node) -> bool:
    """Whether a function only picks rows by a parameter: indices may be on the host."""
    users = [one for one in parameter.function.nodes if parameter in one.args]
    rows_ = [one for one in users if one.op is Op.SEQUENCE]
    users += [one for one in parameter.function.nodes if not set(rows_).isdisjoint(one.args)]
    picks = [one for one in users if one.op is Op.ITEM and one.args[0] is not parameter]
    return bool(picks) and all(
        one in picks or one in rows_ or (one.op is Op.ATTR and one.extra in _NOT_MEETING) for one in users
    )


_RUNNER = re.compile(r"(Agent|Trainer|Runner|Engine|Manager|Pipeline|Solver|Learner|Estimator|Predictor)$")
"""Names of classes whose objects have modules, and often place them, rather than are modules."""

_OTHERWISE = re.compile(
    r"(?i)(^|_)(len|lens|length|lengths|size|sizes|num|text|texts|caption|captions|path|paths|name|names|file|files|"
    r"filename|filenames|id|ids|idx|key|keys|meta|info|word|words|sentence|sentences|title|titles|url|urls|label_names)s?$"
)


def sounds_otherwise(node: Node) -> bool:
    """Whether a value is called what texts, sizes and other things are called that stay on the host."""
    word = node.syntax.id if isinstance(node.syntax, ast.Name) else node.extra
    return isinstance(word, str) and _OTHERWISE.search(word) is not None and not re.search(r"(?i)input_?ids?$", word)


def _refills_part(store: Store, node: Node) -> bool:
    """Whether `node` is read from what a loop over its keys has filled with moved values before."""
    if (
        node.op is not Op.ITEM
        or node.args[0] is not store.base
        or store.key is not None
        or node.index < store.value.index
    ):
        return False
    keys = store.index.args[0] if store.index is not None and store.index.op is Op.ITER else None
    if keys is None or keys.op is not Op.SEQUENCE:
        return True
    return any(one.op is not Op.CONST or one.extra == node.extra for one in keys.args)


def _calls_builtin(node: Node, *called: str) -> bool:
    return node.op is Op.CALL and len(node.args) > 1 and name(node.args[0]) in {f"builtins.{one}" for one in called}


def _is_number_node(node: Node) -> bool:
    return node.op is Op.CONST and isinstance(node.extra, int)


def _is_number(node: Node, kinds: Kinds) -> tuple[bool, str]:
    """Whether a conversion gives a 0-dim tensor, and how sure that is."""
    if node.op is Op.CONST or (node.op is Op.OPERATION and all(one.op is Op.CONST for one in node.args)):
        return True, "conversion"
    if node.op in {Op.SEQUENCE, Op.COMPREHENSION} or kinds.of(node) in {Kind.ARRAY, Kind.SEQUENCE}:
        return False, "conversion"
    if kinds.of(node) is Kind.NUMBER:
        return True, "conversion"
    return False, "maybe-scalar"


def _is_typed_cuda(call: Node) -> bool:
    """`x.type(torch.cuda.FloatTensor)`, which moves."""
    return call.args[0].extra == "type" and len(call.args) > 1 and _names_cuda(call.args[1])


def _names_cuda(node: Node) -> bool:
    if isinstance(node.extra, str) and node.op is Op.CONST:
        return "cuda" in node.extra
    return any("torch.cuda." in one for one in names(node))
