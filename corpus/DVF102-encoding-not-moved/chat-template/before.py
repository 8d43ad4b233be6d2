import torch
from torch import nn


class ChatTokenizer:
    eos_token_id = 0

    def apply_chat_template(self, messages, add_generation_prompt=True, return_tensors=None):
        text = "".join(f"<{m['role']}>{m['content']}" for m in messages)
        if add_generation_prompt:
            text += "<assistant>"
        return torch.tensor([[ord(c) for c in text]])

    def decode(self, ids):
        return "".join(chr(i) for i in ids)


class Responder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(128, 24)
        self.mix = nn.Linear(24, 24)
        self.unembed = nn.Linear(24, 128)

    def forward(self, ids):
        h = self.embed(ids)
        h = h.cumsum(dim=1) / 10 + torch.relu(self.mix(h))
        return self.unembed(h)


def main():
    torch.manual_seed(18)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokenizer = ChatTokenizer()
    model = Responder().to(device).eval()
    messages = [
        {"role": "system", "content": "You answer briefly."},
        {"role": "user", "content": "What is two and two?"},
    ]
    ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
    prompt_length = ids.shape[1]
    with torch.no_grad():
        for _ in range(8):
            logits = model(ids)[:, -1]
            ids = torch.cat([ids, logits.argmax(dim=-1, keepdim=True)], dim=1)
    print(repr(tokenizer.decode(ids[0, prompt_length:].tolist())))
    print(f"loss {logits.logsumexp(dim=-1).item():.4f}")


main()
