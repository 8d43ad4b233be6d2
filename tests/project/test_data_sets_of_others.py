"""Batches that a data set of another file has placed."""

import pytest

from .test_project import found

DATA = """
    from torch.utils.data import DataLoader, Dataset

    class Points(Dataset):
        def __init__(self, points, gpu):
            self.points = points
            self.gpu = gpu

        def __getitem__(self, i):
            point = self.points[i]
            return point.to(self.gpu), i

    def feed(points, size, gpu):
        return DataLoader(Points(points, gpu), batch_size=size)
"""
MAIN = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    from data import Points, feed

    def evaluate(net, batches):
        for n, (x, y) in enumerate(batches):
            net(x)

    gpu = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    net = nn.Linear(3, 1){moved}
    evaluate(net, {batches})
"""
FEEDS = ["feed(torch.zeros(8, 3), 2, gpu)", "feed(torch.zeros(8, 3), gpu=gpu, size=2)", "DataLoader(Points(rows, gpu))"]


@pytest.mark.parametrize("batches", FEEDS)
def test_silent_where_it_is_there(batches: str) -> None:
    assert found({"data.py": DATA, "main.py": MAIN.format(moved=".to(gpu)", batches=batches)}, "main.py") == []


def test_silent_where_the_data_set_is_on_the_host() -> None:
    texts = {"data.py": DATA, "main.py": MAIN.format(moved="", batches='feed(rows, 2, "cpu")')}
    assert found(texts, "main.py") == []


def test_silent_where_two_callers_say_different_things() -> None:
    main = MAIN.format(moved="", batches="feed(rows, 2, gpu)") + "    evaluate(net, feed(rows, 2, 'cpu'))\n"
    assert found({"data.py": DATA, "main.py": main}, "main.py") == []


NOISE = """
    import torch
    from base import {base}

    class Noisy({base}):
        def noisy(self, x: torch.Tensor) -> torch.Tensor:
            noise = torch.FloatTensor(x.shape).normal_()
            return x + noise
"""
BASE = """
    from torch.utils.data import Dataset

    class Rows2D(Dataset):
        pass

    class Layer:
        pass
"""


@pytest.mark.parametrize(("base", "is_data"), [("Rows2D", True), ("Layer", False)])
def test_a_data_set_by_a_base_in_another_file_makes_tensors_of_the_host(base: str, is_data: bool) -> None:
    assert (found({"base.py": BASE, "noise.py": NOISE.format(base=base)}, "noise.py") == []) is is_data
