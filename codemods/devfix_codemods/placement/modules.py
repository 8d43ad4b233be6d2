"""Modules: which are born on the host, how surely they hold tensors, and what is known of them."""

from collections.abc import Sequence
from functools import cached_property

from devfix_codemods.catalogue import TO_DEVICE, Effect, Kind, canonical, effect, libraries, makes_module, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.placement import looked_up
from devfix_codemods.placement.arguments import has_device, is_none, keyword, makes_parameter
from devfix_codemods.placement.calls import is_bound_again
from devfix_codemods.placement.defaults import Defaults
from devfix_codemods.placement.graph import Birth, Graph, Source
from devfix_codemods.placement.imported_calls import makes_on_host, may_place, place_given
from devfix_codemods.placement.imported_modules import gives_argument
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.module_bases import has_module_base
from devfix_codemods.placement.moved_by_callers import MovedByCallers
from devfix_codemods.placement.moves import Moves
from devfix_codemods.placement.naming import sounds_like_options, sounds_like_runner
from devfix_codemods.placement.placed_parts import needs_no_move
from devfix_codemods.placement.places import CUDA, HOST, Place, Where, place_of, sounds_like_device
from devfix_codemods.placement.roots import Roots
from devfix_codemods.placement.stateless_modules import keeping_methods, unread_parts
from devfix_codemods.placement.unused_modules import is_for_nothing


