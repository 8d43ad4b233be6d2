"""Models by their names: what a class makes that comes from where other modules come from."""

from typing import TYPE_CHECKING

from devfix_codemods.catalogue import Kind, canonical, effect
from devfix_codemods.ir import Function, Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import is_asked_to_move
from devfix_codemods.placement.naming import bound_name, sounds_like_class, sounds_like_model

if TYPE_CHECKING:
    from devfix_codemods.placement.kinds import Kinds


def made_beside_modules(kinds: "Kinds") -> None:
    """`encoder = vae.Encoder(3)`, beside `vae.Decoder(3)`, which is a module or is moved: what is called a model is
    one."""
    made = [one for one in kinds.module.of(Op.CALL) if _package(one) is not None]
    called = [one for one in made if kinds.of(one) is None and _is_called_model(one)]
    moved = [one for one in called if is_asked_to_move(one, lambda node: kinds.module.users.get(node, ()))]
    packages = {_package(one) for one in made if kinds.of(one) is Kind.MODULE or one in moved}
    for one in called:
        if one not in moved and _package(one) in packages:
            kinds.say(one, Kind.MODULE, 1)


def made_and_called(kinds: "Kinds") -> None:
    """`model = build(path)`, and `model(x)`: what an unread function makes, and is called a model, is one."""
    called = {kinds.find(one.args[0]) for one in kinds.module.of(Op.CALL) if len(one.args) > 1}
    for made in kinds.module.of(Op.CALL):
        unread = made not in kinds.calls and kinds.of(made) is None and _is_unread_function(made.args[0])
        if unread and kinds.find(made) in called and sounds_like_model(bound_name(made)):
            kinds.say(made, Kind.MODULE, 1)


def _is_unread_function(callee: Node) -> bool:
    """A function of a package of which the catalogue says nothing, or by which a class of one makes its objects."""
    qualified = name(callee)
    by_class = callee.op is Op.ATTR and callee.args[0].op is Op.REF and sounds_like_class(callee.args[0])
    return qualified is not None and (callee.op is Op.REF or by_class) and effect(canonical(qualified)) is None


def _is_called_model(made: Node) -> bool:
    words = (bound_name(made), (name(made.args[0]) or "").rpartition(".")[2])
    return any(map(sounds_like_model, words))


def _package(made: Node) -> tuple[Function, str] | None:
    """The package that an unread class comes from, in each function by itself."""
    qualified = name(made.args[0])
    if qualified is None or effect(canonical(qualified)) is not None or not sounds_like_class(made.args[0]):
        return None
    return made.function, qualified.partition(".")[0]
