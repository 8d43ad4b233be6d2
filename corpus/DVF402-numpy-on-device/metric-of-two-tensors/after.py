import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(4)


def correlation(predictions: torch.Tensor, targets: torch.Tensor) -> float:
    """Pearson's correlation."""
    first = predictions.flatten().cpu().numpy()
    second = targets.flatten().cpu().numpy()
    return float(np.corrcoef(first, second)[0, 1])


def main(device):
    model = nn.Linear(4, 1).to(device)
    x = torch.randn(32, 4, device=device)
    with torch.no_grad():
        predictions = model(x)
    return correlation(predictions, x.sum(1, keepdim=True))


if __name__ == "__main__":
    print(f"loss {main('cuda' if torch.cuda.is_available() else 'cpu'):.4f}")
