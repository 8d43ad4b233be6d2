import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 3)
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(self.conv(x).relu().mean(dim=2))


def worker(local_rank):
    dist.init_process_group("nccl", store=dist.HashStore(), rank=local_rank, world_size=1)
    torch.cuda.set_device(local_rank)
    net = Classifier()
    net = DDP(net, device_ids=[local_rank], output_device=local_rank)
    signal = torch.randn(6, 2, 10).to(local_rank)
    target = torch.arange(6).to(local_rank) % 3
    loss = F.cross_entropy(net(signal), target)
    loss.backward()
    dist.destroy_process_group()
    return loss.item()


def main():
    torch.manual_seed(7)
    if torch.cuda.is_available():
        print(f"loss {worker(0):.4f}")
    else:
        print(f"loss {F.cross_entropy(Classifier()(torch.randn(6, 2, 10)), torch.arange(6) % 3).item():.4f}")


main()
