import torch
import torch.nn as nn

torch.manual_seed(4)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
DECAY = 0.9

model = nn.GRU(3, 6, batch_first=True).to(device)
readout = nn.Linear(6, 1).to(device)
params = list(model.parameters()) + list(readout.parameters())
ema_params = [p.detach().clone().cpu() for p in params]
optimizer = torch.optim.Adam(params, lr=1e-2)

for step in range(5):
    x = torch.randn(8, 5, 3, device=device)
    states, _ = model(x)
    loss = nn.functional.mse_loss(readout(states[:, -1]), x.sum(dim=(1, 2)).unsqueeze(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for ema_p, p in zip(ema_params, params):
            ema_p.lerp_(p.detach(), 1 - DECAY)

print("average norm", round(sum(p.norm().item() for p in ema_params), 3))
print(f"loss {loss.item():.4f}")
