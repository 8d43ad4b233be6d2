"""DVF101: tensors of which a copy is moved for one use, and which meet what came of it."""

import pytest

CODE = "DVF101"

SCRIPT = """
    import torch
    from torch import nn
    from project import outline, read_images

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def complete(net: nn.Module, path, count):
        net.to(device)
        masks = torch.stack([torch.from_numpy(one) for one in read_images(path)])
        masks = outline(masks).unsqueeze(0){first}
        filled = net({given})
        {between}
        return {result}
"""


def _script(
    result: str = "filled * masks",
    given: str = "masks.to(device)",
    between: str = "filled = filled.to(device)",
    first: str = "",
) -> str:
    return SCRIPT.format(result=result, given=given, between=between, first=first)


@pytest.mark.parametrize(
    "program",
    [
        _script("filled * masks.to(device)"),
        _script("filled.cpu() * masks"),
        _script(between="filled = filled.cpu()"),
        _script(between="filled, masks = filled.to(device), masks.to(filled.device)"),
        _script(between="masks = outline(filled)"),
        _script(first=".to(device)"),
        _script("filled * masks.float().mean().item()"),
        _script("filled * count"),
        _script("filled[masks.long()]"),
        _script("filled.copy_(masks)"),
        _script("filled.to(masks.device) * masks"),
        _script(given='masks.to("cpu")', between="filled = filled.cpu()"),
        _script(given="masks.to(torch.float16)"),
        _script(given="masks"),
    ],
)
def test_what_comes_together(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_another_thing_under_the_name(rule) -> None:
    program = _script(between="for masks in read_images(filled):\n            filled = filled.to(device)")
    assert rule.findings(program) == ()


def test_a_copy_that_only_one_branch_makes(rule) -> None:
    program = _script(given="count", between="if count:\n            filled = net(masks.to(device))")
    assert rule.findings(program) == ()


def test_a_copy_that_another_function_makes(rule) -> None:
    program = _script(given="count") + "\n    def place(masks):\n        return masks.to(device)\n"
    assert rule.findings(program) == ()


def test_code_that_a_framework_places(rule) -> None:
    program = _script().replace("import torch\n", "import torch\n    from accelerate import Accelerator\n", 1)
    assert rule.findings(program.replace("net.to(device)", "net = Accelerator().prepare(net)")) == ()
