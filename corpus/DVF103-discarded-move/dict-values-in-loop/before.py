import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

try:
    from tqdm.auto import tqdm
except ImportError:
    tqdm = iter


class Houses(Dataset):
    def __init__(self, n=30):
        self.rooms = torch.randint(1, 6, (n,))
        self.area = torch.rand(n) * 100
        self.price = self.rooms * 0.1 + self.area * 0.02

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return {"rooms": self.rooms[i], "area": self.area[i], "price": self.price[i]}


class PriceModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.rooms = nn.Embedding(6, 4)
        self.mlp = nn.Sequential(nn.Linear(5, 16), nn.SiLU(), nn.Linear(16, 1))

    def forward(self, rooms, area):
        x = torch.cat([self.rooms(rooms), area[:, None] / 100], dim=1)
        return self.mlp(x)[:, 0]


torch.manual_seed(3)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = PriceModel().to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)

for batch in tqdm(DataLoader(Houses(), batch_size=10)):
    for key, value in batch.items():
        value.to(device)
    prediction = model(batch["rooms"], batch["area"])
    loss = nn.functional.huber_loss(prediction, batch["price"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
