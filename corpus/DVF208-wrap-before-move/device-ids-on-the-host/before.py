import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def run(local_rank):
    backend = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(backend, store=dist.HashStore(), rank=local_rank, world_size=1)
    device = torch.device(f"cuda:{local_rank}" if torch.cuda.is_available() else "cpu")
    model = torch.nn.Linear(6, 2).to(device)
    model = DistributedDataParallel(model, device_ids=[local_rank])
    x, y = torch.randn(10, 6).to(device), torch.randn(10, 2).to(device)
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss.item()


torch.manual_seed(41)
try:
    print(f"loss {run(0):.4f}")
finally:
    dist.destroy_process_group()
