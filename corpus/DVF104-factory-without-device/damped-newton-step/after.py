import torch


def quadratic(x: torch.Tensor) -> torch.Tensor:
    return (x - 3).pow(4).sum() + (x[0] * x[1]).pow(2)


def newton_step(gradient: torch.Tensor, hessian: torch.Tensor, damping: float = 0.1) -> torch.Tensor:
    hessian = hessian + damping * torch.eye(hessian.shape[0], device=hessian.device)
    return torch.linalg.solve(hessian, gradient)


device = "cuda" if torch.cuda.is_available() else "cpu"
x = torch.tensor([1.0, 2.0, 0.5], device=device, requires_grad=True)
for _ in range(5):
    (gradient,) = torch.autograd.grad(quadratic(x), x)
    hessian = torch.autograd.functional.hessian(quadratic, x.detach())
    x = (x - newton_step(gradient, hessian)).detach().requires_grad_()
print(f"loss {quadratic(x).item():.4f}")
