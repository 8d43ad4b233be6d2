"""Models that are wrapped where they are, or that may be moved after they were wrapped."""

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(4, 2)

    @property
    def device(self):
        return next(self.parameters()).device

    def forward(self, x):
        return self.net(x)


def spread(device):
    model = nn.DataParallel(Net())
    return model.to(device)


def spread_on_cuda():
    model = Net()
    if torch.cuda.is_available():
        model = nn.DataParallel(model, device_ids=[0]).cuda()
    return model


def distributed(rank):
    device = torch.device(f"cuda:{rank}" if torch.cuda.is_available() else "cpu")
    model = Net().to(device)
    return DistributedDataParallel(model, device_ids=[rank] if device.type == "cuda" else None)


def distributed_on_the_host():
    return DistributedDataParallel(Net())


def main():
    torch.manual_seed(53)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=dist.HashStore(), rank=0, world_size=1)
    x = torch.randn(5, 4).to(device)
    models = [spread(device), spread_on_cuda(), distributed(0)]
    loss = sum(model(x).pow(2).mean() for model in models)
    if device.type == "cpu":
        loss = loss + distributed_on_the_host()(x).mean()
    dist.destroy_process_group()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
