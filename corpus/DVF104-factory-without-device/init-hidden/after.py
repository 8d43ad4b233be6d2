import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, letters=10, width=8):
        super().__init__()
        self.width = width
        self.embed = nn.Embedding(letters, width)
        self.rnn = nn.RNN(width, width)
        self.out = nn.Linear(width, letters)

    def forward(self, letters, hidden):
        output, hidden = self.rnn(self.embed(letters), hidden)
        return self.out(output), hidden

    def init_hidden(self, batch):
        return torch.zeros(1, batch, self.width, device=device)


torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = CharRNN().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
letters = torch.randint(0, 10, (6, 3)).to(device)
for _ in range(3):
    hidden = model.init_hidden(3)
    scores, hidden = model(letters[:-1], hidden)
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), letters[1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
