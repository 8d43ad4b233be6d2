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
