import os
import tempfile

import torch
import torch.nn as nn

torch.manual_seed(3)


def load_weights(model, path):
    if torch.cuda.is_available():
        state = torch.load(path, map_location=torch.cuda.current_device())
    else:
        state = torch.load(path, map_location="cpu")
    model.load_state_dict(state)
    return model


def main(path):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = load_weights(nn.Linear(6, 2), path).to(device)
    images, labels = torch.randn(20, 6).to(device), torch.randint(2, (20,)).to(device)
    with torch.no_grad():
        return nn.functional.cross_entropy(model(images), labels).item()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "model.pt")
        torch.save(nn.Linear(6, 2).state_dict(), weights)
        print(f"loss {main(weights):.4f}")
