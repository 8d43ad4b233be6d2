"""DVF104: what leaves a function together is made on the device together."""

import pytest

CODE = "DVF104"

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
    "that is moved where it is used": (
        MADE + "    parts = torch.stack(list(read())).cuda()\n    out = torch.where(parts > 3, hits, ignored)\n"
        "    return hits, ignored, out\n"
    ),
    "read by numpy": MADE + MET + "    np.sum(hits)\n    return hits, ignored\n",
    "with a table of the host": MADE
    + MET
    + "    table = torch.ones(3, 4)\n    hits = hits + table\n    return hits, ignored\n",
}


@pytest.mark.parametrize("body", ALONE.values(), ids=ALONE)
def test_what_does_not_leave_beside_it_is_left(rule, body):
    after = rule.fixed(HEAD + body)
    assert "ignored = torch.zeros(3, 4, device=scores.device)" in after
    assert "hits = torch.zeros(3, 4)\n" in after or "hits = torch.arange(3)\n" in after


@pytest.mark.parametrize("body", READ.values(), ids=READ)
def test_where_one_has_to_stay_none_is_moved(rule, body):
    findings = rule.findings(HEAD + body)
    assert findings
    assert all(one.fix is None for one in findings)


@pytest.mark.parametrize(
    "returned", ["return hits, ignored", "return [hits, ignored]", "return {'h': hits, 's': scores, 'i': ignored}"]
)
@pytest.mark.parametrize("between", ["", "    hits[0] = 1\n", "    for i in range(3):\n        hits[i, 0] = i\n"])
def test_all_that_leave_together_are_made_there(rule, returned, between):
    after = rule.fixed(HEAD + MADE + between + MET + f"    {returned}\n")
    assert "    hits = torch.zeros(3, 4, device=scores.device)\n    ignored = torch.zeros(3, 4, device=scores" in after


def test_three_of_which_two_are_met(rule):
    body = "    more = torch.zeros(3, 4)\n" + MADE + "    where = torch.where(scores > 1, hits, ignored)\n"
    after = rule.fixed(HEAD + body + "    return more, hits, ignored, where\n")
    assert after.count("device=scores.device") == 3
