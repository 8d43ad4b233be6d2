"""What methods of classes of other files give of what their objects keep, as prefetchers do."""

import pytest

from .test_project import patched

PREFETCH = """
    class Prefetcher:
        def __init__(self, loader, device):
            self.loader = iter(loader)
            self.device = device
            self.preload()

        def preload(self):
            try:
                self.x, self.y = next(self.loader)
            except StopIteration:
                self.x = self.y = None
                return
            {moves}

        def following(self):
            {read}
            self.preload()
            return x, y
"""
TRAIN = """
    import torch
    from prefetch import Prefetcher

    def train(net, loader, device: torch.device):
        net = net.to(device)
        ahead = Prefetcher(loader, device)
        x, y = ahead.following()
        while x is not None:
            net(x, y.to(device)).sum().backward()
            x, y = ahead.following()
"""


def trained(moves: str, read: str = "x, y = self.x, self.y", called: str = "Prefetcher") -> str:
    texts = {"prefetch.py": PREFETCH.format(moves=moves, read=read), "train.py": TRAIN}
    return patched({name: text.replace("Prefetcher", called) for name, text in texts.items()})


def test_a_class_may_be_written_as_functions_are() -> None:
    assert "x.to(" not in trained("self.x = self.x.cuda()", called="data_prefetcher")


@pytest.mark.parametrize("moves", ["self.x = self.x.cuda()", "self.x = self.x.to(self.device, non_blocking=True)"])
def test_what_the_class_moves_stays(moves: str) -> None:
    assert "x.to(" not in trained(moves)


@pytest.mark.parametrize("moves", ["self.y = self.y.cuda()", "self.x = self.x.pin_memory()"])
def test_what_the_class_leaves_is_moved(moves: str) -> None:
    assert "x = x.to(" in trained(moves)


def test_parts_of_what_the_class_moves_stay() -> None:
    written = TRAIN.replace("net(x, y.to(device))", "net(x[:, 0], x[:, 1], y.to(device))")
    texts = {"prefetch.py": PREFETCH.format(moves="self.x = self.x.cuda()", read="x, y = self.x, self.y")}
    assert "].to(" not in patched({**texts, "train.py": written})
