"""What a function gives, and all that call it move: where it is until then, nothing asks."""

from collections.abc import Iterator

from devfix_codemods.catalogue import Effect, method_effect
from devfix_codemods.catalogue.torch import MODULE_CHAINS
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.placement.kinds import Kinds
from devfix_codemods.placement.roots import Roots

MOST_STEPS = 40
_ELSEWHERE = frozenset({Effect.MOVE, Effect.CUDA})


class MovedByCallers:
    """Says of the modules of one file whether the callers of the function that makes them bring them to a device."""

    def __init__(self, kinds: Kinds, roots: Roots) -> None:
        self._kinds = kinds
        self._roots = roots

    def moves(self, made: Node) -> bool:
        """Whether a function returns what it has made, and each call of it that is seen, at least one, moves that."""
        returns = [value for value, _ in made.function.returns]
        return any(made in self._roots.way(one) for one in returns) and self._all_move(made.function, ())

    def _all_move(self, function: Function, inside: tuple[Function, ...]) -> bool:
        calls = [call for call, called in self._kinds.calls.items() if called is function]
        calls += self._calls_elsewhere(function)
        return bool(calls) and all(self._is_moved(one, (*inside, function)) for one in calls)

    def _calls_elsewhere(self, function: Function) -> Iterator[Node]:
        if function.owner is not None or function.parent is not function.module.top:
            return
        for module in self._kinds.imported.importing(function.name):
            for call in module.of(Op.CALL):
                if self._kinds.imported.definition(call.args[0]) is function:
                    yield call

    def _is_moved(self, call: Node, inside: tuple[Function, ...]) -> bool:
        """Whether a file moves what a call gives: where that stands, by its name, or as an attribute of an object."""
        module, pending = call.function.module, [call]
        attributes = (*module.of(Op.ATTR), *module.of(Op.FIELD))
        for one in pending:  # grows
            if len(pending) > MOST_STEPS:
                return False
            kept = {store.key for store in one.function.stores if store.is_attribute and store.value is one}
            pending += (each for each in attributes if each.extra in kept and each not in pending)
            for user in module.users.get(one, ()):
                if _moves(user, one):
                    return True
                again = user.op is Op.PHI or (user.op is Op.AFTER and user.args[0] is one) or _gives_back(user, one)
                pending += [user] if again and user not in pending else []
        function = call.function
        given = function not in inside and any(value in pending for value, _ in function.returns)
        return given and module is self._kinds.module and self._all_move(function, inside)


def _method(user: Node, value: Node, called: Iterator[Node]) -> str | None:
    """The method of a value that is read, if it is called."""
    return str(user.extra) if user.op is Op.ATTR and user.args[0] is value and any(called) else None


def _calls(user: Node) -> Iterator[Node]:
    users = user.function.module.users.get(user, ())
    return (one for one in users if one.op is Op.CALL and one.args[0] is user)


def _moves(user: Node, value: Node) -> bool:
    """`net.to(device)`, `net.cuda()`, and not `net.to("cpu")`."""
    method = _method(user, value, _calls(user))
    row = method_effect(method) if method is not None else None
    return row in _ELSEWHERE and any(not _names_host(one) for one in _calls(user))


def _names_host(call: Node) -> bool:
    return any(one.op is Op.CONST and one.extra == "cpu" for one in call.args[1:])


def _gives_back(user: Node, value: Node) -> bool:
    """`net.eval` of `net.eval()`, and that call itself."""
    if user.op is Op.CALL:
        return user.args[0] is value and value.op is Op.ATTR and value.extra in MODULE_CHAINS
    return _method(user, value, _calls(user)) in MODULE_CHAINS
