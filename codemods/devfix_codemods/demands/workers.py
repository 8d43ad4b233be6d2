"""Work on a device in the workers of loaders: these are forked, and cannot use it."""

import ast
from collections.abc import Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.index import Index, called
from devfix_codemods.catalogue import MAKES, canonical, effect
from devfix_codemods.demands.devices import is_elsewhere
from devfix_codemods.demands.loaded import entries, in_workers, loaders, placed_items
from devfix_codemods.edits.operations import Edit, RemoveStatement, ReplaceExpression
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import keyword

_NEED_WORKERS = frozenset({"persistent_workers", "prefetch_factor", "timeout", "worker_init_fn", None})
_OTHER_START = frozenset({"set_start_method", "get_context"})
_ADVICE = "keep the dataset on the host and move whole batches in the loop, or load without workers"


class Workers:
    """The loaders of one file that fork workers."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._births = index.analysis.births

    def told(self) -> Iterator[Answer]:
        """What their workers do on a device, or else read there."""
        forking = [] if self._starts_otherwise() else [one for one in loaders(self._index) if self._forks(one)]
        told: set[Node] = set()
        for loader in forking:
            running = in_workers(self._index, loader)
            work = [one for each in running for one in each.nodes if self._is_on_device(one)]
            for one in work:
                if one not in told:
                    told.add(one)
                    yield self._work(loader, one)
            if not work and placed_items(self._index, loader) is not None:
                assert isinstance(loader.syntax, ast.Call)
                message = "the loader's workers read tensors that live on a device"
                yield Answer(loader.syntax, message, self._without_workers(loader), _ADVICE)

    # Loaders

    def _forks(self, loader: Node) -> bool:
        """Whether a loader surely has workers: a number, a constant of the module, as many as there are processors."""
        count = keyword(loader, "num_workers")
        if count is None or keyword(loader, "multiprocessing_context") is not None:
            return False
        return all(
            (one.op is Op.CONST and isinstance(one.extra, int) and one.extra > 0)
            or called(one, "os.cpu_count", "multiprocessing.cpu_count")
            for one in self._index.origins.of(count)
        )

    def _starts_otherwise(self) -> bool:
        """Whether the program chooses how processes are started, and not the way that fails."""
        return any(
            str(one.args[0].extra).rpartition(".")[2] in _OTHER_START
            and all(each.extra != "fork" for each in one.args[1:])
            for one in self._index.calls
        )

    def _is_on_device(self, call: Node) -> bool:
        """Whether a call moves something to a device that the program itself chose, or makes it there."""
        makes = call.op is Op.CALL and effect(canonical(name(call.args[0]) or "")) in MAKES
        placing = makes or self._births.is_move(call)
        return placing and is_elsewhere(self._index, self._births.place_given(call))

    # Repairs

    def _work(self, loader: Node, work: Node) -> Answer:
        assert isinstance(work.syntax, ast.Call)
        assert isinstance(loader.syntax, ast.Call)
        text = " ".join(self._index.text(work.syntax).split())
        return Answer(
            work.syntax,
            f"`{text}` runs in a worker of the loader, which cannot use the device",
            self._without_move(loader, work) or self._without_workers(loader),
            "keep the dataset and its collation on the host, and move whole batches in the loop",
            loader.syntax,
            ((loader.syntax, "the loader forks its workers here"),),
        )

    def _without_move(self, loader: Node, work: Node) -> Fix | None:
        """The move goes, where all loops over the loader move what they get of it."""
        syntax, source = work.syntax, self._index.source
        assert isinstance(syntax, ast.Call)
        if not self._births.is_move(work) or not self._is_moved_again(loader, work):
            return None
        words = {one.arg for one in syntax.keywords}
        if (
            len(syntax.args) > 1
            or not words <= {"device", "non_blocking"}
            or not isinstance(syntax.func, ast.Attribute)
        ):
            return None
        code, statement = self._index.text(syntax.func.value), work.statement
        edit: Edit = ReplaceExpression(source.span(syntax), code)
        whole = isinstance(statement, ast.Assign) and statement.value is syntax
        if whole and isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == code:
            if isinstance(self._index.parents.get(statement), ast.If):
                return None
            edit = RemoveStatement(source.span(statement))
        elif "\n" in code or isinstance(statement, ast.Expr):
            return None
        return Fix(Safety.UNSAFE, "Leave the move to the loop over the loader", (edit,))

    def _is_moved_again(self, loader: Node, work: Node) -> bool:
        """Whether every loop over a loader moves what `work` moves: that part of a batch, or the whole."""
        kinds = self._index.analysis.kinds
        batches = [
            one
            for one in self._index.analysis.module.nodes()
            if one.op is Op.ITER and (one.args[0] is loader or kinds.find(one.args[0]) is kinds.find(loader))
        ]
        keys = {at for each in entries(self._index, loader) for at in _positions(self._index, each, work)}
        return bool(batches and keys) and all(
            self._births.moves_of(one)
            or all(
                any(self._births.moves_of(each) for each in self._index.users[one] if _is_part(each, at)) for at in keys
            )
            for one in batches
        )

    def _without_workers(self, loader: Node) -> Fix | None:
        assert isinstance(loader.syntax, ast.Call)
        words = {one.arg: one.value for one in loader.syntax.keywords}
        if "num_workers" not in words or not _NEED_WORKERS.isdisjoint(words):
            return None
        edit = ReplaceExpression(self._index.source.span(words["num_workers"]), "0")
        return Fix(Safety.UNSAFE, "Load in the main process", (edit,))


def _positions(index: Index, function: Function, work: Node) -> Iterator[object]:
    """Where in what a function gives the result of a call stands; None for all of it."""
    for value, _ in function.returns:
        whole = value.op not in {Op.SEQUENCE, Op.MAPPING}
        keys = value.extra if value.op is Op.MAPPING and isinstance(value.extra, tuple) else range(len(value.args))
        for at, part in zip([None] if whole else keys, [value] if whole else value.args):
            if work in index.origins.of(part) or work in index.analysis.births.roots(part):
                yield at


def _is_part(node: Node, key: object) -> bool:
    return node.op is Op.ITEM and node.extra == key
