import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(1)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 12)
        self.out = nn.Linear(12, 5)

    def forward(self, tokens):
        return self.out(self.embed(tokens).mean(1))


def evaluate(path, use_cuda):
    model = Tagger()
    if use_cuda:
        model.load_state_dict(torch.load(path, map_location=0))
        model.cuda()
    else:
        model.load_state_dict(torch.load(path, map_location="cpu"))
    model.eval()
    tokens, tags = torch.randint(30, (10, 7)), torch.randint(5, (10,))
    if use_cuda:
        tokens, tags = tokens.cuda(), tags.cuda()
    with torch.no_grad():
        return F.cross_entropy(model(tokens), tags).item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "tagger.pt")
        torch.save(Tagger().state_dict(), weights)
        print(f"loss {evaluate(weights, torch.cuda.is_available()):.4f}")
