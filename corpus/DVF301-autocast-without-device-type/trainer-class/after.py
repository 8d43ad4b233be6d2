import torch
import torch.nn as nn


class Trainer:
    def __init__(self, model, amp=True):
        self.device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        self.model = model.to(self.device)
        self.amp = amp
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-2)

    def train_batch(self, x, y):
        x, y = x.to(self.device), y.to(self.device)
        with torch.autocast(self.device.type, enabled=self.amp, dtype=torch.bfloat16):
            output = self.model(x)
            loss = nn.functional.l1_loss(output, y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def predict(self, x):
        with torch.autocast(self.device.type, enabled=self.amp, dtype=torch.bfloat16):
            return self.model(x.to(self.device)).float().cpu()


torch.manual_seed(4)
trainer = Trainer(nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)))
for _ in range(3):
    inputs = torch.randn(12, 6)
    loss = trainer.train_batch(inputs, inputs.mean(dim=1, keepdim=True))
print(trainer.predict(inputs).shape)
print(f"loss {loss:.2f}")
