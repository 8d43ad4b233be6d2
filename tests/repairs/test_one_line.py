"""Two causes in one line: what is edited tells them apart, not the line."""

from textwrap import dedent

from devfix_codemods.engine import check, rewrite
from devfix_codemods.outcomes import Changed, Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

ALL = Options(frozenset(one.code for one in all_rules()), unsafe=True)
PROGRAM = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    net = nn.Linear(4, 2).to("cuda")
    for x, gone, y in DataLoader(rows):
        out = net(x.to("cuda").masked_fill(gone{moved} == 0, 0.0))
        print(out)
"""


def codes(moved: str) -> list[str]:
    outcome = check(Source("train.py", dedent(PROGRAM.format(moved=moved)).encode()), ALL)
    assert isinstance(outcome, Checked)
    return sorted(one.code for one in outcome.findings if one.span.line == 7)


def test_cuda_by_name_and_a_mask_on_the_host() -> None:
    assert codes("") == ["DVF101", "DVF501"]
    assert codes('.to("cuda")') == ["DVF501", "DVF501"]
    outcome = rewrite(Source("train.py", dedent(PROGRAM.format(moved="")).encode()), ALL)
    assert isinstance(outcome, Changed)
    assert b"    gone = gone.to(device)\n" in outcome.data
