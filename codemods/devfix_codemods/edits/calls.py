"""Another callee, another argument list: what `RewriteCall` does to one call."""

from collections.abc import Sequence

import libcst as cst
from devfix_codemods.edits import brackets, fragments
from devfix_codemods.edits.listing import Listing
from devfix_codemods.edits.operations import Argument

_NOTHING = cst.SimpleWhitespace("")


def with_function(call: cst.Call, function: str) -> cst.Call:
    """`call` of another function."""
    return call.with_changes(func=brackets.fit(fragments.expression(function), brackets.ATOM))


def with_method(call: cst.Call, method: str) -> cst.Call:
    """`call` of another method of the same receiver."""
    assert isinstance(call.func, cst.Attribute)  # the plan refuses other calls
    return call.with_changes(func=call.func.with_changes(attr=cst.Name(method)))


def with_arguments(call: cst.Call, arguments: Sequence[Argument]) -> cst.Call:
    """`call` with another argument list, laid out as the old one was."""
    args = list(call.args)
    order: list[int | cst.Arg] = []
    for argument in arguments:
        if isinstance(argument.value, str):
            order.append(_new(argument.value, argument.keyword))
        else:
            args[argument.value] = _renewed(args[argument.value], argument.keyword, len(arguments) == 1)
            order.append(argument.value)
    closing = args[-1].whitespace_after_arg if args else _NOTHING
    listing = Listing(args, call.whitespace_before_args, closing).arranged(order)
    return call.with_changes(args=_closed(listing), whitespace_before_args=listing.opening)


def _closed(listing: Listing[cst.Arg]) -> list[cst.Arg]:
    """The arguments, of which the last holds the white space before the closing bracket."""
    args = [arg.with_changes(whitespace_after_arg=_NOTHING) for arg in listing.elements]
    if args:
        args[-1] = args[-1].with_changes(whitespace_after_arg=listing.closing)
    return args


def _new(code: str, keyword: str | None) -> cst.Arg:
    return _with_keyword(cst.Arg(brackets.fit(fragments.expression(code), brackets.CONDITIONAL)), keyword)


def _renewed(arg: cst.Arg, keyword: str | None, alone: bool) -> cst.Arg:
    # a generator goes without brackets only where it is the one argument
    if isinstance(arg.value, cst.GeneratorExp) and not alone:
        arg = arg.with_changes(value=brackets.fit(arg.value, brackets.CONDITIONAL))
    return _with_keyword(arg, keyword)


def _with_keyword(arg: cst.Arg, keyword: str | None) -> cst.Arg:
    if (arg.keyword.value if arg.keyword else None) == keyword:
        return arg
    if keyword is None:
        return arg.with_changes(keyword=None, equal=cst.MaybeSentinel.DEFAULT)
    name = cst.Name(keyword)
    if arg.keyword is not None:
        return arg.with_changes(keyword=name)
    equal = cst.AssignEqual(whitespace_before=_NOTHING, whitespace_after=_NOTHING)
    return arg.with_changes(keyword=name, equal=equal, value=brackets.fit(arg.value, brackets.CONDITIONAL))
