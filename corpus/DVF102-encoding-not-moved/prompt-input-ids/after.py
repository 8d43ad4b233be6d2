import torch
import torch.nn as nn


class Encoded(dict):
    def __getattr__(self, name):
        return self[name]

    def to(self, device):
        return Encoded({name: value.to(device) for name, value in self.items()})


class LetterTokenizer:
    letters = "abcdefghijklmnopqrstuvwxyz "

    def __call__(self, text, return_tensors=None):
        return Encoded(input_ids=torch.tensor([[self.letters.index(c) for c in text]]))

    def decode(self, ids):
        return "".join(self.letters[i] for i in ids)


class Bigram(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.table = nn.Embedding(size, size)

    def forward(self, ids):
        return self.table(ids)

    @torch.no_grad()
    def generate(self, input_ids, max_new_tokens):
        for _ in range(max_new_tokens):
            next_id = self(input_ids)[:, -1].argmax(dim=-1, keepdim=True)
            input_ids = torch.cat([input_ids, next_id], dim=1)
        return input_ids


torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
tokenizer = LetterTokenizer()
model = Bigram(len(tokenizer.letters)).to(device)

prompt = "hello world"
input_ids = tokenizer(prompt, return_tensors="pt").to(device).input_ids
output = model.generate(input_ids, max_new_tokens=12)
print(tokenizer.decode(output[0].tolist()))
print(f"loss {nn.functional.cross_entropy(model(output)[0, :-1], output[0, 1:]).item():.4f}")
