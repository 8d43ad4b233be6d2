"""What makes numbers, lists or arrays of a tensor, or picks with it, asks for no device."""

import pytest

BESIDE = """
    def main(x, y, rows, device):
        mask = torch.ones(3, 3, device=device)
        bias = torch.zeros(3, device=device)
        other = torch.zeros(3, device=device)
        made = torch.{made}
        {used}
        return x.to(device) * mask + bias * other
"""

ON_HOST = {
    "a list": ("linspace(0, 1, 10)", "print(list(reversed(made.int().tolist())))"),
    "a number": ("tensor(rows, dtype=torch.float)", "print(float(made.mean()))"),
    "an item": ("arange(3)", "print((made * 2)[0].item())"),
    "an array": ("arange(3)", "print(made.numpy())"),
    "an index": ("randperm(3)", "x = x[made]"),
    "an index in a row": ("arange(3)", "x = x[made.unsqueeze(1), rows]"),
    "a copy": ("arange(3)", "print(made.cpu())"),
}


@pytest.mark.parametrize(("made", "used"), ON_HOST.values(), ids=ON_HOST)
def test_what_ends_on_the_host(placed, made: str, used: str) -> None:
    assert f"torch.{made}" not in placed(BESIDE.format(made=made, used=used)).births


ELSEWHERE = {
    "given": ("linspace(0, 1, 10)", "y.run(made)"),
    "given and a list": ("linspace(0, 1, 10)", "y.run(made); print(made.tolist())"),
    "met": ("arange(3)", "print((made * mask).sum().item())"),
    "kept": ("arange(3)", "y.rows = made"),
    "picked from": ("arange(3)", "y.run(made[mask])"),
    "handed on": ("zeros(3)", "y.run(made.view(-1))"),
    "returned": ("arange(3)", "if rows: return made"),
}


@pytest.mark.parametrize(("made", "used"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_does_not(placed, made: str, used: str) -> None:
    assert f"torch.{made}" in placed(BESIDE.format(made=made, used=used)).births
