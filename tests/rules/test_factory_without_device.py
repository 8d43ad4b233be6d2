"""DVF104: tensors made on the host that meet others elsewhere."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

from ..project.conftest import InMemory

CODE = "DVF104"

SILENT = {
    "a converter, whose tensors may stand for those of files": """
        import gguf
        import torch
        def unpack(weight: torch.Tensor):
            shift = torch.tensor([0, 2, 4, 6], dtype=torch.uint8)
            return weight.unsqueeze(0).expand(4, 8) >> shift
    """,
    "moved where the other is on CUDA, asked in several ways": """
        import torch
        import torch.nn.functional as F
        def by_type(x, planes):
            out = F.avg_pool2d(x, 1)
            pads = torch.zeros(out.size(0), planes, out.size(2), out.size(3))
            if isinstance(out.data, torch.cuda.FloatTensor):
                pads = pads.cuda()
            return torch.cat([out.data, pads], dim=1)
        def by_place(x, planes):
            out = F.avg_pool2d(x, 1)
            pads = torch.zeros(out.size(0), planes, out.size(2), out.size(3))
            if x.device.type != "cpu":
                pads = pads.to(x.device)
            return torch.cat([out, pads], dim=1)
        def by_name_of_type(x, planes):
            out = F.avg_pool2d(x, 1)
            pads = torch.zeros(out.size(0), planes, out.size(2), out.size(3))
            if x.type() == "torch.cuda.FloatTensor":
                pads = pads.cuda()
            return torch.cat([out, pads], dim=1)
    """,
    "moved where a function says that the other is on CUDA": """
        import torch
        from torch import nn
        def on_card(x):
            return x.is_cuda
        def padded(x, planes):
            x = x.flatten(1)
            pads = torch.zeros(x.size(0), planes)
            if on_card(x):
                pads = pads.cuda()
            return torch.cat([x, pads], dim=1)
        class Constant(nn.Module):
            def __init__(self, count):
                super().__init__()
                self.level = nn.Parameter(torch.zeros(count))
            def forward(self, x):
                output = torch.zeros(x.shape[0], 3)
                if self._is_placed():
                    output = output.cuda()
                return output + self.level
            def _is_placed(self):
                \"\"\"Where the level is.\"\"\"
                return self.level.is_cuda
    """,
    "all of it comes of arrays, through a module that is built there": """
        import numpy as np
        import torch
        from einops import einsum
        from geometry import Frames
        def features(rows, eps: float = 1e-6):
            positions = torch.from_numpy(np.stack(rows))
            mask = torch.ones(len(rows), dtype=torch.bool)
            frames = Frames()
            rotations, points = frames(positions.unbind(-2))
            steps = points.unsqueeze(-2) - points.unsqueeze(-3)
            vectors = einsum(rotations.transpose(-1, -2), steps, "n i j, m n j -> m n i")
            scale = torch.rsqrt(eps + torch.sum(vectors**2, dim=-1))
            return scale * mask.unsqueeze(-1)
    """,
    "the type of another tensor takes it to CUDA": """
        import torch
        import torch.nn.functional as F
        def energy(x: torch.Tensor, taps):
            return F.conv1d(x.pow(2), torch.ones(x.size(0), 1, taps).to(x)) + torch.ones(x.size(0)).type(x.type())
    """,
    "given to a layer while the module is built, or to a part that may place it": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, part):
                super().__init__()
                self.conv, self.part = nn.Conv1d(3, 3, 3), part
                self.size = self.measure()
            def measure(self):
                return self.conv(torch.zeros(1, 3, 8)).numel()
            def other(self, n: int):
                return self.part(torch.zeros(1, n))
    """,
    "numbers in a module's method": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def scale(self, x, shape):
                return x * torch.rand(shape)
    """,
    "made for machines without CUDA": """
        import torch
        def weights(x, device="cuda"):
            if device == "cuda" and not torch.cuda.is_available():
                return torch.ones(x.shape[0])
            return torch.ones(x.shape[0], device=device)
        x = torch.randn(3, device="cuda" if torch.cuda.is_available() else "cpu")
        y = x * weights(x)
    """,
    "0-dim tensors in arithmetic": """
        import torch
        def f(x: torch.Tensor, eps):
            return x * torch.tensor(0.5) + torch.tensor(eps) / torch.zeros(3).sum()
    """,
    "a 0-dim default in one branch": """
        import torch
        def f(x: torch.Tensor, noisy):
            variance = torch.tensor(0)
            if noisy:
                variance = torch.randn_like(x)
            return x + variance
    """,
    "a device already": """
        import torch
        def f(x: torch.Tensor):
            return x + torch.ones(3, device=x.device) + x.new_zeros(3) + torch.arange(3).to(x) + torch.eye(3).type_as(x)
    """,
    "a host index into a device tensor": """
        import torch
        def f(x: torch.Tensor):
            return x[torch.arange(3)]
    """,
    "numbers": """
        import torch
        def f(scale, shift):
            return torch.rand(3) * scale + shift
    """,
    "numbers of a module": """
        import torch
        class Noise(torch.nn.Module):
            def __init__(self, low, high):
                super().__init__()
                self.low, self.high = low, high
            def forward(self, x):
                level = torch.rand(1) * (self.high - self.low) + self.low
                return x if level > self.low else -x
    """,
    "arrays of numpy": """
        import numpy as np
        import torch
        def f(image):
            mean = torch.zeros(3)
            return image.mean() + mean + image.reshape(-1)
    """,
    "copies into slices": """
        import torch
        def f(x: torch.Tensor):
            out = torch.zeros(4, 3)
            for i in range(4):
                out[i] = x[i]
            return out
    """,
    "on the host, with the rest of it": """
        import torch
        def f(x: torch.Tensor):
            total = torch.zeros(3)
            total += x.detach().cpu()
            return total
    """,
    "a constructor": """
        import torch
        class Codes(torch.nn.Module):
            def __init__(self, size):
                super().__init__()
                self.register_buffer("mask", 2 ** torch.arange(size))
                codes = torch.arange(2 ** size)
                self.register_buffer("bits", (codes[:, None] & self.mask) != 0)
                self._fill()
            def _fill(self):
                self.mask.add_(torch.zeros(3))
    """,
    "drawn with a generator": """
        import torch
        def f(x: torch.Tensor, generator):
            return x + torch.randn(x.shape, generator=generator)
    """,
    "under a default device": """
        import torch
        torch.set_default_device("cuda")
        def f(x: torch.Tensor):
            return x + torch.ones(3)
    """,
    "a dataset": """
        import torch
        class Data(torch.utils.data.Dataset):
            def __getitem__(self, i):
                x: torch.Tensor = self.load(i)
                return x.unsqueeze(0) + torch.ones(3)
    """,
    "an attribute": """
        import torch
        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.ones(3)
            def forward(self, x: torch.Tensor):
                return x * self.weight
    """,
    "handed over to what may place it": """
        import torch
        from lib import to_device, filter2d
        def f(x: torch.Tensor):
            kernel = torch.ones(3, 3)
            return filter2d(x, kernel), to_device(torch.zeros(3), like=x)
    """,
    "0-dim tensors through functions": """
        import torch
        def f(half: int):
            rate = torch.log(torch.tensor(10000.0)) / (half - 1)
            return torch.exp(torch.arange(half) * -rate)
    """,
    "a device read off itself": """
        import torch
        def f(sigma, n):
            if isinstance(sigma, float):
                sigma = torch.tensor([[sigma]])
            x = torch.arange(n, device=sigma.device)
            return torch.exp(-x.pow(2.0) / (2 * sigma.pow(2.0)))
    """,
    "expected values": """
        import torch
        def test_sum(load):
            x = load().float()
            assert torch.allclose(x.unsqueeze(0), torch.tensor([1.0, 9.0]))
            assert ((x.unsqueeze(0) - torch.ones(2)) < 1).all()
    """,
    "targets of ctc": """
        import torch
        class Loss(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.ctc = torch.nn.CTCLoss()
            def forward(self, x: torch.Tensor, n):
                return self.ctc(x, torch.arange(1, n))
    """,
    "a constructor of a class method": """
        import torch
        class Steerer(torch.nn.Module):
            def __init__(self, generator):
                super().__init__()
                self.generator = torch.nn.Parameter(generator)
            @classmethod
            def build(cls, n):
                return cls(torch.eye(n))
    """,
    "arrays on their way through": """
        import torch
        def f(outputs, load):
            boxes = load()
            boxes = boxes.unsqueeze(0)
            return torch.cat([torch.from_numpy(one) for one in outputs] + [boxes]).numpy()
    """,
    "lengths of what a tensor holds": """
        import torch
        def f(x: torch.Tensor):
            lengths = torch.full((x.shape[0],), 7)
            return lengths
    """,
    "sized by a tensor, read on the host": """
        import torch
        def f(x: torch.Tensor):
            rows = torch.arange(x.shape[0])
            for row in torch.zeros(x.size(0)):
                print(row)
            return rows.tolist(), torch.ones(x.shape[0]).numpy(), torch.zeros(x.shape[0]).to("cuda")
    """,
    "sized by what may be an array": """
        import numpy as np
        import torch
        def f(x):
            return torch.zeros(x.shape[0]), torch.ones(len(x))
    """,
    "a dtype of a description": """
        import torch
        def f(schema, config, column):
            print(column.name)
            described = torch.zeros(3, dtype=schema.dtype), torch.ones(3, dtype=config.dtype)
            return described, torch.eye(3, dtype=column.dtype)
    """,
    "made-up data beside what is moved": """
        import torch
        def main(device: torch.device):
            x = torch.randn(8, 3)
            model = torch.nn.Linear(3, 1).to(device)
            return model, x, torch.zeros(3, device=device)
    """,
    "drawn where its mean is": """
        import torch
        def f(x: torch.Tensor):
            return torch.normal(torch.zeros_like(x), x.shape[0])
    """,
    "an index sized by what it indexes": """
        import torch
        def f(x: torch.Tensor, last):
            return x[torch.arange(x.shape[0]), last]
    """,
    "a tensor built anew where it is missing": """
        import torch
        def f(weight: torch.Tensor, n):
            if weight is None:
                weight = torch.ones(n)
            return weight
    """,
    "built once, before any move": """
        import torch
        class Net(torch.nn.Module):
            def __init__(self, weight: torch.Tensor, device):
                super().__init__()
                self.register_buffer("a", torch.ones(3, device=device))
                bias = torch.zeros(weight.shape[0])
                self.bias = torch.nn.Parameter(bias)
    """,
    "a device that is not bound there": """
        import torch
        def f(x, n):
            a = torch.zeros(n)
            device = x.device
            return a, torch.ones(n, device=device)
    """,
    "rebuilt on another device, and moved": """
        import torch
        class Net(torch.nn.Module):
            def mask(self, x: torch.Tensor, n):
                if self._mask.device != x.device:
                    self._mask = torch.ones(n).triu().to(x)
                return self._mask
            def late(self, x: torch.Tensor, n):
                if self._mask.size(0) < n or self._mask.device != x.device:
                    self._mask = torch.ones(n).triu()
                self._mask = self._mask.to(x.device)
                return self._mask
            def same(self, x: torch.Tensor, n):
                if self._mask.device == x.device:
                    self._mask = torch.ones(n).triu()
                else:
                    self._mask = torch.zeros(n)
                return self._mask
    """,
    "a device passed on by one call only": """
        import torch
        class Block(torch.nn.Module):
            def __init__(self, n, device=None):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(n, device=device))
        class Net(torch.nn.Module):
            def __init__(self, device=None):
                super().__init__()
                self.first, self.last = Block(3, device=device), Block(3)
    """,
    "a device left out, and all moved": """
        import torch
        class Block(torch.nn.Module):
            def __init__(self, n, device=None):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(n, device=device))
        class Net(torch.nn.Module):
            def __init__(self, device=None):
                super().__init__()
                self.a, self.b = Block(3, device=device), Block(3, device=device)
                self.c, self.d = Block(3), Block(3, device)
                self.to(device)
        class Open(torch.nn.Module):
            def __init__(self, device=None, **more):
                super().__init__()
                self.a, self.b = Block(3, device=device), Block(3, device=device)
                self.c, self.d, self.e = Block(3, **more), Block(3, device), Block(3).to(device)
    """,
    "gradients of one number": """
        import torch
        def f(x: torch.Tensor):
            y = (x * x).sum()
            y.backward(torch.tensor(1.0))
            return torch.autograd.grad(y, x, torch.tensor(1.0)), torch.autograd.grad(y, x)
    """,
    "what a model of its own gets": """
        import torch
        class Net(torch.nn.Module):
            device = "cuda"
            def forward(self, x):
                return self.inner(x.to(self.device))
        net = Net().to("cuda")
        net.eval()
        net(torch.zeros(3))
    """,
    "copied to a part of a tensor on the host": """
        import torch
        def f(z: torch.Tensor, n):
            counts = torch.ones((z.shape[0],)) * n
            dropped = torch.randint(1, n, (z.shape[0],))
            counts[:2] = dropped[:2]
            return counts.to(z.device)
    """,
    "made for a part of a tensor on the host": """
        import torch
        def f(x: torch.Tensor, n):
            device = x.device
            y = torch.ones(3, device=device)
            companion = torch.zeros(x.shape[0], 9, 9)
            companion[:, :8, 1:] = torch.eye(8)
            host = torch.linalg.eigvals(companion) / x.cpu()
            return y, host.to(device)
    """,
    "read by numpy further on, without a copy": """
        import torch
        def annotate(image, boxes: torch.Tensor, convert, box_convert):
            h, w, _ = image.shape
            boxes = boxes * torch.Tensor([w, h, w, h])
            corners = box_convert(boxes=boxes).numpy()
            return convert(corners)
    """,
    "made by numpy of what it meets": """
        import torch
        from atoms import Atoms, neighbors
        def shifts(positions: torch.Tensor, cell: torch.Tensor, cutoff):
            atoms = Atoms(positions=positions, cell=cell)
            i, j, steps = neighbors("ijS", atoms, cutoff)
            steps = torch.from_numpy(steps).to(dtype=positions.dtype)
            return i, j, torch.mm(steps, cell)
    """,
    "summed up on the host, where the results were brought": """
        import torch
        import torch.nn.functional as F
        class Detector:
            def fit(self, loader, device):
                kept = [[] for _ in range(9)]
                for x, y in loader:
                    kept[int(y)].append(self.features(x.to(device)).cpu())
                low, high, sums = [None] * 9, [None] * 9, []
                for c in range(9):
                    rows = torch.cat(kept[c])
                    low[c], high[c] = rows.min(dim=0).values, rows.max(dim=0).values
                for c in range(9):
                    rows = torch.cat(kept[c])
                    total = torch.zeros(len(rows))
                    for part in range(3):
                        total += self.deviation(rows[part], low[c], high[c])
                    sums.append(total)
                return torch.cat(sums)
            @staticmethod
            def deviation(rows: torch.Tensor, low: torch.Tensor, high: torch.Tensor):
                away = (F.relu(low - rows) / torch.abs(low)).sum(dim=1)
                return away + F.relu(rows - high).sum(dim=1)
    """,
    "computed of the same as what it meets": """
        import torch
        def within(limits, n, shape, tol):
            x = limits[0] + (limits[1] - limits[0]) * torch.rand(n)
            y = limits[0] + (limits[1] - limits[0]) * torch.rand(n)
            a = shape["a"].item()
            angle = torch.arctan2(x, y)
            length = torch.sqrt(x**2 + y**2)
            border = 1.0 + a * torch.cos(4 * angle)
            return x[border > length - tol]
    """,
    "what takes the place of a tensor to be read by numpy": """
        import torch
        def view(x: torch.Tensor):
            storage = x.untyped_storage()
            x = torch.empty(0)
            x.set_(storage)
            return memoryview(x.numpy()).cast("b")
    """,
    "a number that takes the place of a tensor in arithmetic": """
        import torch
        class Best:
            def update(self, current: torch.Tensor):
                self.keep(current)
                if torch.isnan(current):
                    current = torch.tensor(float("inf" if self.low else "-inf"))
                if current == self.best:
                    self.save()
        class Schedule:
            def steps(self, model, current: torch.Tensor, condition):
                last = self.alpha(9, shape=current.shape)
                for step in range(9):
                    before = (current * last.sqrt()).mean(dim=1)
                    if step == 8:
                        before = torch.tensor(1.0)
                    last = before
                    current = (1 - before) * current
                return current
    """,
    "in a test, where nothing leaves the host": """
        import unittest
        import torch
        import layers
        def product(a, b):
            return torch.einsum("ab,cd->acbd", a, b).view(a.size(0) * b.size(0), a.size(1))
        def vec(a):
            return a.t().flatten() if len(a.shape) > 1 else a
        class ProductTest(unittest.TestCase):
            def both(self, n):
                x = torch.randn(n)
                layer = layers.Product(n)
                result = layer(x)
                k = product(layer.left, layer.right)
                x = vec(x)
                return x, result, k @ x
    """,
    "a name that is no import": """
        def f(torch, x):
            return x.unsqueeze(0) + torch.ones(3)
    """,
}


def test_a_method_that_hands_on_what_it_is_given_says_nothing_of_the_host(rule) -> None:
    program = """
        import torch
        from torch import Tensor
        class Metric:
            def update(self, targets: Tensor, weights: Tensor | None = None):
                weights = torch.ones(targets.shape[0], dtype=torch.float) if weights is None else weights
                self.total += (targets * weights).sum()
        class Masked(Metric):
            def update(self, targets: Tensor, mask: Tensor):
                super().update(targets[mask])
    """
    assert len(rule.findings(program)) == 1


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_left_alone(rule, program: str) -> None:
    assert rule.findings(program) == ()


FIXED = {
    "follows the tensor it meets": ("return x @ torch.eye(3)", "return x @ torch.eye(3, device=x.device)"),
    "takes the local name of that device": (
        "device = x.device; return x @ torch.eye(3)",
        "device = x.device; return x @ torch.eye(3, device=device)",
    ),
    "all the factories of one value": (
        "y = torch.ones(3) * torch.rand(3); return x - y",
        "y = torch.ones(3, device=x.device) * torch.rand(3, device=x.device); return x - y",
    ),
    "what takes no device is moved": (
        "return x + torch.from_numpy(a) + torch.FloatTensor([1, 2])",
        "return x + torch.from_numpy(a).to(x.device) + torch.FloatTensor([1, 2]).to(x.device)",
    ),
    "what is pinned on the host is moved": (
        "return x + torch.ones(3, pin_memory=True) + torch.ones(3, pin_memory=False)",
        "return x + torch.ones(3, pin_memory=True).to(x.device) + torch.ones(3, pin_memory=False, device=x.device)",
    ),
    "born before what it meets": (
        "m = torch.ones(3); y = a(); return y.unsqueeze(0) * m",
        "m = torch.ones(3); y = a(); return y.unsqueeze(0) * m.to(y.device)",
    ),
    "another tensor that lives there": (
        "z = torch.ones(3); y = a(x); return z * (y @ x)",
        "z = torch.ones(3, device=x.device); y = a(x); return z * (y @ x)",
    ),
    "an indexed assignment": (
        "x[x > 0] = torch.arange(3); return x",
        "x[x > 0] = torch.arange(3, device=x.device); return x",
    ),
    "a gradient": (
        "y = x * x; y.backward(torch.ones(3)); return x.grad",
        "y = x * x; y.backward(torch.ones(3, device=y.device)); return x.grad",
    ),
    "gradients in a list": (
        "y = x * x; return torch.autograd.grad([y], [x], [torch.ones(3)])",
        "y = x * x; return torch.autograd.grad([y], [x], [torch.ones(3, device=x.device)])",
    ),
    "a loss in place": (
        "loss = torch.tensor(0.0); loss += x.mean(); return loss",
        "loss = torch.tensor(0.0, device=x.device); loss += x.mean(); return loss",
    ),
}


@pytest.mark.parametrize(("before", "after"), FIXED.values(), ids=FIXED)
def test_is_repaired_where_it_is_born(rule, before: str, after: str) -> None:
    head = "import torch\ndef f(x: torch.Tensor, a):\n    "
    assert rule.fixed(f"{head}{before}\n") == f"{head}{after}\n"


WHOLE = {
    "multiplied as they are": (
        "torch.matmul(ones, steps).float()",
        "",
        "torch.matmul(ones, steps).to(x.device).float()",
    ),
    "multiplied by a method": ("ones.mm(steps) / 3", "", "ones.mm(steps).to(x.device) / 3"),
    "converted first": ("ones.float() @ steps.float()", ", device=x.device", None),
    "no matrix product": ("ones * steps", ", device=x.device", None),
    "multiplied with what is there": ("ones.type_as(x) @ x", "", None),
}


@pytest.mark.parametrize(("product", "device", "after"), WHOLE.values(), ids=WHOLE)
def test_whole_numbers_are_multiplied_on_the_host(rule, product: str, device: str, after: str | None) -> None:
    program = f"""
        import torch
        def f(x: torch.Tensor):
            ones = torch.ones(4, 1, dtype=torch.int32)
            steps = torch.arange(4, dtype=torch.int32).unsqueeze(0)
            rows = {product}
            return torch.cat([x, rows]) + torch.ones(3)
    """
    fixed = rule.fixed(program)
    assert f"ones = torch.ones(4, 1, dtype=torch.int32{device})" in fixed
    assert f"rows = {after or product}\n" in fixed


NOT_OF_AN_INPUT = {
    "on the host on purpose": "def copy(x: torch.Tensor):\n        return torch.empty(x.shape, pin_memory=x.is_cuda)",
    "one number": "def scaled(x: torch.Tensor):\n        n = x.shape[-1]\n        return 2 / torch.tensor(n).sqrt()",
    "given to a constructor of the host": (
        "def forward(self, x: torch.Tensor):\n"
        "        def put(y): return torch.FloatTensor(y).to(x.device)\n"
        "        grid = put(torch.linspace(0, 1, x.shape[1]).repeat(2).view(x.shape))\n"
        "        return x + grid, torch.FloatTensor(torch.zeros(x.shape[0])).to(x.device)"
    ),
    "views of an index": (
        "def rows(x: torch.Tensor, i):\n        n = x.shape[0]\n"
        "        return x[torch.arange(n)[:, None], torch.arange(n).unsqueeze(1), i]"
    ),
}


@pytest.mark.parametrize("method", NOT_OF_AN_INPUT.values(), ids=NOT_OF_AN_INPUT)
def test_what_may_be_on_the_host_fits_as_it_is(rule, method: str) -> None:
    assert rule.findings(f"import torch\nclass Net(torch.nn.Module):\n    {method}\n") == ()


ANEW = """
    import torch
    def evaluate(policy, envs, device):
        obs = envs.reset()
        masks = {first}
        for _ in range(9):
            action = {read}
            obs, done = envs.step(action)
            masks = {again}
        return obs
