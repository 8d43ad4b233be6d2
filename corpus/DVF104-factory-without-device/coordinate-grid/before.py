import torch


def append_grid(image: torch.Tensor) -> torch.Tensor:
    batch, _, height, width = image.shape
    y = torch.linspace(0, 1, height)
    x = torch.linspace(0, 1, width)
    rows, columns = torch.meshgrid(y, x, indexing="ij")
    grid = torch.stack([rows, columns]).expand(batch, -1, -1, -1)
    return torch.cat([image, grid], dim=1)


torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
image = torch.randn(2, 3, 4, 5, device=device)
print(f"loss {append_grid(image).mean().item():.4f}")
