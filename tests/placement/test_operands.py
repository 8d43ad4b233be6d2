"""What functions and modules get, and have no use for: that meets nothing."""

import pytest

DECODER = """
    class Decoder(nn.Module):
        def forward(self, frames: torch.Tensor, sizes: torch.Tensor):
            return self.convolution({computed}), sizes
        def stream(self, frame: torch.Tensor):
            return self.forward(frame, sizes=torch.tensor([1, 2]))
"""


@pytest.mark.parametrize(
    ("computed", "births"), [("frames", []), ("frames[:, sizes]", []), ("frames * sizes", ["torch.tensor([1, 2])"])]
)
def test_what_forward_only_gives_back(placed, computed: str, births: list[str]) -> None:
    assert placed(DECODER.format(computed=computed)).births == births


ATTENTION = """
    def attend(x: torch.Tensor, w: torch.Tensor, separate):
        return F.multi_head_attention_forward(
            x, x, x, 4, 2, torch.empty([0]), w, None, None, False, 0.1, w, w{separate}, q_proj_weight=w
        )
"""


@pytest.mark.parametrize(
    ("separate", "births"),
    [
        (", use_separate_proj_weight=True", []),
        (", use_separate_proj_weight=separate", []),
        (", use_separate_proj_weight=False", ["torch.empty([0])"]),
        ("", ["torch.empty([0])"]),
    ],
)
def test_weights_that_others_stand_in_for(placed, separate: str, births: list[str]) -> None:
    assert placed(ATTENTION.format(separate=separate)).births == births