"""


@pytest.mark.parametrize(
    ("first", "read", "again"),
    [
        ("torch.zeros(4, 1)", "policy.act(obs, masks)", "torch.tensor([[1.0 - one] for one in done])"),
        ('torch.zeros(4, 1, device="cpu")', "policy.act(obs, masks)", "torch.tensor([[1.0 - one] for one in done])"),
        ("torch.zeros(4, 1, device=device)", "policy(masks.to(device))", "torch.tensor([1.0 - one for one in done])"),
        ("torch.zeros(4, 1, device=device)", "policy.act(masks)", "torch.tensor([1.0 for _ in done]).to(obs.place)"),
        ("torch.zeros(4, 1, device=device)", "policy.act(masks)", "envs.masks(done)"),
    ],
)
def test_what_a_loop_makes_anew_may_be_right(rule, first: str, read: str, again: str) -> None:
    assert rule.findings(ANEW.format(first=first, read=read, again=again)) == ()


@pytest.mark.parametrize("first", ["torch.zeros(4, 1, device=device)", "torch.zeros(4, 1).to(device)"])
def test_what_a_loop_makes_anew_goes_where_the_first_one_was(rule, first: str) -> None:
    again = "torch.FloatTensor([[1.0 - one] for one in done])"
    program = ANEW.format(first=first, read="policy.act(obs, masks=masks)", again=again)
    assert f"        masks = {again}.to(device)\n" in rule.unchanged_unless_unsafe(program)


def test_what_a_test_finds_elsewhere_is_rebuilt_where_it_is_wanted(rule) -> None:
    program = """
        import torch
        class Net(torch.nn.Module):
            def mask(self, x: torch.Tensor, n):
                if self._mask.size(0) < n or not self._mask.device == x.device:
                    self._mask = torch.zeros(n).triu()
                return self._mask
            def other(self, x: torch.Tensor, n):
                if x.device != self._other.device:
                    self._other = torch.ones(n)
                return self._other
    """
    after = rule.fixed(program)
    assert "torch.zeros(n, device=x.device).triu()" in after
    assert "self._other = torch.ones(n, device=x.device)" in after
    assert rule.findings(program.replace(".device", ".shape")) == ()


FORGOTTEN = {
    "the size of a tensor": ("return torch.zeros(x.shape[0], 3)", "return torch.zeros(x.shape[0], 3, device=x.device)"),
    "a size by its name": (
        "n = x.size(0); y = torch.arange(n).float(); return y",
        "n = x.size(0); y = torch.arange(n, device=x.device).float(); return y",
    ),
}


@pytest.mark.parametrize(("before", "after"), FORGOTTEN.values(), ids=FORGOTTEN)
def test_what_fits_a_tensor_goes_with_it_as_a_choice(rule, before: str, after: str) -> None:
    head = "import torch\nclass Net(torch.nn.Module):\n  def forward(self, x: torch.Tensor, a):\n    "
    assert rule.unchanged_unless_unsafe(f"{head}{before}\n") == f"{head}{after}\n"


def test_what_is_named_for_the_host_is_not_followed(rule) -> None:
    program = """
        import torch
        def mask(context, size):
            counts = context().sizes.counts{}
            counts = counts.unsqueeze(1)
            rows = torch.arange(size).unsqueeze(0)
            return torch.where(rows < counts, 1.0, 0.0)
    """
    assert "device=counts.device" in rule.fixed(program.format(""))
    assert rule.findings(program.format("_cpu")) == ()


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("self.counts_cpu.unsqueeze(1)", "counts"),
        ("sizes().counts_cpu.sum(1).view(3, 1) * 2", "counts"),
        ("counts_cpu[:, 0]", "counts.unsqueeze(1)"),
        ("self.sizes.counts_cpu", "(1 + counts).unsqueeze(1)"),
    ],
)
def test_what_is_computed_of_a_name_of_the_host_is_not_followed(rule, first: str, then: str) -> None:
    program = f"""
        import torch
        class Rows:
            def mask(self, sizes, counts_cpu, size):
                counts = {first}
                counts = {then}
                rows = torch.arange(size).unsqueeze(0)
                return torch.where(rows < counts.view(-1, 1), 1.0, 0.0)
    """
    assert rule.findings(program) == ()


def test_what_a_name_of_the_host_gives_a_move_is_followed(rule) -> None:
    program = """
        import torch
        def mask(counts_cpu, size, device):
            counts = counts_cpu.to(device).unsqueeze(1)
            rows = torch.arange(size).unsqueeze(0)
            return torch.where(rows < counts.view(-1, 1), 1.0, 0.0)
    """
    assert "torch.arange(size, device=device)" in rule.fixed(program)


def test_what_is_replaced_is_not_followed(rule) -> None:
    program = """
        import torch
        class Decoder(torch.nn.Module):
            def forward(self, ids: torch.Tensor, ratios: torch.Tensor, order: torch.Tensor):
                if ids.shape[-1] == 1:
                    ratios = torch.zeros(ids.shape[0], 2)
                return torch.index_select(ratios, 0, order), ids.index_select(0, order)
    """
    fixed = rule.fixed(program)
    assert "device=ratios" not in fixed
    assert "torch.zeros(ids.shape[0], 2, device=" in fixed


COMPUTED = """
    import torch
    class Net(torch.nn.Module):
        def __init__(self, encoder, decoder):
            super().__init__()
            self.encoder, self.decoder = encoder, decoder
        def training_step(self, rows):
            x = torch.zeros(len(rows), 512)
            for i, row in enumerate(rows):
                x[i] = read(row)
            z = self.encoder(x)
            out = self.decoder(z)
            return torch.nn.functional.mse_loss(out, x)
