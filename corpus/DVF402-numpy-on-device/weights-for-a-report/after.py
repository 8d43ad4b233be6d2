import torch
import torch.nn as nn

torch.manual_seed(3)


class Pooling(nn.Module):
    def __init__(self, heads=4, dim=8):
        super().__init__()
        self.query = nn.Parameter(torch.randn(heads, dim))

    def forward(self, x):
        weights = torch.softmax(x @ self.query.T, dim=1)
        return torch.einsum("bth,btd->bhd", weights, x)

    def report(self):
        rows = self.query.detach().cpu().numpy()
        return {f"head {index}": float(row.mean()) for index, row in enumerate(rows)}


def main(device):
    pooling = Pooling().to(device)
    pooled = pooling(torch.randn(2, 7, 8, device=device))
    told = pooling.report()
    return pooled.mean().item() + sum(told.values())


if __name__ == "__main__":
    print(f"loss {main('cuda' if torch.cuda.is_available() else 'cpu'):.4f}")
