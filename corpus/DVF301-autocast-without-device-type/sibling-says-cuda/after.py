import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


def train_step(model, batch, optimizer, scaler, amp):
    x, y = batch
    with autocast("cuda", enabled=amp, dtype=torch.bfloat16):
        loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


@torch.no_grad()
def validate(model, batches, amp):
    losses = []
    for x, y in batches:
        with autocast("cuda", enabled=amp, dtype=torch.bfloat16):
            losses.append(nn.functional.mse_loss(model(x), y).item())
    return sum(losses) / len(losses)


def main():
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    amp = device.type == "cuda"
    loader = DataLoader(TensorDataset(torch.randn(30, 5), torch.randn(30, 1)), batch_size=10)
    batches = [(x.to(device), y.to(device)) for x, y in loader]
    model = nn.Linear(5, 1).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scaler = GradScaler("cuda", enabled=amp)
    for batch in batches:
        train_step(model, batch, optimizer, scaler, amp)
    print(f"loss {validate(model, batches, amp):.4f}")


if __name__ == "__main__":
    main()
