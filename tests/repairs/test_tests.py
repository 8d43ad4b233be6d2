"""Moves that the program makes under a test, repeated elsewhere under the same."""

import pytest
from devfix_codemods.findings import Safety

REPAIRED = {
    "within the test of a script": (
        """
        from nets import Net
        if __name__ == "__main__":
            opt = parse()
            net = Net(3)
            net.load_state_dict(torch.load(opt.path))
            noise = torch.FloatTensor(opt.n, 3).normal_(0, 1)
            if opt.cuda:
                net.cuda()
            print(net(noise))
        """,
        "    if opt.cuda:\n        noise = noise.cuda()\n",
    ),
    "of what callers hand on": (
        """
        from torch.utils.data import DataLoader
        def one(data, net, cuda):
            for i, batch in enumerate(DataLoader(data)):
                print(i, net(batch)[0])
        def all(rows, net, cuda):
            return one(rows, net, cuda)
        def main(rows, cuda):
            net = nn.Linear(3, 3)
            if cuda:
                net.cuda()
            all(rows, net, cuda)
        """,
        "        if cuda:\n            batch = batch.cuda()\n",
    ),
}


@pytest.mark.parametrize(("program", "lines"), REPAIRED.values(), ids=REPAIRED.keys())
def test_the_test_is_repeated(repairs, program: str, lines: str) -> None:
    assert lines in repairs.written(program, Safety.UNSAFE)


OTHERS = {
    "a parameter that callers give another thing": """
        from torch.utils.data import DataLoader
        def one(data, net, cuda):
            for i, batch in enumerate(DataLoader(data)):
                print(i, net(batch)[0])
        def main(rows, cuda, fast):
            net = nn.Linear(3, 3)
            if cuda:
                net.cuda()
            one(rows, net, fast)
    """,
}


@pytest.mark.parametrize("program", OTHERS.values(), ids=OTHERS.keys())
def test_a_test_that_means_another_thing_is_not(repairs, program: str) -> None:
    assert "batch.cuda()" not in repairs.written(program, Safety.UNSAFE)
