import torch
from torch import nn

torch.manual_seed(4)
device = "cuda" if torch.cuda.is_available() else "cpu"


class Tagger(nn.Module):
    def __init__(self, vocab_size, dim=10):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, dim)
        self.rnn = nn.GRU(dim, 12, batch_first=True)
        self.tag = nn.Linear(12, 3)

    def forward(self, words):
        states, _ = self.rnn(self.embedding(words))
        return self.tag(states)


model = Tagger(vocab_size=30).to(device)
vectors = torch.rand(50, 10)
model.embedding = nn.Embedding.from_pretrained(vectors, freeze=True)
model.to(device)

optimizer = torch.optim.Adam((p for p in model.parameters() if p.requires_grad), lr=1e-2)
words = torch.randint(0, 50, (4, 7), device=device)
tags = torch.randint(0, 3, (4, 7), device=device)
for epoch in range(3):
    loss = nn.functional.cross_entropy(model(words).transpose(1, 2), tags)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