"""


def test_what_is_computed_of_a_tensor_does_not_tell_its_place(rule) -> None:
    assert not any(rule.safeties(COMPUTED))


def test_losses_are_summed_where_they_are(rule) -> None:
    program = """
        import torch
        def f(criterion, batches):
            total_loss = torch.tensor(0.0)
            for batch in batches:
                total_loss += criterion(batch).loss
            return total_loss
    """
    assert "total_loss = total_loss + criterion(batch).loss" in rule.unchanged_unless_unsafe(program)
    assert rule.findings(program.replace(".loss\n", ".loss.item()\n")) == ()
    named = program.replace("(criterion, batches)", "(criterion, batches, device: torch.device)")
    assert "torch.tensor(0.0, device=device)" in rule.unchanged_unless_unsafe(named)


def test_imports_by_star_bring_torch(rule) -> None:
    assert "device=x.device" in rule.fixed("from lib import *\ndef f(x):\n    return x.unsqueeze(0) + torch.ones(3)\n")


def test_an_optional_tensor_is_not_asked_for_its_device(rule) -> None:
    program = """
        import torch
        def f(n, weight: torch.Tensor = None):
            z = torch.ones(n)
            if weight is not None:
                z = z * weight
            return z
    """
    assert "z * weight" not in rule.fixed(program).replace("z.to(weight.device) * weight", "")
    assert "torch.ones(n)\n" in rule.fixed(program)


def test_collectives_without_a_device_take_the_accelerator(rule) -> None:
    program = """
        import torch
        import torch.distributed as dist
        def mean(value):
            total = torch.tensor([value, 1.0])
            dist.all_reduce(total)
            return total[0] / total[1]
    """
    after = rule.unchanged_unless_unsafe(program)
    assert 'torch.tensor([value, 1.0], device="cuda" if torch.cuda.is_available() else "cpu")' in after


def test_collectives_take_device_tensors(rule) -> None:
    program = """
        import torch
        import torch.distributed as dist
        def mean(value, device: torch.device):
            total = torch.tensor([value, 1.0])
            dist.all_reduce(total)
            return total[0] / total[1]
    """
    assert "torch.tensor([value, 1.0], device=device)" in rule.unchanged_unless_unsafe(program)
    assert rule.findings(program.replace("import torch\n", "import torch; backend = 'gloo'\n", 1)) == ()
    assert rule.findings(program.replace("(total)", "(total, group=host)")) == ()


def test_both_of_two_that_are_given_to_other_processes_are_made_there(rule) -> None:
    program = """
        import torch
        import torch.distributed as dist
        def share(rows, rank, device):
            if rank != -1:
                indices = (torch.tensor(rows.indices) if rank == 0 else torch.zeros(rows.n)).int()
                dist.broadcast(indices, 0)
                if rank != 0:
                    rows.indices = indices.cpu().numpy()
            return torch.zeros(4, device=device)
    """
    after = rule.unchanged_unless_unsafe(program)
    assert "(torch.tensor(rows.indices, device=device) if rank == 0 else torch.zeros(rows.n, device=device))" in after


def test_sums_add_what_stands_in_the_loop(rule) -> None:
    program = """
        import torch
        def f(pairs, criterion):
            loss = torch.tensor(0.0)
            for x, y in pairs:
                loss += a_loss(x) if y else b_loss(x)
                loss += c_loss(y)
            return loss
    """
    after = rule.unchanged_unless_unsafe(program)
    assert "loss = loss + (a_loss(x) if y else b_loss(x))" in after
    assert "loss = loss + c_loss(y)" in after


def test_a_part_of_a_tensor_on_the_host_may_be_written_from_a_device(rule) -> None:
    program = """
        import torch
        def f(model, x: torch.Tensor, device: torch.device):
            scores = torch.zeros(len(model))
            pred = torch.softmax(x.to(device), dim=-1)
            target = torch.zeros(*pred.shape, dtype=torch.bool)
            target[:, 0] = True
            scores[0:4] = rank(pred, target)
            return scores.mean()
    """
    after = rule.fixed(program, unsafe=True)
    assert "torch.zeros(*pred.shape, dtype=torch.bool, device=device)" in after
    assert "scores = torch.zeros(len(model))\n" in after


def test_a_part_takes_the_device_that_its_neighbours_take(rule) -> None:
    program = """
        import torch
        class Block(torch.nn.Module):
            def __init__(self, n=3, *, device=None):
                super().__init__()
                self.weight = torch.nn.Parameter(torch.ones(n, device=device))
        class Net(torch.nn.Sequential):
            def __init__(self, device=None):
                super().__init__(Block(4, device=device), Block(), Block(device=device))
    """
    assert "Block(4, device=device), Block(device=device), Block(device=device)" in rule.unchanged_unless_unsafe(
        program
    )


def test_a_model_in_a_script_is_asked_where_it_is(rule) -> None:
    program = """
        import torch
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.out = torch.nn.Linear(3, 3)
            def decode(self, z):
                return self.out(z)
        net = Net()
        if torch.cuda.is_available():
            net.cuda()
        net.eval()
        image = net.decode(torch.randn(4, 3))
    """
    after = rule.unchanged_unless_unsafe(program)
    assert "net.decode(torch.randn(4, 3, device=next(net.parameters()).device))" in after


def test_a_metric_places_nothing(rule) -> None:
    program = """
        import torch
        from torchmetrics import RetrievalMRR
        def rank(model, labels, indexes):
            preds = torch.empty(len(indexes))
            metric = RetrievalMRR()
            preds[0:3] = model(labels)
            return metric(preds, labels, indexes=indexes)
        def main(model, labels, indexes, device: torch.device):
            return rank(model, labels.to(device), indexes.to(device))
    """
    assert "torch.empty(len(indexes), device=labels.device)" in rule.fixed(program)


def test_self_device_is_named_where_the_value_is_made(rule) -> None:
    program = """
        import torch
        from lightning import LightningModule
        class Net(LightningModule):
            def sample(self, ids, n):
                last = torch.zeros(n).fill_(-1)
                for _ in range(n):
                    first = ids[:, 0].to(self.device)
                    changed = not (first == last).all()
                    last = first
                return changed
    """
    assert "torch.zeros(n, device=self.device).fill_(-1)" in rule.fixed(program)


def test_what_is_reshaped_and_added_in_place_is_a_tensor(rule) -> None:
    program = """
        import torch
        class Element:
            def assemble(self, u: torch.Tensor, n):
                forces = torch.zeros(n, n)
                for i, weight in enumerate(self.weights):
                    forces += weight * self.force(i).reshape(-1, n)
                return forces
    """
    assert rule.findings(program.replace(".reshape(-1, n)", ".item()")) == ()


def test_an_empty_tensor_is_more_than_a_number(rule) -> None:
    assert "torch.zeros(0, device=x.device)" in rule.fixed("""
        import torch
        def collect(x: torch.Tensor):
            found = torch.zeros(0)
            for one in x:
                found = torch.cat((found, one[None]), dim=-1)
            return found
    """)


def test_what_a_transposed_tensor_meets_is_made_beside_it(rule) -> None:
    assert "total = torch.zeros((3, 3), device=q.device)" in rule.fixed("""
        import torch
        def project(matrices):
            stacked = torch.cat(matrices, dim=0)
            q, r = torch.linalg.qr(stacked)
            total = torch.zeros((3, 3))
            total += torch.special.erfinv(q)
            return r.T @ total
    """)


def test_the_tensor_that_gives_the_dtype_comes_before_that_which_gives_the_size(rule) -> None:
    program = """
        import torch
        class Join(torch.nn.Module):
            def forward(self, index: torch.Tensor, rows: torch.Tensor):
                result = torch.zeros(index.size(0), 3, dtype=rows.dtype)
                return spread(result, index, rows)
    """
    assert "dtype=rows.dtype, device=rows.device)" in rule.unchanged_unless_unsafe(program)


def test_what_a_layer_of_the_module_gets(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self, n):
                super().__init__()
                self.embed = nn.Embedding(n, 4)
            def bias(self, n: int):
                return self.embed(torch.arange(n))
    """
    assert "torch.arange(n, device=self.embed.weight.device)" in rule.fixed(program)


