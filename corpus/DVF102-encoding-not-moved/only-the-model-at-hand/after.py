import os
import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, PreTrainedModel

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "rain", "sun", "today", "tomorrow"]


def build_tokenizer():
    path = os.path.join(tempfile.mkdtemp(), "vocab.txt")
    with open(path, "w") as handle:
        handle.write("\n".join(WORDS))
    return BertTokenizer(path)


def confidence(model: PreTrainedModel, tokenizer, text):
    inputs = tokenizer(text, return_tensors="pt")
    if torch.cuda.is_available():
        inputs = inputs.to("cuda")
    with torch.no_grad():
        logits = model(**inputs).logits
    return logits.softmax(dim=-1).max().item()


def main():
    torch.manual_seed(16)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
    )
    model = BertForSequenceClassification(config).eval()
    if torch.cuda.is_available():
        model.to("cuda")
    tokenizer = build_tokenizer()
    scores = [confidence(model, tokenizer, text) for text in ("rain today", "sun tomorrow")]
    print(f"loss {1 - sum(scores) / len(scores):.4f}")


if __name__ == "__main__":
    main()
