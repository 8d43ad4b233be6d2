import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Checkers(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        board = (torch.arange(16).reshape(4, 4) + index) % 2
        board = board.float().unsqueeze(0)
        if torch.cuda.is_available():
            board = board.cuda()
        return board, index % 2


def train(loader, model):
    use_cuda = torch.cuda.is_available()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for board, label in loader:
        if use_cuda:
            board, label = board.cuda(), label.cuda()
        loss = nn.functional.cross_entropy(model(board), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(9)
model = nn.Sequential(nn.Flatten(), nn.Linear(16, 2))
if torch.cuda.is_available():
    model.cuda()
loader = DataLoader(Checkers(), batch_size=4, num_workers=0)
print(f"loss {train(loader, model):.4f}")
