"""A permutation on the host may index tensors on a device."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
data = torch.randn(50, 4).to(device)
labels = (data.sum(dim=1) > 0).long()
weight = torch.zeros(4, 2, device=device, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.5)

for epoch in range(3):
    order = torch.randperm(len(data))
    for chunk in order.split(10):
        loss = F.cross_entropy(data[chunk] @ weight, labels[chunk])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

print(f"loss {loss.item():.4f}")
