import torch
from torch import nn
from torchmetrics.classification import BinaryF1Score


def evaluate(model, loader, device):
    model.eval()
    score = BinaryF1Score().to(device)
    total = 0.0
    with torch.no_grad():
        for features, wanted in loader:
            features = features.to(device)
            wanted = wanted.to(device)
            found = model(features).squeeze(1)
            total += nn.functional.binary_cross_entropy_with_logits(found, wanted.float()).item()
            score(found.sigmoid(), wanted)
    return total / len(loader), score.compute().item()


def main():
    torch.manual_seed(13)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(4, 1).to(device)
    loader = [(torch.randn(8, 4), torch.randint(0, 2, (8,))) for _ in range(3)]
    loss, score = evaluate(model, loader, device)
    print(f"loss {loss:.4f} f1 {score:.3f}")


if __name__ == "__main__":
    main()
