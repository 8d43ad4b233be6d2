import os

import torch
import torch.nn as nn


def worker(rank, steps=3):
    torch.manual_seed(5 + rank)
    use_cuda = torch.cuda.is_available()
    device = torch.device(f"cuda:{rank}" if use_cuda else "cpu")
    model = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(steps):
        x = torch.randn(4, 6, 8, device=device)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=use_cuda):
            loss = (model(x) - x).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    print(f"loss {worker(int(os.environ.get('LOCAL_RANK', 0))):.4f}")
