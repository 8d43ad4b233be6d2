"""Right programs of shapes that stand in published code, on which devfix once spoke up."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

SILENT = {
    "a device string with an index of the cpu": """
        import torch
        def run(device="cuda:0"):
            model = UNet().to(device)
            for batch in train_loader:
                inputs, labels = batch["image"].to(device), batch["label"].to(device)
                loss = criterion(model(inputs), labels)
                loss.backward()
            torch.save(model.state_dict(), "model.pt")
        class Case:
            def setup(self):
                self.device = "cuda:0" if torch.cuda.is_available() else "cpu:0"
            def test(self):
                run(device=self.device)
    """,
    "targets are a list of mappings, as a sibling loop shows": """
        import torch
        def train(model, loader, device):
            model.train()
            for samples, targets in loader:
                samples = samples.to(device)
                targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
                loss = model(samples, targets)
                loss.backward()
        def evaluate(model, loader, device):
            model.eval()
            for samples, targets in loader:
                samples = samples.to(device)
                outputs = model(samples, targets=targets)
    """,
    "targets are indexed twice": """
        import torch
        def evaluate(model, loader, device):
            model.eval()
            for samples, targets in loader:
                samples = samples.to(device)
                outputs = model(samples, targets)
                count = targets[0]["points"].shape[0]
    """,
    "a parameter that takes a list": """
        import torch
        from typing import List
        def predict(model, positions: torch.Tensor, tags: List[List[int]]):
            model.eval()
            return model(positions, tags)
        def main(model, loader, device):
            model = model.to(device)
            model.eval()
            for positions, tags, labels in loader:
                positions = positions.to(device)
                right = predict(model, positions, tags) == labels.to(device)
    """,
    "a collate function of an unknown object": """
        import torch
        import torch.nn.functional as F
        from torch.utils.data import DataLoader
        dataset = load_graphs(args.path, device=args.device)
        model = Writer(args).to(args.device)
        model.train()
        for batch in DataLoader(dataset, collate_fn=dataset.batch_fn):
            loss = F.nll_loss(model(batch), batch["text"].view(-1))
            loss.backward()
    """,
    "a loader over indices that were moved": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        A = load().to(device)
        indices = split.train_index.to(device)
        model = Net().to(device)
        model.train()
        for seeds in torch.utils.data.DataLoader(indices, batch_size=64):
            rows = torch.index_select(A, 0, seeds)
            model(rows).sum().backward()
    """,
    "a dataset of tensors that something unknown made on the device": """
        import torch
        from data import windows
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        x, y = windows(series, 12, device)
        loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y))
        model = Net().to(device)
        loss = torch.nn.MSELoss()
        for x, y in loader:
            loss(model(x), y).backward()
    """,
    "modules in a loop, halved and moved in place": """
        import torch
        def load(paths, fp16, use_cuda):
            models = ensemble(paths)
            for model in models:
                if fp16:
                    model.half()
                if use_cuda:
                    model.cuda()
                model.prepare()
            return models
    """,
    "two devices that nothing relates": """
        import torch
        class Trainer:
            def __init__(self, config, device):
                self.device = device
                self.bins = torch.linspace(0, 1, 10, device=config.device)
            def train(self, loader):
                for batch in loader:
                    y = batch["y"].to(self.device, non_blocking=True)
                    y = torch.bucketize(y, self.bins)
    """,
    "one of many branches builds the model": """
        import torch
        from torch import nn
        def main(kind, device, loader):
            if kind == 1:
                model = nn.Linear(2, 2)
            elif kind == 2:
                model = nn.Linear(2, 3)
            elif kind == 3:
                model = nn.Linear(2, 4)
            elif kind == 4:
                model = nn.Linear(2, 5)
            elif kind == 5:
                model = nn.Linear(2, 6)
            else:
                model = nn.Linear(2, 7)
            model.to(device)
            model.train()
            for x, y in loader:
                model(x.to(device)).sum().backward()
    """,
    "a batch that the model places": """
        import torch
        class Trainer:
            def __init__(self, model, device):
                self.model = model.to(device)
                self.device = device
            def train(self, dataloader):
                self.model.train()
                for data in dataloader:
                    self.model(**data)["loss"].backward()
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(program: str) -> None:
    lines = program.strip("\n").split("\n")
    text = "\n".join(line[8:] for line in lines) + "\n"
    compile(text, "program", "exec")
    outcome = check(
        Source("program.py", text.encode()), Options(frozenset(rule.code for rule in all_rules()), unsafe=True)
    )
    assert outcome == Checked(())


LEAVES = [
    "delta = torch.zeros(3, requires_grad=True)",
    "delta = torch.nn.Parameter(torch.zeros(3))",
    "delta = torch.zeros(3)\ndelta.requires_grad_()",
]


@pytest.mark.parametrize("made", LEAVES)
def test_a_leaf_gets_advice_only(made: str) -> None:
    """The moved copy would be no leaf: an optimizer refuses it."""
    text = f"import torch\n{made}\ndelta.to('cuda')\noptimizer = torch.optim.Adam([delta])\n"
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF103"})))
    assert isinstance(outcome, Checked)
    (finding,) = outcome.findings
    assert finding.fix is None
    assert (
        finding.advice == "make `delta` on the device where it is created: a moved copy is no leaf and gets no gradient"
    )


def test_a_pair_of_discarded_moves_is_not_split() -> None:
    """One alone, moved, would part from the other: where the other's kind is open, the fix is unsafe."""
    text = (
        "import torch\ndef encode(tokens, output_device):\n    mask = torch.ones(3)\n    encoded = model(tokens)\n"
        "    encoded.to(output_device)\n    mask.to(output_device)\n    return decode(encoded, mask)\n"
    )
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF103"})))
    assert isinstance(outcome, Checked)
    assert [one.fix.safety for one in outcome.findings if one.fix] == ["unsafe"]
