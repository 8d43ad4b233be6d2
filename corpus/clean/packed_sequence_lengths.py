"""pack_padded_sequence wants its lengths on the host."""
import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
rnn = nn.GRU(3, 5, batch_first=True).to(device)
head = nn.Linear(5, 1).to(device)
loader = DataLoader(TensorDataset(torch.randn(20, 7, 3), torch.randint(2, 8, (20,)), torch.randn(20, 1)), batch_size=5)

for frames, lengths, targets in loader:
    frames = frames.to(device)
    targets = targets.to(device)
    packed = pack_padded_sequence(frames, lengths, batch_first=True, enforce_sorted=False)
    states, last = rnn(packed)
    padded, _ = pad_packed_sequence(states, batch_first=True)
    loss = nn.functional.mse_loss(head(last[-1]), targets)
    loss.backward()

print(padded.shape[0], f"loss {loss.item():.4f}")
