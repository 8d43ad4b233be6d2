"""Methods of classes of other files, which may bring what they get to where they need it."""

import pytest

from .test_project import patched

FEATURES = """
    import torch
    from torch import nn

    class Features(nn.Module):
        def __init__(self, device="cuda"):
            super().__init__()
            self.model = nn.Linear(3, 4).to(device)
            self.device = device

        def of(self, image):
            {first}
            return self.model(image)

    class Large(Features):
        def __init__(self, device="cuda"):
            super().__init__(device=device)
"""
SCRIPT = """
    import torch
    from features import Large

    def match(rows):
        features = Large().to("cuda")
        for row in rows:
            image = torch.from_numpy(row)
            print(features.of(image))
"""


@pytest.mark.parametrize(
    ("first", "is_moved"), [("image = image.to(self.device)", False), ("image = image.unsqueeze(0)", True)]
)
def test_what_a_method_moves_itself_is_not_moved_for_it(first: str, is_moved: bool) -> None:
    text = patched({"script.py": SCRIPT, "features.py": FEATURES.format(first=first)}, "script.py")
    assert ("from_numpy(row)\n" not in text) is is_moved, text
