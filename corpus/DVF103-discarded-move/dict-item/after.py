import torch
import torch.nn as nn

torch.manual_seed(4)


def make_batches(count, size=8):
    for _ in range(count):
        yield {"query": torch.randn(size, 6), "key": torch.randn(size, 6), "score": torch.rand(size)}


class Matcher(nn.Module):
    def __init__(self, dim=6):
        super().__init__()
        self.proj = nn.Linear(dim, dim, bias=False)

    def forward(self, q, k):
        return torch.sigmoid((self.proj(q) * self.proj(k)).sum(-1))


def main(device):
    model = Matcher().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for batch in make_batches(5):
        batch["query"] = batch["query"].to(device)
        batch["key"] = batch["key"].to(device)
        batch["score"] = batch["score"].to(device)
        loss = nn.functional.binary_cross_entropy(model(batch["query"], batch["key"]), batch["score"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    print(f"loss {main('cuda' if torch.cuda.is_available() else 'cpu'):.4f}")
