"""DVF104: factories whose results go through functions of other libraries."""

import pytest

CODE = "DVF104"

SILENT = {
    "arrays": """
        import numpy as np
        from einops import rearrange
        def grid(size):
            rows = rearrange(np.arange(size), "n -> n 1")
            return rows + rearrange(np.arange(size), "n -> 1 n")
    """,
    "what meets nothing": """
        import torch
        from einops import rearrange
        def grid(size):
            return rearrange(torch.arange(size), "n -> n 1")
    """,
    "made where the other one is": """
        import torch
        from einops import rearrange
        from torch_scatter import scatter
        def pooled(x: torch.Tensor, size):
            rows = rearrange(torch.arange(size, device=x.device), "n -> n")
            return scatter(x, rows, dim=0)
    """,
    "shapes": """
        import torch
        from einops import parse_shape
        def pooled(x: torch.Tensor):
            found = parse_shape(torch.zeros(3, 4), "h w")
            return x * found["h"]
    """,
    "a function of that name of the project": """
        import torch
        from ours import scatter
        def pooled(x: torch.Tensor, size):
            return scatter(size, torch.arange(size))
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("einops.rearrange", 'x + rearrange(torch.arange(size), "n -> 1 n")'),
        ("einops.repeat", 'x + repeat(torch.arange(size), "n -> b n", b=len(x))'),
        ("einops.reduce", 'x + reduce(torch.ones(size, 2), "n c -> n", "sum")'),
        ("einops.einsum", 'einsum(x, torch.ones(size, 2), "b i, i o -> b o")'),
        ("opt_einsum.contract", 'contract("bi,io->bo", x, torch.ones(size, 2))'),
        ("torch_scatter.scatter", "scatter(x, torch.arange(size), dim=0)"),
        ("torch_geometric.utils.softmax", "softmax(x, torch.arange(size))"),
        ("torch_cluster.knn", "knn(x, torch.ones(size, 3), 2)"),
        ("xformers.ops.memory_efficient_attention", "memory_efficient_attention(x, torch.ones(size, 3), x)"),
        ("flash_attn.flash_attn_func", "flash_attn_func(x, x, torch.ones(size, 3))"),
    ],
)
def test_what_meets_in_or_behind_them(rule, name: str, used: str) -> None:
    home, _, function = name.rpartition(".")
    program = f"import torch\nfrom {home} import {function}\ndef f(x: torch.Tensor, size):\n    return {used}\n"
    assert "device=x.device)" in rule.fixed(program)
