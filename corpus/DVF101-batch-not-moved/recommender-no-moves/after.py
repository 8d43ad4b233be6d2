import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MatrixFactorization(nn.Module):
    def __init__(self, n_users, n_items, rank=8):
        super().__init__()
        self.user_factors = nn.Embedding(n_users, rank)
        self.item_factors = nn.Embedding(n_items, rank)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)

    def forward(self, user, item):
        dot = (self.user_factors(user) * self.item_factors(item)).sum(dim=1)
        return dot + self.user_bias(user).squeeze(1) + self.item_bias(item).squeeze(1)


def make_ratings(n=200, n_users=30, n_items=40):
    users = torch.randint(0, n_users, (n,))
    items = torch.randint(0, n_items, (n,))
    ratings = torch.randint(1, 6, (n,)).float()
    return TensorDataset(users, items, ratings)


def main():
    torch.manual_seed(17)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    loader = DataLoader(make_ratings(), batch_size=50, shuffle=True)
    model = MatrixFactorization(30, 40).to(device)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.1)
    loss_fn = nn.MSELoss()

    for epoch in range(3):
        for users, items, ratings in loader:
            users = users.to(device, non_blocking=True)
            items = items.to(device, non_blocking=True)
            ratings = ratings.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = loss_fn(model(users, items), ratings)
            loss.backward()
            optimizer.step()
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
