import argparse

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset


def get_args():
    parser = argparse.ArgumentParser(description="a small digit classifier")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=42)
    return parser.parse_known_args()[0]


def train(args, model, loader, optimizer):
    model.train()
    for data, target in loader:
        data = data.to(args.device)
        optimizer.zero_grad()
        output = F.log_softmax(model(data), dim=1)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    dataset = TensorDataset(torch.randn(40, 64), torch.randint(0, 10, (40,)))
    loader = DataLoader(dataset, batch_size=10)
    model = nn.Linear(64, 10).to(args.device)
    optimizer = optim.SGD(model.parameters(), lr=args.lr)
    loss = 0.0
    for epoch in range(1, 4):
        loss = train(args, model, loader, optimizer)
    print("loss {:.4f}".format(loss))


if __name__ == "__main__":
    main()
