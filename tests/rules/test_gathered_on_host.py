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


def findings(program: str) -> tuple[Finding, ...]:
    outcome = check(Source("train.py", program.encode()), Options(frozenset({CODE}), suggestions=True))
    assert isinstance(outcome, Checked), outcome
    return outcome.findings


def test_each_branch_copies_to_the_host() -> None:
    assert findings(GATHERED.format(begun=".cpu()", others=".cpu()")) == ()


def test_no_branch_copies_to_the_host() -> None:
    (found,) = findings(GATHERED.format(begun="", others=""))
    assert "`data[1]` stays on the host" in found.message


APART = """
import torch
def fit(net, loader, device):
    for x, y in loader:
        net(x.to(device), y.to(device)).backward()
def collect(net, loader, device):
    outs, wanted = [], []
    for x, y in loader:
        x = x.to(device)
        out = net(x)
        outs.append({kept})
        wanted.append(y)
    return torch.cat(outs), torch.cat(wanted)
"""


def test_what_is_only_kept_beside_copies_stays_on_the_host() -> None:
    assert findings(APART.format(kept="out.cpu()")) == ()


def test_what_is_kept_beside_values_of_a_device_goes_there() -> None:
    (one,) = findings(APART.format(kept="out"))
    assert one.fix is not None
    assert "`y`" in one.fix.title
