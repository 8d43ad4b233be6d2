"""Values that are no tensors, though something is done with them that is done with tensors."""

import pytest
import torch
from devfix_codemods.catalogue.tensor_names import TENSOR_NAMES


def test_the_names_are_those_of_tensors() -> None:
    assert {one for one in dir(torch.Tensor) if not one.startswith("_")} <= TENSOR_NAMES


SEARCH = """
    class Search:
        def __init__(self, device):
            self.device = device
        def beam(self, ring):
            first = ring.add(torch.zeros(ring.size(0), device=self.device))
            {asked}
            return first, torch.zeros(ring.size(0) * 4)
"""


def _fits(found) -> bool:
    graph = found.analysis.graph
    made = next(one for one in graph.sources if str(one).endswith("torch.zeros(ring.size(0) * 4)>"))
    return any(edge.link == "fits" for edge in graph.edges[made])


@pytest.mark.parametrize("asked", ["first = ring.sparse_sum(first)", "first = ring.one * first"])
def test_what_is_asked_for_what_no_tensor_has(placed, asked: str) -> None:
    assert not _fits(placed(SEARCH.format(asked=asked)))


@pytest.mark.parametrize("asked", ["first = ring.cumsum(0)", "ring.order = 3; first = ring.order * first"])
def test_what_is_asked_for_what_tensors_have_or_get(placed, asked: str) -> None:
    assert _fits(placed(SEARCH.format(asked=asked)))


FLAGS = """
    from torch.utils.data import DataLoader, default_collate
    def train(data, device):
        net = nn.Linear(3, 3).to(device)
        for batch in DataLoader(data, collate_fn=default_collate):
            {taken}
            for one in flags:
                net(one).sum().backward()
"""


def test_what_is_taken_apart_is_a_list(placed) -> None:
    found = placed(FLAGS.format(taken='flags = [one[0] for one in batch["flag"]]')).births
    assert "batch['flag']" not in found


def test_a_tensor_is_sliced(placed) -> None:
    assert placed(FLAGS.format(taken='flags = batch["flag"][:, 0]')).births != []


NAMED = """
    def search(self, inputs, {name}, device):
        inputs = inputs.to(device)
        start = {name}["[CLS]"]
        return torch.cat([inputs, start], dim=1)
"""


@pytest.mark.parametrize("name", ["word2ix", "token2id", "name_list"])
def test_tables_by_their_names(placed, name: str) -> None:
    assert all(one.confidence < 0.6 for one in placed(NAMED.format(name=name)).conflicts)


PIPELINE = """
    from transforms import Resample, Put
    def build(rate, device):
        net = nn.Linear(3, 3).to(device)
        steps = nn.Sequential(Resample(rate), nn.Linear(3, 3), {part})
        return net, steps
"""


@pytest.mark.parametrize("part", ["Put(device)", "Put(device=device)"])
def test_a_container_moves_what_it_gets(placed, part: str) -> None:
    assert placed(PIPELINE.format(part=part)).births == []


@pytest.mark.parametrize("part", ["Put(rate)", "nn.Linear(3, 3)"])
def test_a_container_of_which_no_part_is_told_a_device(placed, part: str) -> None:
    assert len(placed(PIPELINE.format(part=part)).births) == 1


TABLE = """
    def table(length, size, device):
        x = torch.zeros(length, size)
        steps = torch.arange(0, length).unsqueeze(1)
        {filled} = torch.sin(steps)
        return {given}
"""


@pytest.mark.parametrize(("filled", "given"), [("x[:, 0::2]", "x.unsqueeze(0).to(device)")])
def test_what_is_put_into_a_table_that_is_moved(placed, filled: str, given: str) -> None:
    assert placed(TABLE.format(filled=filled, given=given)).births == []


def test_what_is_made_beside_a_table_that_is_moved(placed) -> None:
    found = placed(TABLE.format(filled="y", given="torch.ones(3, device=device), x.to(device), y"))
    assert "torch.arange(0, length)" in found.births
