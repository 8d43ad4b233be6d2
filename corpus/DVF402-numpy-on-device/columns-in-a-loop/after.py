import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def quartiles(model, loader):
    found = []
    with torch.no_grad():
        for (x,) in loader:
            scores = model(x.to(device)).softmax(dim=-1)
            for column in range(scores.shape[1]):
                found.append(np.percentile(scores[:, column].cpu(), 75))
    return found


torch.manual_seed(5)
loader = DataLoader(TensorDataset(torch.randn(12, 6)), batch_size=4)
model = nn.Linear(6, 3).to(device)
print(f"loss {np.mean(quartiles(model, loader)):.4f}")
