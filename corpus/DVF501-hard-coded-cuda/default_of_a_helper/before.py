import torch
import torch.nn as nn

torch.manual_seed(6)


def smooth_targets(target, classes, smoothing=0.1, device="cuda"):
    off = smoothing / classes
    targets = torch.full((target.shape[0], classes), off, device=device)
    return targets.scatter_(1, target.view(-1, 1), 1.0 - smoothing + off)


def train(model, images, labels, device):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(4):
        targets = smooth_targets(labels.to(device), 5)
        loss = -(targets * model(images.to(device)).log_softmax(dim=-1)).sum(dim=-1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


def main():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = nn.Linear(8, 5).to(device)
    return train(model, torch.randn(12, 8), torch.randint(5, (12,)), device)


if __name__ == "__main__":
    print(f"loss {main():.4f}")
