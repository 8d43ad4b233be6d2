"""Parts of what a function gives: where the function has put them, if the file shows that."""

import pytest

PROGRAM = """
    def train(net, loader, device):
        net.to(device)
        seen = first(net, device)
        for _ in range(3):
            found, actual = {called}(net, loader, device, both=True)
            changed = float((found != seen).float().sum().item())
            seen = found
    def first(net, device):
        rows = net(torch.zeros(3, 4).to(device)).detach().cpu().numpy()
        return torch.tensor(np.copy(rows), dtype=torch.long)
    def predict(net, loader, device, both=False):
        kept, actual = [], []
        for x, y in loader:
            kept.append(net(x.to(device)).detach(){copied})
            actual.append(y{moved})
        if both:
            return torch.cat(kept).max(1)[1], torch.cat(actual)
        return torch.cat(kept).max(1)[1]
"""


def _moved(repairs, called: str, copied: str, moved: str = "") -> bool:
    lines = repairs.added(PROGRAM.format(called=called, copied=copied, moved=moved))
    return any("np.copy" in one for one in lines)


def test_what_it_copies_to_the_host_is_there(repairs) -> None:
    assert not _moved(repairs, "predict", ".cpu()")


@pytest.mark.parametrize(("called", "copied"), [("unknown", ".cpu()"), ("predict", "")])
def test_what_is_on_a_device_or_not_read_is_followed(repairs, called: str, copied: str) -> None:
    assert _moved(repairs, called, copied, ".to(device)")
