"""Functions that are not read, and say by their names that they move what they get."""

import pytest

PROGRAM = """
    from helpers import {called}
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
        def sample(self, n, flag):
            z = {called}(torch.randn(n, 3), flag)
            return self.fc(z)
"""


@pytest.mark.parametrize("called", ["to_device", "maybe_cuda", "try_gpu", "to_var", "cuda"])
def test_what_they_get_is_moved(placed, called: str) -> None:
    assert placed(PROGRAM.format(called=called)).births == []


@pytest.mark.parametrize("called", ["scaled", "maybe_cudnn", "to_variant", "maybe", "devices_of"])
def test_others_hand_on_what_they_get(placed, called: str) -> None:
    assert placed(PROGRAM.format(called=called)).births == ["torch.randn(n, 3)"]
