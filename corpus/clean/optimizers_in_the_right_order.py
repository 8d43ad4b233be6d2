"""Optimizers that are built before the move without harm, or after it, or that move their state themselves."""

import io

import torch
from torch import nn


def plain_order(device):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)  # its state is made in the first step
    model.to(device)
    return model, optimizer


def resumed(states, device):
    model = nn.Linear(4, 2)
    model.load_state_dict(states[0])
    model.to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    optimizer.load_state_dict(states[1])
    return model, optimizer


def moves_its_state(states, device):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    optimizer.load_state_dict(states[1])
    model.to(device)
    for state in optimizer.state.values():
        for name, value in state.items():
            if torch.is_tensor(value) and name != "step":
                state[name] = value.to(device)
    return model, optimizer


def train(model, optimizer, device, file):
    for step in range(2):
        model.to(device)
        x = torch.randn(5, 4).to(device)
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.save(model.cpu().state_dict(), file)
    model.to(device)
    return loss.item()


def main():
    torch.manual_seed(59)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model, optimizer = plain_order(device)
    loss = train(model, optimizer, device, io.BytesIO())
    states = model.state_dict(), optimizer.state_dict()
    for build in (resumed, moves_its_state):
        loss += train(*build(states, device), device, io.BytesIO())
    print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
