"""An image is fitted to the statistics of another one; the optimizer calls a closure."""

import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def gram(features):
    count, channels, height, width = features.shape
    flat = features.view(count * channels, height * width)
    return flat @ flat.t() / flat.numel()


class Extractor(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)])

    def forward(self, image):
        found = []
        for layer in self.layers:
            image = layer(image).relu()
            found.append(image)
        return found


def main():
    torch.manual_seed(2)
    extractor = Extractor().to(device).eval()
    for weight in extractor.parameters():
        weight.requires_grad_(False)
    content = torch.rand(1, 3, 12, 12)
    style = torch.rand(1, 3, 12, 12).to(device)
    mask = torch.ones(1, 1, 12, 12, device=device)
    mask[..., :3] = 0.5
    image = content.clone().to(device).requires_grad_(True)
    targets = [gram(features) for features in extractor(style)]
    original = content.to(device)
    optimizer = torch.optim.LBFGS([image], max_iter=4)

    def closure():
        optimizer.zero_grad()
        style_loss = sum(
            nn.functional.mse_loss(gram(features), target)
            for features, target in zip(extractor(image), targets)
        )
        content_loss = (mask * (image - original) ** 2).mean()
        loss = 100 * style_loss + content_loss
        loss.backward()
        return loss

    for step in range(2):
        print(f"step {step}: {optimizer.step(closure).item():.5f}")


if __name__ == "__main__":
    main()
