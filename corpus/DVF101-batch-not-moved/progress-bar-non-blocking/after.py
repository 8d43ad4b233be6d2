import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

try:
    from tqdm import tqdm
except ImportError:

    def tqdm(iterable, **kwargs):
        return iterable


def build_loader(batch_size):
    images = torch.rand(48, 3, 8, 8)
    targets = torch.rand(48, 5)
    return DataLoader(TensorDataset(images, targets), batch_size=batch_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--no-cuda", action="store_true")
    args, _ = parser.parse_known_args()

    torch.manual_seed(7)
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")

    model = nn.Sequential(nn.Flatten(), nn.Linear(3 * 8 * 8, 32), nn.Tanh(), nn.Linear(32, 5))
    model.to(device)
    criterion = nn.MSELoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    loader = build_loader(args.batch_size)

    for epoch in range(args.epochs):
        for step, (images, targets) in enumerate(tqdm(loader, disable=True)):
            images = images.to(device, non_blocking=True)
            targets = targets.to(device, non_blocking=True)

            predictions = model(images)
            loss = criterion(predictions, targets)

            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()

    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
