import torch
import torch.nn.functional as F
from torch import nn

device = "cuda:0" if torch.cuda.is_available() else "cpu"
torch.manual_seed(6)


class GraphConv(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x, adjacency):
        return self.linear(adjacency @ x / adjacency.sum(dim=1, keepdim=True))


adjacency = (torch.rand(15, 15) > 0.6).float().to(device)
adjacency.fill_diagonal_(1)
nodes = torch.randn(15, 5).to(device)
labels = torch.randint(0, 2, (15,)).to(device)
first, second = GraphConv(5, 8).to(device), GraphConv(8, 2).to(device)
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()], lr=1e-2)

for epoch in range(5):
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        hidden = F.relu(first(nodes, adjacency))
        loss = F.cross_entropy(second(hidden, adjacency), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.2f}")
