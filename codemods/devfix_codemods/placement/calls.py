"""Which calls run which functions of the same file, and which values are such functions."""

import ast
from collections.abc import Callable, Hashable, Iterator, Mapping, Set
from types import MappingProxyType

from devfix_codemods.catalogue import TO_DEVICE, Effect, canonical, effect, method_effect
from devfix_codemods.catalogue.torch import MODULE_CHAINS
from devfix_codemods.ir import Class, Function, Guard, Module, Node, Op
from devfix_codemods.ir.keys import before_methods, key, name, names, resolved
from devfix_codemods.ir.nodes import contradictory
from devfix_codemods.placement.arguments import calls_builtin, is_none, keyword

EMPTY: Mapping[Node, Class] = MappingProxyType({})


def effect_of(callee: Node) -> Effect | None:
    """What calling `callee` does: a function by its qualified name, a method by its own."""
    found = names(callee)
    if found:
        return effect(found[0])
    return method_effect(str(callee.extra)) if callee.op is Op.ATTR else None


def local_calls(module: Module, objects: Mapping[Node, Class] = EMPTY) -> dict[Node, Function]:
    """The functions, methods and constructors that calls surely run. Calls of modules run `forward` by themselves.

    `objects`: of which class the parameters are that other files give.
    """
    instances = _instances(module, objects)
    found: dict[Node, Function] = {}
    for _ in range(DEEPEST):
        for node in module.of(Op.CALL):
            if node not in found and (called := _called(node.args[0], instances)) is not None:
                found[node] = called
        if not _hand_on(found, instances):
            break
    return found


def _hand_on(calls: dict[Node, Function], instances: dict[Node, Class]) -> bool:
    """Parameters are objects of a class where all calls give them such; whether any was not known to be one."""
    given: dict[Node, set[Class | None]] = {}
    for call, called in calls.items():
        for argument, parameter in bound(call, called):
            given.setdefault(parameter, set()).add(_object(argument, instances))
    found = {one: made for one, classes in given.items() if len(classes) == 1 and (made := next(iter(classes)))}
    new = {one: made for one, made in found.items() if one not in instances}
    instances.update(new)
    return bool(new)


def _instances(module: Module, objects: Mapping[Node, Class]) -> dict[Node, Class]:
    """Objects of classes of this file, by where they are made or kept."""
    found = dict(objects)
    for function in module.functions:
        itself = function.self_node
        if itself is not None and function.owner is not None:
            found[itself] = function.owner
    for node in module.of(Op.CALL):
        if (made := _class(node.args[0])) is not None:
            found[node] = made
    for store in module.stores:
        owner = found.get(store.base)
        made = found.get(store.value)
        if store.is_attribute and owner is not None and made is not None:
            found[owner.field_of(str(store.key))] = made
    return found


def _class(callee: Node) -> Class | None:
    callee = resolved(callee)
    return callee.extra if callee.op is Op.CLASS and isinstance(callee.extra, Class) else own_class(callee)


def own_class(callee: Node) -> Class | None:
    """The class of a class method, by the name that it has there: `cls(3)`."""
    function = callee.function
    return function.owner if callee is function.self_node and function.object_node is None else None


def function_of(node: Node) -> Function | None:
    """The function of this file that a value is."""
    found = resolved(node)
    return found.extra if found.op is Op.FUNCTION and isinstance(found.extra, Function) else None


def function_named(callee: Node) -> Function | None:
    """The function of this file, or the constructor of its class, that a call runs by a name."""
    made = _class(callee)
    return method(made, "__init__") if made is not None else function_of(callee)


def collate_function(loader: Node) -> Function | None:
    """The function of this file that a loader is told to put its batches together with."""
    given = keyword(loader, "collate_fn")
    return function_of(given) if given is not None else None


def _called(callee: Node, instances: dict[Node, Class]) -> Function | None:
    if (function := function_named(callee)) is not None:
        return function
    callee = resolved(callee)
    if (itself := _object(callee, instances)) is not None and not any(names(one) for one in itself.bases):
        return method(itself, "__call__")
    if callee.op is Op.ATTR:
        owner = _object(callee.args[0], instances)
        if owner is not None:
            return method(owner, str(callee.extra))
    return None


def _object(node: Node, instances: dict[Node, Class], depth: int = 0) -> Class | None:
    node = resolved(node)
    found = instances.get(node)
    if found is not None:
        return found
    itself = chained(node, MODULE_CHAINS)
    if depth < DEEPEST and itself is not None:
        return _object(itself, instances, depth + 1)  # `net = net.cuda()`, of a global
    if node.op in {Op.PHI, Op.AFTER}:
        return next((one for one in map(instances.get, node.args) if one is not None), None)
    if node.op is Op.ATTR:
        owner = instances.get(node.args[0])
        if owner is not None:
            return instances.get(owner.field_of(str(node.extra)))
    return None


