import torch
import torch.nn as nn


class KMeans:
    """Lloyd's algorithm on whatever device is there."""

    def __init__(self, points, k=3):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.points = points.to(self.device)
        self.centers = points[:k].clone()
        self.centers = self.centers.to(self.device)

    def step(self):
        distances = (self.points[:, None] - self.centers[None]).norm(dim=-1)
        nearest = distances.argmin(dim=1)
        one_hot = nn.functional.one_hot(nearest, self.centers.shape[0]).float()
        counts = one_hot.sum(dim=0).clamp(min=1)
        self.centers = (one_hot.T @ self.points) / counts[:, None]
        return distances.min(dim=1).values.mean()

    def fit(self, iterations):
        for _ in range(iterations):
            inertia = self.step()
        return inertia.item()


torch.manual_seed(2)
blobs = torch.cat([torch.randn(20, 2) + shift for shift in (-3.0, 0.0, 3.0)])
print(f"loss {KMeans(blobs).fit(5):.4f}")
