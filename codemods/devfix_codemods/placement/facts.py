"""Values that are copies of one another, and what is said of their kind: unification with evidence that is weighed."""

from collections import defaultdict
from collections.abc import Iterable

from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Class, Node


class Facts:
    """What is said of the kind of each value, shared by all of its copies."""

    def __init__(self) -> None:
        self._parent: dict[Node, Node] = {}
        self._facts: dict[Node, dict[Kind, int]] = defaultdict(lambda: defaultdict(int))
        self._known: dict[Node, Kind | None] = {}
        """What `of` has answered of each representative, as long as nothing is said of it."""
        self._objects: set[Node] = set()
        """What is asked for what no tensor has, by representative."""
        self.instances: dict[Node, Class] = {}
        """Of which class the objects are, by representative."""

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
        if second in self._objects:
            self._objects.add(first)
        if second in self.instances:
            self.instances.setdefault(first, self.instances.pop(second))

    def say(self, node: Node, kind_: Kind, weight: int = 2) -> None:
        root = self.find(node)
        self._facts[root][kind_] += weight
        self._known.pop(root, None)

    def asked_as_object(self, node: Node) -> None:
        """Something is done with a value that nobody does with a tensor, whatever else is."""
        root = self.find(node)
        self._objects.add(root)
        self._known.pop(root, None)

    def of(self, node: Node) -> Kind | None:
        """The kind of a value, None where nothing, or too much, is known."""
        root = self.find(node)
        try:
            return self._known[root]
        except KeyError:
            found = self._known[root] = self._of(root)
            if found is Kind.TENSOR and root in self._objects:
                found = self._known[root] = None
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

    def is_among(self, node: Node, values: Iterable[Node]) -> bool:
        """Whether a value is a copy of one of `values`."""
        root = self.find(node)
        return any(self.find(one) is root for one in values)
