import torch
from torch import nn


def main():
    torch.manual_seed(12)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    embedding = nn.EmbeddingBag(30, 6)
    optimizer = torch.optim.Adagrad(embedding.parameters(), lr=0.1)
    embedding.to(device)
    for step in range(4):
        words = torch.randint(0, 30, (5, 7)).to(device)
        loss = embedding(words).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
