from acme_rules.device_by_number import RULE
from devfix_codemods.testing import findings, rewrites, unchanged


def test_a_number_becomes_a_name() -> None:
    before = """
        import torch

        x = torch.zeros(3).to(0)  # the first one
    """
    after = """
        import torch

        x = torch.zeros(3).to("cuda:0")  # the first one
    """
    rewrites(before, after, RULE, unsafe=True)


def test_the_message_says_which() -> None:
    (finding,) = findings("import torch\nmodel.to(1, non_blocking=True)\n", RULE)
    assert finding.message == "the device is only a number, 1"


def test_devices_with_names_are_left_alone() -> None:
    unchanged('import torch\nx.to("cuda:0")\nx.to(device)\nx.to(torch.float16)\nx.to()\n', RULE)
