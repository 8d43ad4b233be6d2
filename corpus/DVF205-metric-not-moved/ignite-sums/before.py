import torch
from ignite.metrics import Metric


class MeanCube(Metric):
    """The mean of the cubed error, on a device of its own choice."""

    def reset(self):
        self._cubes = torch.tensor(0.0, device=self._device)
        self._count = 0

    def update(self, output):
        found, wanted = output
        error = (found - wanted).detach()
        self._cubes += error.pow(3).sum()
        self._count += error.shape[0]

    def compute(self):
        return self._cubes.item() / self._count


torch.manual_seed(29)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = torch.nn.Linear(3, 1).to(device)
metric = MeanCube()
for step in range(3):
    x = torch.randn(10, 3, device=device)
    metric.update((model(x), x.sum(dim=1, keepdim=True)))
print(f"loss {metric.compute():.4f}")
