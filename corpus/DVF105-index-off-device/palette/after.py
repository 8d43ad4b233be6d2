import torch
from torch import nn

PALETTE = torch.tensor([[0, 0, 0], [255, 0, 0], [0, 255, 0]], dtype=torch.uint8)


def colored(logits: torch.Tensor):
    """The picture of a segmentation, on the host."""
    labels = logits.argmax(dim=1)
    return PALETTE[labels.cpu()].numpy()


torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = nn.Conv2d(1, 3, 3, padding=1).to(device)
image = torch.rand(2, 1, 5, 5, device=device)
logits = net(image)
picture = colored(logits.detach())
loss = logits.mean() + float(picture.mean())
print(f"loss {loss.item():.4f}")
