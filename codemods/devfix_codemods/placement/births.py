"""Sources: where values are born, moved and wanted, and the families that they stand in."""

import ast
from collections.abc import Set
from functools import cached_property

from devfix_codemods.catalogue import TO_DEVICE, Effect, Kind, canonical, effect, libraries, method_effect
from devfix_codemods.catalogue import torch as rows
from devfix_codemods.ir import Class, Function, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.ir.nodes import ALWAYS
from devfix_codemods.placement.arguments import has_device, is_encoding, keyword
from devfix_codemods.placement.attributes import Attributes
from devfix_codemods.placement.batches import Batches
from devfix_codemods.placement.copied import Early, copied
from devfix_codemods.placement.datasets import Datasets
from devfix_codemods.placement.defaults import Defaults
from devfix_codemods.placement.device_reads import DeviceReads
from devfix_codemods.placement.device_tests import host_tests
from devfix_codemods.placement.documented import gives_host
from devfix_codemods.placement.elements import CALLER, Elements
from devfix_codemods.placement.evidence import is_read_from_file
from devfix_codemods.placement.factories import MAKING, ROWS, Factories
from devfix_codemods.placement.families import Families
from devfix_codemods.placement.flags import flags
from devfix_codemods.placement.graph import Birth, Graph, Source
from devfix_codemods.placement.host_functions import host_functions, is_test
from devfix_codemods.placement.host_tables import indices_of_host_tables
from devfix_codemods.placement.indices import is_of_given_row
from devfix_codemods.placement.integer_products import kept_on_host, whole_products
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.late_parts import Attachment, attached
from devfix_codemods.placement.loaders import Loaders
from devfix_codemods.placement.looked_up import is_looked_up
from devfix_codemods.placement.modules import Modules
from devfix_codemods.placement.moves import Moves
from devfix_codemods.placement.naming import says_host, sounds_like_class
from devfix_codemods.placement.non_tensors import context_of_autograd, starts_as_number
from devfix_codemods.placement.objects import Objects
from devfix_codemods.placement.omitted_devices import omitted_devices
from devfix_codemods.placement.opaque_calls import loss_sums, results_of_opaque_calls
from devfix_codemods.placement.operands import Operands, is_index, is_only_returned
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.other_files import from_other_files, wrapped_by_callers
from devfix_codemods.placement.ownership import handed_over, owned
from devfix_codemods.placement.partial_moves import PartialMoves
from devfix_codemods.placement.places import CUDA, HOST, Place, Where, sounds_like_device
from devfix_codemods.placement.readers import Readers
from devfix_codemods.placement.repeated_statements import repeated_statements
from devfix_codemods.placement.replacements import replacements
from devfix_codemods.placement.results_elsewhere import results_elsewhere
from devfix_codemods.placement.roots import Roots
from devfix_codemods.placement.saved_files import loaded_again
from devfix_codemods.placement.shape_arguments import ShapeArguments
from devfix_codemods.placement.summaries import Wanted
from devfix_codemods.placement.targets import Targets, is_typed_cuda, is_typed_host, typed_like
from devfix_codemods.placement.unregistered import Holder, unregistered