class Modules:
    """Adds the modules that one file makes to the graph."""

    def __init__(
        self,
        module: Module,
        kinds: Kinds,
        graph: Graph,
        defaults: Defaults,
        moves: Moves,
        roots: Roots,
        owned: set[Node],
        handed: set[Node],
    ) -> None:
        self._module = module
        self._kinds = kinds
        self._graph = graph
        self._defaults = defaults
        self._moves = moves
        self._roots = roots
        self._owned = owned
        self._handed = handed
        self._parallel: list[Node] = []
        self.parts: dict[Node, Source] = {}
        """The modules that others own, as they are born: they move with these."""

    # What makes modules
    def of_torch(self, node: Node) -> None:
        """`nn.Linear(2, 2)`; `nn.Sequential(Resample(8), Put(device))` takes to a device what it gets, by itself."""
        told = any(self.is_told(one) or has_device(one) for one in unread_parts(node))
        if not told and not needs_no_move(self._kinds, self._module.users, self._roots, node):
            self._made(node, "module-made")

    def of_class(self, node: Node, made: Class) -> None:
        """An object of a class that is read."""
        if (
            made in self._kinds.module_classes
            and not self._kinds.imported.is_managed(made)
            and not self._constructor_places(made)
        ):
            asked = not self._is_read_whole(made) and self._kinds.has_parameters(node)
            holds = self.holds_tensors(made) or asked
            self._made(node, "module-made" if holds else "maybe-bare")

    def of_imported(self, node: Node, qualified: str, made: Class | None) -> None:
        """A module that something makes which is imported: an object of a class that is read, or what nobody knows."""
        if self._kinds.imported.is_managed(made) or not has_module_base(self._kinds.imported, made):
            return
        if made is not None and made in self._kinds.module_classes:
            self.of_class(node, made)
        elif (place := place_given(self._kinds, node)) is not None:
            self._moves.at(node, place)
        elif makes_on_host(self._kinds, node):
            self._made(node, "used-as-module")
        elif not may_place(self._kinds, node):
            self.of_library(node, qualified)

    def of_library(self, node: Node, qualified: str) -> None:
        """A module that something makes which is imported, and not known."""
        last = qualified.rpartition(".")[2]
        if last in libraries.MODULE_MAKERS:
            self._made(node, "used-as-module")
        elif last[:1].isupper():
            self.of_unread(node)
        else:
            self._made(node, "built-beside-device" if self._knows_device(qualified) else "built-by-unknown")

    def of_unread(self, node: Node) -> None:
        """An object of a class that is not read."""
        self._made(node, self._sort_of(node))

    def unpacked(self, part: Node) -> None:
        """`model, history = build(options)`: what a function that is not read gives beside other things."""
        call = part.args[0]
        if call.op is not Op.CALL or call in self._kinds.calls or may_place(self._kinds, call) or has_device(call):
            return
        unread = any(effect(canonical(one)) is None for one in names(call.args[0]))
        given = any(map(self._kinds.is_module, call.args[1:])) or is_bound_again(part, call)  # so it may be given back
        if unread and not given and self._kinds.is_module(part) and self._kinds.has_parameters(part):
            self._made(part, "built-by-unknown", call)

    def of_looked_up(self, node: Node) -> None:
        """`models.__dict__[name]()`, `chosen()()`; what a table may hold that is not read may place what it makes."""
        if looked_up.makes_module(self._kinds, node):
            self._made(node, "used-as-module")
        elif looked_up.makes_object(node):
            self.of_unread(node)

    def of_maker(self, node: Node) -> None:  # `Model.from_pretrained(path)`
        self._made(node, "used-as-module")

    def parallel(self, node: Node) -> None:
        """`DataParallel(net)`"""
        self._parallel.append(node)

    def wrappers(self) -> None:
        """`DataParallel` wants its module on a device when called; a move of the wrapper takes the module there."""
        callers = MovedByCallers(self._kinds, self._roots)
        for node in self._parallel:
            moved = any(self._moves.of(root) for root in self._roots.of(node)) or callers.moves(node)
            if not moved and not self._is_only_unwrapped(node):
                told = keyword(node, "device_ids") is not None or len(node.args) > 2
                link = "data-parallel" if told or not _is_distributed(node) else "distributed"
                self._graph.add(Source(node, CUDA, Birth.MOVE, (link,)))

    def _is_only_unwrapped(self, wrapper: Node) -> bool:
        """Whether a wrapper is never called, and only asked for its module again: it gives weights their names."""
        read = self._module.read
        users = [one for one in self._module.users.get(wrapper, ()) if one.op is not Op.PHI or one in read]
        return bool(users) and all(one.op is Op.ATTR and one.extra == "module" for one in users)

    def _made(self, node: Node, link: str, by: Node | None = None) -> None:
        """A module that a call gives, or that is taken out of what another one `by` gives."""
        by = by or node
        if (
            is_for_nothing(self._module, node)
            or any(one.startswith(libraries.STAND_INS) for one in names(by.args[0]))
            or self._defaults.is_under_device(node)
            or self._defaults.managed
            or self._defaults.are_set
            or self._roots.same_module(node) is not None
        ):
            return
        for word, placed in (("device", self._moves.placed), ("map_location", self._moves.loaded)):
            if keyword(by, word) is not None:
                if node not in self._owned:
                    placed(node)
                return
        if not _PLACED_BY.isdisjoint(by.extras) or self.is_told(by) or gives_argument(self._kinds, by):
            return
        if link == "built-by-unknown" and not by.args[1:]:
            link = "used-as-module"
        links = [link]
        if has_device(by):
            links.append("given-options")
        if node in self._handed:
            links.append("handed-over")
        made = Source(node, HOST, Birth.MODULE, tuple(links))
        if node in self._owned:
            self.parts[node] = made
        else:
            self._graph.add(made)

    def is_told(self, node: Node) -> bool:
        """Whether what makes a module gets a device, by position or by a keyword that speaks of one: `gpu=0`."""
        for one, word in zip(node.args[1:], node.extras):
            number = one.op is Op.CONST and isinstance(one.extra, int)
            if isinstance(word, str) and sounds_like_device(word) and (number or self._kinds.of(one) is None):
                return True
            if not number and (place_of(one, self._kinds) or HOST) != HOST and not self._is_made_of(node, one):
                return True
        return False

    def _is_made_of(self, node: Node, given: Node) -> bool:
        """Whether a module takes over a tensor that is made on the host, and says by it no device."""
        made = any(makes_module(one) for one in names(node.args[0]))
        return made and all(
            any(one.place == HOST for one in self._graph.sources.get(root, ())) for root in self._roots.of(given)
        )

    def _knows_device(self, builder: str) -> bool:
        """Whether the file that a builder comes from has a device: then it may place what it builds."""
        home = builder.rpartition(".")[0]
        return any(
            str(one.extra).rpartition(".")[0] == home and place_of(one, self._kinds) is not None
            for one in self._module.of(Op.REF)
        )

    # What modules hold

    def may_hold_tensors(self, owner: Class) -> bool:
        """Whether a class is one of modules, or of functions, by its bases, or keeps parts.

        One that only has a `forward`, and a base that is not read, may be anything.
        """
        if self._kinds.derives_from_module(owner) or self.holds_tensors(owner):
            return True
        bases = (name for one in owner.lineage() for base in one.bases for name in names(base))
        return any(one.endswith("autograd.Function") for one in bases)

    def _is_read_whole(self, owner: Class) -> bool:
        """Whether a class and all that it is derived from are read, up to torch's own `Module`."""
        return all(
            (name(base) or "").startswith("torch.")
            for one in owner.lineage()
            for base in one.bases
            if base.op is not Op.CLASS
        )

    def holds_tensors(self, owner: Class, around: tuple[Class, ...] = ()) -> bool:
        """Whether the modules of a class, parts of one `around` them, have parameters, as far as the class is read."""
        return any(
            self._makes_tensors(node, (*around, owner))
            for function in keeping_methods(list(self._kinds.imported.lineage(owner)))
            for node in function.nodes
            if node.op is Op.CALL
        )

    def _constructor_places(self, owner: Class) -> bool:
        """Whether objects move themselves when they are made, and get no parts after that."""
        lineage = tuple(self._kinds.imported.lineage(owner))
        for constructor in (one.methods["__init__"] for one in lineage if "__init__" in one.methods):
            if _moves_itself(constructor, lineage):
                return True
            if any(node.op is Op.CALL and self._makes_part(node) for node in constructor.nodes):
                return False  # which its bases, made before, do not move
        return False

    def _makes_part(self, call: Node) -> bool:
        """Whether a call surely makes a module with parameters, or a parameter."""
        if call.args[0].op is Op.CLASS:
            return self._makes_tensors(call, ())
        known = map(canonical, names(call.args[0]))
        return any(effect(one) is Effect.MODULE or one in rows.PARAMETERS for one in known)

    def _makes_tensors(self, call: Node, within: tuple[Class, ...]) -> bool:
        callee = call.args[0]
        if callee.op is Op.CLASS and isinstance(callee.extra, Class):
            part = callee.extra
            is_module = part in self._kinds.module_classes or self._kinds.is_module_class(part)  # of another file
            return is_module and part not in within and self.holds_tensors(part, within)
        if callee.op is Op.ATTR and callee.extra in _REGISTERING:
            return True
        return any(
            effect(canonical(one)) is Effect.MODULE
            or canonical(one) in rows.PARAMETERS
            or (effect(canonical(one)) is None and one.rpartition(".")[2][:1].isupper())
            for one in names(callee)
        )

    def _sort_of(self, node: Node) -> str:
        """How surely what an unread class makes is a module with parameters."""
        if not self._kinds.says(node, Kind.MODULE) or not self._kinds.has_parameters(node):
            return "built-by-unknown" if self._kinds.is_model(node) else "maybe-bare"
        if sounds_like_runner(name(node.args[0]) or ""):
            return "named-as-runner"
        told = node not in self._kinds.of_moved_classes and self._gets_options(node)
        return "built-of-options" if told else "used-as-module"

    def _gets_options(self, node: Node) -> bool:
        """`Encoder(options)`: all that it is told stands in one object, which may name a device as well."""
        return (
            len(node.args) == 2
            and node.extra == (None,)
            and (node.args[1].op in _GIVEN or sounds_like_options(node.args[1]))
            and self._kinds.of(node.args[1]) is None
        )

    # What is known of modules

    def place_of(self, owner: Class) -> Node:
        """The value that stands for where the modules of a class are."""
        node = owner.field_of("")
        if not self._graph.sources.get(node) and not self._defaults.is_test:
            self._graph.add(Source(node, MODULE, Birth.PARAMETER, ("module-place",)))
        return node

    def is_registered(self, value: Node, depth: int = 0) -> bool:
        """Whether an attribute with this value moves with the module that has it: a module or a parameter."""
        if self._kinds.is_module(value):
            return True
        called = self._kinds.calls.get(value) if depth < MOST_WRAPPED else None
        given = [one for one, _ in called.returns if not is_none(one)] if called is not None else []
        if any(one.startswith("torch.nn.init.") for one in names(value.args[0] if value.op is Op.CALL else value)):
            given = list(value.args[1:2])  # which it fills, and gives back
        if given:
            return all(self.is_registered(one, depth + 1) for one in given)
        return makes_parameter(value)

    def is_read(self, module: Node) -> bool:
        """Whether the class of a module is known, so that it does not move what it gets behind our back."""
        if self._kinds.class_of(module) is not None:
            return True
        return any(
            one.op is Op.CALL and any(each.startswith("torch") for each in names(one.args[0]))
            for one in (*self._roots.of(module), *self._wrapped(module))
        )

    def scatters(self, module: Node) -> str | None:
        """Whether a module takes what it gets to its own devices, as `DataParallel` does: `always`, `maybe`, or not."""
        found: set[bool] = set()
        pending, seen = [module], set[Node]()
        while pending and len(seen) < MOST_WRAPPED:
            one = pending.pop()
            if one in seen:
                continue
            seen.add(one)
            same = self._same(one)
            if one.op is Op.CALL and any(each.endswith("DataParallel") for each in names(one.args[0])):
                found.add(True)
            elif same:
                pending += same
            else:
                found.add(False)
        return "always" if found == {True} else "maybe" if True in found else None

    def _wrapped(self, module: Node) -> list[Node]:
        """What a module may be, through choices, moves and attributes."""
        found: list[Node] = []
        pending = [module]
        while pending and len(found) < MOST_WRAPPED:
            one = pending.pop()
            if one not in found:
                found.append(one)
                pending += self._same(one)
        return found

    def _same(self, node: Node) -> tuple[Node, ...]:
        """What a module is the same as."""
        if node.op is Op.PHI:
            return node.args
        if node.op is Op.AFTER:
            return node.args[:1]
        if node.op is Op.GLOBAL:
            found = resolved(node)
            return (found,) if found is not node else ()
        callee = node.args[0] if node.op is Op.CALL else node
        if node.op is Op.CALL and callee.op is Op.ATTR and callee.extra in {"to", "cuda", "eval", "train", "clone"}:
            return (callee.args[0],)
        if node.op is not Op.ATTR or (owner := self._kinds.class_of(node.args[0])) is None:
            return ()
        return tuple(
            value
            for base, value in self._left.get(str(node.extra), ())
            if value is not node and self._kinds.class_of(base) is owner
        )

    @cached_property
    def _left(self) -> dict[str, list[tuple[Node, Node]]]:
        """What functions leave in attributes, by their names, each with the object that has it."""
        found: dict[str, list[tuple[Node, Node]]] = {}
        for function in self._module.functions:
            for stored, value in function.finals.items():
                if not isinstance(stored, str):
                    found.setdefault(stored[1], []).append((stored[0], value))
        return found


