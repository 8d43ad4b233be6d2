"""Values that are moved in one place and used as they are in another: on the other path of a choice, and by another
function that encodes texts in the same way."""

from collections import defaultdict
from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Effect, Kind, canonical, effect, method_effect
from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import key, names
from devfix_codemods.placement.graph import Birth
from devfix_codemods.placement.together import supports

if TYPE_CHECKING:
    from devfix_codemods.placement.births import Births


class PartialMoves:
    """Says of values in one file that they come from the host, because others like them are moved."""

    def __init__(self, births: "Births") -> None:
        self._births = births
        self._kinds = births.kinds
        self._module = births.module

    def all(self) -> None:
        self._other_paths()
        self._encodings()
        self._results()

    def _other_paths(self) -> None:
        """`if not torch.is_tensor(x): x = torch.from_numpy(x).to(device)`: else it is a tensor, too."""
        for node in self._module.of(Op.PHI):
            if node.syntax is not None:
                continue
            moves = [one for one in node.args if self._is_moved(one)]
            guards = node.extras if moves else ()
            for one, guard in zip(node.args, guards):
                is_tensor = (("isinstance", key(one), "torch.Tensor"), True) in guard
                if one.op is Op.PARAM and is_tensor and not self._births.moves_of(one):
                    self._births.beside_moved(one, None, "moved-on-other-path")

    def _is_moved(self, node: Node) -> bool:
        """`x.to(device)`, and the same converted."""
        births = self._births
        while node.op is Op.CALL and not births.is_move(node) and node.args[0].op is Op.ATTR:
            if method_effect(str(node.args[0].extra)) is not Effect.SAME:
                return False
            node = node.args[0].args[0]
        return births.is_move(node) and births.is_elsewhere(node)

    def _encodings(self) -> None:
        """One function moves what it encodes, and another one gives the same to the same function as it is."""
        graph = self._births.graph
        made: dict[object, list[Node]] = defaultdict(list)
        for node, sources in graph.sources.items():
            if any(one.birth is Birth.ENCODING for one in sources):
                made[key(node.args[0])].append(node)
        for twins in made.values():
            moved = {one: moves for one in twins if (moves := self._births.moves_of(one))}
            going = [(moves[-1], set().union(*map(self._users, moves))) for moves in moved.values()]
            for one in twins if moved else ():
                users = self._users(one) if one not in moved else set()
                for move, of_moved in going if users else ():
                    if users & of_moved:
                        graph.supports(one, move, "twin-one", one.guard)

    def _results(self) -> None:
        """What one function gives, that is not read, is moved behind some of its calls, and so belongs behind all."""
        births = self._births
        made: dict[object, list[Node]] = defaultdict(list)
        for node in self._module.of(Op.CALL):
            unread = node not in births.calls and bool(names(node.args[0]))
            known = unread and self._kinds.of(node) in {Kind.TENSOR, None}
            if known and effect(canonical(names(node.args[0])[0])) is None:
                made[key(node.args[0])].append(node)
        for twins in made.values():
            moved = {one: moves for one in twins if (moves := births.moves_of(one))}
            for one in twins if moved else ():
                if one not in moved and self._kinds.of(one) is Kind.TENSOR:
                    births.beside_moved(one, None)
                    supports(births.graph, one, moved, "twin")

    def _users(self, value: Node) -> set[object]:
        """The functions that get a value."""
        users = (one for one in self._module.users.get(value, ()) if one.function is value.function)
        calls = (one for one in users if one.op is Op.CALL and value in one.args[1:])
        return {one.args[0].extra if one.args[0].op is Op.ATTR else key(one.args[0]) for one in calls}
