"""The places at which nothing guards that CUDA is spelled out: which device each gets, all of a function together."""

import ast
from collections.abc import Iterable, Iterator

from devfix_codemods.assumptions.answers import Answer
from devfix_codemods.assumptions.device_sources import Followed, Followings
from devfix_codemods.assumptions.ignored_choices import spelled_message
from devfix_codemods.assumptions.index import Index, called, method
from devfix_codemods.assumptions.managed_values import placed_by_framework
from devfix_codemods.assumptions.policy import Policy
from devfix_codemods.assumptions.spelled_cuda import SpelledCuda, placed_on
from devfix_codemods.edits.operations import Edit
from devfix_codemods.findings import Fix, Safety
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.repairs.declared_devices import keeping, kept_by_constructor, of_model

KEEP = "keep the `device` of the constructor as `self.device`, and use it here"


class Placing:
    """What becomes of the sites of one file."""

    def __init__(self, index: Index, sites: list[SpelledCuda], followings: Followings, policy: Policy) -> None:
        self._index = index
        self._sites = [one for one in sites if not self._goes_on(one, sites)]
        self._followings = followings
        self._policy = policy
        self._moved = {one.call for one in sites}

    def told(self) -> Iterator[Answer]:
        followed: dict[SpelledCuda, Followed] = {}
        left: list[SpelledCuda] = []
        for site in self._sites:
            if (advice := placed_by_framework(self._index, site)) is not None:
                yield self._told(site, None, advice)
            elif (init := kept_by_constructor(site.call.function)) is not None:
                yield self._kept(site, init)
            elif self._is_communicated(site) or (found := self._followings.of(site)) is None:
                left.append(site)
            elif not self._comes_back(site, found.device):
                followed[site] = found
        self._policy.left = left
        fixes = {one: fix for one in left if (fix := self._policy.fix(one)) is not None}
        followed |= self._beside(followed, [one for one in left if one not in fixes])
        shared = self._shared(followed)
        rest = [one for one in left if one not in fixes and one not in followed]
        for site, one in followed.items():
            function = site.call.function
            binding = next((edit for each, edit in shared.items() if each.call.function is function), None)
            binding = binding if one.device.startswith("next(") else None
            yield self._follows(site, one, binding, is_half=any(self._is_left(each, site, one) for each in rest))
        for site, fix in fixes.items():
            yield self._told(site, fix, None)

    def _is_left(self, other: SpelledCuda, site: SpelledCuda, followed: Followed) -> bool:
        """Whether another value of the function goes to CUDA all the same, but for the one that is followed."""
        written = other.syntax.func.value if isinstance(other.syntax.func, ast.Attribute) else other.syntax
        itself = ast.unparse(written) == followed.device.removesuffix(".device")
        top = isinstance(site.call.function.syntax, ast.Module)
        return other.call.function is site.call.function and not top and not itself

    def _beside(self, followed: dict[SpelledCuda, Followed], left: list[SpelledCuda]) -> dict[SpelledCuda, Followed]:
        """What else is taken to CUDA in a function that takes several values to a model: it goes there as well."""
        models = {one.call.function: followed[one] for one in self._shared(followed)}
        return {one: models[one.call.function] for one in left if one.call.function in models}

    def _follows(self, site: SpelledCuda, one: Followed, binding: Edit | None, *, is_half: bool) -> Answer:
        device = "device" if binding is not None else one.device
        edit = None if is_half else placed_on(self._index, site, device, moved_later=self._is_moved_later(site))
        if edit is None:
            return self._told(site, None, f"use `{one.device}`")
        edits = (binding, edit) if binding is not None else (edit,)
        return self._told(site, Fix(one.safety, f"Follow `{one.device}`", edits), None)

    def _kept(self, site: SpelledCuda, init: Function) -> Answer:
        """The device of the constructor, kept for the method that needs it."""
        line = keeping(self._index.source, site.call.function, init)
        edit = placed_on(self._index, site, "self.device")
        if line is None or edit is None:
            return self._told(site, None, KEEP)
        title = "Keep the `device` of the constructor, and follow it"
        return self._told(site, Fix(Safety.UNSAFE, title, (line, edit)), KEEP)

    def _shared(self, followed: dict[SpelledCuda, Followed]) -> dict[SpelledCuda, Edit]:
        """One name for the device of the model that several sites of a function follow."""
        found: dict[SpelledCuda, Edit] = {}
        groups: dict[Function, list[SpelledCuda]] = {}
        for site, one in followed.items():
            if one.device.startswith("next("):
                groups.setdefault(site.call.function, []).append(site)
        for function, sites in groups.items():
            devices = {followed[one].device for one in sites}
            binding = of_model(self._index.source, function, min(devices), [one.call for one in sites])
            if len(devices) == 1 and binding is not None:
                found |= dict.fromkeys(sites, binding)
        return found

    def _told(self, site: SpelledCuda, fix: Fix | None, advice: str | None) -> Answer:
        return Answer(site.syntax, spelled_message(self._index, site), fix, advice)

    @staticmethod
    def back(index: Index, asked: Iterable[SpelledCuda], followings: Followings) -> Iterator[Answer]:
        """Sites behind a question whether a tensor is on CUDA, of which their values are computed on the host."""
        for site in sorted(asked, key=lambda one: one.call.index):
            found = followings.taken_back(site)
            edit = placed_on(index, site, found.device) if found is not None else None
            if found is not None and edit is not None:
                fix = Fix(found.safety, f"Go back to where `{found.device.partition('.')[0]}` is", (edit,))
                yield Answer(site.syntax, spelled_message(index, site), fix)

    # Sites that are none

    def _goes_on(self, site: SpelledCuda, sites: list[SpelledCuda]) -> bool:
        """Whether what is moved is moved again before anything else is done with it, by what has the last word."""
        others = {one.call for one in sites}
        following = self._next(site)
        return bool(following) and all(one not in others for one in following)

    def _is_moved_later(self, site: SpelledCuda) -> bool:
        """Whether all that is done with what is cast here is to move it."""
        return site.dtype is not None and bool(self._next(site))

    def _next(self, site: SpelledCuda) -> list[Node]:
        """The moves of a value where they are all that is done with it."""
        births = self._index.analysis.births
        found: list[Node] = []
        if self._index.stores[site.call] or self._index.returned[site.call]:
            return []
        for user in self._index.users[site.call]:
            calls = self._index.users[user] if user.op is Op.ATTR else []
            if user.op is Op.PHI and user.syntax is not None:
                continue  # of a loop, or for the functions inside
            if not calls or not all(births.is_move(one) and one.args[0] is user for one in calls):
                return []
            found += calls
        return found

    def _comes_back(self, site: SpelledCuda, device: str) -> bool:
        """`f(x.cuda()).to(device)`: what works on CUDA alone gets it, and its result goes back."""
        inner, entered = site.syntax, False
        for outer in self._index.ancestors(site.syntax):
            if not isinstance(outer, ast.expr | ast.keyword):
                return False
            if isinstance(outer, ast.Call):
                if entered and inner is outer.func and isinstance(inner, ast.Attribute) and inner.attr == "to":
                    return [ast.unparse(one) for one in outer.args] == [device]
                entered = entered or inner is not outer.func
            inner = outer  # type: ignore[assignment]
        return False

    def _is_communicated(self, site: SpelledCuda) -> bool:
        """Whether other processes get the value, which NCCL refuses to take from the host."""
        return any(
            (name(call.args[0]) or "").startswith("torch.distributed.")
            and any(site.call in _made_of(one) for one in call.args[1:])
            for call in site.call.function.nodes
            if call.op is Op.CALL
        )


