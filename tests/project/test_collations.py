"""What other files of a project make of a batch: a list has no `.to`, and what its dataset placed needs no move."""

import pytest

from .test_project import patched

TRAIN = """
    import torch
    from caption_data import Captions, collate_captions

    def train(model, loader, optimizer, device):
        model.train()
        for step, (image, answer, weights, n) in enumerate(log(loader)):
            image, weights = image.to(device, non_blocking=True), weights.to(device, non_blocking=True)
            loss = model(image, answer, n=n, weights=weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
"""
DATA = """
    import torch

    {collate}

    class Captions(torch.utils.data.Dataset):
        def __len__(self):
            return 3
"""
LISTS = {
    "grown": """
    def collate_captions(batch):
        images, answers, weights, n = [], [], [], []
        for image, answer, weight in batch:
            images.append(image)
            answers += answer
            weights += weight
            n.append(len(answer))
        return torch.stack(images, dim=0), answers, torch.Tensor(weights), n
    """,
    "a comprehension": """
    def collate_captions(batch):
        images = torch.stack([one[0] for one in batch])
        return images, [one[1] for one in batch], torch.tensor([one[2] for one in batch]), [len(one) for one in batch]
    """,
    "turned about": """
    def collate_captions(batch):
        images, answers, weights, n = zip(*batch)
        return torch.stack(images), answers, torch.stack(weights), n
    """,
    "passed by another name": """
    def together(batch):
        images, answers, weights, n = map(list, zip(*batch))
        weights = torch.tensor(weights)
        return torch.stack(images), answers, weights, n

    def captions(data):
        return torch.utils.data.DataLoader(data, collate_fn=together)
    """,
    "the method of a class": """
    class CollateCaptions:
        def __call__(self, batch):
            n = list(map(len, batch))
            return torch.stack(batch), None, torch.ones(3), n
    """,
}


@pytest.mark.parametrize("collate", LISTS.values(), ids=LISTS)
def test_an_element_that_is_collated_to_a_list(collate: str) -> None:
    assert "n = n.to(" not in patched({"train.py": TRAIN, "caption_data.py": DATA.format(collate=collate)})


@pytest.mark.parametrize("collate", LISTS.values(), ids=LISTS)
def test_a_list_where_the_file_that_calls_says_so(collate: str) -> None:
    train = TRAIN.replace("    from caption_data import Captions, collate_captions\n", "")
    main = """
    from caption_data import Captions, captions
    from train import train
    train(model, captions(Captions()), optimizer, "cuda")
    """
    texts = {"train.py": train, "main.py": main, "caption_data.py": DATA.format(collate=collate)}
    assert "n = n.to(" not in patched(texts)


TENSORS = {
    "made of the list": ("grown", ("return torch", "n = torch.tensor(n)\n        return torch")),
    "a list in another place": ("grown", ("torch.Tensor(weights), n", "n, torch.Tensor(weights)")),
    "a batch of another length": ("grown", ("answers, torch.Tensor(weights), n", "torch.Tensor(weights), n")),
    "a list that something else takes": ("grown", ("def collate_captions(", "def show(")),
    "bound to who knows what": ("grown", ("        for image", "        n = pad(n)\n        for image")),
}


@pytest.mark.parametrize(("name", "change"), TENSORS.values(), ids=TENSORS)
def test_an_element_that_may_be_a_tensor(name: str, change: tuple[str, str]) -> None:
    assert change[0] in LISTS[name]
    collate = LISTS[name].replace(*change)
    assert "n = n.to(device, non_blocking=True)" in patched(
        {"train.py": TRAIN, "caption_data.py": DATA.format(collate=collate)}
    )


MODEL = """
    import torch
    from torch import nn

    class Answers(nn.Module):
        def __init__(self):
            super().__init__()
            self.proj = nn.Linear(8, 8)

        def forward(self, image, answer, n, weights):
            states = self.proj(image)
            {uses}
            return (states * weights).sum()
"""
LOOP = """
    import torch
    from models import Answers

    def main(loader, device):
        model = Answers().to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for image, answer, weights, n in loader:
            image, weights = image.to(device), weights.to(device)
            loss = model(image, answer, n, weights)
            loss.backward()
            optimizer.step()
"""


