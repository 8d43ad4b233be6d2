"""Models that may be run by another runtime than torch (ONNX, TensorRT, OpenVINO): no modules, without parameters."""

import ast
import re

from devfix_codemods import scope
from devfix_codemods.flow.evidence import dotted, last_name
from devfix_codemods.program import Program
from devfix_codemods.rules._called import called_function

_RUNTIME = re.compile(
    r"(?i)onnx|tensorrt|openvino|tflite|coreml|rknn|ncnn|(?<![a-z])(?:trt|ort|ovm?)(?![a-z])|InferenceSession|TRTModule"
)
_EXPORTS = re.compile(r"(?i)export|convert|save|to_onnx|2trt|compile|build")
_SESSIONS = re.compile(r"(?i)(?:^|_)(?:session|sess|interpreter|engine)$")
_OF_SESSIONS = frozenset({
    "get_inputs", "get_outputs", "get_providers", "io_binding", "run_with_iobinding", "create_execution_context",
    "get_input_details", "get_output_details", "allocate_tensors", "create_infer_request", "infer_new_request",
})  # fmt: skip


def may_be_session(program: Program, name: str, node: ast.expr) -> bool:
    """Whether the parameter `name` of the function around `node` may be a session or an engine where `node` runs.

    By what the function, its annotation or the condition around `node` is called, or by what is done with it elsewhere.
    """
    function = scope.function_around(program, node)
    if function is None:
        return False
    said = scope.annotation(function, name)
    if _RUNTIME.search(function.name) is not None or (said is not None and _RUNTIME.search(ast.unparse(said))):
        return True
    return _is_in_branch(program, node) or any(_is_session(program, one, name) for one in ast.walk(function))


def _is_in_branch(program: Program, node: ast.expr) -> bool:
    inner: ast.AST = node
    for outer in program.names.ancestors(node):
        if isinstance(outer, scope.Function):
            return False
        if isinstance(outer, ast.If) and inner in outer.body and _RUNTIME.search(ast.unparse(outer.test)):
            return True
        inner = outer
    return False


def _is_session(program: Program, node: ast.AST, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id=owner), attr=attr):
            return owner == name and attr in _OF_SESSIONS
        case ast.Call():
            return _takes_session(program, node, name)
    return False


def _takes_session(program: Program, call: ast.Call, name: str) -> bool:
    """`run_onnx(x, model)`, or a function that calls what it gets its `session`; one that exports it gets a module."""
    places = [at for at, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name]
    keywords = [one.arg for one in call.keywords if isinstance(one.value, ast.Name) and one.value.id == name]
    called = last_name(call.func) or ""
    if not (places or keywords) or (program.names.qualified(call.func) or "").startswith("torch."):
        return False
    if _RUNTIME.search(dotted(call.func) or called) is not None:
        return _EXPORTS.search(called) is None
    found = called_function(program, call)
    names = scope.parameters(found[1]) if found is not None else []
    taken = [*keywords, *(names[at] for at in places if at < len(names))]
    return any(one is not None and _SESSIONS.search(one) for one in taken)
