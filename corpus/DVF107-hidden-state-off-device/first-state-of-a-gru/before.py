import torch
from torch import nn


class Reader(nn.Module):
    def __init__(self, vocabulary=12, width=6, classes=2):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(vocabulary, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        h0 = torch.zeros(1, tokens.size(0), self.width)
        _, last = self.gru(self.embed(tokens), h0)
        return self.head(last[0])


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Reader().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens, labels = torch.randint(0, 12, (8, 5)).to(device), torch.randint(0, 2, (8,)).to(device)
for _ in range(3):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
