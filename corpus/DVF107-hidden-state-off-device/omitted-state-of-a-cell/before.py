import torch
from torch import nn


class Policy(nn.Module):
    def __init__(self, n_in=4, n_hidden=6, n_out=2):
        super().__init__()
        self.n_hidden = n_hidden
        self.cell = nn.GRUCell(n_in, n_hidden)
        self.head = nn.Linear(n_hidden, n_out)

    def forward(self, observation, state=None):
        if state is None:
            state = torch.zeros(observation.size(0), self.n_hidden)
        state = self.cell(observation, state)
        return self.head(state), state


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy = Policy().to(device)
state, loss = None, 0.0
for _ in range(3):
    action, state = policy(torch.randn(3, 4, device=device), state)
    loss = loss + action.pow(2).mean()
loss.backward()
print(f"loss {loss.item():.4f}")
