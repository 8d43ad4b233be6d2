import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast


def main():
    torch.manual_seed(1)
    use_cuda = torch.cuda.is_available()
    device = torch.device("cuda:0" if use_cuda else "cpu")
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = GradScaler("cuda", enabled=use_cuda)
    images = torch.rand(7, 1, 8, 8, device=device)
    labels = torch.randint(0, 5, (7,), device=device)

    for epoch in range(3):
        optimizer.zero_grad()
        with autocast("cuda:0", enabled=use_cuda):
            loss = nn.functional.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
