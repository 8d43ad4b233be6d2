"""DVF104: tensors on the host that are filled with what was moved."""

import re

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF104"
CONFLICTS_ALONE = True

FUNCTION = """
import torch
def gathered(x: torch.Tensor, model, count{device}):
    out = torch.zeros(count, 3)
    for i in range(count):
        {lines}
    return {result}
"""


def program(*lines: str, result: str = "out") -> str:
    device = ", device" if re.search(r"(?<![.\w])device(?!=)", " ".join(lines)) else ""
    return FUNCTION.format(lines="\n        ".join(lines), result=result, device=device)


SILENT = {
    "its parts come back to the host": program("out[i] = model(x[i].to(device)).cpu()"),
    "some of its parts come back": program("out[i] = model(i).to(x.device)", "out[i, 0] = model(i).to('cpu')"),
    "the parts go where it is": program("out[i] = model(i).to(out.device)"),
    "the parts get another dtype": program("out[i] = model(i).to(x.dtype)"),
    "it is moved as a whole": program("out[i] = model(i).to(x.device)", result="out.to(x.device)"),
    "numpy reads it": program("out[i] = model(i).to(x.device)", result="out.numpy()"),
    "the device is known later": program("target = model(i)", "out[i] = x[i].to(target.device)"),
    "the tensor is another one later": program("x = model(x)", "out[i] = model(i).to(x.device)"),
    "it goes with another of the host": program(
        "out[i] = model(i).to(x.device)", result="torch.cat([out, torch.zeros(1, 3)])"
    ),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_is_left_alone(rule, text: str) -> None:
    assert rule.findings(text) == ()


FIXED = {
    "a move": "out[i] = torch.tensor(model(i)).to(device)",
    "a move by keyword": "out[i, :2] = model(i).float().to(device=device, dtype=torch.float)",
    "a factory": "out[i] = torch.tensor(model(i), device=device)",
    "not to be waited for": "out[:, i] = model(i).to(device, non_blocking=True)",
}


@pytest.mark.parametrize("line", FIXED.values(), ids=FIXED)
def test_what_is_filled_is_made_where_its_parts_are_moved(rule, line: str) -> None:
    text = program(line)
    assert rule.safeties(text) == [Safety.UNSAFE]
    assert "out = torch.zeros(count, 3, device=device)" in rule.fixed(text, unsafe=True)


SCORED = """
import torch
from torch import nn
class Generator(nn.Module):
    def score(self, images, steps):
        features = self.encode(images).cuda()
        rewards = torch.zeros(features.shape[0], steps)
        for i in range(steps):
            rewards[:, i] = self.judge(features, i)
        {use}
"""


def test_what_is_only_filled_and_given_back_may_stay_on_the_host(rule) -> None:
    for use in ("return rewards", "return features, rewards"):
        assert rule.safeties(SCORED.format(use=use)) in ([], [None])


def test_what_is_computed_with_goes_where_its_size_comes_from(rule) -> None:
    for use in ("return rewards * features", "return torch.cat([features, rewards], 1)"):
        assert rule.safeties(SCORED.format(use=use))[0] in {Safety.SAFE, Safety.UNSAFE}


REORDERED = """
import torch
def reordered(preds: torch.Tensor, k, v):
    out = torch.zeros(preds.shape, device=preds.device)
    out[{index}] = torch.Tensor({values})
    return out
"""


def test_one_value_fills_what_a_mask_shows_anywhere(rule) -> None:
    assert rule.findings(REORDERED.format(index="preds == k", values="[v]")) == ()


@pytest.mark.parametrize(("index", "values"), [("preds == k", "[v, k]"), ("preds.argsort()", "[v]")])
def test_several_values_or_indices_need_one_place(rule, index: str, values: str) -> None:
    assert rule.findings(REORDERED.format(index=index, values=values)) != ()
