"""DVF101: values that come, or are made, together, of which all but one are moved further down."""

import pytest

CODE = "DVF101"

GIVEN = """
    import torch.nn.functional as F
    from rows import get_batch
    def evaluate(model, rows, labels, device):
        model.eval()
        for i in range(rows.size(0)):
            x, y = {given}
            {lines}
            total = F.cross_entropy(model(x), y).item()
"""


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        ("get_batch(rows, labels, i)", "x, y = x.to(device), y.to(device)"),
        ("torch.max(rows, dim=i)", "y = y.to(device)"),
        ("model(rows, labels)", "y = y.to(device)"),
    ],
)
def test_what_comes_on_the_device(rule, given: str, lines: str) -> None:
    assert rule.findings("    import torch\n" + GIVEN.format(given=given, lines=lines)) == ()


@pytest.mark.parametrize("given", ["get_batch(rows, labels, i)", "get_batch(rows, labels)[i]"])
def test_what_an_unread_function_gives_with_what_is_moved(rule, given: str) -> None:
    program = GIVEN.format(given="get_batch(rows, labels, i)", lines="y = y.to(device)")
    fixed = rule.unchanged_unless_unsafe(program)
    assert "x = x.to(device)" in fixed


JOINED = """
    import torch
    from torch.autograd import Variable
    class Agent:
        def fit(self, batch):
            states = Variable(torch.cat(batch.state))
            actions = Variable(torch.cat(batch.action))
            {made}
            if self.use_cuda:
                states = states.cuda()
                actions = actions.cuda()
            {used}
"""
USED = "return self.critic(states, actions), rewards"


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("rewards = list(batch.reward)", USED),
        ("rewards = sum(batch.reward)", USED),
        ("rewards = Variable(torch.cat(batch.reward))", "return self.critic(states, actions), rewards.numpy()"),
        ("rewards = Variable(torch.cat(batch.reward)).cuda()", USED),
    ],
)
def test_what_is_made_otherwise_or_read_on_the_host(rule, made: str, used: str) -> None:
    assert rule.findings(JOINED.format(made=made, used=used)) == ()


@pytest.mark.parametrize("more", ["", ", requires_grad=False"])
def test_what_is_joined_as_others_are_that_are_moved(rule, more: str) -> None:
    made = f"rewards = Variable(torch.cat(batch.reward){more})"
    assert "rewards = rewards.cuda()" in rule.unchanged_unless_unsafe(JOINED.format(made=made, used=USED))


TEXTS = """
    import torch.nn.functional as F
    def evaluate(model, rows, cuda):
        model.eval()
        for batch in rows:
            feature, target = batch.text, batch.label
            {lines}
            if cuda:
                feature, target = feature, target.cuda()
            print(F.cross_entropy(model(feature), target).item())
"""


@pytest.mark.parametrize("lines", ["print(feature)", "feature.sort()"])
def test_what_is_called_a_text(rule, lines: str) -> None:
    assert rule.findings(TEXTS.format(lines=lines)) == ()


@pytest.mark.parametrize("lines", ["feature.t_()", "feature.clamp_(0, 9)"])
def test_what_is_called_a_text_and_changed_as_a_tensor(rule, lines: str) -> None:
    fixed = rule.unchanged_unless_unsafe(TEXTS.format(lines=lines))
    assert "feature, target = feature.cuda(), target.cuda()" in fixed
