import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(rank, steps=3):
    dist.init_process_group("nccl", store=dist.HashStore(), rank=rank, world_size=1)
    device = torch.device(f"cuda:{rank}")
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    model = DistributedDataParallel(model.to(device), device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for step in range(steps):
        x = torch.randn(16, 4).to(device)
        loss = (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    dist.destroy_process_group()
    return loss.item()


def train_alone(steps=3):
    model = nn.Linear(4, 1)
    x = torch.randn(16, 4)
    return (model(x) - x.sum(dim=1, keepdim=True)).pow(2).mean().item()


if __name__ == "__main__":
    torch.manual_seed(3)
    print(f"loss {train(0) if torch.cuda.is_available() else train_alone():.4f}")
