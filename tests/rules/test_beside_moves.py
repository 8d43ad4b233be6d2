"""Host tensors that are made before what they go with: moved beside the others that follow it."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF104"

PROGRAM = """
    import torch

    def fit(model, rows, labels, scores):
        model.train()
        goal = torch.tensor(labels)
        scale = torch.tensor(scores).unsqueeze(1)
        out = model(rows)
        goal = goal.to(out.device)
        {uses}
"""
BRANCHES = "loss = (out - goal) * scale if len(rows) else (out + goal) * scale"


@pytest.mark.parametrize(
    "uses",
    [
        "scale = scale.to(out.device)\n        loss = (out - goal) * scale\n        other = (out + goal) * scale",
        "if len(rows):\n            scale = scale.cuda()\n        loss = len(rows)",
    ],
)
def test_what_is_moved_already(rule, uses: str) -> None:
    assert rule.findings(PROGRAM.format(uses=uses)) == ()


@pytest.mark.parametrize(
    "uses",
    [
        f"{BRANCHES}\n        print(scale.numpy())",
        f"{BRANCHES}\n        scale = 3",
        f"{BRANCHES}\n        kept.append(scale)",
    ],
)
def test_other_uses_want_it_where_it_is(rule, uses: str) -> None:
    assert rule.safeties(PROGRAM.format(uses=uses)) in ([], [None])


def test_a_sibling_that_goes_elsewhere(rule) -> None:
    program = PROGRAM.format(uses=BRANCHES).replace("goal.to(out.device)", "goal.to(rows.device)")
    assert rule.safeties(program) == [Safety.SAFE]
