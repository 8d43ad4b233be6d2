import torch


def masked_mean(hidden: torch.Tensor, mask=None) -> torch.Tensor:
    """The mean over the positions that count; all do where there is no mask."""
    if mask is None:
        mask = torch.ones(hidden.shape[:2], dtype=hidden.dtype, device=hidden.device)
    weighted = hidden * mask.unsqueeze(-1)
    return weighted.sum(dim=1) / mask.sum(dim=1, keepdim=True)


torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
hidden = torch.randn(2, 5, 4).to(device)
print(f"loss {masked_mean(hidden).abs().mean().item():.4f}")
