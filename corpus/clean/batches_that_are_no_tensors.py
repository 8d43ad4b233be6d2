"""batch, loader and model are common words."""
import json

import torch


class ConfigLoader:
    def __init__(self, texts):
        self.texts = texts

    def __iter__(self):
        for text in self.texts:
            yield json.loads(text)


class Warehouse:
    def __init__(self, device="forklift"):
        self.device = device
        self.moved = []

    def to(self, place):
        self.moved.append(place)
        return self

    def model(self, batch):
        return sum(item["weight"] for item in batch["items"])


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loader = ConfigLoader(['{"items": [{"weight": 2}, {"weight": 3}], "to": "dock"}', '{"items": [], "to": "shop"}'])
house = Warehouse()
model = house.model
total = 0
for batch in loader:
    house.to(batch["to"])
    total += model(batch)

x = torch.full((2,), float(total), device=device)
print(house.moved, f"loss {x.mean().item():.4f}")
