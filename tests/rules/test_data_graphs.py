"""DVF101: graphs that the data sets and loaders of PyTorch Geometric give."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF101"

PROGRAM = """
import torch
import torch.nn.functional as F
import torch_geometric.transforms as T
from torch_geometric.datasets import Planetoid, Reddit, TUDataset
from torch_geometric.loader import DataLoader, NeighborLoader
from torch_geometric.nn import SAGEConv

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
{data}
model = SAGEConv(dataset.num_features, dataset.num_classes).to(device)
optimizer = torch.optim.Adam(model.parameters())
"""
CORA = 'dataset = Planetoid("d", "Cora")\ndata = dataset[0]'
TRAIN = """
for epoch in range(3):
    out = model(data.x, data.edge_index)
    loss = F.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
"""


def program(data: str, train: str = TRAIN) -> str:
    return PROGRAM.format(data=data) + train


SILENT = {
    "moved where it is read": program('dataset = Planetoid("d", "Cora")\ndata = dataset[0].to(device)'),
    "moved by a statement of its own, which moves it where it is": program(CORA + "\ndata.to(device)"),
    "moved by a transform": program(CORA.replace('"Cora"', '"Cora", transform=T.ToDevice(device)')),
    "moved beside the model": program(CORA, "\nmodel, data = model.to(device), data.to(device)" + TRAIN),
    "one of the sets is not known": program('dataset = Planetoid("d", "Cora") if cora else read()\ndata = dataset[0]'),
    "what a set knows of its graphs": program(
        'dataset = TUDataset("d", "MUTAG")', "\nweight = torch.ones(3, device=device) * dataset[0].num_nodes\n"
    ),
    "moved in a loop over the set": program(
        'dataset = TUDataset("d", "MUTAG")',
        "\nfor data in dataset:\n    data.to(device)\n    out = model(data.x, data.edge_index)\n",
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_is_silent(rule, name: str) -> None:
    assert not rule.findings(SILENT[name])


DATA = {
    "the first graph": CORA,
    "all graphs as one": 'dataset = Reddit("d")\ndata = dataset.data',
    "one of several sets": 'dataset = Planetoid("d", "Cora") if cora else Reddit("d")\ndata = dataset[0]',
    "what a function gives": 'def read():\n    return Planetoid("d", "Cora")\ndataset = read()\ndata = dataset[0]',
}


@pytest.mark.parametrize("name", DATA)
def test_a_graph_is_moved_as_a_whole(rule, name: str) -> None:
    fixed = rule.unchanged_unless_unsafe(program(DATA[name]))
    assert "\ndata = data.to(device, non_blocking=True)\n" in fixed


def test_a_graph_that_a_function_reads_is_moved_where_it_is_made(rule) -> None:
    train = TRAIN.replace("for epoch in range(3):", "def train():")
    fixed = rule.unchanged_unless_unsafe(program(CORA, train))
    assert "\ndata = data.to(device, non_blocking=True)\noptimizer = " in fixed


@pytest.mark.parametrize("loop", ["dataset", "DataLoader(dataset, batch_size=2)", "NeighborLoader(dataset[0])"])
def test_graphs_that_a_loop_goes_through(rule, loop: str) -> None:
    train = f"\nfor data in {loop}:\n    out = model(data.x, data.edge_index)\n"
    findings = rule.findings(program('dataset = TUDataset("d", "MUTAG")', train))
    assert findings
    assert all(one.fix is not None and one.fix.safety is not Safety.SUGGESTION for one in findings)


BATCHES = """
from torch_geometric.nn import global_mean_pool
def score(batches):
    for data in batches:{moved}
        out = global_mean_pool(model({x}, data.edge_index), {batch})
        loss = F.cross_entropy(out, data.y)
score({given})
"""
SET = 'dataset = TUDataset("d", "MUTAG")'


def batches(moved: str = "", x: str = "data.x", batch: str = "data.batch", given: str = "DataLoader(dataset)") -> str:
    return program(SET, BATCHES.format(moved=f"\n        {moved}" if moved else "", x=x, batch=batch, given=given))


def added(fixed: str, wrong: str) -> list[str]:
    return [line.strip() for line in fixed.splitlines() if line not in wrong.splitlines()]


@pytest.mark.parametrize("x", ["data.x", "data.x.float()"])
def test_a_batch_of_graphs_is_moved_once_for_all_its_parts(rule, x: str) -> None:
    wrong = batches(x=x)
    assert added(rule.fixed(wrong, unsafe=True), wrong) == ["data = data.to(device, non_blocking=True)"]


def test_where_parts_are_moved_one_by_one_the_others_are_as_well(rule) -> None:
    wrong = batches(x="data.x.to(device)", batch="data.batch.to(device)")
    lines = added(rule.fixed(wrong, unsafe=True), wrong)
    assert "loss = F.cross_entropy(out, data.y.to(device))" in lines
    assert not any(line.startswith("data = ") for line in lines)


@pytest.mark.parametrize("moved", ["data = data.to(device)", "data.to(device)"])
def test_a_batch_of_graphs_that_is_moved(rule, moved: str) -> None:
    assert not rule.findings(batches(moved))


def test_parts_of_batches_of_which_some_are_no_graphs(rule) -> None:
    wrong = batches(given="DataLoader(dataset)") + "score(read())\n"
    assert not any("data = data.to" in str(one.fix) for one in rule.findings(wrong))


TAKEN_APART = """
import torch
import torch.nn.functional as F
from dgl.data import CoraGraphDataset
from models import GCN

{early}
data = CoraGraphDataset()
g = data[0]
features, labels = g.ndata["feat"], g.ndata["label"]
{late}
model = GCN(3, data.num_classes).to(device)
for epoch in range(3):
    F.cross_entropy(model(g, features), labels).backward()
"""
DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'


def test_a_graph_is_moved_before_it_is_taken_apart(rule) -> None:
    fixed = rule.fixed(TAKEN_APART.format(early=DEVICE, late=""), unsafe=True)
    assert "\ng = data[0].to(device, non_blocking=True)\n" in fixed


def test_no_part_of_a_graph_is_moved_to_another_one(rule) -> None:
    findings = rule.findings(TAKEN_APART.format(early="", late=DEVICE))
    assert not any("ndata" in str(one.fix) or "features.to(" in str(one.fix) for one in findings)
