"""Mixed precision on the simulated device: the types that torch's notes on automatic mixed precision promise."""

from typing import Any

import pytest

from .conftest import Simulate
from .tables import assert_errors, assert_values

SETTING = """
import torch, torch.nn as nn, torch.nn.functional as F
torch.manual_seed(0)
device = "cuda"
a, b = torch.randn(4, 4, device=device), torch.randn(4, 4, device=device)
half, double, whole = a.half(), a.double(), torch.arange(4, device=device)
image, host = torch.randn(1, 3, 8, 8, device=device), torch.randn(4, 4)
sequence = torch.randn(2, 5, 4, device=device)
mask = torch.ones(4, 4, device=device)
def cast(function, *args, **options):
    with torch.autocast("cuda", **options):
        made = function(*args)
    return str((made[0] if isinstance(made, tuple) else made).dtype)[6:]
"""

# The operator reference of torch's notes on automatic mixed precision, "CUDA Ops that can autocast to …".
TO_FLOAT16 = (
    "torch.mm, a, b",
    "torch.matmul, a, b",
    "torch.matmul, a, half",
    "torch.bmm, sequence, sequence.mT",
    "torch.addmm, a, a, b",
    "torch.mv, a, a[0]",
    "torch.einsum, 'ij,jk->ik', a, b",
    "torch.baddbmm, sequence @ sequence.mT, sequence, sequence.mT",
    "torch.linalg.multi_dot, [a, b, a]",
    "F.linear, a, b",
    "F.linear, half, b",
    "nn.Linear(4, 2).cuda(), a",
    "nn.Linear(4, 2).cuda(), sequence",
    "nn.Conv2d(3, 4, 3).cuda(), image",
    "nn.Conv1d(5, 4, 1).cuda(), sequence",
    "nn.ConvTranspose2d(3, 4, 3).cuda(), image",
    "nn.PReLU().cuda(), a",
    "nn.LSTM(4, 3, batch_first=True).cuda(), sequence",
    "nn.GRU(4, 3).cuda(), sequence",
    "nn.RNN(4, 3).cuda(), sequence",
    "nn.LSTMCell(4, 3).cuda(), a",
    "nn.GRUCell(4, 3).cuda(), a",
    "nn.MultiheadAttention(4, 2).cuda(), sequence, sequence, sequence",
    "F.scaled_dot_product_attention, sequence, sequence, sequence",
    "lambda x: x @ x, a",
    "lambda x: F.relu(x @ x), a",
    "lambda x: F.max_pool2d(F.conv2d(x, torch.ones(1, 3, 1, 1, device=device)), 2), image",
    "nn.Bilinear(4, 4, 2).cuda().half(), half, half",
)

TO_FLOAT32 = (
    "torch.exp, half",
    "torch.log, half",
    "torch.log1p, half",
    "torch.pow, half, 2",
    "lambda x: x ** 2, half",
    "torch.reciprocal, half",
    "torch.rsqrt, half",
    "torch.sum, half",
    "torch.sum, half, 1",
    "torch.prod, half",
    "torch.cumsum, half, 0",
    "torch.norm, half",
    "lambda x: x.norm(dim=1), half",
    "lambda x: x.norm(2), half",
    "torch.linalg.vector_norm, half",
    "torch.linalg.norm, half",
    "torch.dist, half, half",
    "torch.cdist, half, half",
    "F.softmax, half, 1",
    "F.log_softmax, half, 1",
    "nn.Softmax(dim=-1), half",
    "F.softplus, half",
    "F.layer_norm, half, (4,)",
    "nn.LayerNorm(4).cuda(), half",
    "F.group_norm, sequence.half(), 1",
    "F.mse_loss, half, half",
    "F.l1_loss, half, half",
    "F.smooth_l1_loss, half, half",
    "F.nll_loss, half, whole",
    "F.cross_entropy, half, whole",
    "lambda x: F.kl_div(x, x, reduction='batchmean'), half",
    "F.binary_cross_entropy_with_logits, half, mask",
    "F.cosine_similarity, half, half",
    "lambda x: F.interpolate(x, scale_factor=2), image.half()",
)

