import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(8)


class Buffer:
    def __init__(self, size, dim):
        self.states = torch.zeros(size, dim)
        self.next = 0

    def add(self, state):
        self.states[self.next] = state.cpu()
        self.next += 1

    def as_array(self):
        return self.states[: self.next].numpy()


class Points(torch.utils.data.Dataset):
    def __init__(self, points):
        self.points = points

    def __len__(self):
        return len(self.points)

    def __getitem__(self, index):
        return self.points[index].numpy() * 2


def as_array(values):
    if values.is_cuda:
        values = values.cpu()
    return values.detach().numpy()


def noise_table(count):
    return torch.randn(count, generator=torch.Generator().manual_seed(0)).numpy()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(3, 3).to(device)
    buffer = Buffer(4, 3)
    for row in torch.randn(4, 3):
        buffer.add(model(row.to(device)).detach())
    found = [buffer.as_array().mean(), np.mean(Points(torch.ones(5, 3))[0]), noise_table(3).sum()]
    outputs = model(torch.randn(2, 3, device=device))
    found.append(outputs.detach().to("cpu").float().numpy().mean())
    found.append(as_array(outputs).mean())
    with torch.no_grad():
        outputs = model(torch.randn(2, 3, device=device)).cpu()
    found.append(outputs.numpy().max())
    return float(np.sum(found))


if __name__ == "__main__":
    print(f"loss {main():.4f}")
