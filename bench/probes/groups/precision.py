"""Autocast and GradScaler."""

import warnings

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from expectations import misplaced, passes, raises, recorded
from torch import nn

DOCUMENTED = "https://docs.pytorch.org/docs/stable/amp.html"


@passes(DOCUMENTED + ": operations that autocast to float16")
def matmul_is_cast():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float16
        assert nn.Linear(2, 2).to("cuda")(x).dtype == torch.float16
    assert (x @ x).dtype == torch.float32


@passes(DOCUMENTED + ": dtype")
def matmul_is_cast_to_bfloat16():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert (x @ x).dtype == torch.bfloat16


@passes(DOCUMENTED + ": operations that autocast to float32")
def losses_are_in_float32():
    with torch.autocast("cuda"):
        logits = torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
        assert F.cross_entropy(logits, torch.zeros(2, dtype=torch.long, device="cuda")).dtype == torch.float32
        assert logits.softmax(1).dtype == torch.float32


@passes(DOCUMENTED + ": an autocast of cuda leaves tensors of the host alone")
def host_tensors_are_not_cast():
    x = torch.ones(2, 2)
    with torch.autocast("cuda"):
        assert (x @ x).dtype == torch.float32


@passes(DOCUMENTED + ": an autocast of cpu leaves tensors of the device alone")
def device_tensors_are_not_cast_by_the_hosts_autocast():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cpu"):
        assert (x @ x).dtype == torch.float32
        assert (x.cpu() @ x.cpu()).dtype == torch.bfloat16


@passes(DOCUMENTED + ": enabled")
def autocast_switched_off():
    x = torch.ones(2, 2, device="cuda")
    with torch.autocast("cuda"), torch.autocast("cuda", enabled=False):
        assert (x @ x).dtype == torch.float32


@passes("torch.is_autocast_enabled and get_autocast_dtype")
def autocast_is_known():
    assert torch.get_autocast_dtype("cuda") == torch.float16
    assert not torch.is_autocast_enabled("cuda")
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled("cuda")
    assert torch.amp.autocast_mode.is_autocast_available("cuda")


@passes(DOCUMENTED + ": as a decorator")
def autocast_as_a_decorator():
    @torch.autocast("cuda")
    def product(x):
        return x @ x

    assert product(torch.ones(2, 2, device="cuda")).dtype == torch.float16


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm") + "; autocast casts and the wrapper checks")
def linear_of_host_input_under_autocast():
    with torch.autocast("cuda"):
        nn.Linear(2, 2).to("cuda")(torch.ones(1, 2))


@raises(
    "RuntimeError",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.HalfTensor) should be the same "
    "or input should be a MKLDNN tensor and weight is a dense tensor",
    "cached_cast casts tensors of the device only, autocast_mode.cpp; check_input_same_type_as_parameters",
)
def convolution_of_host_batch_under_autocast():
    with torch.autocast("cuda"):
        nn.Conv2d(1, 1, 3, bias=False).to("cuda")(torch.ones(2, 1, 5, 5))


@raises(
    "RuntimeError",
    "Input type (float) and bias type (c10::Half) should be the same",
    "conv2d of torch 2.13 compares the types of input and bias first: it says so of host tensors of these types too",
)
def convolution_with_bias_of_host_batch_under_autocast():
    with torch.autocast("cuda"):
        nn.Conv2d(1, 1, 3).to("cuda")(torch.ones(2, 1, 5, 5))


@raises(
    "RuntimeError",
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.",
    DOCUMENTED + ": prefer binary_cross_entropy_with_logits",
)
def binary_cross_entropy_under_autocast():
    with torch.autocast("cuda"):
        F.binary_cross_entropy(torch.full((2,), 0.5, device="cuda"), torch.ones(2, device="cuda"))


@raises("ValueError", "Expected `device_type` of type `str`, got: `<class 'torch.device'>`", "torch.autocast.__init__")
def autocast_with_a_device():
    torch.autocast(torch.device("cuda"))


@raises(
    "TypeError", "autocast.__init__() missing 1 required positional argument: 'device_type'", "torch.autocast.__init__"
)
def autocast_without_a_device():
    torch.autocast()


@passes("torch.autocast.__init__ of torch 2.13: is_autocast_available('cuda:0') parses the device string")
def autocast_with_an_ordinal():
    with torch.autocast("cuda:0"):
        pass


@passes("torch.cuda.amp.autocast is deprecated and works")
def deprecated_autocast():
    x = torch.ones(2, 2, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.cuda.amp.autocast():
            assert (x @ x).dtype == torch.float16


@passes(DOCUMENTED + ": gradient scaling")
def grad_scaler_trains():
    model = nn.Linear(2, 1).to("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
    for _ in range(2):
        optimizer.zero_grad()
        with torch.autocast("cuda"):
            loss = model(torch.ones(1, 2, device="cuda")).sum()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    assert scaler.is_enabled()
    assert scaler.get_scale() == 1024.0
    assert model.weight.dtype == torch.float32


@passes("GradScaler.scale moves the scale to the loss's device, torch/amp/grad_scaler.py")
def grad_scaler_of_a_host_loss():
    scaled = torch.amp.GradScaler("cuda").scale(torch.tensor(1.0))
    assert scaled.device.type == "cpu"


@passes("GradScaler skips a step with infinite gradients and lowers the scale")
def grad_scaler_skips_infinities():
    weight = nn.Parameter(torch.ones(1, device="cuda"))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    scaler.scale(weight.sum()).backward()
    weight.grad.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update()
    assert weight.item() == 1
    assert scaler.get_scale() == 32768.0


@passes("torch.amp.custom_fwd documentation")
def custom_forward_of_a_function():
    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(context, x):
            context.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(context, gradient):
            (x,) = context.saved_tensors
            return 2 * x * gradient

    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        Square.apply(x).sum().backward()
    assert x.grad.is_cuda


@passes("backward under autocast returns gradients of the leaf's type")
def gradients_of_an_autocast_matmul():
    x = torch.ones(2, 2, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        loss = (x @ x).sum()
    loss.backward()
    assert x.grad.dtype == torch.float32
    assert x.grad.is_cuda
