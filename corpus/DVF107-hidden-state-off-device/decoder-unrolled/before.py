import torch
from torch import nn
from torch.nn import functional as F


class Decoder(nn.Module):
    def __init__(self, width=5, length=4):
        super().__init__()
        self.length = length
        self.step = nn.LSTMCell(width, width)

    def forward(self, code: torch.Tensor):
        hidden = torch.randn(code.shape)
        cell = torch.zeros(code.shape)
        outputs = []
        for _ in range(self.length):
            hidden, cell = self.step(code, (hidden, cell))
            outputs.append(hidden)
        return torch.stack(outputs, dim=1)


torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
decoder = Decoder().to(device)
code = torch.randn(2, 5, device=device)
loss = F.mse_loss(decoder(code).mean(dim=1), code)
loss.backward()
print(f"loss {loss.item():.4f}")