def _is_distributed(wrapper: Node) -> bool:
    """`DistributedDataParallel(net)`, which works on the host too, where it is told no devices."""
    return any(one.endswith("DistributedDataParallel") for one in names(wrapper.args[0]))


def _moves_itself(method: Function, lineage: Sequence[Class]) -> bool:
    """Whether a method, or one that it calls of the same object, moves the object."""
    pending = [method]
    for one in pending:  # grows by the methods that each calls
        for callee in [call.args[0] for call in one.nodes if call.op is Op.CALL]:
            if callee.op is not Op.ATTR or not _is_itself(callee.args[0], one):
                continue
            if method_effect(str(callee.extra)) in TO_DEVICE:
                return True
            asked = str(callee.extra)
            called = next((each.methods[asked] for each in lineage if asked in each.methods), None)
            if called is not None and asked != "__init__" and called not in pending:
                pending.append(called)
    return False


def _is_itself(node: Node, method: Function) -> bool:
    """`self`, or `super()`"""
    return node is method.self_node or (node.op is Op.CALL and name(node.args[0]) == "builtins.super")


MODULE = Place(Where.MODULE)
MOST_WRAPPED = 20
_REGISTERING = frozenset({"register_buffer", "register_parameter", "add_module"}) | libraries.MODULE_MAKERS
"""Methods by which a module gets tensors."""
_PLACED_BY = frozenset({"device_map", "load_in_4bit", "load_in_8bit", "quantization_config"})
"""Keywords of `from_pretrained` that place what it loads."""
_GIVEN = frozenset({Op.PARAM, Op.GLOBAL, Op.ATTR})
"""What may hold a device among other things: options."""
