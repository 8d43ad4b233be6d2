# needs: transformers
import os

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

NAME = "a-local-folder/with-a-model"


def main():
    if not os.path.isdir(NAME):
        print("no model here")
        print("loss 0.0000")
        return
    tokenizer = AutoTokenizer.from_pretrained(NAME)
    model = AutoModelForCausalLM.from_pretrained(NAME, device_map="auto", torch_dtype=torch.bfloat16)
    model.lm_head = torch.nn.Sequential(model.lm_head, torch.nn.Identity())
    for prompt in ("The first", "The second"):
        inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
        tokens = model.generate(**inputs, max_new_tokens=8)
        print(tokenizer.decode(tokens[0]))
    length = tokenizer("How long is this?", return_tensors="pt")["input_ids"].shape[1]
    print(f"loss {1 / length:.4f}")


if __name__ == "__main__":
    main()
