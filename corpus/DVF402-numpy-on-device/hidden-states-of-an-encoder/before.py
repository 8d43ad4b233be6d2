import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(6)


class Embedder:
    def __init__(self, encoder, device):
        self.encoder = encoder.to(device)
        self.device = device

    def embed(self, sequences):
        vectors = []
        for sequence in sequences:
            hidden, _ = self.encoder(sequence.unsqueeze(0).to(self.device))
            vectors.append(hidden[0, -1].detach().numpy())
        return np.stack(vectors)


def main(device):
    embedder = Embedder(nn.GRU(3, 7, batch_first=True), device)
    vectors = embedder.embed([torch.randn(length, 3) for length in (4, 2, 5)])
    return float(np.linalg.norm(vectors))


if __name__ == "__main__":
    print(f"loss {main('cuda' if torch.cuda.is_available() else 'cpu'):.4f}")
