import torch
from torch.nn import GRUCell, Linear, Module
from torch.nn.functional import mse_loss


class Forecaster(Module):
    def __init__(self, series, hidden=6, layers=2):
        super().__init__()
        self.hidden = hidden
        self.cells: torch.nn.ModuleList = torch.nn.ModuleList([GRUCell(series, hidden)] + [GRUCell(hidden, hidden) for _ in range(layers - 1)])
        self.readout = Linear(hidden, series) if layers else None

    def forward(self, values):
        states = [values.new_zeros(values.shape[0], self.hidden) for _ in self.cells]
        for step in values.unbind(1):
            for i, cell in enumerate(self.cells):
                states[i] = step = cell(step, states[i])
        return self.readout(states[-1])


torch.manual_seed(31)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = Forecaster(3).to(device)
history = torch.randn(4, 9, 3, device=device)
loss = mse_loss(model(history[:, :-1]), history[:, -1])
print(f"loss {loss.item():.4f}")
