import torch
from torch import nn
from torchmetrics import MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassRecall


def main():
    torch.manual_seed(23)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(5, 4).to(device)
    metrics = MetricCollection([MulticlassAccuracy(4), MulticlassRecall(4)])
    train_metrics = metrics.clone(prefix="train/")
    valid_metrics = metrics.clone(prefix="valid/")

    for measured in (train_metrics, valid_metrics):
        measured.reset()
    for step in range(3):
        x = torch.randn(12, 5).to(device)
        y = torch.randint(0, 4, (12,)).to(device)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        train_metrics.update(logits.argmax(dim=1), y)
    valid_metrics.update(logits.argmax(dim=1), y)
    print(f"loss {loss.item():.4f}", valid_metrics.compute()["valid/MulticlassRecall"].item())


if __name__ == "__main__":
    main()
