"""Helpers whose callers share what they give: a device that suits one caller may not suit another."""

import ast
from itertools import takewhile

from devfix_codemods import scope
from devfix_codemods.flow.facts import Meeting
from devfix_codemods.program import Program


def is_wanted_by_all(program: Program, meeting: Meeting, call: ast.Call) -> bool:
    """Whether a factory stands in the function of the meeting, or all who call its function need it in that place."""
    helper = scope.function_around(program, call)
    if helper is None or helper is scope.function_around(program, meeting.node):
        return True
    place = program.facts.shared(meeting.anchor.place)
    needs = {
        scope.function_around(program, _turn(program, one, call))
        for one in (*program.facts.meetings, *program.facts.followings)
        if call in one.misplaced.value.sources and program.facts.shared(one.anchor.place) == place
    }
    return _lead_to(program, helper, needs)


def _turn(program: Program, meeting: Meeting, call: ast.Call) -> ast.expr:
    """Where the tensor of a factory, once it has come up to a caller, goes down to the meeting, or meets at once."""
    sites = meeting.context.sites
    births = (zip(one.sites, sites) for one in program.facts.births.get(call, ()))
    shared = max((len(list(takewhile(lambda pair: pair[0] is pair[1], one))) for one in births), default=0)
    return sites[shared] if shared < len(sites) else meeting.node


def _lead_to(program: Program, helper: scope.Function, needs: set[scope.Function | None]) -> bool:
    """Whether all that `helper` gives comes to functions of `needs`, maybe through plain functions that call it."""
    pending, seen = [helper], {helper}
    while pending:
        function = pending.pop()
        calls = [one for one in program.callers(function.name) if _may_be_of(program, function, *one)]
        if not calls or any(where is not program for where, _ in calls):
            return False
        for caller in {scope.function_around(program, call) for _, call in calls} - needs - seen:
            if caller is None or _is_method(program, caller):
                return False  # methods of one name are not told apart
            seen.add(caller)
            pending.append(caller)
    return True


def _may_be_of(program: Program, function: scope.Function, where: Program, call: ast.Call) -> bool:
    """Whether what is called by the name of a function may be that one: a method of an object, or a plain name."""
    return where is not program or isinstance(call.func, ast.Attribute) is _is_method(program, function)


def _is_method(program: Program, function: scope.Function) -> bool:
    return isinstance(program.names.parent(function), ast.ClassDef)
