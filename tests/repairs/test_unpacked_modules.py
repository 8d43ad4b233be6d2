"""Modules that a function gives together, moved where its caller unpacks them."""

import pytest
from devfix_codemods.findings import Safety

MAKING = """
    from nets import Encoder, Head
    def load(path, size{told}):
        net, head = Encoder(size), Head(size)
        net.load_state_dict(torch.load(path, map_location="cpu"))
        head.load_state_dict(torch.load(path, map_location="cpu"))
        {moved}
        return net, head
    def main(path, loader: torch.utils.data.DataLoader):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net, head = load(path, 8{given})
        {behind}
        for x, y in loader:
            F.cross_entropy(head(net({x})), {y}).backward()
"""
ON_DEVICE = {"x": "x.to(device)", "y": "y.to(device)"}
AS_IT_IS = {"told": "", "given": "", "moved": "pass", "behind": "pass"}


@pytest.mark.parametrize(
    "change",
    [
        {"behind": "net.to(device); head.to(device)"},
        {"behind": "net, head = net.to(device), head.to(device)"},
        {"moved": "net.to(device); head.to(device)", "told": ", device", "given": ", device"},
        {"x": "x", "y": "y"},
    ],
)
def test_what_is_moved_or_meets_no_device_stays(repairs, change: dict[str, str]) -> None:
    assert repairs.added(MAKING.format(**{**AS_IT_IS, **ON_DEVICE, **change}), Safety.UNSAFE) == []


def test_both_are_moved_behind_the_call(repairs) -> None:
    written = repairs.written(MAKING.format(**AS_IT_IS, **ON_DEVICE), Safety.UNSAFE)
    assert "    net, head = load(path, 8)\n    net.to(device)\n    head.to(device)\n" in written


def test_one_is_moved_behind_the_call(repairs) -> None:
    program = MAKING.format(**{**AS_IT_IS, "behind": "net.to(device)"}, **ON_DEVICE)
    assert repairs.added(program, Safety.UNSAFE) == ["head = head.to(device)"]


@pytest.mark.parametrize(
    "behind",
    ["if size: net, head = load(path, size)", "net, head = load(path, 9) if size else (net, head)"],
)
def test_what_one_of_two_calls_gives_is_moved_behind_neither(repairs, behind: str) -> None:
    program = MAKING.format(**{**AS_IT_IS, "behind": behind}, **ON_DEVICE).replace("def main(", "def main(size, ")
    assert not any("net.to(device)" in one for one in repairs.added(program, Safety.UNSAFE))


def test_many_calls_are_left(repairs) -> None:
    caller = MAKING.partition("    def main")[2]
    more = "".join(f"    def main{number}{caller}" for number in range(4))
    program = (MAKING + more).format(**AS_IT_IS, **ON_DEVICE)
    assert not any("net.to(device)" in one for one in repairs.added(program, Safety.UNSAFE))
