import argparse

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument("--fp32", action="store_true")
parser.add_argument("--steps", type=int, default=3)
args, _ = parser.parse_known_args()

torch.manual_seed(2)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = nn.Sequential(nn.Linear(4, 4), nn.Sigmoid(), nn.Linear(4, 1)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cuda", 2.0 ** 12, 2.0, enabled=not args.fp32)

for step in range(args.steps):
    x = torch.rand(20, 4, device=device)
    with torch.amp.autocast("cuda", enabled=not args.fp32):
        prediction = model(x)
    with torch.amp.autocast("cuda", enabled=False, dtype=torch.float16):
        loss = nn.functional.binary_cross_entropy_with_logits(prediction.float(), (x.sum(1, keepdim=True) > 2).float())
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()

with torch.no_grad(), torch.amp.autocast("cuda", enabled=True, dtype=torch.bfloat16, cache_enabled=False):
    model(x)

print(f"loss {loss.item():.4f}")
