import torch
from torch.amp import custom_bwd, custom_fwd


class ClippedExp(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.exp(x)

    @staticmethod
    @custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * torch.exp(x.clamp(-10, 10))


class Swish(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda")
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        s = torch.sigmoid(x)
        return grad * (s + x * s * (1 - s))


torch.manual_seed(5)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
weight = torch.randn(6, 2, device=device, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.05)

for step in range(4):
    x = 0.3 * torch.randn(12, 6, device=device)
    density = ClippedExp.apply(Swish.apply(x @ weight)[:, 0])
    loss = (density - x[:, 0].sigmoid()).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
