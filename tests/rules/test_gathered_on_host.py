"""DVF101: rows that each branch of a loop gathers with copies on the host belong on the host."""

from devfix_codemods.engine import check
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF101"

GATHERED = """
import torch
def evaluate(loader, net):
    first = True
    for data in loader:
        labels = data[1]
        inputs = data[0].cuda()
        outputs = net(inputs)
        if first:
            scores = outputs{begun}
            wanted = labels
            first = False
        else:
            scores = torch.cat((scores, outputs{others}), 0)
            wanted = torch.cat((wanted, labels), 0)
    return torch.sum(scores == wanted).item()
"""


def findings(begun: str, others: str) -> tuple[Finding, ...]:
    program = GATHERED.format(begun=begun, others=others)
    outcome = check(Source("train.py", program.encode()), Options(frozenset({CODE}), suggestions=True))
    assert isinstance(outcome, Checked), outcome
    return outcome.findings


def test_each_branch_copies_to_the_host() -> None:
    assert findings(".cpu()", ".cpu()") == ()


def test_no_branch_copies_to_the_host() -> None:
    (found,) = findings("", "")
    assert "`data[1]` stays on the host" in found.message
