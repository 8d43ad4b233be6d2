import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class ImageEncoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 4, stride=4)
        self.proj = nn.Linear(8, dim)

    def forward(self, images):
        return F.normalize(self.proj(self.conv(images).mean(dim=(2, 3))), dim=-1)


class TextEncoder(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.EmbeddingBag(vocab, 16)
        self.proj = nn.Linear(16, dim)

    def forward(self, ids):
        return F.normalize(self.proj(self.emb(ids)), dim=-1)


def clip_loss(image_features, text_features, temperature=0.1):
    logits = image_features @ text_features.t() / temperature
    target = torch.arange(logits.size(0), device=logits.device)
    return (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target)) / 2


def main():
    torch.manual_seed(4)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    pairs = TensorDataset(torch.rand(24, 3, 8, 8), torch.randint(0, 60, (24, 5)))
    image_encoder = ImageEncoder(dim=10).to(device)
    text_encoder = TextEncoder(vocab=60, dim=10)
    params = list(image_encoder.parameters()) + list(text_encoder.parameters())
    optimizer = torch.optim.AdamW(params, lr=1e-3)
    for images, ids in DataLoader(pairs, batch_size=8, shuffle=True):
        images = images.to(device, non_blocking=True)
        ids = ids.to(device, non_blocking=True)
        loss = clip_loss(image_encoder(images), text_encoder(ids))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
