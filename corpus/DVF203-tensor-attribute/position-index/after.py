import torch
from torch import nn


class Classifier(nn.Module):
    def __init__(self, vocabulary=20, length=12, width=8, classes=3):
        super().__init__()
        self.register_buffer("positions", torch.arange(length), persistent=False)
        self.word = nn.Embedding(vocabulary, width)
        self.place = nn.Embedding(length, width)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):
        hidden = self.word(tokens) + self.place(self.positions[: tokens.size(1)])
        return self.head(hidden.mean(dim=1))


torch.manual_seed(0)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Classifier().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
tokens = torch.randint(0, 20, (16, 10)).to(device)
labels = torch.randint(0, 3, (16,)).to(device)
for step in range(5):
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
