import torch
from torch import nn


class Trainer:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.2)

    def compute_loss(self, logits: torch.Tensor, labels: torch.Tensor):
        loss_fct = nn.CrossEntropyLoss(weight=torch.tensor([1.0, 3.0], device=labels.device))
        return loss_fct(logits.view(-1, 2), labels.view(-1))

    def step(self, x, labels):
        loss = self.compute_loss(self.model(x), labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
trainer = Trainer(nn.Linear(3, 2).to(device))
for _ in range(3):
    loss = trainer.step(torch.randn(5, 3, device=device), torch.randint(0, 2, (5,), device=device))
print(f"loss {loss:.4f}")
