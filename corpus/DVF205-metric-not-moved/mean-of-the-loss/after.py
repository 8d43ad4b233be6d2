import torch
from torch import nn
from torchmetrics import MeanMetric


def run_epoch(model, batches, optimizer, average, device):
    for batch in batches:
        batch = batch.to(device)
        loss = (model(batch) - batch).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(loss.detach())


def main():
    torch.manual_seed(17)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(8, 3), nn.Linear(3, 8))
    model.to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    average = MeanMetric().to(device)
    run_epoch(model, [torch.randn(5, 8) for _ in range(4)], optimizer, average, device)
    print(f"loss {average.compute().item():.4f}")


main()