def constructing(module: Module, calls: dict[Node, Function]) -> set[Function]:
    """The methods that only constructors run, and the constructors: all that their object holds is on the host yet."""
    found = {one for one in module.functions if one.name == "__init__"}
    while more := {
        one for one in only_called_by(found, calls) - found if one.owner is not None and one.name != "forward"
    }:
        found |= more
    return found


def only_called_by(found: Set[Function], calls: Mapping[Node, Function]) -> set[Function]:
    """The functions that are called, and by no others than those that were found."""
    return set(calls.values()) - {called for call, called in calls.items() if call.function not in found}


def method(owner: Class, name: str, depth: int = 0) -> Function | None:
    """The method that objects of a class have under a name, its own or one of a base in this file."""
    found = owner.methods.get(name)
    if found is not None or depth > 5:
        return found
    bases = (one.extra for one in owner.bases if one.op is Op.CLASS and isinstance(one.extra, Class))
    return next((one for one in (method(base, name, depth + 1) for base in bases) if one is not None), None)


def getter(owner: Class, name: str) -> Function | None:
    """The property that reads an attribute of objects of a class."""
    found = method(owner, name)
    return found if found is not None and found.is_property else None


def goes_through(parameter: Node) -> bool:
    """Whether a function takes but the elements of a parameter, or counts them: `for one in rows`, `zip(xs, rows)`."""
    uses = [one for one in parameter.function.nodes if parameter in one.args]
    return bool(uses) and all(one.op is Op.ITER or calls_builtin(one, *_GOING_THROUGH) for one in uses)


def chained(node: Node, methods: Set[str]) -> Node | None:
    """`net` of `net.eval()`, for a call of one of some methods; None for any other value."""
    callee = node.args[0] if node.op is Op.CALL else None
    return callee.args[0] if callee is not None and callee.op is Op.ATTR and callee.extra in methods else None


def maker(node: Node) -> str | None:
    """What makes a value, whatever is done with it then: `nn.Linear`; all that fill a shape count as one."""
    node = before_methods(node)
    made = name(node.args[0]) if node.op is Op.CALL else None
    return "torch.full" if made is not None and canonical(made) in _FILLING else made


def moved_by(node: Node) -> Node | None:
    """`x` of `x.to(device)` and of `x.cuda()`; None for any other value."""
    callee = node.args[0] if node.op is Op.CALL else None
    moves = callee is not None and callee.op is Op.ATTR and method_effect(str(callee.extra)) in TO_DEVICE
    return callee.args[0] if moves and callee is not None else None


def bound(call: Node, called: Function, first: int = 1) -> list[tuple[Node, Node]]:
    """Which argument of a call is which parameter, as far as no star hides it; `first` is that of the first one."""
    open_ = _by_position(called)[called.self_node is not None :]
    found: list[tuple[Node, Node]] = []
    position = 0
    for argument, word in zip(call.args[first:], call.extras[first - 1 :]):
        if word is None:
            if position < len(open_):
                found.append((argument, open_[position]))
                position += 1
        elif word == "*":
            break
        elif word != "**" and word in called.parameters:
            found.append((argument, called.parameters[word]))
    return found


def _by_position(called: Function) -> list[Node]:
    """The parameters that a call may give by position, without those that stand behind a star."""
    spec = getattr(called.syntax, "args", None)
    named = (*spec.posonlyargs, *spec.args) if isinstance(spec, ast.arguments) else ()
    return [called.parameters[one.arg] for one in named]


def parameters(argument: Node, call: Node, called: Function | None) -> list[Node]:
    """The parameters that get an argument of a call; none where nothing is known of what it runs."""
    return [one for given, one in bound(call, called) if given is argument] if called is not None else []


def left_to_default(call: Node, called: Function) -> Iterator[tuple[Node, Node]]:
    """The parameters that a call gives nothing, as far as no star hides it, and what each is then."""
    if not {"*", "**"}.isdisjoint(call.extras):
        return
    given = {parameter for _, parameter in bound(call, called)}
    for word, default in called.defaults.items():
        if called.parameters[word] not in given:
            yield called.parameters[word], default


