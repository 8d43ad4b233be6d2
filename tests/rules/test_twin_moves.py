"""Items of a batch that one method of a class moves, and the one beside it takes as they are."""

import pytest

CODE = "DVF101"

TWINS = """
    import torch

    class Painter(Base):
        def losses(self, outputs, batch):
            {losses}
            return {{"rgb": self.rgb_loss(image, outputs["rgb"])}}

        def draw(self, outputs, batch):
            image = batch["image"].to({device})
            return torch.cat([image, outputs["rgb"]], dim=1)
"""


def _twins(losses: str = 'image = batch["image"]', device: str = 'outputs["rgb"].device') -> str:
    return TWINS.format(losses=losses, device=device)


@pytest.mark.parametrize(
    "losses",
    [
        'image = batch["image"].to(self.device)',
        'image = batch["image"].float().cuda()',
        'image = batch["image"]\n            image = image.to(self.device)',
        'batch = self.place(batch)\n            image = batch["image"]',
        'batch.to(self.device)\n            image = batch["image"]',
        'image = batch["mask"]',
        'image = batch["image"]\n            print(image.numpy())',
        'image = self.place_on_device(batch["image"])',
    ],
)
def test_what_is_placed(rule, losses: str) -> None:
    assert rule.findings(_twins(losses)) == ()


def test_a_caller_that_moves_the_batch(rule) -> None:
    caller = """
        def step(self, batch):
            batch = move(batch)
            return self.losses(self.net(batch), batch)
    """
    assert rule.findings(_twins() + caller) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('self.rgb_loss(image, outputs["rgb"])', "self.rgb_loss(image)"),
        ('self.rgb_loss(image, outputs["rgb"])', 'self.save(image, outputs["rgb"])'),
        ('self.rgb_loss(image, outputs["rgb"])', 'self.rgb_loss(image, batch["rgb"])'),
        ("class Painter(Base)", "class Painter(pl.LightningModule)"),
    ],
)
def test_nothing_of_another_place_is_met(rule, old: str, new: str) -> None:
    head = "\n    import pytorch_lightning as pl" if "pl." in new else ""
    assert rule.findings(head + _twins().replace(old, new)) == ()
