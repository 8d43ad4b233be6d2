"""What modules of other files give, by what constant arguments leave of their branches; also by a star import."""

import pytest

from .test_project import patched

NET = """
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x, latent=False):
            x = self.linear(x)
            if latent:
                return x.detach().cpu().numpy()
            return x
"""
MAIN = """
    import numpy as np
    import torch
    from {imported}

    def gathered(net, device, rows):
        found = []
        for row in rows:
            found.append(net(row.to(device){given}))
        return np.concatenate(found, axis=0)

    def main(device: torch.device, rows):
        net = Net().to(device)
        print(gathered(net, device, rows))
"""
IMPORTED = ["net import Net", "net import *"]


def main(imported: str, given: str, names: str = "") -> str:
    return patched({"net.py": names + NET, "main.py": MAIN.format(imported=imported, given=given)}, "main.py")


@pytest.mark.parametrize("imported", IMPORTED)
def test_an_array_is_not_copied(imported: str) -> None:
    assert ".cpu()" not in main(imported, ", latent=True")


@pytest.mark.parametrize("imported", IMPORTED)
@pytest.mark.parametrize("given", ["", ", latent=False"])
def test_a_tensor_is(imported: str, given: str) -> None:
    assert ".cpu()" in main(imported, given)


def test_what_a_file_does_not_list_is_not_brought() -> None:
    assert ".cpu()" in main("net import *", ", latent=True", '    __all__ = ["Other"]\n')