def is_other_method(class_of: Callable[[Node], Class | None], named: Node, function: Function) -> bool:
    """Whether an attribute that is called as a function is, is the method of another class: `self.run` of that."""
    owner = class_of(named.args[0]) if named.op is Op.ATTR else None
    found = method(owner, str(named.extra)) if owner is not None else None
    return found is not None and found is not function


def returned(call: Node, called: Function) -> Iterator[tuple[Node, Guard]]:
    """What a call may give, and when: of what its constant arguments rule out, nothing."""
    said = _said_by_constants(call, called)
    return ((value, guard) for value, guard in called.returns if not contradictory(guard, said))


def ruled_out(call: Node, called: Function) -> Guard:
    """What the constant arguments of a call say of the tests in what it runs: `flag` fails for `f(x, flag=False)`."""
    said = _said_by_constants(call, called)
    tested = {atom for node in called.nodes for atom, _ in node.guard} if said else ()
    return frozenset(one for one in said if one[0] in tested)


def _said_by_constants(call: Node, called: Function) -> Guard:
    """The tests of parameters that the constants decide which a call gives them, or leaves them; of a function that
    calls itself, with other values, they decide none."""
    if any(one.op is Op.CALL and _is_itself(one.args[0], called) for one in called.nodes):
        return frozenset()
    given = {parameter: one for one, parameter in bound(call, called)} | dict(left_to_default(call, called))
    known = {key(parameter): one.extra for parameter, one in given.items() if one.op is Op.CONST}
    said = {each for atom, value in known.items() for each in ((atom, bool(value)), (("none", atom), value is None))}
    if any(isinstance(one, str | int) and not isinstance(one, bool) for one in known.values()):
        compared = (each for each in _compared(called) if each[1] in known)
        said |= {(atom, constant == ("const", repr(known[value]))) for atom, value, constant in compared}
    return frozenset(said)


def _is_itself(callee: Node, function: Function) -> bool:
    """Whether what is called inside of a function is that function again."""
    if callee.op is Op.ATTR:
        return callee.args[0] is function.self_node and callee.extra == function.name
    return function_of(callee) is function


def _compared(called: Function) -> Iterator[tuple[Hashable, Hashable, Hashable]]:
    """The tests of a function whether a value equals a constant, `kind == "np"`, with the keys of both."""
    for atom in {atom for node in called.nodes for atom, _ in node.guard}:
        match atom:
            case ("compare", "Eq", value, ("const", _) as constant):
                yield atom, value, constant


def spread(call: Node, called: Function) -> Iterator[tuple[Node, Node, object]]:
    """The parameters that get the parts of what a call spreads, each with that and the key: `step(*batch)`."""
    named = {one for _, one in bound(call, called)}
    rest = [
        one
        for word, one in called.parameters.items()
        if one not in named
        and one is not called.self_node
        and word not in called.defaults
        and not str(one.extra).startswith("*")
    ]
    stars = [(one, word) for one, word in zip(call.args[1:], call.extras) if word in {"*", "**"}]
    for value, star in stars if len(stars) == 1 else ():
        first = 0 if star == "*" else None
        yield from ((one, value, one.extra if first is None else first + at) for at, one in enumerate(rest))


DEEPEST = 6
_FILLING = frozenset(f"torch.{one}" for one in ("zeros", "ones", "empty", "full", "rand", "randn"))
_GOING_THROUGH = ("enumerate", "zip", "len", "list", "tuple", "reversed")


def returned_at(part: Node, called: Function) -> list[tuple[Node, Guard]] | None:
    """The values that a part of a call's result may be, and when; None where a return is no display,
    or none has the part."""
    position = part.extra
    if part.op is not Op.ITEM or not isinstance(position, int) or called.yields or not called.returns:
        return None
    displays = [(value, guard) for value, guard in called.returns if not is_none(value)]
    if position < 0 or any(value.op is not Op.SEQUENCE or value.extra != "tuple" for value, _ in displays):
        return None
    if any(isinstance(one.syntax, ast.Starred) for value, _ in displays for one in value.args[: position + 1]):
        return None
    # a display that is too short for the position, `return None, None` of three, fails where it is unpacked
    long = [(value, guard) for value, guard in displays if position < len(value.args)]
    return [(value.args[position], guard) for value, guard in long] or None


def is_bound_again(part: Node, call: Node) -> bool:
    """`model, epoch = restore(path, model)`: a part that is bound to the name of what the call gets."""
    named = part.syntax.id if isinstance(part.syntax, ast.Name) else None
    values = (
        [*call.syntax.args, *(one.value for one in call.syntax.keywords)] if isinstance(call.syntax, ast.Call) else []
    )
    return any(isinstance(one, ast.Name) and one.id == named for one in values)
