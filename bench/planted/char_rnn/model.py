import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, vocabulary, hidden=32, layers=2):
        super().__init__()
        self.hidden = hidden
        self.layers = layers
        self.embedding = nn.Embedding(vocabulary, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers, batch_first=True)
        self.head = nn.Linear(hidden, vocabulary)

    def forward(self, inputs, state):
        output, state = self.lstm(self.embedding(inputs), state)
        return self.head(output), state

    def init_hidden(self, batch_size, device):
        shape = (self.layers, batch_size, self.hidden)
        return torch.zeros(shape, device=device), torch.zeros(shape, device=device)
