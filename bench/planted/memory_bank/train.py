"""Momentum contrast with a queue of negatives."""

import torch
import torch.nn.functional as F
from torch import nn


class Contrast(nn.Module):
    def __init__(self, dim=16, size=64, temperature=0.2):
        super().__init__()
        self.size = size
        self.temperature = temperature
        self.encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, dim))
        self.register_buffer("queue", F.normalize(torch.randn(size, dim), dim=1))
        self.pointer = 0

    def forward(self, query, key):
        q = F.normalize(self.encoder(query), dim=1)
        with torch.no_grad():
            k = F.normalize(self.encoder(key), dim=1)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone().detach().t()
        logits = torch.cat([positive, negative], dim=1) / self.temperature
        labels = torch.zeros(len(q), dtype=torch.long, device=q.device)
        self.enqueue(k)
        return logits, labels

    @torch.no_grad()
    def enqueue(self, keys):
        end = self.pointer + len(keys)
        self.queue[self.pointer : end] = keys
        self.pointer = end % self.size


def main():
    torch.manual_seed(0)
    model = Contrast()
    if torch.cuda.is_available():
        model = model.cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    data = torch.randn(128, 12)
    for step, batch in enumerate(data.split(16)):
        if torch.cuda.is_available():
            batch = batch.cuda(non_blocking=True)
        logits, labels = model(batch, batch + 0.05 * torch.randn_like(batch))
        loss = F.cross_entropy(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
