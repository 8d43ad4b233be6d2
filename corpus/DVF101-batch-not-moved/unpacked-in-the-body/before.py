import os
import random

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def seed_everything(seed):
    random.seed(seed)
    os.environ["PYTHONHASHSEED"] = str(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)


def load_table(rows=80):
    table = np.random.rand(rows, 9).astype("float32")
    target = table[:, :3].sum(axis=1, keepdims=True)
    return TensorDataset(torch.from_numpy(table), torch.from_numpy(target))


def run(config):
    seed_everything(config["seed"])
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Sequential(nn.Linear(9, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=config["lr"])
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2)
    loader = DataLoader(load_table(), batch_size=config["batch_size"], shuffle=True)

    for epoch in range(config["epochs"]):
        losses = []
        for batch in loader:
            features, target = batch
            features = features.to(device)
            loss = nn.functional.mse_loss(model(features), target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
    return float(np.mean(losses))


print(f"loss {run({'seed': 3, 'lr': 1e-2, 'batch_size': 20, 'epochs': 2}):.4f}")
