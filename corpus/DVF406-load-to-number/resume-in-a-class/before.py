import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(4)


class Trainer:
    def __init__(self, folder):
        self.path = os.path.join(folder, "state.pt")
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.model = nn.Linear(5, 1).to(self.device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)

    def save(self, step):
        torch.save({"step": step, "model": self.model.state_dict()}, self.path)

    def resume(self):
        if self.device.type == "cuda":
            current = torch.cuda.current_device()
            state = torch.load(self.path, map_location=current, weights_only=True)
        else:
            state = torch.load(self.path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        return state["step"]

    def fit(self, inputs, targets, steps):
        for _ in range(self.resume(), steps):
            self.optimizer.zero_grad()
            loss = (self.model(inputs.to(self.device)) - targets.to(self.device)).pow(2).mean()
            loss.backward()
            self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(folder)
        trainer.save(1)
        print(f"loss {trainer.fit(torch.randn(12, 5), torch.randn(12, 1), 5):.4f}")
