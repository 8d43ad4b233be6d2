"""Containers whose .to works in place may be moved by a statement."""
import torch
from torch import nn


class BatchEncoding(dict):
    def to(self, device):
        for key, value in self.items():
            self[key] = value.to(device)
        return self


class Graph:
    def __init__(self, nodes, edges):
        self.nodes, self.edges = nodes, edges

    def to(self, device):
        self.nodes = self.nodes.to(device)
        self.edges = self.edges.to(device)
        return self


def tokenizer(texts, return_tensors="pt"):
    return BatchEncoding(input_ids=torch.tensor([[len(w) for w in t.split()] for t in texts]))


torch.manual_seed(34)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
embed = nn.Embedding(20, 4).to(device)
graph = Graph(torch.randn(4, 4), torch.tensor([[0, 1], [2, 3]]))
graph.to(device)

inputs = tokenizer(["the cat sat", "a dog barked"], return_tensors="pt")
inputs.to(device)
hidden = embed(inputs["input_ids"]).mean(dim=1)
messages = graph.nodes[graph.edges[0]] + graph.nodes[graph.edges[1]]
print(f"loss {(hidden - messages).pow(2).mean().item():.4f}")
