"""Which functions can hold a fact at all.

Every fact starts at a call that makes, moves, encodes or averages something. A function without one, that calls none
that has one and sees no attribute or name made by one, needs not be interpreted by itself: most functions are like
that. What is called from elsewhere is followed all the same.
"""

import ast
from collections.abc import Callable
from functools import cached_property

from devfix_codemods.flow import tables
from devfix_codemods.flow.classes import ClassTable, Function
from devfix_codemods.flow.evidence import Evidence, attributes_set, last_name
from devfix_codemods.flow.names import Names
from devfix_codemods.flow.tree import declared, walk

_SEEDS = (
    tables.MAKERS
    | tables.DISTRIBUTIONS
    | {name.rpartition(".")[2] for name in tables.LIKE_FACTORIES}
    | tables.NEW_METHODS
    | {"to", "cuda", "cpu", "to_empty", "type", "type_as", "numpy", "pin_memory", "one_hot", "Generator", "load"}
    | {"lerp_", "mul_", "copy_", "from_pretrained", "from_config", "create_model", "deepcopy", "DataLoader"}
    | {"encode", "encode_plus", "batch_encode_plus", "apply_chat_template", "tokenizer", "processor", "generate"}
    | {"device", "set_default_device", "set_default_tensor_type", "autocast", "GradScaler"}
)
"""Last parts of the names of calls at which a fact can start. Generous: `np.zeros` counts."""
_MADE = _SEEDS - {"device"}
_BUILTINS = frozenset({"range", "type", "complex"})


class Interest:
    """Answers for the functions and classes of one file. In doubt, they matter.

    `elsewhere` says of an imported name, by its dotted path, whether it is a module or a function that can hold a fact.
    """

    def __init__(
        self,
        tree: ast.Module,
        names: Names,
        evidence: dict[ast.AST, Evidence],
        classes: ClassTable,
        *,
        elsewhere: Callable[[str], bool] = lambda dotted: False,
    ) -> None:
        self._tree = tree
        self._names = names
        self._evidence = evidence
        self._classes = classes
        self._elsewhere = elsewhere
        self._answers: dict[str, bool] = {}

    def in_function(self, definition: Function) -> bool:
        """Whether running `definition` by itself can give a fact."""
        return self._everything or self._matters(definition)

    def closures(self) -> list[Function]:
        """Functions inside others, which those may hand out, where running them can give a fact."""
        return [
            one
            for one in self._evidence
            if isinstance(one, Function) and self._seeds_here(self._evidence[one])
            if isinstance(self._scope_around(one), Function)
        ]

    def _scope_around(self, definition: Function) -> ast.AST | None:
        """What `definition` stands in: a module, a class or a function."""
        scopes = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        return next((one for one in self._names.ancestors(definition) if isinstance(one, scopes)), None)

    def methods(self, methods: dict[str, Function]) -> dict[str, Function]:
        """Those of a class's methods that are worth running, with its `__init__` if there are any."""
        if self._everything:
            return methods
        matter = {name: one for name, one in methods.items() if self._matters(one)}
        made = {name for one in matter.values() for name in self._kept(one)}
        matter |= {name: one for name, one in methods.items() if not made.isdisjoint(self._evidence[one].read)}
        return {name: one for name, one in methods.items() if name in matter or (matter and name == "__init__")}

    def _kept(self, method: Function) -> set[str]:
        """The attributes that a method sets to something made in it, or that went through a name of its own."""
        own = self._evidence[method]
        given = {one.arg for one in declared(method)}
        if self._seeds_here(own):
            given -= own.bindings.keys()
        found: set[str] = set()
        for statement in own.kept:
            inside = list(walk(statement.value))
            names = {one.id for one in inside if isinstance(one, ast.Name)}
            local = names - given and not names.isdisjoint(own.bindings)
            called = {last_name(one.func) for one in inside if isinstance(one, ast.Call)}
            if local or not called.isdisjoint(_SEEDS) or not called.isdisjoint(self._seeding):
                found |= set(attributes_set(statement))
        return found

    @cached_property
    def _everything(self) -> bool:
        """Something made at module level can be seen from every function."""
        return any(
            last_name(call.func) in _MADE and isinstance(self._outermost(call), (ast.Assign, ast.AnnAssign))
            for call in self._names.calls
        )

    def _outermost(self, node: ast.AST) -> ast.AST:
        """The statement of the top level that holds `node`."""
        outer = node
        for around in self._names.ancestors(node):
            if around is self._tree:
                break
            outer = around
        return outer

    def _matters(self, definition: Function) -> bool:
        own = self._evidence[definition]
        return self._seeds(definition) or not self._seeding.isdisjoint(own.called | own.methods)

    @cached_property
    def _seeding(self) -> frozenset[str]:
        """Names of the file's functions that seed a fact, or call one that does."""
        functions = [one for one in self._evidence if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        found = {one.name for one in functions if self._seeds(one)}
        while True:
            more = {
                one.name
                for one in functions
                if one.name not in found
                and not found.isdisjoint(self._evidence[one].called | self._evidence[one].methods)
            }
            if not more:
                return frozenset(found - {"__init__", "forward"})
            found |= more

    def seeds(self, definition: Function) -> bool:
        """Whether `definition` itself makes, moves, encodes or averages something, as this file alone tells."""
        return definition in self._evidence and self._seeds_here(self._evidence[definition])

    def _seeds(self, definition: Function) -> bool:
        own = self._evidence[definition]
        if self._seeds_here(own):
            return True
        if any(map(self._places_elsewhere, own.called)):
            return True
        return bool(own.built) and not self._constructs(definition) and any(map(self._is_module, own.built))

    def _seeds_here(self, own: Evidence) -> bool:
        return not _SEEDS.isdisjoint(own.methods) or not _SEEDS.isdisjoint(own.called - _BUILTINS)

    def _constructs(self, definition: Function) -> bool:
        owner = self._names.parent(definition)
        return definition.name == "__init__" and isinstance(owner, ast.ClassDef) and self._classes.may_be_module(owner)

    def _is_module(self, text: str) -> bool:
        root, _, rest = text.partition(".")
        if not rest and root in self._local_modules:
            return True
        found = self._names.module.imports.get(root, ())
        return any(one.qualified.startswith("torch") for one in found) or self._places_elsewhere(text)

    def _places_elsewhere(self, text: str) -> bool:
        """Something imported from another file of the project that builds or moves something."""
        module = self._names.module
        root, dot, rest = text.partition(".")
        candidates = [one.qualified for one in module.imports.get(root, ())]
        name = module.relatives.get(root) or (candidates[0] if len(candidates) == 1 else None)
        if name is None:
            return False
        if text not in self._answers:
            self._answers[text] = self._elsewhere(f"{name}{dot}{rest}")
        return self._answers[text]

    @cached_property
    def _local_modules(self) -> frozenset[str]:
        return frozenset(one.name for one in self._names.classes if self._classes.may_be_module(one))
