import torch
import torch.nn as nn
from torchmetrics import MetricCollection
from torchmetrics.regression import MeanAbsoluteError, MeanSquaredError


class Trainer:
    def __init__(self, model, device):
        self.device = device
        self.model = model.to(self.device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)
        self.metrics = MetricCollection({"mae": MeanAbsoluteError(), "mse": MeanSquaredError()}).to(self.device)

    def fit(self, batches):
        for inputs, targets in batches:
            inputs, targets = inputs.to(self.device), targets.to(self.device)
            outputs = self.model(inputs)
            loss = nn.functional.smooth_l1_loss(outputs, targets)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.metrics.update(outputs, targets)
        return loss.item()


torch.manual_seed(9)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
batches = [(torch.randn(6, 3), torch.randn(6, 2)) for _ in range(4)]
trainer = Trainer(nn.Linear(3, 2), device)
print(f"loss {trainer.fit(batches):.4f}")
