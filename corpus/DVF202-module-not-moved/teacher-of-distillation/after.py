import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


def mlp(*sizes):
    layers = []
    for n_in, n_out in zip(sizes, sizes[1:]):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def distill(student, teacher, loader, args):
    optimizer = torch.optim.SGD(student.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        for x, y in loader:
            x, y = x.to(args.device), y.to(args.device)
            with torch.no_grad():
                soft = F.softmax(teacher(x) / args.T, dim=1)
            logits = student(x)
            kd = F.kl_div(F.log_softmax(logits / args.T, dim=1), soft, reduction="batchmean")
            loss = F.cross_entropy(logits, y) + args.T ** 2 * kd
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--T", type=float, default=2.0)
    args, _ = parser.parse_known_args()

    torch.manual_seed(6)
    loader = DataLoader(TensorDataset(torch.randn(40, 8), torch.randint(0, 4, (40,))), batch_size=10)
    teacher = mlp(8, 64, 64, 4).to(args.device)
    student = mlp(8, 16, 4)
    student = student.to(args.device)
    teacher.eval()
    print(f"loss {distill(student, teacher, loader, args):.4f}")


if __name__ == "__main__":
    main()