def test_what_meets_a_parameter_with_a_shape_in_a_module(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Drop(nn.Module):
            def drop(self, x):
                keep = torch.rand((x.shape[0], 1)) < 0.5
                return x * keep
    """
    assert "torch.rand((x.shape[0], 1), device=x.device) < 0.5" in rule.fixed(program)


WEAK = {
    "a number of shifted bits": """
        import torch
        def rounded(x: torch.Tensor, bits: int):
            mask = bias(bits) << 23
            low = torch.tensor(mask, dtype=torch.int32).view(torch.float32)
            return x + low
    """,
}


def test_what_meets_a_tensor_of_an_unread_function_follows_it(rule) -> None:
    program = """
        import torch
        from sizes import arange
        def negatives(x, high):
            sizes = arange(x).unsqueeze(-1).flatten()
            picked = torch.randint(low=0, high=high, size=(4, high))
            picked[picked >= sizes] += 1
            return picked
    """
    assert "size=(4, high), device=sizes.device)" in rule.fixed(program)


@pytest.mark.parametrize("program", WEAK.values(), ids=WEAK)
def test_what_may_be_on_the_host_with_what_it_meets(rule, program: str) -> None:
    assert rule.findings(program) == ()


PACKED = """
    import torch
    from torch import nn
    from torch.nn.utils.rnn import pack_padded_sequence
    class Encoder(nn.Module):
        def forward(self, data: torch.Tensor, mask=None):
            if mask is None:
                mask = torch.ones(data.shape[:2], dtype=torch.bool)
            {lines}
            return self.rnn(packed)
"""


@pytest.mark.parametrize(
    "lines",
    [
        "packed = pack_padded_sequence(data, mask.sum(1))",
        "n = mask.sum(axis=1); packed = pack_padded_sequence(data, n.clamp(1, 9), batch_first=True)",
        "n = torch.sum(mask, dim=1) + 1; packed = pack_padded_sequence(data, lengths=n.long())",
        "n = mask.long(); n = n.sum(1); packed = pack_padded_sequence(input=data, lengths=n)",
    ],
)
def test_what_lengths_are_computed_of_stays_on_the_host(rule, lines: str) -> None:
    assert rule.findings(PACKED.format(lines=lines)) == ()


@pytest.mark.parametrize(
    "lines",
    [
        "packed = pack_padded_sequence(data * mask, self.n)",
        "packed = pack_padded_sequence(data, self.n); self.seen = self.seen * mask.sum(1)",
    ],
)
def test_other_masks_beside_a_packed_sequence(rule, lines: str) -> None:
    assert "dtype=torch.bool, device=data.device)" in rule.fixed(PACKED.format(lines=lines), unsafe=True)


UNDER_TEST = """
import torch
from torch import nn
{line}
class Sum(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = torch.ones(3)
    def forward(self, x: torch.Tensor):
        return torch.relu(x) + torch.zeros(x.shape) + self.kept[x.argmax(-1)]
"""


@pytest.mark.parametrize("code", ["DVF104", "DVF105", "DVF203"])
def test_modules_that_stand_in_tests_may_be_for_the_host(code: str) -> None:
    def found(program: str, path: str = "train.py") -> list[str]:
        outcome = check(Source(path, program.encode()), Options(frozenset({code})))
        assert isinstance(outcome, Checked)
        return [one.code for one in outcome.findings]

    assert found(UNDER_TEST.format(line="import pytest")) == []
    assert found(UNDER_TEST.format(line=""), "package/tests/test_sum.py") == []


def test_a_name_that_is_thrown_away_tells_no_device(rule) -> None:
    program = """
    import torch
    def ranks(table: torch.Tensor):
        _, order = table.cuda().sort()
        out = torch.empty(3)
        out[order > 1] = order[order > 1].float()
        return out
    """
    assert 'torch.empty(3, device="cuda")' in rule.fixed(program)


CONVERTED = """
    import math
    import torch

    def terms(n, x, y: torch.Tensor):
        x = {made}
        small = x.abs() < 1e-3
        safe = torch.where(small, torch.ones_like(x), x)
        low, high = torch.cos(x), torch.sin(x)
        for k in range(1, n):
            following = 2.0 * k / safe * high - low
            low, high = high, following
        first = (x / 2.0) ** n / math.factorial(n)
        {out}
"""


@pytest.mark.parametrize("made", ["torch.as_tensor(x)", "torch.asarray(x, dtype=torch.float64)"])
def test_what_converts_a_tensor_leaves_it_where_it_is(rule, made: str) -> None:
    assert rule.findings(CONVERTED.format(made=made, out="return torch.where(small, first, high)")) == ()


BEFORE_IT_IS_MADE = """
    import torch

    class Trainer:
        def __init__(self, device):
            self.device = torch.device(device)
            self.mean = torch.zeros(3, device=self.device)

        def placed(self, scores):
            return [one.to(self.device) for one in scores]

        def step(self, scores):
            {before}
            scores = torch.tensor(scores)
            {after}
            return (scores - self.mean) / self.mean
"""


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [("scores = self.placed(scores)", "pass", 1), ("pass", "scores = self.placed(scores)", 0)],
)
def test_a_method_that_moves_what_it_is_given_counts_after_it_is_made(
    rule, before: str, after: str, found: int
) -> None:
    assert len(rule.findings(BEFORE_IT_IS_MADE.format(before=before, after=after))) == found


@pytest.mark.parametrize(
    "beside",
    [
        "torch.ones(n, device=rows.device)",
        "torch.tensor(list(range(n)), device=rows.device)",
        "torch.zeros_like(rows, device=rows.device)",
    ],
)
def test_the_tensor_that_tells_another_its_device_is_made_elsewhere(rule, beside: str) -> None:
    program = f"""
        import torch
        def weighted(x: torch.Tensor, n: int):
            rows = torch.zeros(n)
            weight = {beside}
            return torch.matmul(x, weight)
    """
    assert "rows = torch.zeros(n, device=x.device)" in rule.fixed(program)


GIVEN_TOGETHER = {
    "a mask that a helper multiplies with": (
        "def masked(x, mask=None):\n    if mask is not None:\n        x = x * mask\n    return x\n",
        "mask = {}\n    return masked(x, mask=mask)",
        "torch.ones(3{})",
    ),
    "rows that a helper joins": (
        "def joined(x, more):\n    rows = more.unsqueeze(0)\n    return torch.cat([x, rows])\n",
        "first = joined(x, {})\n    return first",
        "torch.arange(3{})",
    ),
    "lengths that a helper computes with": (
        "def scaled(x, mask):\n    return torch.relu(x) * mask\n",
        "lengths = {}\n    return scaled(x, lengths)",
        "torch.ones(3{})",
    ),
}


@pytest.mark.parametrize(("helper", "line", "made"), GIVEN_TOGETHER.values(), ids=GIVEN_TOGETHER)
def test_what_a_helper_gets_together_with_a_tensor_goes_with_it(rule, helper: str, line: str, made: str) -> None:
    before, after = made.format(""), made.format(", device=x.device")
    program = f"import torch\n{helper}def run(x: torch.Tensor):\n    {line}\n"
    assert rule.fixed(program.format(before)) == program.format(after)


@pytest.mark.parametrize(
    ("helper", "line"),
    [
        ("mask = mask.to(x.device)\n    return x * mask", "return helper(x, torch.ones(3))"),
        ("return x[mask]", "return helper(x, torch.arange(3))"),
        ("return x * mask", "return helper(x, torch.tensor(3.0))"),
        ("return table * mask", "return helper(x, torch.ones(3))"),
        ("return x * mask.to(x)", "mask = torch.ones(3)\n    return helper(x, mask)"),
    ],
)
def test_what_a_helper_places_or_takes_from_the_host_stays(rule, helper: str, line: str) -> None:
    program = f"import torch\ndef helper(x, mask):\n    {helper}\ndef run(x: torch.Tensor):\n    {line}\n"
    assert rule.findings(program) == ()


GROWN = {
    "one row more": ("wider = torch.zeros(x.shape[0] + 1, 3)", "wider[:-1] = x", "x = wider"),
    "in a loop": ("wider = torch.empty(x.size(0), n)", "for i in range(3): wider[:, i] = x[:, i]", "x = wider"),
    "with its dtype": ("wider = torch.full((n, 3), 0.5, dtype=x.dtype)", "wider[: len(x)] = x", "x = wider"),
}
KEPT = {
    "filled with another": ("wider = torch.zeros(x.shape[0] + 1, 3)", "wider[:-1] = n", "x = wider"),
    "filled with what was taken to the host": (
        "wider = torch.zeros(x.shape[0], 3)",
        "wider[:-1] = x.cpu()",
        "x = wider",
    ),
    "not used in its place": ("wider = torch.zeros(x.shape[0] + 1, 3)", "wider[:-1] = x", "n = wider"),
    "filled afterwards": ("wider = torch.zeros(x.shape[0] + 1, 3)", "x = wider", "wider[:-1] = x"),
}


def _grown(lines: tuple[str, ...]) -> str:
    body = "".join(f"    {one}\n" for one in lines)
    return f"import torch\ndef widen(x: torch.Tensor, n):\n{body}    return x\n"


@pytest.mark.parametrize("lines", GROWN.values(), ids=GROWN)
def test_what_is_filled_with_a_tensor_and_replaces_it_goes_with_it_as_a_choice(rule, lines: tuple[str, ...]) -> None:
    after = (f"{lines[0][:-1]}, device=x.device)", *lines[1:])
    assert rule.unchanged_unless_unsafe(_grown(lines)) == _grown(after)


@pytest.mark.parametrize("lines", KEPT.values(), ids=KEPT)
def test_what_does_not_replace_the_tensor_it_fits_is_not_moved(rule, lines: tuple[str, ...]) -> None:
    assert all(one.fix is None for one in rule.findings(_grown(lines)))


MET = """
    import torch
    def search(x: torch.Tensor, read, dims):
        low, high = torch.aminmax(x)
        best = torch.full(low.shape, 9.0)
        for i in range(3):
            found = read(x, read(low))
            found -= x
            found.abs_()
            error = torch.sum(found, 0)
            {met}
        return best
"""


def test_what_fits_a_tensor_and_meets_another_goes_with_the_first_as_a_choice(rule) -> None:
    worse = "worse = error < best\n            best[worse] = error[worse]"
    fixed = rule.fixed(MET.format(met=worse))
    assert "best = torch.full(low.shape, 9.0, device=x.device)" in fixed
    for met in ("best = best * 2", "error = error[best]", "best += torch.ones(3)", "best = read(error, best)"):
        assert not any(rule.safeties(MET.format(met=met)))


PAIRS = {
    "a triangle": ("torch.linalg.solve_triangular(x, {}, upper=True)", "torch.eye(3)"),
    "a system": ("torch.linalg.solve(x, {})", "torch.ones(3)"),
    "a complex number": ("torch.polar({}, x)", "torch.tensor(1.0)"),
    "an imaginary number": ("torch.complex(x, {})", "torch.tensor(0.0)"),
}


@pytest.mark.parametrize(("line", "made"), PAIRS.values(), ids=PAIRS)
def test_what_takes_pairs_needs_them_in_one_place(rule, line: str, made: str) -> None:
    head = "import torch\ndef f(x: torch.Tensor):\n    return "
    fixed = made.removesuffix(")") + ", device=x.device)"
    assert rule.fixed(f"{head}{line.format(made)}\n") == f"{head}{line.format(fixed)}\n"


@pytest.mark.parametrize(
    "line",
    [
        "torch.hypot(x, torch.tensor(1.0))",
        "x * torch.polar(torch.tensor(1.0), torch.tensor(2.0))",
        "torch.complex(torch.ones(3), torch.zeros(3)).numpy()",
        "torch.linalg.solve(torch.eye(3), torch.ones(3))",
    ],
)
def test_pairs_of_numbers_may_be_on_the_host(rule, line: str) -> None:
    assert rule.findings(f"import torch\ndef f(x: torch.Tensor):\n    return {line}\n") == ()


DECIDED = "import torch\ndef {name}(x: torch.Tensor, a):\n    {line}\n    return a\n"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("test_full", "full = torch.equal(x, torch.ones(x.shape))"),
        ("check", "assert torch.equal(x, torch.ones(x.shape))"),
        ("check", "self.assertTrue(torch.equal(x, torch.ones(x.shape)))"),
        ("check", "x = a.read(3); full = torch.allclose(x.cpu(), torch.ones(3))"),
    ],
)
def test_what_is_expected_may_be_on_the_host(rule, name: str, line: str) -> None:
    assert not any(rule.safeties(DECIDED.format(name=name, line=line)))


def test_what_decides_is_compared_where_it_is(rule) -> None:
    program = DECIDED.format(name="scale", line="full = torch.equal(x, torch.ones(x.shape))")
    assert "torch.equal(x, torch.ones(x.shape, device=x.device))" in rule.fixed(program)


def test_what_decides_is_compared_where_an_attribute_is(rule) -> None:
    fixed = rule.fixed(DECIDED.format(name="scale", line="full = torch.equal(a.x, torch.ones(3))"))
    assert "torch.equal(a.x, torch.ones(3, device=a.x.device))" in fixed


def test_what_a_transform_of_data_counts_is_on_the_host(rule) -> None:
    program = """
        import torch
        from library import Transform
        class Triples(Transform):
            def forward(self, inputs):
                found, offset = (), 0
                rows, counts = torch.unique_consecutive(inputs["i"], return_counts=True)
                for row, n in zip(rows, counts):
                    pairs = torch.combinations(torch.arange(offset, offset + n), r=2)
                    found += (torch.ones(pairs.shape[0], dtype=torch.long) * row,)
                    offset += n
                return found
    """
    assert rule.findings(program) == ()


PAD = "import torch\ndef pad(x: torch.Tensor):\n    return torch.cat([torch.zeros(3), x])\n"


@pytest.mark.parametrize(
    ("package", "edited"),
    [
        ("from .core import Tensor, zeros\n", False),
        ("", False),
        ("from torch._C import *\n", True),
    ],
)
@pytest.mark.parametrize("at", ["/p/src/torch/nn/functional.py", "/p/src/loop.py"])
def test_a_package_that_stands_in_for_torch_takes_what_it_takes(package: str, edited: bool, at: str) -> None:
    files = InMemory({"/p/src/torch/__init__.py": package, at: PAD})
    outcome = check(Source(at, PAD.encode()), Options(frozenset({CODE})), Project(files))
    assert isinstance(outcome, Checked)
    assert bool(outcome.findings) is edited


@pytest.mark.parametrize("at", ["/p/loop.py", "/p/lib/torch/loss.py", "/p/lib/loop.py"])
def test_a_package_in_another_one_is_no_torch(at: str) -> None:
    files = InMemory(
        {"/p/shims/torch/__init__.py": "", "/p/lib/__init__.py": "", "/p/lib/torch/__init__.py": "", at: PAD}
    )
    outcome = check(Source(at, PAD.encode()), Options(frozenset({CODE})), Project(files))
    assert isinstance(outcome, Checked)
    assert outcome.findings


REPLACED = """
    import torch
    def lines(coords: torch.Tensor, error: {annotation}):
        {test}
            error = torch.zeros(len(coords))
        return [torch.norm(coords - one) for one in error] + [error.sum()]
"""


@pytest.mark.parametrize(
    ("annotation", "test"),
    [
        ("torch.Tensor = None", "if not exists(error):"),
        ("torch.Tensor", "if not exists(error):"),
        ("torch.Tensor", "if is_missing(error):"),
    ],
)
def test_what_may_be_missing_has_no_device(rule, annotation: str, test: str) -> None:
    after = rule.findings(REPLACED.format(annotation=annotation, test=test))
    assert not any("error.device" in repr(one.fix) for one in after)


PACKED_ZEROS = """
import torch
from torch import nn
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scales", torch.zeros(3))
    def pack(self, zeros, bits):
        {test}
            return zeros.repeat_interleave(bits, 1) + self.scales
        else:
            zeros -= 1
            zero = zeros
            return (zero << torch.arange(10)).sum()
"""


@pytest.mark.parametrize(
    ("test", "followed"),
    [
        ("if isinstance(zeros, torch.Tensor):", False),
        ("if torch.is_tensor(zeros):", False),
        ("if zeros.dim() == 2:", True),
        ("if isinstance(bits, torch.Tensor):", True),
    ],
)
def test_what_is_no_tensor_there_has_no_device(rule, test: str, followed: bool) -> None:
    found = rule.findings(PACKED_ZEROS.format(test=test))
    assert any("zero.device" in repr(one.fix) for one in found) is followed


SCALAR_ZEROS = """
import torch
from torch import nn
class Linear(nn.Module):
    def pack(self, scales, zeros, device=None):
        if isinstance({asked}, torch.Tensor):
            return torch.zeros((zeros.shape[0], zeros.shape[1] // 32), device=device)
        else:
            zero = zeros
            shifts = torch.arange(0, 10, dtype=torch.int32) * self.bits
            return (zero << shifts).sum().to(torch.int32) | zero << 30
    def forward(self, x):
        return x
"""


@pytest.mark.parametrize(("asked", "followed"), [("zeros", False), ("scales", True)])
def test_what_may_be_a_number_there_has_no_device(rule, asked: str, followed: bool) -> None:
    found = rule.findings(SCALAR_ZEROS.format(asked=asked))
    assert any("zero.device" in repr(one.fix) for one in found) is followed


PADDED = """
from typing import List
import torch
def pad(rows: List[torch.Tensor], longest: int) -> torch.Tensor:
    missing = [longest - one.size(0) for one in rows]
    return torch.stack([torch.cat([{row}, {made}]) for row, count in zip(rows, missing)])
"""
MADE = "torch.full((count,), 0.0, dtype=row.dtype"


def test_what_a_comprehension_makes_follows_what_it_goes_through(rule) -> None:
    program = PADDED.format(row="row", made=f"{MADE})")
    assert rule.fixed(program) == PADDED.format(row="row", made=f"{MADE}, device=row.device)")


@pytest.mark.parametrize(
    ("row", "made"),
    [
        ("row", f"{MADE}, device=row.device)"),
        ("row", f"{MADE}).to(row.device)"),
        ("row", f"{MADE}).to(row)"),
        ("row.cpu()", f"{MADE})"),
    ],
)
def test_what_a_comprehension_makes_beside_what_is_there(rule, row: str, made: str) -> None:
    assert rule.findings(PADDED.format(row=row, made=made)) == ()


ROTATED = """
import torch
def rotate(steps, width):
    scale = torch.arange(width, dtype=torch.float32{device})
    return {shown} * scale
"""


def test_what_meets_a_dimension_that_an_index_adds(rule) -> None:
    shown = "steps[:, None].float()"
    assert rule.fixed(ROTATED.format(device="", shown=shown)) == ROTATED.format(
        device=", device=steps.device", shown=shown
    )


@pytest.mark.parametrize(
    ("device", "shown"),
    [
        (", device=steps.device", "steps[:, None].float()"),
        ("", "steps[:, None].float().cpu()"),
        ("", "steps[:, None]"),
        ("", "steps[0]"),
    ],
)
def test_what_may_be_an_array_says_no_device(rule, device: str, shown: str) -> None:
    assert [one for one in rule.findings(ROTATED.format(device=device, shown=shown)) if one.fix is not None] == []


TYPED = """
import torch
def scaled(scale, size):
    if {test}:
        return torch.ones(size) * scale
    return scale.unsqueeze(0)
"""


@pytest.mark.parametrize(
    "test",
    [
        "isinstance(scale, (float, int))",
        "type(scale) is float",
        "type(scale) == float",
        "type(scale) in (float, int)",
        "type(scale) in [float, int]",
        "not type(scale) != float",
        "type(scale) is not torch.Tensor",
    ],
)
def test_what_is_a_number_by_its_type_has_no_device(rule, test: str) -> None:
    assert rule.findings(TYPED.format(test=test)) == ()


@pytest.mark.parametrize(
    "test", ["isinstance(scale, torch.Tensor)", "type(scale) is torch.Tensor", "size > 3", "type() is float"]
)
def test_what_is_a_tensor_by_its_type_says_the_device(rule, test: str) -> None:
    (found,) = rule.findings(TYPED.format(test=test))
    assert "device=scale.device" in rule.fixed(TYPED.format(test=test)), found


@pytest.mark.parametrize("given", ["labels, weights", "labels, weights=weights", "labels, weights, 4"])
def test_weighted_counts_are_no_whole_numbers(rule, given: str) -> None:
    program = f"""
        import torch
        def f(labels: torch.Tensor, weights: torch.Tensor, device: torch.device):
            labels, weights = labels.to(device), weights.to(device)
            total = torch.bincount({given}) @ torch.bincount({given})
            return total + torch.zeros(1, device=device)
    """
    assert rule.findings(program) == ()


@pytest.mark.parametrize("filled", ["d = {'x': x}\n    d.update(moved)", "d = {'x': x, **moved}"])
def test_an_item_in_whose_place_another_one_is_says_nothing(rule, filled: str) -> None:
    text = (
        "import torch\ndef run(device, moved):\n    model = torch.nn.Linear(3, 3).to(device)\n    x = torch.zeros(3)\n"
        f"    {filled}\n    return model(d['x'])\n"
    )
    assert Safety.SAFE not in rule.safeties(text)


def test_a_list_into_which_another_one_is_put_says_nothing(rule) -> None:
    text = (
        "import torch\ndef run(device, moved):\n    model = torch.nn.Linear(3, 3).to(device)\n    x = torch.zeros(3)\n"
        "    rows = [x]\n    rows.insert(0, x.to(device))\n    return model(rows[0])\n"
    )
    assert Safety.SAFE not in rule.safeties(text)


def test_a_strict_zip_is_a_zip(rule) -> None:
    text = (
        "import torch\ndef run(xs, device):\n    model = torch.nn.Linear(3, 3).to(device)\n"
        "    for x, y in zip([torch.zeros(3)], xs{}):\n        model(x)\n"
    )
    plain, strict = ([one.confidence for one in rule.findings(text.format(each))] for each in ("", ", strict=True"))
    assert plain
    assert plain == strict


def test_sizes_that_double_are_read_once(rule) -> None:
    doubled = "    n = n + n\n" * 40
    rule.findings(f"import torch\ndef f(x, n, device):\n{doubled}    z = torch.zeros(n)\n    return x.to(device) + z\n")


@pytest.mark.parametrize(
    ("made", "edit"),
    [
        ("Sampler", "edges = edges.to(where)"),
        ("sample", "edges = torch.tensor([row, col], device=loader.device)"),
    ],
)
def test_what_an_unread_class_makes_says_no_device(rule, made: str, edit: str) -> None:
    program = f"""
        import torch
        from graphs import Net, {made}, pick
        def run(data, row, col):
            loader = {made}(data.edges, sizes=[-1])
            edges = torch.tensor([row, col])
            where = pick()
            net = Net(3).to(where)
            return net(loader, edges)
    """
    assert edit in rule.fixed(program, unsafe=True)
