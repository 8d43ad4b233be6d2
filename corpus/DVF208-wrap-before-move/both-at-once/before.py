import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel.distributed import DistributedDataParallel as DDP


def build(rank):
    device = torch.device(f"cuda:{rank}") if torch.cuda.is_available() else torch.device("cpu")
    model = nn.GRU(3, 5, batch_first=True)
    model = DDP(model, device_ids=[rank], find_unused_parameters=True).to(device)
    return model, device


def step(rank):
    model, device = build(rank)
    outputs, _ = model(torch.randn(4, 7, 3, device=device))
    loss = outputs.pow(2).mean()
    loss.backward()
    return loss.item()


def main(rank=0):
    torch.manual_seed(43)
    name = "nccl" if torch.cuda.is_available() else "gloo"
    dist.init_process_group(name, store=dist.HashStore(), rank=rank, world_size=1)
    try:
        loss = step(rank)  # the wrapper goes before its group: the other way round may wait for ever
    finally:
        dist.destroy_process_group()
    print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
