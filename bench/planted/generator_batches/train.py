import torch
from data import Corpus
from torch import nn


def get_model():
    return nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 16))


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    corpus = Corpus(400)
    model = get_model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(2):
        for hidden, windows, mask in corpus.batches(4):
            hidden = hidden.to(device)
            windows = windows.to(device)
            mask = mask.to(device)
            output = model(hidden)
            loss = nn.functional.mse_loss(output[mask], windows[mask])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
