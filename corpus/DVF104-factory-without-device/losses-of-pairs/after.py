import torch
import torch.nn.functional as F
from torch import nn


def reconstruction_loss(pairs):
    loss = torch.tensor(0.0)
    for target, guess in pairs:
        loss = loss + F.mse_loss(guess, target)
    return loss


def main() -> None:
    torch.manual_seed(9)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 4).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    parts = [torch.randn(8, 4).to(device) for _ in range(3)]
    for _ in range(4):
        loss = reconstruction_loss([(part, model(part)) for part in parts])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


main()
