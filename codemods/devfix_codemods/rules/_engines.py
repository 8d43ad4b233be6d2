"""Models that the engines of ignite get beside a device: these bring the batches there, and never the model."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from devfix_codemods import scope
from devfix_codemods.edits.operations import Edit, InsertStatement, ReplaceExpression
from devfix_codemods.flow.evidence import dotted
from devfix_codemods.flow.library import is_model_factory
from devfix_codemods.program import Program

_ENGINES = re.compile(r"ignite\.(?:engine|trainer|evaluator)\.create_supervised_(?:trainer|evaluator)")
_MADE = re.compile(rb"create_supervised_(?:trainer|evaluator)\((?:[^\n]*\n){0,8}?[^\n]*\b(?:device|cuda)=")


@dataclass(frozen=True, slots=True)
class EngineModel:
    """`build` makes a model that nothing moves before `call` makes an engine of it, with `device`; `edit` moves it."""

    build: ast.Call
    call: ast.Call
    device: str
    edit: Edit


def makes_engines(data: bytes) -> bool:
    """Whether an engine is made for a device."""
    return _MADE.search(data) is not None


def engine_models(program: Program) -> Iterator[EngineModel]:
    """Models that a function builds itself, and gives to engines as they are. Each once."""
    seen: set[ast.Call] = set()
    for call in program.names.calls:
        if not _ENGINES.fullmatch(program.names.qualified(call.func) or "") or not call.args:
            continue
        model, around = call.args[0], scope.function_around(program, call) or program.tree
        build = _build(program, around, model.id) if isinstance(model, ast.Name) else None
        if build is None or build in seen or not isinstance(model, ast.Name) or _is_moved(around, model.id):
            continue
        seen.add(build)
        statement = program.names.statement(build)
        for one in call.keywords:
            device = dotted(one.value)
            if device is None or device.partition(".")[0] not in scope.bound_at(program, statement):
                continue
            if one.arg == "device":
                edit = ReplaceExpression(program.source.span(build), f"__node__.to({device})")
                yield EngineModel(build, call, device, edit)
            elif one.arg == "cuda":
                code = f"if {device}:\n    {model.id}.cuda()"
                yield EngineModel(build, call, device, InsertStatement(program.source.span(statement), "after", code))


def _build(program: Program, around: ast.AST, name: str) -> ast.Call | None:
    """The call that gives the model its name, where nothing else does: of a module here, or of torchvision."""
    found = [one for one in ast.walk(around) if isinstance(one, ast.Assign) and name in scope.stored(one)]
    if len(found) != 1 or not isinstance(found[0].value, ast.Call) or not isinstance(found[0].targets[0], ast.Name):
        return None
    build = found[0].value
    own = [one for one in program.names.classes if isinstance(build.func, ast.Name) and one.name == build.func.id]
    is_own = len(own) == 1 and program.classes.is_module(own[0])
    return build if is_own or is_model_factory(program.names.qualified(build.func) or "") else None


def _is_moved(around: ast.AST, name: str) -> bool:
    """Whether anything in the function moves the model, or hands it to what may."""
    for one in ast.walk(around):
        if not isinstance(one, ast.Call):
            continue
        called = dotted(one.func) or ""
        if called in {f"{name}.to", f"{name}.cuda"}:
            return True
        given = any(isinstance(inner, ast.Name) and inner.id == name for inner in one.args)
        if given and not _ENGINE_NAME.search(called):
            return True
    return False


_ENGINE_NAME = re.compile(r"create_supervised_(?:trainer|evaluator)$|^(?:print|len|count_parameters)$")
