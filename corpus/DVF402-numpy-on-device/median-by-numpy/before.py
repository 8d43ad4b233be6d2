import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)


def main(device):
    data = torch.randn(24, 6)
    loader = DataLoader(TensorDataset(data, data.sum(1)), batch_size=8)
    model = nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 1)).to(device)
    model.eval()
    errors = []
    with torch.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            error = (model(x).squeeze(-1) - y).abs()
            errors.append(np.median(error))
    return float(sum(errors) / len(errors))


if __name__ == "__main__":
    print(f"loss {main('cuda' if torch.cuda.is_available() else 'cpu'):.4f}")
