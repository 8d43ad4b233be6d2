import torch


class Ladder(torch.nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.rungs = []
        for before, after in zip(sizes[:-1], sizes[1:]):
            gate = torch.nn.Sequential(torch.nn.Linear(before, after), torch.nn.Sigmoid())
            self.rungs.append((torch.nn.Linear(before, after), gate))

    def forward(self, x):
        for value, gate in self.rungs:
            x = value(x) * gate(x)
        return x


def main():
    torch.manual_seed(21)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    ladder = Ladder([7, 9, 5, 1]).to(device)
    inputs = torch.randn(12, 7, device=device)
    loss = (ladder(inputs) - inputs.sum(dim=1, keepdim=True)).pow(2).mean()
    print(f"loss {loss.item():.4f}")


main()
