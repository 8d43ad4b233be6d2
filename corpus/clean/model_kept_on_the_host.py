"""One of two models stays on the host on purpose and gets host inputs."""
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.manual_seed(26)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
embedding_table = nn.EmbeddingBag(10_000, 8)  # too large for the device in earnest
ranker = nn.Linear(8, 1).to(device)

for ids in DataLoader(torch.randint(0, 10_000, (12, 6)), batch_size=4):
    vectors = embedding_table(ids)
    scores = ranker(vectors.to(device))
    loss = scores.pow(2).mean()
    loss.backward()

print(f"loss {loss.item():.4f}")