def _made_of(node: Node) -> Iterator[Node]:
    """A value, what it is a view of, and the elements of a display."""
    yield node
    inner = node.args if node.op is Op.SEQUENCE else node.args[0].args if method(node) is not None else ()
    for one in inner:
        yield from _made_of(one)


def worth_asking(index: Index, sites: list[SpelledCuda]) -> list[SpelledCuda]:
    """The sites but for those of values that the code wants in both places, or takes back to where they were."""
    return [one for one in sites if not _is_one_of_both(index, one) and not _is_remembered(index, one)]


def _is_one_of_both(index: Index, site: SpelledCuda) -> bool:
    """`(x.cuda(), x.cpu())`"""
    around = index.parents.get(site.syntax)
    if (
        site.moved is None
        or not isinstance(around, ast.Tuple | ast.List)
        or not isinstance(site.syntax.func, ast.Attribute)
    ):
        return False
    return f"{ast.unparse(site.syntax.func.value)}.cpu()" in map(ast.unparse, around.elts)


def _is_remembered(index: Index, site: SpelledCuda) -> bool:
    """`before = x.device` above `x = x.cuda()`, and something goes there below: `before` is where it was."""
    if site.moved is None:
        return False
    births = index.analysis.births
    origins = births.roots(site.moved)
    for move in site.call.function.nodes:
        place = births.place_given(move) if move.op is Op.CALL and move.index > site.call.index else None
        devices = [place.node, *move.args[1:]] if place is not None else []
        for one in devices:
            for device in one.args if one is not None and one.op is Op.PHI else (one,):
                if device is None or device.op is not Op.ATTR or device.extra != "device":
                    continue
                if device.index < site.call.index and _asked_of(device) & set(origins):
                    return True
    return False


def _asked_of(device: Node) -> set[Node]:
    """`x` of `x.device`, and of `next(x.parameters()).device`."""
    base = device.args[0]
    if called(base, "builtins.next") and len(base.args) > 1 and method(base.args[1]) in {"parameters", "buffers"}:
        return {base.args[1].args[0].args[0]}
    return {base}
