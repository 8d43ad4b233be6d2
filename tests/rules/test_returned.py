"""DVF104: what leaves a function beside what is made on a device."""

import pytest

CODE = "DVF104"
CONFLICTS_ALONE = True

HEAD = "import numpy as np\nimport torch\ndef match(scores: torch.Tensor):\n    scores = scores * 2\n"
MADE = "    hits = torch.zeros(3, 4)\n    ignored = torch.zeros(3, 4)\n"
MET = "    ignored = torch.logical_or(ignored, scores > 3)\n"

ALONE = {
    "returned alone": MADE + MET + "    hits[0] = 1\n    return ignored\n",
    "returned at another place": MADE + MET + "    if len(scores) > 3:\n        return hits\n    return ignored\n",
    "only counted": MADE + MET + "    return {'n': len(hits), 'i': ignored}\n",
    "of another factory": MADE.replace("hits = torch.zeros(3, 4)", "hits = torch.arange(3)")
    + MET
    + "    return hits, ignored\n",
    "taken there": MADE + MET + "    hits = hits.to(scores.device)\n    return hits, ignored\n",
}
READ = {
    "read by numpy": MADE + MET + "    np.sum(hits)\n    return hits, ignored\n",
    "with a table of the host": MADE
    + MET
    + "    table = torch.ones(3, 4)\n    hits = hits + table\n    return hits, ignored\n",
}


@pytest.mark.parametrize("body", ALONE.values(), ids=ALONE)
def test_what_does_not_leave_beside_it_is_left(rule, body):
    after = rule.fixed(HEAD + body, unsafe=True)
    assert "ignored = torch.zeros(3, 4, device=scores.device)" in after
    assert "hits = torch.zeros(3, 4)\n" in after or "hits = torch.arange(3)\n" in after


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_what_meets_others_of_the_host_is_left_beside_what_meets_the_caller(rule, body):
    after = rule.fixed(HEAD + body, unsafe=True)
    assert "    hits = torch.zeros(3, 4)\n    ignored = torch.zeros(3, 4, device=scores.device)\n" in after


def test_what_is_moved_where_it_is_used(rule):
    body = (
        "    parts = torch.stack(list(read())).cuda()\n    out = torch.where(parts > 3, hits, ignored)\n"
        "    return hits, ignored, out\n"
    )
    after = rule.fixed(HEAD + MADE + body)
    assert after.count('torch.zeros(3, 4, device="cuda")') == 2


def test_both_of_three_that_are_met(rule):
    body = "    more = torch.zeros(3, 4)\n" + MADE + "    where = torch.where(scores > 1, hits, ignored)\n"
    after = rule.fixed(HEAD + body + "    return more, hits, ignored, where\n", unsafe=True)
    assert after.count("device=scores.device") == 2