AS_IT_IS = {
    "cast(torch.add, a, b)": "float32",
    "cast(torch.add, half, half)": "float16",
    "cast(torch.add, half, a)": "float32",
    "cast(torch.relu, half)": "float16",
    "cast(torch.cat, [half, a])": "float32",
    "cast(torch.stack, [half, half])": "float16",
    "cast(torch.addcmul, half, half, a)": "float32",
    "cast(torch.addcmul, half, half, half)": "float16",
    "cast(torch.dot, half[0], a[0])": "float32",
    "cast(torch.mm, double, double)": "float64",
    "cast(torch.mm, host, host)": "float32",
    "cast(nn.Linear(4, 2), host)": "float32",
    "cast(lambda x: F.softmax(x, 1), host.half())": "float16",
    "cast(F.binary_cross_entropy, host.sigmoid(), host.sigmoid())": "float32",
    "cast(lambda x: torch.sum(x, dtype=torch.float16), half)": "float16",
    "cast(lambda x: F.softmax(x, 1, dtype=torch.float64), half)": "float64",
    "cast(torch.argmax, half)": "int64",
    "cast(nn.BatchNorm2d(3).cuda(), image)": "float32",
    "cast(nn.Embedding(4, 2).cuda(), whole)": "float32",
    "cast(torch.mm, a, b, dtype=torch.bfloat16)": "bfloat16",
    "cast(torch.mm, a, b, enabled=False)": "float32",
    "str((a @ b).dtype)": "torch.float32",
}

STATE = {
    "torch.is_autocast_enabled('cuda')": False,
    "torch.get_autocast_dtype('cuda')": "float16",
    "torch.amp.is_autocast_available('cuda')": True,
    "in_region(lambda: torch.is_autocast_enabled('cuda'))": True,
    "in_region(lambda: torch.is_autocast_enabled('cpu'))": False,
    "in_region(lambda: (a @ b).dtype, torch.bfloat16)": "bfloat16",
    "in_region(lambda: torch.get_autocast_dtype('cuda'), torch.bfloat16)": "bfloat16",
    "in_region(nested)": ("float32", "float16"),
    "in_region(in_thread)": "float32",
    "decorated(a).dtype": "float16",
    "in_region(lambda: Doubled.apply(half).dtype)": "float32",
    "in_region(lambda: torch.utils.checkpoint.checkpoint(layer, a, use_reentrant=False).dtype)": "float16",
    "in_region(lambda: torch.vmap(lambda x: x @ x)(torch.ones(2, 3, 3, device=device)).dtype)": "float16",
    "in_region(lambda: torch.func.grad(lambda x: (x @ x).float().sum())(a).dtype)": "float32",
    "in_inference()": "float16",
    "(a @ b).dtype": "float32",
    "switched('cuda', enabled=True)": "float16",
    "switched(device_type='cuda', enabled=True)": "float16",
    "switched('cuda:0', True)": "float16",
    "switched(True)": "float16",
    "switched('cpu', True)": "float32",
    "gradients(layer, a)": ("float32", "cuda:0"),
    "in_region(lambda: weights(layer(a)) is weights(layer(a)))": True,
    "changed_between_regions(nn.Linear(4, 4).cuda())": True,
}

STATE_SETTING = (
    SETTING
    + """
import threading, torch.utils.checkpoint
layer = nn.Linear(4, 4).cuda()
class Dtype:
    def __init__(self, dtype):
        self.name = str(dtype)[6:]
def plain(value):
    if isinstance(value, torch.dtype):
        return str(value)[6:]
    return tuple(map(plain, value)) if isinstance(value, tuple) else value
eval_ = eval
def eval(expression):
    return plain(eval_(expression, globals()))
def in_region(function, dtype=torch.float16):
    with torch.autocast("cuda", dtype=dtype):
        return function()
def nested():
    with torch.autocast("cuda", enabled=False):
        inner = (a @ b).dtype
    return inner, (a @ b).dtype
def in_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append((a @ b).dtype))
    thread.start()
    thread.join()
    return found[0]
def switched(*args, **kwargs):
    torch.set_autocast_enabled(*args, **kwargs)
    made = (a @ b).dtype
    for kind in ("cuda", "cpu"):
        torch.set_autocast_enabled(kind, False)
    return made
def in_inference():
    with torch.inference_mode(), torch.autocast("cuda"):
        return layer(a).dtype
@torch.autocast("cuda")
def decorated(x):
    return x @ x
class Doubled(torch.autograd.Function):
    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, x):
        return x * 2
    @staticmethod
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, grad):
        return grad * 2
def weights(made):
    return made.grad_fn.next_functions[-1][0].next_functions[0][0]
def changed_between_regions(layer):
    before = in_region(lambda: layer(a))
    with torch.no_grad():
        layer.weight.add_(1)
    return not torch.equal(before, in_region(lambda: layer(a)))
def gradients(layer, x):
    with torch.autocast("cuda"):
        loss = (layer(x) + layer(x)).sum()
    loss.backward()
    return layer.weight.grad.dtype, str(layer.weight.grad.device)
"""
)

