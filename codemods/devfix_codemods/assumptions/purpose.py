"""Files that are meant for CUDA alone, and those of whoever runs tests: there, naming CUDA is no bug."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from devfix_codemods.source import Source

_CUDA_PACKAGES = re.compile(
    r"(^|[._])(triton|cupy|numba\.cuda|pycuda|cuda|tensorrt|torch2trt|transformer_engine|flash_attn|xformers|apex|amp_C"
    r"|nccl|cutlass|cugraph|cudf|cuml|rmm|colossalai|pynvml|nvidia|deepspeed|megatron|bitsandbytes|cpp_extension|gsplat"
    r"|spconv|tinycudann|nvdiffrast|vllm|fmoe_cuda)"
    r"($|[._])|_cuda($|\.)|_triton($|\.)|cuda_"
    r"|[a-z0-9](?<!use)(?<!has)(?<!is)(?<!to)CUDA($|\.)"
)
_TESTS = re.compile(r"(^|/)(tests?|testing)/|(^|/)(test_|conftest)[^/]*$|_tests?\.py$")
_MEASURES = re.compile(r"(^|/)(benchmarks?|bench)/|(^|/)bench[^/]*$|_bench\.py$")
_TEST_PACKAGES = frozenset({"pytest", "unittest", "parameterized"})


def is_for_cuda(source: Source) -> bool:
    """Whether a file works on no other device, by its name, or as it imports kernels, extensions and their like."""
    return "cuda" in PurePosixPath(_path(source)).name.lower() or imports_cuda(source.tree)


def imports_cuda(tree: ast.Module) -> bool:
    """Whether a file cannot do without packages that need CUDA."""
    return any(_CUDA_PACKAGES.search(name.removeprefix("torch.cuda")) for name in _imported(tree))


def is_test(source: Source) -> bool:
    """Whether a file is a test, by its name."""
    return _TESTS.search(_path(source)) is not None


def is_for_machine(source: Source) -> bool:
    """Whether a file is a test or a benchmark, also by its imports: who runs it chose the machine."""
    if is_test(source) or _MEASURES.search(_path(source)) is not None:
        return True
    packages = list(_imported(source.tree))
    return any(one.partition(".")[0] in _TEST_PACKAGES or one.startswith("torch.utils.benchmark") for one in packages)


def _path(source: Source) -> str:
    return source.path.replace("\\", "/")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Imports at the top of a file, outside of `try` and `if`."""
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
