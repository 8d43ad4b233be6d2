"""Elements of a batch that a helper gets one by one: it moves some, and forgets one."""

import pytest

CODE = "DVF101"

LOOP = """
    import torch.nn.functional as F

    class Fitter:
        def fit(self, loader):
            for x, y, gaps in loader:
                self.advance(x, y, gaps)

        def advance(self, x, y, gaps{default}):
            {first}
            x = x.to({device})
            y = y.to({device})
            return (F.l1_loss(self.net(x), y, reduction="none") * mask).mean()
"""


def _loop(first: str = "mask = 1 - gaps.float()", default: str = "", device: str = "self.device") -> str:
    return LOOP.format(first=first, default=default, device=device)


@pytest.mark.parametrize(
    "program",
    [
        _loop("gaps = gaps.to(self.device); mask = 1 - gaps.float()"),
        _loop("mask = (1 - gaps.float()).to(self.device)"),
    ],
)
def test_what_the_helper_moves_itself(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize("default", ["=None", "=0"])
def test_a_default_may_be_no_tensor(rule, default: str) -> None:
    assert "gaps = gaps.to(self.device)\n        mask" not in rule.fixed(_loop(default=default), unsafe=True)


def test_it_is_moved_before_it_is_read(rule) -> None:
    assert "        gaps = gaps.to(self.device)\n        mask = 1 - gaps.float()\n" in rule.fixed(_loop())


def test_a_helper_that_gets_a_device(rule) -> None:
    program = """
        import torch
        from torch import nn

        def step(net, x, y, weight, dev):
            scale = weight.view(-1, 1)
            x, y = x.cuda(dev), y.cuda(dev)
            loss = (nn.functional.mse_loss(net(x), y, reduction="none") * scale).mean()
            loss.backward()

        def fit(net, loader, dev):
            for x, y, weight in loader:
                step(net, x, y, weight, dev)
    """
    assert "    weight = weight.cuda(dev)\n    scale = weight.view(-1, 1)\n" in rule.fixed(program)


def test_an_element_given_by_keyword(rule) -> None:
    program = _loop().replace("self.advance(x, y, gaps)", "self.advance(x, gaps=gaps, y=y)")
    assert "        gaps = gaps.to(self.device)\n        mask = 1 - gaps.float()\n" in rule.fixed(program)
