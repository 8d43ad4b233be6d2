"""Semi-supervised node classification on one graph."""

import torch
import torch.nn.functional as F
from torch import nn


class GraphConvolution(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adjacency):
        return adjacency @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, inputs, hidden, classes):
        super().__init__()
        self.first = GraphConvolution(inputs, hidden)
        self.second = GraphConvolution(hidden, classes)

    def forward(self, x, adjacency):
        return self.second(F.relu(self.first(x, adjacency)), adjacency)


def load_graph(nodes=80, features=12, classes=4):
    x = torch.rand(nodes, features)
    adjacency = (torch.rand(nodes, nodes) < 0.1).float()
    adjacency = torch.maximum(adjacency, adjacency.t()) + torch.eye(nodes)
    adjacency = adjacency / adjacency.sum(1, keepdim=True)
    labels = torch.randint(0, classes, (nodes,))
    train_index = torch.arange(0, nodes // 2)
    test_index = torch.arange(nodes // 2, nodes)
    return x, adjacency, labels, train_index, test_index


def accuracy(logits, labels):
    return (logits.argmax(1) == labels).float().mean().item()


torch.manual_seed(42)
use_cuda = torch.cuda.is_available()
features, adjacency, labels, train_index, test_index = load_graph()
model = GCN(features.size(1), 16, int(labels.max()) + 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)

if use_cuda:
    model.cuda()
    features = features.cuda()
    adjacency = adjacency.cuda()
    labels = labels.cuda()
    train_index = train_index.cuda()
    test_index = test_index.cuda()

for epoch in range(5):
    model.train()
    optimizer.zero_grad()
    output = model(features, adjacency)
    loss = F.cross_entropy(output[train_index], labels[train_index])
    loss.backward()
    optimizer.step()
    model.eval()
    output = model(features, adjacency)
    print(f"{epoch}: {loss.item():.4f} {accuracy(output[test_index], labels[test_index]):.3f}")
