"""Right programs of shapes that stand in published code, on which devfix once spoke up."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

SILENT = {
    "models of OpenMMLab place what their steps get": """
        import torch
        from mmengine.runner import Runner
        from project.registry import MODELS
        def test(config, checkpoint):
            model = MODELS.build(config.model)
            if torch.cuda.is_available():
                model = model.cuda()
            for data in Runner.build_dataloader(config.test_dataloader):
                batch = model.data_preprocessor(data, training=False)
                print(batch, model.test_step(data))
    """,
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
    "a factorization of what was drawn on the host": """
        import torch
        from torch import nn
        class Factors(nn.Module):
            def reset(self, rank):
                start = torch.randn(rank, rank)
                Q, _ = torch.linalg.qr(start)
                odd = Q[0::2, :]
                self.down = nn.Parameter(torch.randn(8, rank // 2).mm(odd).T / 10.0)
    """,
    "what other code computes from a copy on the host": """
        import torch
        from geometry import rotation_matrix
        def rotate(kernel: torch.Tensor, angle: torch.Tensor):
            rotation = rotation_matrix(torch.deg2rad(angle.detach().cpu()))
            offsets = torch.arange(kernel.shape[-1], dtype=torch.float64) - 1
            z, y, x = torch.meshgrid(offsets, offsets, offsets, indexing="ij")
            source = torch.stack((x, y, z), -1).reshape(1, -1, 3) @ rotation
            return source.round()
    """,
    "rows of a copy on the host meet a count": """
        import torch
        from graphs import count_nodes
        def sample(edges: torch.Tensor, count: int = None):
            count = count_nodes(edges, count)
            row, col = edges.cpu()
            place = row * count + col
            loops = torch.arange(count) * (count + 1)
            place = torch.cat([place, loops], dim=0)
            other = torch.randint(count, (row.size(0),), dtype=torch.long)
            return place, row * count + other
    """,
    "normal noise of tensors is where they are": """
        import torch
        def noisy(x: torch.Tensor):
            noise = torch.normal(torch.zeros_like(x), torch.ones_like(x))
            return torch.cat((x, noise), 1)
    """,
    "a mask that is a buffer where it is used": """
        import torch
        from torch import nn
        class Attention(nn.Module):
            def __init__(self, size, causal):
                super().__init__()
                self.causal = causal
                if causal:
                    self.register_buffer("mask", torch.tril(torch.ones(size, size)))
                    self.mask: torch.Tensor
                else:
                    self.mask = torch.Tensor()
            def forward(self, x):
                scores = torch.einsum("bid,bjd->bij", x, x)
                if self.causal:
                    scores = scores.masked_fill(self.mask[: x.shape[1], : x.shape[1]] == 0, float("-inf"))
                return scores.softmax(dim=-1)
    """,
    "behind a refusal of what is not on the host": """
        import torch
        def host_array(value, index):
            if not isinstance(value, torch.Tensor):
                return value
            if value.device.type != "cpu":
                raise ValueError(f"input {index} is on {value.device}")
            return value.detach().resolve_conj().numpy()
    """,
    "points on the host over the length of a device tensor": """
        import torch
        def spectrum(samples, device):
            length = samples.size(-2)
            on_host = samples.cpu().detach()
            steps = torch.arange(length + 1, dtype=on_host.dtype)
            steps = torch.hstack((steps, steps)) / length
            steps = steps[: length + 1]
            return steps.numpy()
    """,
    "a padded window is read by numpy at once": """
        import torch
        def window(size, width, frame: torch.Tensor):
            left = (size - frame.shape[0]) // 2
            return torch.cat([torch.zeros(left), frame, torch.zeros(left)], 0).numpy()
    """,
    "a collator works on the host": """
        import torch
        class PaddingCollator:
            def torch_call(self, positions: torch.Tensor):
                starts = (positions[0] == 0).nonzero().flatten()
                return torch.cat([starts, torch.tensor([positions.size(1)])])
    """,
    "an index made where the indexed tensor is": """
        import torch
        def cut(freqs, height, axes: int):
            if freqs is None:
                freqs = torch.zeros(3, 4)
            steps = torch.arange(height, device=freqs.device)
            inner = steps * axes // height
            return freqs[inner]
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


def test_an_index_stays_where_the_indexed_tensor_may_be() -> None:
    """Made on the host on one path alone: it is made elsewhere, and the index of all paths is left alone."""
    text = (
        "import torch\nfrom torch import nn\nclass Relations(nn.Module):\n"
        "    def forward(self, x: torch.Tensor, y: torch.Tensor, kinds: torch.Tensor):\n"
        "        weight = torch.tensor([0])\n"
        "        if self.mode == 'sum':\n            weight = x + y\n"
        "        elif self.mode == 'product':\n            weight = x * y\n"
        "        mask = kinds == 2\n        return self.score(weight[mask])\n"
    )
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF105"})))
    assert isinstance(outcome, Checked)
    assert [one.fix.title for one in outcome.findings if one.fix] == ["Make it on `kinds.device`"]


def test_what_goes_through_numpy_names_no_device() -> None:
    """`np.array(x)` on the way: `x` may be a number, a list or an array there."""
    text = (
        "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        "class Voices(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.table = nn.Embedding(3, 4)\n"
        "    def forward(self, voice):\n        if self.by_number:\n"
        "            return self.table(torch.from_numpy(np.array(voice)))\n        return F.normalize(voice)\n"
    )
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF104"})))
    assert isinstance(outcome, Checked)
    titles = [one.fix.title for one in outcome.findings if one.fix]
    assert titles == ["Move it: `.to(self.table.weight.device)`"]


UNTOUCHED = {
    "a class method has no self": (
        "class Boxes:\n    def corners(self):\n        return torch.zeros(4, device=self.device)\n    @classmethod\n"
        "    def of(cls, given):\n        empty = torch.zeros(0, 4)\n        return cls(convert(empty))\n"
    ),
    "a size is no tensor": (
        "class Stack:\n    def positions(self):\n"
        "        return torch.arange(self.batch_size.numel()).reshape(self.batch_size)\n"
    ),
    "a plot reads the host": (
        "def show(ax, lengths, device):\n    steps = torch.ones(3, device=device)\n"
        "    ax.plot(torch.arange(1, 1 + len(lengths)), lengths)\n    return steps\n"
    ),
    "one of a sum of host tensors": (
        "def corners(x: torch.Tensor):\n    rows = torch.arange(x.shape[0])\n"
        "    pairs = torch.tensor([[0, 0], [1, 1]])\n    pairs += rows\n    return send(pairs, x.device)\n"
    ),
    "among what was copied to the host": (
        "def roots(x: torch.Tensor):\n    copied = x.detach().cpu().double()\n"
        "    companion = torch.zeros(x.shape[0], 3, dtype=torch.float64)\n"
        "    companion[:, 1] = companion[:, 0] - copied[:, 2]\n"
        "    return torch.linalg.eigvals(companion)\n"
    ),
    "joined on the host, then moved": (
        "def circle(x: torch.Tensor):\n    angles = torch.linspace(0, 6.0, len(x), dtype=x.dtype)\n"
        "    points = torch.cat([torch.sin(angles), torch.ones(3)])\n    return points.to(x.device)\n"
    ),
    "a feature extractor": (
        "class SpeechFeatureExtractor(SequenceFeatureExtractor):\n"
        "    def pad(self, x: torch.Tensor):\n        return torch.cat([x, torch.zeros(3)])\n"
    ),
    "a processor of transformers": (
        "from transformers import ProcessorMixin\nclass Speech(ProcessorMixin):\n"
        "    def pad(self, x: torch.Tensor):\n        return torch.cat([x, torch.zeros(3)])\n"
    ),
}


@pytest.mark.parametrize("text", UNTOUCHED.values(), ids=UNTOUCHED)
def test_what_stays_on_the_host_gets_no_device(text: str) -> None:
    outcome = check(Source("program.py", f"import torch\n{text}".encode()), Options(frozenset({"DVF104"})))
    assert isinstance(outcome, Checked)
    assert not [one for one in outcome.findings if one.fix]


def test_a_batch_that_the_model_may_place_is_not_moved_unasked() -> None:
    text = (
        "import torch\nclass Trainer:\n    def __init__(self, model, device):\n        self.model = model.to(device)\n"
        "        self.device = device\n    def train(self, dataloader):\n        self.model.train()\n"
        "        for data in dataloader:\n            self.model(**data)['loss'].backward()\n"
    )
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF101"})))
    assert isinstance(outcome, Checked)
    assert [one.fix.safety for one in outcome.findings if one.fix] == [Safety.UNSAFE]


def test_what_is_added_to_a_size_is_a_size() -> None:
    text = (
        "import numpy as np\nimport torch\nclass Pairs(torch.nn.Module):\n    def start(self, n):\n"
        "        size = self.batch_shape + torch.Size([n])\n        wins = self.wins.detach().cpu().numpy()\n"
        "        if torch.Size(wins.shape) != size:\n            wins = wins + np.random.standard_normal(size)\n"
        "        return wins, self.table(n).reshape(*size).to('cuda')\n"
    )
    outcome = check(Source("program.py", text.encode()), Options(frozenset({"DVF402"})))
    assert isinstance(outcome, Checked)
    assert not outcome.findings
