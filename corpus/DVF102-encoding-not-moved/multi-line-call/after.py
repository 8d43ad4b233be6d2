import argparse

import torch
import torch.nn as nn


class BatchEncoding(dict):
    def to(self, device):
        return BatchEncoding({k: v.to(device) for k, v in self.items()})


class ByteTokenizer:
    def __call__(self, text, padding=False, truncation=False, max_length=None, return_tensors=None):
        rows = [list(t.encode("utf-8"))[:max_length] for t in text]
        ids = torch.tensor([r + [0] * (max_length - len(r)) for r in rows])
        return BatchEncoding(input_ids=ids)


class CausalLM(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.wte = nn.Embedding(256, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.lm_head = nn.Linear(dim, 256)

    def forward(self, input_ids):
        states, _ = self.rnn(self.wte(input_ids))
        return self.lm_head(states)


def train(model, tokenizer, corpus, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        batch = tokenizer(
            corpus,
            padding="max_length",
            truncation=True,
            max_length=args.max_length,
            return_tensors="pt",
        ).to(args.device)
        ids = batch["input_ids"]
        logits = model(ids)
        loss = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", type=str, default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--max_length", type=int, default=20)
    args, _ = parser.parse_known_args()
    torch.manual_seed(3)
    model = CausalLM().to(args.device)
    corpus = ["to be or not to be", "that is the question", "whether it is nobler"]
    print(f"loss {train(model, ByteTokenizer(), corpus, args):.4f}")
