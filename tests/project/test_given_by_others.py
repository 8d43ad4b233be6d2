"""What functions, objects and modules of other files give, and what sort of thing that is."""

from collections.abc import Mapping

import pytest

from .test_project import NET, found, patched

DATA = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader, TensorDataset
    from models import Net

    def rows():
        return TensorDataset(torch.zeros(8, 4), torch.zeros(8).long())

    def feed(size):
        return DataLoader(rows(), batch_size=size)

    def both(size):
        return feed(size), feed(size)

    def loss_and_feed():
        return {"loss": nn.CrossEntropyLoss(), "feed": feed(2)}

    def some(size):
        return [torch.zeros(2, 4)] if size else None

    def placed(size):
        gpu = torch.device("cuda")
        return DataLoader(TensorDataset(torch.zeros(8, 4).to(gpu), torch.zeros(8).long().to(gpu)), batch_size=size)

    def either(size):
        if size > 4:
            return feed(size)
        return some(size)

    class Source:
        def __init__(self, size):
            self.feed = feed(size)
            self.size = size

        def rest(self):
            return feed(self.size)

    basket = DataLoader(rows(), batch_size=2)

    def network():
        net = Net()
        return net

    def sized(size, extra=None):
        net = Net() if size > 4 else nn.Sequential(nn.Linear(4, size), extra)
        return net

    def network_perhaps_there(size, there):
        net = Net()
        if there:
            net.cuda()
        return net

    def network_dressed(size):
        gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net().to(gpu)
        net.apply(print)
        return net

    def network_there(gpu):
        net = Net()
        net.to(gpu)
        return net
"""
TRAIN = """
    import torch
    from torch import nn
    {imports}

    gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plum = nn.Linear(4, 2).to(gpu)
    {before}
    for x, y in {kiwi}:
        x = x.to(gpu)
        out = plum(x)
        print(y[out.argmax(dim=1) == 1].shape)
"""


def project(imports: str, kiwi: str, before: str = "pass", **others: str) -> dict[str, str]:
    files = {f"{name}.py": text for name, text in others.items()}
    texts = {"data.py": DATA, "models.py": NET, **files}
    return {**texts, "train.py": TRAIN.format(imports=imports, kiwi=kiwi, before=before)}


LOADERS: dict[str, Mapping[str, str]] = {
    "what a function returns": project("from data import feed", "feed(2)"),
    "under a name": project("from data import feed", "kiwi", "kiwi = feed(2)"),
    "one of two": project("from data import both", "kiwi", "kiwi, fig = both(2)"),
    "under a key": project("from data import loss_and_feed", 'kit["feed"]', "kit = loss_and_feed()"),
    "imported under another name": project("from data import feed as eat", "eat(2)"),
    "of the module": project("import data", "data.feed(2)"),
    "an object of the module": project("from data import basket", "basket"),
    "an object of the module by its name": project("import data as d", "d.basket"),
    "an attribute of an object": project("from data import Source", "source.feed", "source = Source(2)"),
    "what a method returns": project("from data import Source", "kiwi", "kiwi = Source(2).rest()"),
    "by way of a package": project("from pack import feed", "feed(2)")
    | {"pack/__init__.py": "from data import feed\n"},
}


@pytest.mark.parametrize("texts", LOADERS.values(), ids=LOADERS)
def test_a_loader(texts: Mapping[str, str]) -> None:
    assert found(texts) == ["DVF101:9"]
    assert "y = y.to(gpu)" in patched(texts)


SILENT: dict[str, Mapping[str, str]] = {
    "a list": project("from data import some", "some(2)"),
    "a loader of what is on the device": project("from data import placed", "placed(2)"),
    "a loader or a list": project("from data import either", "either(2)"),
    "a name that is bound anew": project("from data import feed", "feed(2)", "feed = unknown"),
    "something around the loader": project("from data import feed\n    from ahead import Ahead", "Ahead(feed(2), gpu)"),
    "an attribute that is set anew": project(
        "from data import Source", "source.feed", "source = Source(2)\n    source.feed = unknown"
    ),
}


@pytest.mark.parametrize("texts", SILENT.values(), ids=SILENT)
def test_silent(texts: Mapping[str, str]) -> None:
    assert found(texts) == []


MODEL = """
    import torch
    from torch import nn
    from data import network, network_dressed, network_perhaps_there, network_there, sized

    gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plum = {made}
    for x in torch.utils.data.DataLoader(rows):
        out = plum(x.to(gpu))
        out.pow(2).mean().backward()
"""


@pytest.mark.parametrize("made", ["network()", "sized(2)", "sized(2, 3)"])
def test_a_model_that_another_file_makes(made: str) -> None:
    texts = {"data.py": DATA, "models.py": NET, "train.py": MODEL.format(made=made)}
    assert found(texts) == ["DVF202:9"]
    assert f"plum = {made}.to(gpu)" in patched(texts)


@pytest.mark.parametrize(
    "made", ["network().to(gpu)", "network_there(gpu)", "network_dressed(2)", "network_perhaps_there(2, True)"]
)
def test_silent_of_a_model_that_may_be_there(made: str) -> None:
    texts = {"data.py": DATA, "models.py": NET, "train.py": MODEL.format(made=made)}
    assert found(texts) == []
