"""DVF202: modules whose constructor is looked up by a name."""

import pytest

CODE = "DVF202"
PROGRAM = """
    import torch
    import torchvision.models as models
    import zoo
    from torch import nn
    from torch.utils.data import DataLoader

    class Net(nn.Module):
        def __init__(self, size=3):
            super().__init__()
            self.fc = nn.Linear(size, 3)

        def forward(self, x):
            return self.fc(x)

    class Rows:
        pass

    KNOWN = {{"net": Net, "linear": nn.Linear}}
    MIXED = {{"net": Net, "rows": Rows}}

    def main(options, rows):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = {made}
        for x, y in DataLoader(rows):
            x, y = x.to(device), y.to(device)
            nn.functional.cross_entropy(net(x), y).backward()
"""
MADE = [
    "models.__dict__[options.arch](num_classes=3)",
    "getattr(models, options.arch)(num_classes=3)",
    "KNOWN[options.arch](3)",
    'KNOWN["net"](3)',
    'MIXED["net"](3)',
]


@pytest.mark.parametrize("made", MADE)
def test_moved_where_it_is_made(rule, made: str) -> None:
    after = rule.fixed(PROGRAM.format(made=made), unsafe=True)
    assert f"net = {made}.to(device)" in after


@pytest.mark.parametrize(
    "made",
    [
        *(f"{one}.to(device)" for one in MADE),
        "MIXED[options.arch](3)",
        "getattr(zoo, options.arch)(3)",
        "zoo.__dict__[options.arch](3)",
        "options.table[options.arch](3)",
        "getattr(models, options.arch)(3).to(device) if options.arch else zoo.any(3)",
        "models.__dict__.get(options.arch)",
    ],
)
def test_left_as_it_is(rule, made: str) -> None:
    assert rule.findings(PROGRAM.format(made=made)) == ()


UNREAD = """
    import torch
    import zoo
    from torch import nn
    from torch.utils.data import DataLoader

    KNOWN = {{"big": zoo.Big, "small": zoo.Small}}
    MIXED = {{"big": zoo.Big, "small": zoo.build_small}}

    def main(options, rows):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = {made}
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in DataLoader(rows):
            x, y = x.to(device), y.to(device)
            nn.functional.cross_entropy(net(x), y).backward()
            optimizer.step()
"""


def test_classes_of_others_in_a_table_of_this_file(rule) -> None:
    after = rule.unchanged_unless_unsafe(UNREAD.format(made="KNOWN[options.arch](3)"))
    assert "net = KNOWN[options.arch](3).to(device)" in after


@pytest.mark.parametrize(
    "made",
    [
        "KNOWN[options.arch](3).to(device)",
        "KNOWN[options.arch](3, device=device)",
        "MIXED[options.arch](3)",
        "zoo.KNOWN[options.arch](3)",
    ],
)
def test_tables_of_others_and_functions(rule, made: str) -> None:
    assert rule.findings(UNREAD.format(made=made)) == ()
