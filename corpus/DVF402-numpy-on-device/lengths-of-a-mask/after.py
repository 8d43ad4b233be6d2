import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(9)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 6, padding_idx=0)
        self.rnn = nn.GRU(6, 5, batch_first=True)
        self.score = nn.Linear(5, 1)

    def forward(self, tokens):
        lengths = torch.clamp((tokens != 0).sum(dim=1), min=1)
        packed = pack_padded_sequence(self.embed(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return self.score(states.sum(dim=1)).squeeze(1)


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    reader = Reader().to(device)
    tokens = torch.randint(1, 12, (8, 7))
    tokens[:, 5:] = 0
    loss = reader(tokens.to(device)).pow(2).mean()
    loss.backward()
    return loss.item()


if __name__ == "__main__":
    print(f"loss {main():.4f}")
