"""Trains a small image transformer on latents with control images beside them."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class ControlledLatents(Dataset):
    def __init__(self, count=16, tokens=9, channels=8):
        generator = torch.Generator().manual_seed(0)
        self.latents = torch.randn(count, tokens, channels, generator=generator)
        self.controls = torch.rand(count, 1, 12, 12, generator=generator)

    def __len__(self):
        return len(self.latents)

    def __getitem__(self, index):
        return self.latents[index], self.controls[index], f"picture {index}"


class ControlEncoder(nn.Module):
    """Turns control images into a sequence of tokens."""

    def __init__(self, channels=8):
        super().__init__()
        self.patch = nn.Conv2d(1, channels, 4, stride=4)

    def forward(self, images):
        return self.patch(images * 2 - 1).flatten(2).transpose(1, 2)


class LatentTransformer(nn.Module):
    def __init__(self, channels=8, registers=2):
        super().__init__()
        self.registers = nn.Parameter(torch.randn(1, registers, channels) / math.sqrt(channels))
        self.block = nn.TransformerEncoderLayer(channels, 2, 16, dropout=0.0, batch_first=True)
        self.out = nn.Linear(channels, channels)

    def forward(self, tokens, control_tokens):
        registers = self.registers.expand(tokens.size(0), -1, -1)
        sequence = torch.cat((registers, tokens, control_tokens), dim=1)
        hidden = self.block(sequence)[:, self.registers.size(1):]
        return self.out(hidden[:, :tokens.size(1)])


def flow_target(latents, noise):
    return (noise - latents).detach()


def main():
    torch.manual_seed(0)
    loader = DataLoader(ControlledLatents(), batch_size=4)

    control_encoder = ControlEncoder()
    transformer = LatentTransformer()
    transformer.to(device)
    control_encoder.to(device)
    params = list(transformer.parameters()) + list(control_encoder.parameters())
    optimizer = torch.optim.AdamW(params, lr=1e-3)

    for latents, controls, prompts in loader:
        latents = latents.to(device, non_blocking=True)
        controls = controls.to(device, non_blocking=True)
        noise = torch.randn_like(latents)
        sigma = torch.sigmoid(torch.randn_like(latents[:, :1, :1]))
        noisy = (1 - sigma) * latents + sigma * noise

        control_tokens = control_encoder(controls)
        prediction = transformer(noisy, control_tokens)
        loss = F.mse_loss(prediction, flow_target(latents, noise))

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    print("last of", prompts[-1])
    print(f"loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
