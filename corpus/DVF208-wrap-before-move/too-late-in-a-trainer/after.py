import torch
import torch.distributed as dist
from torch import nn


class Trainer:
    def __init__(self, args):
        self.args = args
        self.model = nn.Linear(5, 2)
        if args["distributed"]:
            self.model = nn.parallel.DistributedDataParallel(
                self.model.to(args["gpu"]), device_ids=[args["gpu"]], broadcast_buffers=False
            )
        self.model.to(args["device"])

    def loss(self, x):
        return self.model(x.to(self.args["device"])).square().mean()


def main():
    torch.manual_seed(19)
    use_cuda = torch.cuda.is_available()
    if use_cuda:
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    args = {"distributed": use_cuda, "gpu": 0, "device": "cuda:0" if use_cuda else "cpu"}
    loss = Trainer(args).loss(torch.randn(8, 5))
    loss.backward()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
