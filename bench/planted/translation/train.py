"""A sequence to a sequence, with packed inputs."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, BOS, VOCABULARY = 0, 1, 20
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Encoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim, padding_idx=PAD)
        self.rnn = nn.GRU(dim, dim, batch_first=True)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths.cpu(), batch_first=True, enforce_sorted=False)
        output, hidden = self.rnn(packed)
        return pad_packed_sequence(output, batch_first=True)[0], hidden


class Decoder(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCABULARY)

    def forward(self, memory, hidden, padding, steps):
        tokens = torch.full((memory.size(0), 1), BOS, device=memory.device)
        outputs = []
        for _ in range(steps):
            output, hidden = self.rnn(self.embedding(tokens), hidden)
            scores = output @ memory.transpose(1, 2)
            scores = scores.masked_fill(padding.unsqueeze(1), -1e9)
            logits = self.head(output + scores.softmax(-1) @ memory)
            outputs.append(logits)
            tokens = logits.argmax(-1)
        return torch.cat(outputs, dim=1)


def padding_mask(lengths, longest):
    return torch.arange(longest, device=lengths.device)[None] >= lengths[:, None]


def batches(count):
    for _ in range(count):
        rows = [torch.randint(2, VOCABULARY, (int(torch.randint(3, 8, ())),)) for _ in range(6)]
        lengths = torch.tensor([len(row) for row in rows])
        source = pad_sequence(rows, batch_first=True, padding_value=PAD)
        yield source, lengths, source.flip(1)


def main():
    torch.manual_seed(4)
    encoder, decoder = Encoder(16).to(device), Decoder(16).to(device)
    parameters = [*encoder.parameters(), *decoder.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for step, (source, lengths, target) in enumerate(batches(6)):
        source, lengths, target = source.to(device), lengths.to(device), target.to(device)
        memory, hidden = encoder(source, lengths)
        padding = padding_mask(lengths, source.size(1))
        logits = decoder(memory, hidden, padding, target.size(1))
        loss = criterion(logits.transpose(1, 2), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 3 == 0:
            print(f"step {step}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
