import torch
import torch.nn as nn

torch.manual_seed(4)


def best_paths(log_probs, width):
    batch, steps, words = log_probs.shape
    scores = torch.Tensor(
        batch * width, device=log_probs.device
    )
    scores.fill_(float("-inf"))
    scores.view(batch, width)[:, 0] = 0.0
    for step in range(steps):
        grown = scores.view(batch, width, 1) + log_probs[:, step, None, :]
        scores = grown.view(batch, width * words).topk(width).values.view(-1)
    return scores.view(batch, width)[:, 0]


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Linear(6, 9).to(device)
    log_probs = model(torch.randn(3, 5, 6, device=device)).log_softmax(dim=-1)
    return best_paths(log_probs, 4).mean().item()


if __name__ == "__main__":
    print(f"score {main():.4f}")
