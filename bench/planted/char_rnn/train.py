import argparse

import torch
from torch import nn

from data import VOCABULARY, batches
from model import CharRNN


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--no-cuda", action="store_true")
    return parser.parse_args()


def train(model, optimizer, args, device):
    criterion = nn.CrossEntropyLoss()
    total = 0.0
    for inputs, targets in batches(24, args.batch_size):
        inputs = inputs.to(device)
        targets = targets.to(device)
        hidden = model.init_hidden(args.batch_size, device)
        logits, hidden = model(inputs, hidden)
        loss = criterion(logits.flatten(0, 1), targets.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    return total


def main():
    args = parse()
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    torch.manual_seed(1)
    model = CharRNN(len(VOCABULARY)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        print(f"epoch {epoch}: {train(model, optimizer, args, device):.4f}")


if __name__ == "__main__":
    main()
