import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(37)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
VOCAB, LENGTH = 20, 8


class Copier(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.core = nn.Transformer(dim, nhead=2, num_encoder_layers=1, num_decoder_layers=1,
                                   dim_feedforward=32, dropout=0.0, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt):
        return self.out(self.core(self.embed(src), self.embed(tgt)))


tokens = torch.randint(2, VOCAB, (48, LENGTH))
loader = DataLoader(TensorDataset(tokens, tokens.flip(1)), batch_size=16)

model = Copier().to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
criterion = nn.CrossEntropyLoss(ignore_index=0)

for epoch in range(2):
    for src, tgt in loader:
        src = src.to(device)
        logits = model(src, tgt[:, :-1])
        loss = criterion(logits.reshape(-1, VOCAB), tgt[:, 1:].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

print(f"loss {loss.item():.4f}")
