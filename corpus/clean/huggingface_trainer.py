# needs: transformers, accelerate
import tempfile

import torch
from torch import nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainingArguments


class Points(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, i):
        return {"x": torch.tensor([i / 32.0, 1.0]), "labels": torch.tensor(i % 2)}


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)

    def forward(self, x, labels=None):
        logits = self.fc(x)
        return {"loss": nn.functional.cross_entropy(logits, labels), "logits": logits}


class WeightedTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        labels = inputs["labels"]
        outputs = model(**inputs)
        weight = torch.tensor([1.0, 2.0], device=labels.device)
        loss = nn.functional.cross_entropy(outputs["logits"], labels, weight=weight)
        return (loss, outputs) if return_outputs else loss


if __name__ == "__main__":
    arguments = TrainingArguments(tempfile.mkdtemp(), num_train_epochs=1, report_to=[], save_strategy="no", seed=17)
    result = WeightedTrainer(Model(), arguments, train_dataset=Points()).train()
    print(f"loss {result.training_loss:.4f}")