ERRORS = {
    "cast(F.binary_cross_entropy, a.sigmoid(), b.sigmoid())": (
        "RuntimeError: torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast."
    ),
    # The weights are cast and the host's input, which autocast does not concern itself with, is not.
    "cast(nn.Conv2d(3, 4, 3, bias=False).cuda(), image.cpu())": (
        "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same"
    ),
    "cast(nn.Conv2d(3, 4, 3, bias=False), image)": (
        "RuntimeError: Input type (torch.cuda.HalfTensor) and weight type (torch.FloatTensor) should be the same"
    ),
    "cast(nn.Conv2d(3, 4, 3).cuda(), image.cpu())": (
        "RuntimeError: Input type (float) and bias type (c10::Half) should be the same"
    ),
    "cast(nn.Linear(4, 2).cuda(), host)": "RuntimeError: Expected all tensors to be on the same device",
    "cast(F.cross_entropy, half, whole.cpu())": "RuntimeError: Expected all tensors to be on the same device",
    "torch.autocast('cuda').__call__(3)": "TypeError: autocast()(func) requires a callable",
}


@pytest.mark.parametrize(
    ("calls", "dtype"),
    [pytest.param(TO_FLOAT16, "float16", id="float16"), pytest.param(TO_FLOAT32, "float32", id="float32")],
)
def test_operators_that_are_cast(simulate: Simulate, calls: tuple[str, ...], dtype: str) -> None:
    assert_values(simulate, SETTING, {f"cast({call})": dtype for call in calls})


@pytest.mark.parametrize(
    ("setting", "expected"),
    [pytest.param(SETTING, AS_IT_IS, id="not cast"), pytest.param(STATE_SETTING, STATE, id="where")],
)
def test_operators_and_regions_that_are_left_alone(simulate: Simulate, setting: str, expected: dict[str, Any]) -> None:
    assert_values(simulate, setting, expected)


def test_errors_name_the_types_after_the_cast(simulate: Simulate) -> None:
    assert_errors(simulate, SETTING, ERRORS)


@pytest.mark.parametrize("optimizer", ["Adam(model.parameters())", "SGD(model.parameters(), 0.1, fused=True)"])
def test_scaled_training_runs_and_learns(simulate: Simulate, optimizer: str) -> None:
    result = simulate(
        f"""
        import warnings, torch, torch.nn as nn, torch.nn.functional as F
        warnings.simplefilter("error")
        torch.manual_seed(0)
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).cuda()
        optimizer, scaler = torch.optim.{optimizer}, torch.amp.GradScaler("cuda")
        images, labels = torch.randn(8, 3, 8, 8).cuda(), torch.randint(0, 3, (8,)).cuda()
        losses = []
        for step in range(6):
            optimizer.zero_grad()
            with torch.autocast("cuda"):
                loss = F.cross_entropy(model(images), labels)
            scaler.scale(loss).backward()
            if "fused" not in {optimizer!r}:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        keep("learns", losses[-1] < losses[0])
        keep("scale", [scaler.is_enabled(), scaler.get_scale(), scaler.state_dict()["_growth_tracker"]])
        copy = torch.amp.GradScaler("cuda")
        copy.load_state_dict(scaler.state_dict())
        keep("copied", copy.get_scale())
        """
    )
    assert result.message == "", result.printed
    assert result.values == {"learns": True, "scale": [True, 65536.0, 6], "copied": 65536.0}


HOST_SETTING = """
import torch, torch.nn as nn, torch.nn.functional as F
host, device = torch.ones(4, 4), torch.ones(4, 4, device="cuda")
def types(function, *regions):
    with torch.autocast(regions[0]), torch.autocast(regions[-1]):
        return [str(function(value).dtype)[6:] for value in (host, device)]
def model(value):
    return nn.Linear(4, 2).to(value.device)(value)
def off(value):
    with torch.autocast("cpu", enabled=False):
        return value @ value
"""

