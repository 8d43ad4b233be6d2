import torch
import torch.nn as nn


class BiLSTM(nn.Module):
    def __init__(self, n_in, n_hidden, n_layers=2):
        super(BiLSTM, self).__init__()
        self.n_hidden, self.n_layers = n_hidden, n_layers
        self.lstm = nn.LSTM(n_in, n_hidden, n_layers, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * n_hidden, 1)

    def forward(self, x):
        # one state for each layer and direction
        h0 = torch.zeros(self.n_layers * 2, x.size(0), self.n_hidden)
        c0 = torch.zeros(self.n_layers * 2, x.size(0), self.n_hidden)
        out, _ = self.lstm(x, (h0, c0))
        return self.fc(out[:, -1, :])


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = BiLSTM(3, 4).to(device)
x, y = torch.randn(5, 6, 3, device=device), torch.randn(5, 1, device=device)
loss = nn.functional.mse_loss(model(x), y)
loss.backward()
print(f"loss {loss.item():.4f}")
