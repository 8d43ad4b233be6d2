import torch
import torch.nn.functional as F


class Trainer:
    def __init__(self, model, device, lr=1e-3):
        self.device = device
        self.model = model.to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=8)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            for (tokens,) in loader:
                tokens = tokens.to(self.device)
                loss = self.step(tokens[:, :-1], tokens[:, 1:])
            print(f"epoch {epoch}: {loss:.4f}")

    def step(self, inputs, targets):
        logits = self.model(inputs)
        loss = F.cross_entropy(logits.transpose(1, 2), targets)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.scheduler.step()
        return loss.item()
