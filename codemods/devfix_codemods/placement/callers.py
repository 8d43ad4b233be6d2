"""What calls in other files give the parameters of a file's functions: the values there, followed to what makes them.

Only of functions that do with a parameter what depends on its sort: they go through it, call it, or call its methods.
"""

from collections.abc import Iterator, Mapping

from devfix_codemods.ir import Class, Function, Module, Node, Op
from devfix_codemods.ir.keys import name, names, resolved
from devfix_codemods.placement.arguments import is_none
from devfix_codemods.placement.calls import bound, function_of, method
from devfix_codemods.placement.imported_definitions import ImportedDefinitions
from devfix_codemods.placement.origins import Origins
from devfix_codemods.placement.pass_through import passed

Given = Mapping[Node, list[Node]]
"""By parameter: what is given, in the files that give it."""

MOST_STEPS = 60
"""How many values are looked at to see whether a parameter is asked."""


def given_by_callers(module: Module, imported: ImportedDefinitions) -> Given:
    """What the files that import this one give the parameters of its functions."""
    found: dict[Node, list[Node]] = {}
    named = [one for one in module.functions[1:] if imported.is_spoken_of(_called(one))]
    uses = _Uses(module) if named else None
    callers = _Callers(imported)
    for function in named:
        if uses is None or not uses.ask(function):
            continue
        for call in callers.calls_of(function):
            for argument, parameter in bound(call, function):
                made = [one for one in callers.made(argument) if not is_none(one)]
                found.setdefault(parameter, []).extend(made)
    return found


def objects_given(given: Given, imported: ImportedDefinitions) -> dict[Node, Class]:
    """The parameters that get objects of one class everywhere, and which."""
    found: dict[Node, Class] = {}
    for parameter, values in given.items():
        classes = {imported.class_of(one.args[0]) if one.op is Op.CALL else None for one in values}
        only = classes.pop() if len(classes) == 1 else None
        if only is not None:
            found[parameter] = only
    return found


def _called(function: Function) -> str:
    """The name by which others call a function."""
    owner = function.owner
    return owner.name if owner is not None and function.name == "__init__" else function.name


class _Callers:
    """The calls in the files that import one."""

    def __init__(self, imported: ImportedDefinitions) -> None:
        self._imported = imported
        self._origins = Origins({}, imported)
        self._named: dict[Module, dict[str, list[Node]]] = {}

    def calls_of(self, function: Function) -> Iterator[Node]:
        """The calls in other files that run a function, or the class whose constructor it is."""
        called = _called(function)
        for other in self._imported.importing(called):
            yield from (one for one in self._calls_in(other).get(called, ()) if self._runs(one, function))

    def _calls_in(self, other: Module) -> Mapping[str, list[Node]]:
        """The calls in a file, by the last part of what they call."""
        found = self._named.get(other)
        if found is None:
            found = self._named[other] = {}
            for call in other.of(Op.CALL):
                text = name(call.args[0]) or str(call.args[0].extra)
                found.setdefault(text.rpartition(".")[2], []).append(call)
        return found

    def _runs(self, call: Node, function: Function) -> bool:
        callee = call.args[0]
        found = self._imported.definition(callee)
        if isinstance(found, Class):
            return method(found, "__init__") is function
        if found is None and callee.op is Op.ATTR and function.owner is not None:
            owners = [self._imported.class_of(one.args[0]) for one in self.made(callee.args[0]) if one.op is Op.CALL]
            return any(one is not None and method(one, function.name) is function for one in owners)
        return found is function

    def made(self, argument: Node) -> list[Node]:
        """What a value is made by; what its own methods give back is the value still."""
        found: list[Node] = []
        pending = [argument]
        for one in pending:  # grows
            for origin in self._origins.of(one):
                itself = _itself(origin)
                if itself is None:
                    found.append(origin)
                elif itself not in pending:
                    pending.append(itself)
        return found


def _itself(call: Node) -> Node | None:
    """`net` of `net.to(device)`"""
    callee = call.args[0] if call.op is Op.CALL else None
    given_back = callee is not None and callee.op is Op.ATTR and callee.extra in _GIVING_ITSELF and not names(callee)
    return callee.args[0] if callee is not None and given_back else None


_GIVING_ITSELF = frozenset(
    {"to", "cuda", "cpu", "eval", "train", "half", "float", "double", "requires_grad_", "share_memory", "apply"}
)


# Which functions ask


class _Uses:
    """What one file does with what its functions are given."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._methods = {text for one in module.classes for text in one.methods}
        self._kept: dict[Node, list[tuple[Class, object]]] = {}
        for function in module.functions:
            for store in function.stores:
                if store.is_attribute and store.base is function.self_node and function.owner is not None:
                    self._kept.setdefault(store.value, []).append((function.owner, store.key))
        self._read: dict[tuple[Class, object], list[Node]] = {}
        for node in module.of(Op.ATTR):
            owner = node.function.owner
            if owner is not None and node.args[0] is node.function.self_node:
                self._read.setdefault((owner, node.extra), []).append(node)

    def ask(self, function: Function) -> bool:
        """Whether a function does with a parameter what depends on the sort of thing that it is."""
        return any(map(self._asks, filter(_is_open, function.parameters.values())))

    def _asks(self, parameter: Node) -> bool:
        pending = [parameter]
        for one in pending:  # grows
            if len(pending) > MOST_STEPS:
                return False
            for user in self._module.users.get(one, ()):
                if self._is_telling(user, one):
                    return True
                pending += (each for each in _same(user, one) if each not in pending)
            for kept in self._kept.get(one, ()):
                pending += (each for each in self._read.get(kept, ()) if each not in pending)
        return False

    def _is_telling(self, user: Node, value: Node) -> bool:
        """Whether a value is gone through or called, or a method is that classes of this file have."""
        if user.op is Op.ITER:
            return True
        if user.op is Op.ATTR:
            return user.extra in self._methods
        return user.op is Op.CALL and (user.args[0] is value or name(user.args[0]) in _GOING_THROUGH)


def _same(user: Node, value: Node) -> Iterator[Node]:
    """What is the value again: joined with others, with a progress bar around it, or as a function gets it."""
    joined = user.op is Op.PHI or (user.op is Op.AFTER and user.args[0] is value)
    if joined or (user.op is Op.CALL and passed(user) is value):
        yield user
    elif user.op is Op.CALL and (called := _called_here(user)) is not None:
        yield from (parameter for argument, parameter in bound(user, called) if argument is value)


def _called_here(call: Node) -> Function | None:
    callee = resolved(call.args[0])
    made = callee.extra if callee.op is Op.CLASS else None
    return method(made, "__init__") if isinstance(made, Class) else function_of(callee)


def _is_open(parameter: Node) -> bool:
    """Whether nothing but calls can say what a parameter is."""
    is_starred = str(parameter.extra).startswith("*")
    annotated = getattr(parameter.syntax, "annotation", None) is not None
    return parameter is not parameter.function.self_node and not annotated and not is_starred


_GOING_THROUGH = frozenset({"builtins.iter", "builtins.next"})
