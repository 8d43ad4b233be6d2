"""DVF207: averages of weights on two devices."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF207"

SILENT = {
    "ema copy of model, same device": """
        import torch
        from copy import deepcopy
        model = Net()
        model.to(device)
        model.train()
        ema = deepcopy(model)
        def update(decay):
            for e, p in zip(ema.parameters(), model.parameters()):
                e.data.mul_(decay).add_(p.data, alpha=1 - decay)
    """,
    "channels that are scaled and shifted": """
        import torch
        MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
        def show(model, loader, use_gpu, mean=None, std=None):
            if mean is None or std is None:
                mean = MEAN
                std = STD
            for data in loader:
                images = data["image"]
                if use_gpu:
                    images = images.cuda()
                out = model(images)
                if use_gpu:
                    images, out = images.cpu(), out.cpu()
                for j in range(out.size(0)):
                    image = images[j, ...]
                    for channel, m, s in zip(image, mean, std):
                        channel.mul_(s).add_(m).clamp_(0, 1)
    """,
    "ema before move both moved": """
        import torch
        from copy import deepcopy
        model = Net()
        ema = deepcopy(model)
        model.to("cuda"); ema.to("cuda")
        for e, p in zip(ema.parameters(), model.parameters()):
            e.lerp_(p, 0.1)
    """,
    "target nets": """
        import torch
        class SAC:
            def __init__(self, device):
                self.critic = Critic()
                self.critic.to(device)
                self.critic.train()
                self.critic_target = Critic()
                self.critic_target.to(device)
                self.critic_target.train()
                self.critic_target.load_state_dict(self.critic.state_dict())
            def soft_update(self):
                for p, t in zip(self.critic.parameters(), self.critic_target.parameters()):
                    t.data.copy_(0.005 * p.data + 0.995 * t.data)
                for p, t in zip(self.critic.parameters(), self.critic_target.parameters()):
                    t.data.mul_(0.995)
                    t.data.add_(0.005 * p.data)
    """,
    "polyak functions": """
        import torch
        def polyak(net, target, tau):
            with torch.no_grad():
                for p, t in zip(net.parameters(), target.parameters()):
                    t.mul_(1 - tau)
                    t.add_(tau * p)
        def lerp(a, b, t):
            for x, y in zip(a.parameters(), b.parameters()):
                x.data.lerp_(y.data, t)
    """,
    "momentum encoder": """
        import torch
        import torch.nn as nn
        class MoCo(nn.Module):
            def __init__(self, base):
                super().__init__()
                self.encoder_q = base()
                self.encoder_k = base()
                for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    k.data.copy_(q.data)
                    k.requires_grad = False
            @torch.no_grad()
            def _update(self):
                for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    k.data = k.data * self.m + q.data * (1.0 - self.m)
                for q, k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
                    k.data.mul_(self.m).add_(q.data, alpha=1 - self.m)
    """,
    "byol": """
        import torch
        from copy import deepcopy
        class EMA:
            def __init__(self, beta): self.beta = beta
            def update_average(self, old, new):
                return old * self.beta + (1 - self.beta) * new
        def update(ema, target, online):
            for t, o in zip(target.parameters(), online.parameters()):
                t.data = ema.update_average(t.data, o.data)
    """,
    "optimizer math": """
        import torch
        class Opt(torch.optim.Optimizer):
            def step(self):
                for group in self.param_groups:
                    for p in group["params"]:
                        grad = p.grad
                        state = self.state[p]
                        exp_avg = state["exp_avg"]
                        exp_avg.mul_(0.9).add_(grad, alpha=0.1)
                        exp_avg.lerp_(grad, 0.1)
                        p.data.mul_(0.99).add_(exp_avg, alpha=-0.1)
    """,
    "ema shadow dict": """
        import torch
        class EMA:
            def __init__(self, model, decay):
                self.model = model
                self.decay = decay
                self.shadow = {}
                for n, p in model.named_parameters():
                    if p.requires_grad:
                        self.shadow[n] = p.data.clone()
            def update(self):
                for n, p in self.model.named_parameters():
                    if p.requires_grad:
                        self.shadow[n].mul_(self.decay).add_(p.data, alpha=1 - self.decay)
    """,
    "buffers batchnorm": """
        import torch
        import torch.nn as nn
        class VQ(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("cluster_size", torch.zeros(3))
                self.register_buffer("embed_avg", torch.zeros(3, 3))
                self.embed = nn.Parameter(torch.zeros(3))
            def forward(self, x):
                self.cluster_size.data.mul_(self.decay).add_(x.sum(0), alpha=1 - self.decay)
                self.embed_avg.data.mul_(self.decay).add_(x.t() @ x, alpha=0.1)
                self.cluster_size.lerp_(x.sum(0), 0.1)
                return x
    """,
    "center dino": """
        import torch
        import torch.nn as nn
        class DINOLoss(nn.Module):
            def __init__(self, out_dim):
                super().__init__()
                self.register_buffer("center", torch.zeros(1, out_dim))
            def forward(self, s, t):
                self.update_center(t)
                return s - self.center
            @torch.no_grad()
            def update_center(self, t):
                c = torch.sum(t, dim=0, keepdim=True)
                self.center = self.center * 0.9 + c * 0.1
                self.center.mul_(0.9).add_(c, alpha=0.1)
    """,
    "ema with to in update": """
        import torch
        from copy import deepcopy
        class ModelEma:
            def __init__(self, model, device=None):
                self.module = deepcopy(model)
                self.device = device
                if device is not None:
                    self.module.to(device)
            def update(self, model):
                for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
                    if self.device is not None:
                        m = m.to(device=self.device)
                    e.lerp_(m, weight=0.1)
                    e.mul_(0.1).add_(m)
    """,
    "ema with to in update 2": """
        import torch
        from copy import deepcopy
        class ModelEma:
            def __init__(self, model, device=None):
                self.module = deepcopy(model)
                self.module.to(device)
            def update(self, model):
                for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
                    e.lerp_(m.to(e.device), weight=0.1)
            def update2(self, model):
                for e, m in zip(self.module.state_dict().values(), model.state_dict().values()):
                    m = m.detach().to(e.device, non_blocking=True)
                    e.mul_(0.1).add_(m)
            def update3(self, model):
                src = {k: v.to(self.device) for k, v in model.state_dict().items()}
                for k, e in self.module.state_dict().items():
                    e.lerp_(src[k], 0.1)
            def update4(self, model):
                model_cpu = deepcopy(model).cpu()
                for e, m in zip(self.module.parameters(), model_cpu.parameters()):
                    e.lerp_(m, 0.1)
    """,
    "ema both moved together": """
        import torch
        from copy import deepcopy
        class T:
            def __init__(self, model, device):
                self.model = model.to(device)
                self.ema = deepcopy(self.model).to(device)
            def update(self):
                for e, m in zip(self.ema.parameters(), self.model.parameters()):
                    e.lerp_(m, 0.1)
    """,
    "averaging tensors on device": """
        import torch
        def f(a: torch.Tensor, b: torch.Tensor):
            a.mul_(0.1).add_(b)
            a.lerp_(b, 0.2)
            running = torch.zeros_like(b)
            running.mul_(0.1).add_(b)
            running2 = torch.zeros(3, device=b.device)
            running2.lerp_(b, 0.1)
    """,
    "list-avg": """
        import torch
        def avg(models, device):
            out = models[0].to(device)
            for m in models[1:]:
                m.to(device)
                for p, q in zip(out.parameters(), m.parameters()):
                    p.data.mul_(0.5).add_(q.data)
    """,
    "fed avg on cpu": """
        import torch
        def aggregate(server, clients):
            server.cpu()
            for c in clients:
                c.cpu()
                for p, q in zip(server.parameters(), c.parameters()):
                    p.data.mul_(0.5).add_(q.data)
    """,
    "swa util": """
        import torch
        from torch.optim.swa_utils import AveragedModel
        swa = AveragedModel(model, device="cpu")
        swa.update_parameters(model)
    """,
    "param_groups params": """
        import torch
        class EMA2:
            def __init__(self, parameters, decay):
                self.shadow_params = [p.clone().detach() for p in parameters]
                self.collected = []
            def update(self, parameters):
                with torch.no_grad():
                    for s, p in zip(self.shadow_params, parameters):
                        s.sub_(0.1 * (s - p))
                        s.mul_(0.9).add_(p)
            def to(self, device=None, dtype=None):
                self.shadow_params = [p.to(device=device, dtype=dtype) for p in self.shadow_params]
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


def averaged(update: str) -> str:
    return (
        "import torch\nfrom copy import deepcopy\n\n\nclass Average:\n    def __init__(self, model):\n"
        "        self.ema = deepcopy(model).cpu()\n        self.model = model.cuda()\n\n    def update(self):\n"
        f"        for e, m in zip(self.ema.parameters(), self.model.parameters()):\n            {update}\n"
    )


NAMED_ANEW = """if m.dim() == 0:
                e.copy_({copied})
            else:
                a = e
                a.lerp_({taken}, 0.1)"""

UPDATES = {
    "lerp_": ("e.lerp_(m, 0.1)", "e.lerp_(m.to(device=e.device), 0.1)"),
    "lerp_ by keyword": ("e.lerp_(m, weight=0.1)", "e.lerp_(m.to(device=e.device), weight=0.1)"),
    "mul_ add_": ("e.mul_(0.9).add_(m, alpha=0.1)", "e.mul_(0.9).add_(m.to(device=e.device), alpha=0.1)"),
    "a multiple": ("e.mul_(0.9).add_(m * (1 - d))", "e.mul_(0.9).add_((m * (1 - d)).to(device=e.device))"),
    "a multiple, the number first": (
        "e.data.mul_(d).add_((1.0 - d) * m.data)",
        "e.data.mul_(d).add_(((1.0 - d) * m.data).to(device=e.data.device))",
    ),
    "mul_ and add_ on two lines": (
        "e.mul_(0.9)\n            e.add_(m, alpha=0.1)",
        "e.mul_(0.9)\n            e.add_(m.to(device=e.device), alpha=0.1)",
    ),
    "a copy beside it": (
        "e.lerp_(m, 0.1)\n            e.copy_(m)",
        "e.lerp_(m.to(device=e.device), 0.1)\n            e.copy_(m.to(device=e.device))",
    ),
    "a copy that knows the average by another name": (
        NAMED_ANEW.format(copied="m", taken="m"),
        NAMED_ANEW.format(copied="m.to(device=e.device)", taken="m.to(device=a.device)"),
    ),
}


@pytest.mark.parametrize(("before", "after"), UPDATES.values(), ids=UPDATES)
def test_takes_the_live_weight_along(rule, before: str, after: str) -> None:
    assert rule.fixed(averaged(before)) == averaged(after)


def test_a_copy_alone_crosses_devices(rule) -> None:
    assert rule.findings(averaged("e.copy_(m)")) == ()


def test_the_finding(rule) -> None:
    finding = rule.finding(averaged("e.lerp_(m, 0.1)"))
    assert finding.message == "`e` may live on another device than `m`, and `lerp_` needs both on one"
    assert finding.span.line == 12
    assert finding.fix.safety is Safety.SAFE


TRAINING = """
    import torch
    from accelerate import Accelerator
    from diffusers.training_utils import EMAModel
    def main(args):
        accelerator = Accelerator()
        unet = load(args)
        {first}
        if args.use_ema:
            ema = EMAModel(unet.parameters())
        def load_hook(models, folder):
            if args.use_ema:
                loaded = EMAModel.from_pretrained(folder, Net)
                ema.load_state_dict(loaded.state_dict())
                {hook}
                del loaded
        unet, optimizer = accelerator.prepare(unet, make(args))
        {last}
        ema.step(unet.parameters())
"""
MOVE = "ema.to(accelerator.device)"


def training(first: str = "pass", hook: str = MOVE, last: str = MOVE) -> str:
    return TRAINING.format(first=first, hook=hook, last=last)


@pytest.mark.parametrize(
    "program",
    [
        training(),
        training(last="ema.pin_memory()"),
        training(first="unet.to(accelerator.device)", last="pass"),
        training(last="place(ema)"),
        training(last="pass").replace("accelerate import", "mine import"),
        training(hook="pass").replace("diffusers.training_utils", "mine"),
    ],
)
def test_averages_that_somebody_places(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_an_average_that_nothing_moves(rule) -> None:
    fixed = rule.fixed(training(last="pass"), unsafe=True)
    assert "make(args))\n    if args.use_ema:\n        ema.to(accelerator.device)\n    pass" in fixed


def test_an_average_that_is_loaded_in_a_hook(rule) -> None:
    fixed = rule.fixed(training(hook="pass"))
    assert "loaded.state_dict())\n            ema.to(accelerator.device)\n            pass" in fixed


LOADED_ELSEWHERE = {
    "a state loaded to the device": "ema.load_state_dict(torch.load(folder, map_location=accelerator.device))",
    "a state loaded to the device by position": "ema.load_state_dict(torch.load(folder, accelerator.device)['ema'])",
    "a state that is where it was saved": "ema.load_state_dict(torch.load(folder))",
    "a file that is read to the device": "ema.load_state_dict(load_file(folder, device=accelerator.device))",
    "an average that is moved first": "loaded.to(accelerator.device); ema.load_state_dict(loaded.state_dict())",
}


@pytest.mark.parametrize("load", LOADED_ELSEWHERE.values(), ids=LOADED_ELSEWHERE)
def test_an_average_that_is_loaded_where_the_model_is(rule, load: str) -> None:
    assert rule.findings(training(hook="pass").replace("ema.load_state_dict(loaded.state_dict())", load)) == ()


def test_an_average_that_is_loaded_to_the_host(rule) -> None:
    load = "ema.load_state_dict(torch.load(folder, map_location='cpu'))"
    program = training(hook="pass").replace("ema.load_state_dict(loaded.state_dict())", load)
    assert f"{load}\n            ema.to(accelerator.device)\n" in rule.fixed(program)
