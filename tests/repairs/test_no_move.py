"""What stands beside values that are moved, and has no `.to`: containers, and distributions."""

import pytest

TRAINER = """
    from collections import OrderedDict, defaultdict
    class Trainer:
        def __init__(self, model, device, loss_of):
            self.device = device
            self.model = model.to(self.device)
            self.loss_of = loss_of
        def run(self, loader, read):
            for _ in range(3):
                kept = {kept}
                for data, _ in loader:
                    self.step(data, kept)
        def step(self, data, kept):
            data = data.to(self.device)
            loss = self.loss_of(data, self.model(data), self.model.training, kept)
            loss.backward()
"""


@pytest.mark.parametrize("kept", ["defaultdict(list)", "OrderedDict()", "{}", "[]", "dict(read())"])
def test_a_container_that_the_caller_makes(repairs, kept: str) -> None:
    assert repairs.added(TRAINER.format(kept=kept)) == []


def test_what_may_be_a_tensor_is_moved(repairs) -> None:
    assert repairs.added(TRAINER.format(kept="read()")) == ["kept = kept.to(self.device)"]


BESIDE = """
    from torch.distributions import kl_divergence
    def loss(output, target, prior):
        wanted = target.float().cuda()
        return torch.pow(wanted - {used}, 2).sum()
"""


@pytest.mark.parametrize(
    "used",
    [
        "output.loc",
        "output.log_prob(wanted)",
        "output.rsample()",
        "kl_divergence(output, prior)",
        'output[0]["mean"]',
        "torch.stack(output[0])",
    ],
)
def test_what_no_tensor_can_be_asked_for(repairs, used: str) -> None:
    assert repairs.added(BESIDE.format(used=used)) == []


@pytest.mark.parametrize("used", ["output", "output.mean(0)", "output[0]", "torch.stack([output, output])"])
def test_what_tensors_are_asked_for(repairs, used: str) -> None:
    assert repairs.added(BESIDE.format(used=used)) == ["output = output.cuda()"]