OF_THE_HOST = {
    "types(lambda value: value @ value, 'cpu')": ["bfloat16", "float32"],
    "types(lambda value: value @ value, 'cpu', 'cuda')": ["bfloat16", "float16"],
    "types(lambda value: value @ value, 'cuda', 'cpu')": ["bfloat16", "float16"],
    "types(lambda value: value @ value, 'cuda')": ["float32", "float16"],
    "types(model, 'cpu')": ["bfloat16", "float32"],
    "types(lambda value: F.relu(value @ value), 'cpu')": ["bfloat16", "float32"],
    "types(lambda value: F.conv2d(value[None, None], value[None, None]), 'cpu')": ["bfloat16", "float32"],
    "types(lambda value: F.conv2d(value[None, None], value[None, None, :3, :3], padding='same'), 'cpu', 'cuda')": [
        "bfloat16",
        "float16",
    ],
    "types(off, 'cpu')": ["float32", "float32"],
}


def test_autocast_of_the_host_is_for_host_tensors(simulate: Simulate) -> None:
    assert_values(simulate, HOST_SETTING, OF_THE_HOST)


FOURIER_SETTING = """
import numpy as np, torch
warnings.filterwarnings("ignore", "ComplexHalf support is experimental")
host = torch.arange(32.0).view(4, 8)
half = host.cuda().half()
def told(made):
    return (str(made.device), str(made.dtype)[6:], list(made.shape))
def far(made, whole):
    return (made.to(whole.dtype).cpu() - whole).abs().max().item() > 0.5
"""

FOURIER = {
    "told(torch.fft.rfft(half))": ("cuda:0", "complex32", [4, 5]),
    "told(torch.fft.irfft(torch.fft.rfft(half)))": ("cuda:0", "float16", [4, 8]),
    "told(torch.fft.fftn(half, s=(2, 4)))": ("cuda:0", "complex32", [2, 4]),
    "told(torch.fft.rfft2(half).sum())": ("cuda:0", "complex32", []),
    "told(torch.fft.fft(half.float()[:3], dim=0))": ("cuda:0", "complex64", [3, 8]),
    "told(torch.fft.fft(half, np.int64(4), dim=np.int64(1)))": ("cuda:0", "complex32", [4, 4]),
    "far(torch.fft.rfft(half), torch.fft.rfft(host))": False,
}

NOT_TRANSFORMED = {
    "torch.fft.fft(half, np.int64(6))": "RuntimeError: cuFFT only supports dimensions whose sizes are powers of two",
    "torch.fft.fft(half, 6)": "RuntimeError: cuFFT only supports dimensions whose sizes are powers of two",
    "torch.fft.fft(half[:3], dim=0)": "RuntimeError: cuFFT only supports dimensions whose sizes are powers of two",
    "torch.fft.irfft2(half[:3])": "RuntimeError: cuFFT only supports dimensions whose sizes are powers of two",
    "torch.fft.rfft(half.bfloat16())": "RuntimeError: Unsupported dtype BFloat16",
    "torch.fft.rfft(host.half())": "RuntimeError: Unsupported dtype Half",
}


def test_half_precision_is_transformed_on_devices(simulate: Simulate) -> None:
    assert_values(simulate, FOURIER_SETTING, FOURIER)
    assert_errors(simulate, FOURIER_SETTING, NOT_TRANSFORMED)


def test_a_step_with_infinite_gradients_is_skipped(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        weight = torch.nn.Parameter(torch.ones(2, device="cuda"))
        optimizer, scaler = torch.optim.SGD([weight], 1.0), torch.amp.GradScaler("cuda")
        scaler.scale((weight * float("inf")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        keep("weight", weight.tolist())
        keep("scale", scaler.get_scale())
        """
    )
    assert result.values == {"weight": [1.0, 1.0], "scale": 32768.0}


@pytest.mark.parametrize(
    ("call", "instead"),
    [
        ("torch.cuda.amp.autocast()", "torch.amp.autocast('cuda', args...)"),
        ("torch.cuda.amp.GradScaler()", "torch.amp.GradScaler('cuda', args...)"),
    ],
)
def test_old_names_are_deprecated_as_in_torch(simulate: Simulate, call: str, instead: str) -> None:
    result = simulate(f"import warnings, torch\nwarnings.simplefilter('error')\n{call}\n")
    assert result.error_type == "FutureWarning"
    assert f"Please use `{instead}` instead." in result.message