class Births:
    """Adds the sources of one file to its graph, and answers what others ask about them."""

    def __init__(
        self,
        kinds: Kinds,
        graph: Graph,
        path: str,
        undone: Set[ast.AST] = frozenset(),
    ) -> None:
        self.module = module = kinds.module
        self.imported = imported = kinds.imported
        self.kinds = kinds
        self.graph = graph
        self.calls = calls = kinds.calls
        self.used = {*module.users, *module.kept}
        """What a file does something with."""
        self.exchanged: set[Node] = set()
        """What collectives get that may work on the host."""
        self.callees = {node.args[0] for node in module.of(Op.CALL)}
        self.wanted: dict[tuple[Node, Node], Wanted] = {}
        """Of an argument and a device that a function of another file gets, where that wants one on the other."""
        self.copied: dict[Node, list[Early]] = {}
        """Copies that stay where they are when what they were taken of is moved, and by which calls they are taken."""
        self.read_elsewhere: set[Node] = set()
        """Calls of functions of other files of which each part that is unpacked is known to be made, moved or kept."""
        self.told_elsewhere: set[Node] = set()
        """Those that make what they give, or a part of it, on the host, and the parts of which that is known."""
        self.left_by_calls: set[Node] = set()
        """Calls of functions of this file whose results belong elsewhere, by what is done with those of other calls."""
        self.attached: dict[Node, Attachment] = {}
        """Modules that were put into one which was moved before."""
        self.unregistered: dict[Node, Holder] = {}
        """Modules that are kept in plain containers, one of each."""
        self.host_functions = host_functions(module, kinds, calls)
        self.whole_products = whole_products(module)
        self.owned = owned(module, kinds, calls)
        self.defaults = Defaults(module, kinds, path)
        self.attributes = Attributes(module, kinds)
        # All parts are attributes, so that the analysis finds them when it lets go of all values.
        self._roots = Roots(module, kinds)
        self.expecting = DeviceReads(module, kinds, self._roots)
        self._targets = Targets(kinds, undone)
        self._moves = Moves(kinds, graph, calls, self._targets, self._roots, imported, self.read_elsewhere)
        self.handed = handed_over(module, kinds)
        self._modules = Modules(module, kinds, graph, self.defaults, self._moves, self._roots, self.owned, self.handed)
        self._operands = Operands(kinds, self._moves)
        self._factories = Factories(self, self._moves)
        self._readers = Readers(self)
        self.origins = Origins(kinds.given, imported)
        self._datasets = Datasets(kinds, imported, Origins(kinds.given_anywhere(), imported), module.nodes())
        self._batches = Batches(self)
        self.loaders = Loaders(self)
        self.objects = Objects(self)
        self._elements = Elements(self, self._datasets, self.loaders, self._batches)

        self.roots = self._roots.of
        self.way = self._roots.way
        self.same_module = self._roots.same_module
        self.class_of = kinds.class_of
        self.imports = self.defaults.imports

        self.moves = self._moves.places
        self.movers = self._moves.movers
        self.moved_in_place = self._moves.in_place
        self.moves_of = self._moves.of
        self.may_miss = self._moves.may_miss
        self.place_of_move = self._moves.place_of
        self.is_elsewhere = self._moves.is_elsewhere
        self.is_sent_to_host = self._moves.is_sent_to_host
        self.is_taken_back = self._moves.is_taken_back
        self.is_moving_call = self._moves.is_moving_call
        self.placed_at = self._moves.placed_at
        self.is_move = self._targets.is_move
        self.place_given = self._targets.given

        self.place_of_module = self._modules.place_of
        self.is_registered = self._modules.is_registered
        self.is_read = self._modules.is_read
        self.is_told_device = self._modules.is_told
        self.holds_tensors = self._modules.holds_tensors
        self.scatters = self._modules.scatters
        self.parts = self._modules.parts

        self.host_arguments = self._operands.on_host
        self.unmoved_arguments = self._operands.unmoved
        self.is_of_batch = self._elements.is_of_batch
        self.refills = self._elements.refills
        self.beside_moved = self._elements.beside_moved
        self.is_told_place = self._factories.is_told_place

    @cached_property
    def wrapped(self) -> set[Node]:
        """Parameters for which some caller in another file gives what something makes that is not read."""
        return wrapped_by_callers(self)

    def of_this_file(self) -> None:
        """Add what the file itself says."""
        results_elsewhere(self)
        for function in self.module.functions:
            for node in list(function.nodes):
                if node.op is Op.CALL:
                    self._call(node)
                elif node.op is Op.AFTER:
                    self._moves.after(node)
                elif node.op is Op.ITEM and is_read_from_file(node):
                    self.graph.add(Source(node, HOST, Birth.ARRAY, ("array-made",)))
                elif node.op is Op.ITEM and self.kinds.is_module(node):
                    self._modules.unpacked(node)
                elif node not in self.callees and says_host(node) and self._may_be_tensor(node):
                    self.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("named-for-host",)))
                if node not in self.callees:
                    self._elements.born(node)
        self._elements.spread()
        for function in self.module.functions:
            self._parameters(function)
            if gives_host(function):
                for value, _ in function.returns:
                    self.graph.add(Source(value, HOST, Birth.CHOSEN_HOST, ("documented",)))
        self._moves.by_functions()
        self.objects.all()
        self._modules.wrappers()
        copied(self)
        self.attached = attached(self, self.parts)
        self.unregistered = unregistered(self, self.parts)
        flags(self)
        self._readers.all()
        indices_of_host_tables(self)
        self.graph.host_only.update(host_tests(self.module, self.kinds))
        Families(self).all()
        ShapeArguments(self).all()
        omitted_devices(self)
        repeated_statements(self)
        replacements(self)
        loss_sums(self)
        loaded_again(self)
        results_of_opaque_calls(self)
        PartialMoves(self).all()

    def of_other_files(self) -> None:
        """Add what callers and callees elsewhere say: they place values, and bear none on the host."""
        from_other_files(self)
        kept_on_host(self)

    @property
    def are_any_on_host(self) -> bool:
        """Whether some value begins on the host, so that it may be misplaced."""
        sources = (one for found in self.graph.sources.values() for one in found)
        return bool(self.whole_products) or any(one.is_on_host for one in sources)

    # Calls

    def _call(self, node: Node) -> None:
        callee = node.args[0]
        found = names(callee)
        if not found or effect(canonical(found[0])) is None:
            if self._moves.is_opaque(node):
                return
            self._moves.told_host(node)
        if self.kinds.is_converter(callee):
            self.graph.add(Source(node, HOST, Birth.ARRAY, ("array-made",)))
        elif is_encoding(node):
            if node not in self._elements.replaced:
                self.graph.add(Source(node, HOST, Birth.ENCODING, ("encoding",)))
        elif found and not self._readers.function(node, canonical(found[0])):
            self._api(node, canonical(found[0]))
        elif callee.op is Op.CALL and (made := names(callee.args[0])) and made[0].startswith(libraries.ON_HOST):
            self.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("documented",)))
        elif callee.op is Op.CLASS and isinstance(callee.extra, Class):
            self._modules.of_class(node, callee.extra)
        else:
            self._unread(node, callee)

    def _unread(self, node: Node, callee: Node) -> None:
        """A call of what no import names."""
        if callee.op in {Op.GLOBAL, Op.PHI, Op.PARAM} or (callee.op is Op.ATTR and node not in self.calls):
            if (callee.op is Op.PARAM or sounds_like_class(callee)) and self.kinds.is_module(node):
                self._modules.of_unread(node)
            elif callee.op is Op.ATTR:
                self._method(node, callee.args[0], str(callee.extra))
        elif is_looked_up(callee) and self.kinds.is_module(node):
            self._modules.of_looked_up(node)

    def _api(self, node: Node, qualified: str) -> None:
        row = effect(qualified)
        if qualified.endswith("DataParallel"):
            self._modules.parallel(node)
        elif canonical(qualified) in rows.COLLECTIVES:
            self._collective(node)
        elif row in ROWS:
            self._factories.function(node, qualified)
        elif row in {Effect.LIKE, Effect.ENGINE} and has_device(node):
            self._moves.placed(node)
        elif row is Effect.MODULE:
            self._modules.of_torch(node)
        elif row is Effect.LOAD:
            self._moves.loaded(node)
        elif qualified.startswith(libraries.ON_DEVICE):
            self.graph.add(Source(node, CUDA, Birth.MOVE, ("placed-by-library",)))
        elif qualified.startswith(libraries.ON_HOST):
            self.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("documented",)))
        elif qualified.startswith("torch.cuda.") and qualified.endswith("Tensor"):
            self._moves.constructed(node)
        elif self.kinds.of(node) is Kind.DATASET:
            self._factories.kept(node)
        elif row is None and qualified not in libraries.PARTIAL and self.kinds.is_module(node):
            self._modules.of_imported(node, qualified, self.imported.class_of(node.args[0]))

    def _collective(self, node: Node) -> None:
        """`dist.all_reduce(total)`: NCCL takes tensors of devices, as far as no other backend is spoken of."""
        if self.defaults.exchanges_on_host or keyword(node, "group") is not None:
            self.exchanged.update(node.args[1:2])
            return
        self.graph.add(Source(node, CUDA, Birth.MOVE, ("collective",)))
        for one in node.args[1:2]:
            self.graph.meets(one, node, "operation", node.guard)

    def _method(self, node: Node, base: Node, method: str) -> None:
        row = method_effect(method)
        if self._copied_on_host(node, base, method):
            return
        if row in TO_DEVICE:
            self._moves.method(node, base)
        elif row is Effect.TO_HOST or is_typed_host(node):
            self.graph.add(Source(node, HOST, Birth.CHOSEN_HOST, ("certain",)))
            self._readers.copied(node)
            self._moves.copied_to_host(base)
        elif row is Effect.NEEDS_HOST:
            self._readers.method(node, base)
        elif method.startswith("new_") and has_device(node):
            self._moves.placed(node)
        elif is_typed_cuda(node):
            self._moves.typed(node, base)
        elif method == "type" and any(self.kinds.of(one) is Kind.DTYPE for one in node.args[1:]):
            self.graph.same(base, node, "certain", node.guard)
        elif (like := typed_like(node)) is not None:
            self._moves.typed_as(node, base, like)
        elif method in MAKING:
            self._factories.method(node, base, method)
        elif method in libraries.PLOTS:
            self._readers.plot(node, base)
        elif row is None and method in libraries.MODULE_MAKERS and self.kinds.is_module(node):
            self._modules.of_maker(node)

    def _copied_on_host(self, node: Node, base: Node, method: str) -> bool:
        """`x.pin_memory()`, which is a copy as well, and `x.type(torch.FloatTensor)`."""
        pinned = method == "pin_memory" and self.kinds.of(base) is Kind.TENSOR
        copied = pinned or (is_typed_host(node) and not self.kinds.is_module(base))
        if copied:
            self.graph.add(Source(node, HOST, Birth.ARRAY, ("array-made",)))
        return copied

    # Parameters

    def _parameters(self, function: Function) -> None:
        owner = function.owner if function.owner in self.kinds.module_classes else None
        is_input = owner is not None and function.name == "forward" and self._modules.may_hold_tensors(owner)
        alone = function.owner is None and is_test(function, self.kinds)
        for parameter in () if alone else function.parameters.values():
            if parameter is function.self_node:
                if owner is not None and parameter is function.object_node:
                    self.graph.same(self.place_of_module(owner), parameter, "certain", parameter.guard)
            elif self.kinds.says_surely(parameter, Kind.MODULE):
                self.graph.add(Source(parameter, CALLER, Birth.PARAMETER, ("module-parameter",)))
            elif self._may_be_tensor(parameter):
                if owner is not None and is_input and not is_index(parameter) and not is_only_returned(parameter):
                    self.graph.meets(parameter, self.place_of_module(owner), "forward-input", parameter.guard)
                is_tensor = is_input or context_of_autograd(function) is not None
                link = "forward-input" if is_tensor else self.expecting.link(parameter, "parameter")
                spread = self.graph.is_born(parameter, {Birth.LOADER})
                if function not in self.host_functions and not self.defaults.is_test and not spread:
                    self.graph.add(Source(parameter, CALLER, Birth.PARAMETER, (link,)))

    @cached_property
    def _called(self) -> set[Function]:
        return set(self.calls.values())

    def _may_be_tensor(self, parameter: Node) -> bool:
        if parameter in self.callees or str(parameter.extra).startswith("**"):
            return False
        if str(parameter.extra).startswith("*"):
            users = self.module.users.get(parameter, ())
            return any(is_of_given_row(one) and self.kinds.of(one) is Kind.TENSOR for one in users)
        if parameter.op is Op.PARAM and self.kinds.of(parameter) is None and sounds_like_device(str(parameter.extra)):
            return False
        if (
            starts_as_number(parameter, ALWAYS)
            and parameter.function in self._called
            and not self.kinds.given.get(parameter)
        ):
            return False  # all callers leave it out
        return self.kinds.of(parameter) in {None, Kind.TENSOR}

    # What families say

    def made_beside(self, node: Node) -> None:
        """A module that came with one which is moved."""
        known = self.graph.sources.get(node, [])
        if not self.defaults.managed and all(one.links == ("built-by-unknown",) for one in known):
            self.graph.sources[node] = [Source(node, HOST, Birth.MODULE, ("unpacked-beside-moved",))]

    def was_elsewhere(self, node: Node) -> None:
        """What the program copies to the host was not there. Only readers of numpy believe that."""
        if not self.graph.is_born(node, {Birth.COPIED}):
            self.graph.add(Source(node, CUDA, Birth.COPIED, ("certain",)))

    def wanted_at(self, parameter: Node) -> None:
        """A parameter names the device that a function is told."""
        if not self.graph.sources.get(parameter):
            self.graph.add(Source(parameter, Place(Where.DEVICE, parameter), Birth.MOVE, ("certain",)))
