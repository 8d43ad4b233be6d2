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


COMPUTED = """
    import torch
    from schedule import build

    def train(loader, net, device):
        table = build(100)
        for x, _ in loader:
            x = x.to(device)
            steps = torch.randint(0, 100, (len(x),), device=device)
            signal = table.signal[steps].view(-1, 1).to(device)
            noise = {noise}
            {use}
"""


@pytest.mark.parametrize(
    ("noise", "use"),
    [
        ("table.noise[steps].view(-1, 1).to(device)", "net(x, signal, noise)"),
        ("table.noise[steps].reshape(-1, 1)", "net(x, signal, noise)"),
        ("table.noise[steps].view(-1, 1)", "net(x, signal); save(noise)"),
        ("table.noise[steps].view(-1, 1)", "net(x, signal, noise.to(device))"),
        ("len(table.noise)", "net(x, signal, noise)"),
    ],
)
def test_what_is_computed_alike_and_moved_or_goes_elsewhere(rule, noise: str, use: str) -> None:
    assert rule.findings(COMPUTED.format(noise=noise, use=use)) == ()


def test_what_is_computed_of_something_else(rule) -> None:
    program = """
        import torch
        def validate(net, loader, criterion, device):
            for batch in loader:
                images = batch["image"].to(device)
                labels = batch["label"].to(device)
                outputs = net(images, labels=None, mode="test")
                predictions = outputs["logit"]
                keep(criterion(predictions, labels))
    """
    assert rule.findings(program) == ()


def test_what_is_computed_alike_and_goes_with_its_twin(rule) -> None:
    program = COMPUTED.format(noise="table.noise[steps].view(-1, 1)", use="net(x, signal, noise)")
    assert "noise = table.noise[steps].view(-1, 1).to(device)\n" in rule.fixed(program, unsafe=True)


def test_what_picks_rows_for_twins_stays_where_it_is(rule) -> None:
    program = """
        import torch
        def sample(self, device):
            rows = torch.randint(0, len(self.states), (4,))
            states = torch.index_select(self.states, dim=0, index=rows).to(device)
            tasks = torch.index_select(self.tasks, dim=0, index=rows)
            return states, tasks
    """
    fixed = rule.fixed(program, unsafe=True)
    assert "tasks = torch.index_select(self.tasks, dim=0, index=rows).to(device)\n" in fixed
    assert "rows = torch.randint(0, len(self.states), (4,))\n" in fixed


def test_what_it_is_a_part_of_was_moved_as_a_whole(rule) -> None:
    program = """
        import torch
        def train(tokenizer, texts, model, device):
            model.to(device)
            found = tokenizer(texts).to(device)
            ids = found["ids"].to(device)
            mask = found["mask"]
            return model(ids, mask)
    """
    assert rule.findings(program) == ()


FORWARD = """
    import torch
    from torch import nn
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.Linear(4, 4)
        def run(self, batch, device):
            positions = batch[self.position_key]
            times = batch[self.time_key].to({place})
            return self.layers(torch.cat([positions, times], dim=1))
"""


def test_what_its_twin_follows_is_left_nowhere(rule) -> None:
    assert rule.findings(FORWARD.format(place="positions.device")) == ()


def test_what_its_twin_leaves_behind_goes_where_that_goes(rule) -> None:
    assert "positions = batch[self.position_key].to(device)" in rule.fixed(FORWARD.format(place="device"), unsafe=True)


PARTS = """
    import torch
    from torch.utils.data import DataLoader
    def main(data, net, device):
        net.to(device)
        for batch in DataLoader(data):
            targets = batch[1].to(device)
            graphs = batch[0]
            {used}
            torch.nn.functional.mse_loss(net(graphs), targets).backward()
"""


def test_what_holds_objects_that_are_moved_one_by_one_has_no_move(rule) -> None:
    assert rule.findings(PARTS.format(used="graphs[0].to(device); graphs[1].to(device)")) == ()


def test_a_part_that_is_looked_at_alone_may_be_one_of_a_tensor(rule) -> None:
    assert "graphs = batch[0].to(device" in rule.fixed(PARTS.format(used="print(graphs[0])"), unsafe=True)
