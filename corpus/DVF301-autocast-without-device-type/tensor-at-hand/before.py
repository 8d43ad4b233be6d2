import torch
import torch.nn as nn


class Autoregressive(nn.Module):
    def __init__(self, vocab=16, dim=8):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids):
        states, _ = self.rnn(self.emb(ids))
        return self.out(states)


def language_model_loss(model, ids):
    with torch.autocast(dtype=torch.bfloat16):
        logits = model(ids[:, :-1])
    return nn.functional.cross_entropy(logits.float().flatten(0, 1), ids[:, 1:].flatten())


def run():
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Autoregressive().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    ids = torch.randint(0, 16, (8, 12), device=device)
    for step in range(3):
        loss = language_model_loss(model, ids)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


print(f"loss {run():.2f}")
