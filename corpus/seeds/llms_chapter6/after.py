# Turns a small language model into a spam classifier.

import argparse
import time

import torch
from torch.utils.data import DataLoader, Dataset

from minigpt import MiniGPT, load_weights


class MessageDataset(Dataset):
    def __init__(self, count, length, seed):
        generator = torch.Generator().manual_seed(seed)
        self.ids = torch.randint(1, 60, (count, length), generator=generator)
        self.labels = (self.ids[:, -1] > 30).long()

    def __getitem__(self, index):
        return self.ids[index], self.labels[index]

    def __len__(self):
        return len(self.labels)


def calc_loss_batch(input_batch, target_batch, model, device):
    input_batch, target_batch = input_batch.to(device), target_batch.to(device)
    logits = model(input_batch)[:, -1, :]
    loss = torch.nn.functional.cross_entropy(logits, target_batch)
    return loss


@torch.no_grad()
def calc_loss_loader(data_loader, model, device, num_batches=None):
    total_loss = 0.0
    num_batches = min(num_batches or len(data_loader), len(data_loader))
    for i, (input_batch, target_batch) in enumerate(data_loader):
        if i >= num_batches:
            break
        total_loss += calc_loss_batch(input_batch, target_batch, model, device).item()
    return total_loss / num_batches


@torch.no_grad()
def calc_accuracy_loader(data_loader, model, device):
    model.eval()
    correct, seen = 0, 0
    for input_batch, target_batch in data_loader:
        input_batch, target_batch = input_batch.to(device), target_batch.to(device)
        predicted = torch.argmax(model(input_batch)[:, -1, :], dim=-1)
        seen += predicted.shape[0]
        correct += (predicted == target_batch).sum().item()
    return correct / seen


def train_classifier(model, train_loader, val_loader, optimizer, device, num_epochs, eval_freq):
    val_losses, step = [], -1
    for epoch in range(num_epochs):
        model.train()
        for input_batch, target_batch in train_loader:
            optimizer.zero_grad()
            loss = calc_loss_batch(input_batch, target_batch, model, device)
            loss.backward()
            optimizer.step()
            step += 1
            if step % eval_freq == 0:
                model.eval()
                val_losses.append(calc_loss_loader(val_loader, model, device, num_batches=2))
                model.train()
        print(f"Epoch {epoch + 1}: accuracy {calc_accuracy_loader(val_loader, model, device):.2f}")
    return val_losses


if __name__ == "__main__":

    parser = argparse.ArgumentParser(description="Fine-tune a small language model for classification")
    parser.add_argument("--test_mode", default=False, action="store_true", help="a still smaller model, on the host")
    args, _ = parser.parse_known_args()

    ########################################
    # Data loaders
    ########################################

    torch.manual_seed(123)
    train_loader = DataLoader(MessageDataset(48, 10, seed=1), batch_size=8, shuffle=True, drop_last=True)
    val_loader = DataLoader(MessageDataset(16, 10, seed=2), batch_size=8)

    ########################################
    # Load pretrained model
    ########################################

    # Small model for testing purposes
    if args.test_mode:
        config = {"vocab_size": 60, "context_length": 16, "emb_dim": 8, "n_layers": 1, "n_heads": 2}
        model = MiniGPT(config)
        model.eval()

        device = "cpu"
        model.to(device)

    # The model of the chapter
    else:
        config = {"vocab_size": 60, "context_length": 16, "emb_dim": 24, "n_layers": 2, "n_heads": 4}
        model = MiniGPT(config)
        load_weights(model, seed=3)
        model.eval()

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model.to(device)

    ########################################
    # Modify the pretrained model
    ########################################

    for param in model.parameters():
        param.requires_grad = False

    torch.manual_seed(123)

    num_classes = 2
    model.out_head = torch.nn.Linear(in_features=config["emb_dim"], out_features=num_classes)
    model.to(device)

    for param in model.trf_blocks[-1].parameters():
        param.requires_grad = True

    for param in model.final_norm.parameters():
        param.requires_grad = True

    ########################################
    # Finetune the modified model
    ########################################

    start_time = time.time()
    torch.manual_seed(123)

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)
    val_losses = train_classifier(model, train_loader, val_loader, optimizer, device, num_epochs=2, eval_freq=3)

    print("Training took minutes:", (time.time() - start_time) // 60)
    print(f"loss {val_losses[-1]:.4f}")
