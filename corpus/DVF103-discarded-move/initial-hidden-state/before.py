import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self, n_in=4, n_hidden=8, n_tags=3):
        super().__init__()
        self.n_hidden = n_hidden
        self.lstm = nn.LSTM(n_in, n_hidden)
        self.tags = nn.Linear(n_hidden, n_tags)

    def forward(self, sequence, state):
        output, state = self.lstm(sequence, state)
        return self.tags(output), state


def train(device, length=6, batch=5):
    model = Tagger().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    sequence = torch.randn(length, batch, 4).to(device)
    tags = torch.randint(0, 3, (length, batch)).to(device)
    for epoch in range(4):
        h = torch.zeros(1, batch, model.n_hidden)
        c = torch.zeros(1, batch, model.n_hidden)
        h.to(device)
        c.to(device)
        scores, _ = model(sequence, (h, c))
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tags.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
print(f"loss {train(device):.4f}")
