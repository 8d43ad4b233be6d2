import torch
from torch import nn

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 6)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
generator = torch.Generator().manual_seed(11)
clean = torch.linspace(-1, 1, 6 * 8).reshape(8, 6).to(device)

for step in range(4):
    noise = torch.randn(clean.shape, generator=generator, device=device)
    loss = nn.functional.mse_loss(model(clean + 0.1 * noise), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
