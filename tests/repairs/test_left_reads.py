"""An attribute that other methods move where they read it is on the host where one reads it as it is."""

import pytest

SCALER = """
    class Scaler:
        def __init__(self, mean, std):
            self.mean = {stored}
            self.std = std

        def scale(self, x: torch.Tensor):
            std = self.std.to(x.device)
            {read}
            return ({used}) / std

        def unscale(self, x: torch.Tensor):
            shift = {moved}
            return x + shift
"""
MEAN, MOVED = "mean = self.mean", "self.mean.to(x.device)"


@pytest.mark.parametrize(
    ("stored", "read", "used", "moved"),
    [
        ("mean", "mean = self.mean.to(x.device)", "x - mean", MOVED),
        ("mean", MEAN, "x - mean", "self.mean"),
        ("mean", MEAN, "x - mean", "self.mean = self.mean.to(x.device)"),
        ("mean.cuda()", MEAN, "x - mean", MOVED),
        ("mean", "print(self.mean)", "x", MOVED),
        ("mean", MEAN, "mean.shape", MOVED),
        ("mean", MEAN, "x - mean", "self.mean.cpu()"),
        ("mean", MEAN, "x - mean.to(x)", MOVED),
        ("mean", MEAN, "x - mean", "0; self.mean.to(x.device)"),
        ("nn.Parameter(mean)", MEAN, "x - mean", MOVED),
        ("torch.tensor(0.5)", MEAN, "x - mean", MOVED),
        ("float(mean)", MEAN, "x - mean", "torch.tensor(self.mean).to(x.device)"),
    ],
)
def test_what_is_moved_elsewhere_or_by_nobody(repairs, stored: str, read: str, used: str, moved: str) -> None:
    assert repairs.findings(SCALER.format(stored=stored, read=read, used=used, moved=moved)) == ()


@pytest.mark.parametrize(
    ("read", "used", "added"),
    [
        (MEAN, "x - mean", "mean = self.mean.to(x.device)"),
        (MEAN, "x - mean[:3]", "mean = self.mean.to(x.device)"),
        ("count = len(x)", "(x - self.mean) / count", "return ((x - self.mean.to(x.device)) / count) / std"),
    ],
)
def test_what_is_read_as_it_is(repairs, read: str, used: str, added: str) -> None:
    program = SCALER.format(stored="mean", read=read, used=used, moved=MOVED)
    assert repairs.added(program) == [added]


def test_what_a_copy_of_the_object_is_made_of(repairs) -> None:
    program = SCALER.format(stored="mean", read=MEAN, used="x - mean", moved="0").replace("(0)", "0")
    copied = "\n        def to(self, device):\n            return Scaler(self.mean.to(device), self.std.to(device))\n"
    assert not any("self.mean" in one.message for one in repairs.findings(program + copied))
