"""DVF202: a wrapper that is only asked for its module again, for the names that it gives weights, runs nothing."""

CODE = "DVF202"
PROGRAM = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self, path):
            super().__init__()
            trunk = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
            trunk = torch.nn.DataParallel(trunk)
            {then}
"""


def test_it_is_only_unwrapped(rule) -> None:
    assert rule.findings(PROGRAM.format(then="self.first = trunk.module")) == ()


def test_it_is_called(rule) -> None:
    after = rule.fixed(PROGRAM.format(then="self.first, self.shape = trunk.module, trunk(torch.zeros(3))"), unsafe=True)
    assert 'torch.nn.DataParallel(trunk).to("cuda" if torch.cuda.is_available() else "cpu")' in after