@pytest.mark.parametrize(
    "uses", ["more = [states[i] for i, k in enumerate(n)]", "for k in n: states = states * k", "list(zip(states, n))"]
)
def test_an_argument_that_the_model_goes_through(uses: str) -> None:
    assert "n = n.to(" not in patched({"train.py": LOOP, "models.py": MODEL.format(uses=uses)})


@pytest.mark.parametrize("uses", ["states = states * n", "states = self.score(states, n)"])
def test_an_argument_that_the_model_computes_with(uses: str) -> None:
    assert "n = n.to(device)" in patched({"train.py": LOOP, "models.py": MODEL.format(uses=uses)})


RUNS = """
    import torch
    import torch.nn as nn
    from torch.utils.data import DataLoader
    from runs import Runs

    class Wrapper:
        def __init__(self, sizes):
            self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            self.net = nn.Linear(*sizes)
            self.net.to(self.device)
            self.loss = nn.MSELoss()

        def prepare(self, x, y):
            self.loader = DataLoader(Runs(x, y{device}), batch_size=4)

        def fit(self, x, y):
            self.prepare(x, y)
            self._loop()

        def fit_from(self, loader: DataLoader):
            self.loader = loader
            self._loop()

        def _loop(self):
            optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1)
            for batch in self.loader:
                inputs, targets = batch
                loss = self.loss(self.net(inputs), targets)
                loss.backward()
                optimizer.step()
"""
ITEMS = """
    import torch
    from torch.utils.data import Dataset

    class Runs(Dataset):
        def __init__(self, *args, device=None):
            if device is None:
                device = "cuda" if torch.cuda.is_available() else "cpu"
            {init}

        def __len__(self):
            return min(len(d) for d in self.data)

        def __getitem__(self, index):
            return {item}
"""


@pytest.mark.parametrize("device", ["", ", device=self.device"])
@pytest.mark.parametrize(
    ("init", "item"),
    [
        ("self.data = [torch.tensor(d).to(device) for d in args]", "tuple(d[index] for d in self.data)"),
        ("self.data = [torch.tensor(d, device=device) for d in args]", "[d[index] for d in self.data]"),
        ("self.x, self.y = (torch.tensor(d).to(device) for d in args)", "self.x[index], self.y[index]"),
    ],
)
def test_what_the_dataset_has_placed(device: str, init: str, item: str) -> None:
    train = RUNS.format(device=device)
    assert "to(self.device, non" not in patched({"train.py": train, "runs.py": ITEMS.format(init=init, item=item)})


@pytest.mark.parametrize(
    ("init", "item"),
    [
        ("self.data = [torch.tensor(d) for d in args]", "tuple(d[index] for d in self.data)"),
        ("self.data = [torch.tensor(d).to(device).cpu() for d in args]", "tuple(d[index] for d in self.data)"),
        ("self.data, self.device = [torch.tensor(d) for d in args], device", "tuple(d[index] for d in self.data)"),
    ],
)
def test_what_the_dataset_leaves_on_the_host(init: str, item: str) -> None:
    texts = {"train.py": RUNS.format(device=", self.device"), "runs.py": ITEMS.format(init=init, item=item)}
    fixed = patched(texts)
    assert "inputs = inputs.to(self.device, non_blocking=True)" in fixed
    assert "targets = targets.to(self.device, non_blocking=True)" in fixed


def test_one_of_two_parts_that_the_dataset_has_placed() -> None:
    init = "self.x, self.y = torch.tensor(args[0]).to(device), torch.tensor(args[1])"
    fixed = patched(
        {"train.py": RUNS.format(device=""), "runs.py": ITEMS.format(init=init, item="self.x[index], self.y[index]")}
    )
    assert "targets = targets.to(self.device" in fixed
    assert "inputs = inputs.to(self.device" not in fixed
