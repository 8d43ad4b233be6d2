import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

device = "cuda" if torch.cuda.is_available() else "cpu"
sentences = [torch.arange(1, 3 + i % 4) for i in range(12)]


def pad(batch):
    tokens = pad_sequence([one for one, _ in batch], batch_first=True)
    labels = torch.tensor([label for _, label in batch], device=device)
    return tokens, labels


torch.manual_seed(5)
model = nn.EmbeddingBag(8, 2, padding_idx=0).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
pairs = [(one, index % 2) for index, one in enumerate(sentences)]
loader = DataLoader(pairs, batch_size=4, collate_fn=pad, num_workers=1)
for tokens, labels in loader:
    tokens = tokens.to(device)
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
