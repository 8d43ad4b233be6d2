"""Which mixes of places the simulated accelerator refuses, and in which words: those of CUDA for torch 2.13."""

import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Simulate
from .tables import PRELUDE, assert_texts

SETTING = """
h2, c2 = torch.ones(2, 2), torch.ones(2, 2, device="cuda")
h0, c0 = torch.tensor(2.0), torch.tensor(2.0, device="cuda")
hi, ci = torch.tensor([0, 1]), torch.tensor([0, 1], device="cuda")
hm, cm = h2 > 0, c2 > 0
def put(target, index, value):
    target = target.clone()
    target[index] = value
    return target
def images(device, channels=3, count=2):
    return torch.ones(count, channels, 8, 8, device=device)
def kernel(device, *shape):
    return torch.ones(*shape, device=device)
def istft(device, window):
    spectrum = torch.ones(9, 5, device=device, dtype=torch.complex64)
    return torch.istft(spectrum, 16, window=torch.ones(16, device=window))
def inference(function):
    with torch.inference_mode():
        return function()
"""


def same(argument: str, method: str, place: str = "cpu", others: str = "cuda:0") -> str:
    return (
        f"RuntimeError: Expected all tensors to be on the same device, but got {argument} is on {place}, different "
        f"from other tensors on {others} (when checking argument in method wrapper_CUDA_{method})"
    )


def two(common: str = "cuda:0", other: str = "cpu") -> str:
    return (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
        f"{common} and {other}!"
    )


LEGAL = {
    # A number on the host goes where the tensors are.
    "c2 * h0": "cuda:0",
    "h0 - c2": "cuda:0",
    "c2.lerp(c2, h0)": "cuda:0",
    "torch.maximum(h0, c2)": "cuda:0",
    "torch.where(cm, c2, h0)": "cuda:0",
    "torch.where(cm, h0, 1.0)": "cuda:0",
    "c2.masked_fill(cm, h0)": "cuda:0",
    "c2.fill_(h0)": "cuda:0",
    "h2.fill_(c0)": "cpu",
    "torch._foreach_mul([c2, c2], h0)[0]": "cuda:0",
    "torch._foreach_add([c2, h2], [c2, h2])[1]": "cpu",
    # Indexing: indices may be on the host, results are where the indexed tensor is.
    "c2[hi]": "cuda:0",
    "c2[hi, hi]": "cuda:0",
    "c2[hm]": "cuda:0",
    "h2[c0.long() - 1]": "cpu",
    "put(c2, hi, 1.0)": "cuda:0",
    "put(h2, ci, 1.0)": "cpu",
    "put(c2, hm, 1.0)": "cuda:0",
    "put(c2, hm, h0)": "cuda:0",
    "put(h2, cm, c0)": "cpu",
    "put(c2, 0, h2[0])": "cuda:0",
    "put(h2, 0, c2[0])": "cpu",
    # Copies are what moves are made of.
    "h2.clone().copy_(c2)": "cpu",
    "c2.clone().copy_(h2)": "cuda:0",
    # Made inside torch: masks, weights, noise.
    "F.dropout(c2)": "cuda:0",
    "F.gumbel_softmax(c2)": "cuda:0",
    "F.cross_entropy(c2, ci)": "cuda:0",
    "F.one_hot(ci)": "cuda:0",
    "F.scaled_dot_product_attention(*[c2[None]] * 3, is_causal=True)": "cuda:0",
    "torch.var_mean(c2)[1]": "cuda:0",
    "torch.eye(2).to_sparse() @ h2": "cpu",
    "torch.sparse.mm(c2.to_sparse(), c2)": "cuda:0",
    "inference(lambda: F.linear(c2, c2))": "cuda:0",
    "torch.func.vmap(lambda row: row * 2)(c2)": "cuda:0",
    "torch.func.grad(lambda value: (value * c2).sum())(c2)": "cuda:0",
    "F.conv2d(images('cuda'), kernel('cuda', 4, 3, 3, 3), kernel('cuda', 4))": "cuda:0",
    "F.ctc_loss(torch.zeros(4, 1, 3, device='cuda'), torch.ones(2, dtype=torch.int32), [4], [2])": "cuda:0",
    "F.ctc_loss(torch.zeros(4, 1, 3, device='cuda'), torch.ones(1, 2).long(), [4], [2])": "cuda:0",
    "torch.meshgrid(ci, ci, indexing='ij')[0]": "cuda:0",
    "torch.meshgrid([hi, hi], indexing='ij')[0]": "cpu",
    "torch.block_diag(c2, c0)": "cuda:0",
    "torch.gradient(c2[0], spacing=(ci,))[0]": "cuda:0",
    "torch.segment_reduce(c2[0], 'sum', lengths=ci + 1 - ci)": "cuda:0",
    "istft('cuda', 'cuda')": "cuda:0",
    "nn.GRUCell(2, 2).cuda()(c2, c2)": "cuda:0",
    "nn.LSTMCell(2, 2).cuda()(c2)[0]": "cuda:0",
    "nn.GRUCell(2, 2)(h2)": "cpu",
}

REFUSED = {
    # The generated wrappers.
    "c2 @ h2": same("mat2", "mm"),
    "h2 @ c2": same("mat2", "mm", "cuda:0", "cpu"),
    "c2 @ h2[0]": same("mat", "addmv_", "cuda:0", "cpu"),
    "F.linear(h2, c2, c2[0])": same("mat1", "addmm"),
    "inference(lambda: F.linear(h2, c2))": same("mat2", "mm", "cuda:0", "cpu"),
    "torch.baddbmm(c2[None], c2[None], h2[None])": same("batch2", "baddbmm"),
    "torch.cat([c2, h2])": same("tensors", "cat"),
    "torch.stack([c2, h2])": same("tensors", "cat"),
    "F.embedding(hi, c2)": same("index", "_index_select"),
    "F.cross_entropy(c2, hi)": same("target", "nll_loss_forward"),
    "F.nll_loss(c2, ci, h2[0])": same("weight", "nll_loss_forward"),
    "F.layer_norm(c2, (2,), h2[0])": same("weight", "_native_layer_norm"),
    "F.batch_norm(c2, h2[0], h2[0])": same("running_mean", "_native_batch_norm"),
    "F.batch_norm(images('cuda'), *[kernel('cpu', 3)] * 2, *[kernel('cuda', 3)] * 2)": same(
        "running_mean", "_cudnn_batch_norm"
    ),
    "F.rms_norm(c2, (2,), h2[0])": same("weight", "__fused_rms_norm"),
    "c2.gather(1, hi[None])": same("index", "gather"),
    "c2.index_add(0, hi, c2)": same("index", "index_add"),
    "c2.clamp(h0)": same("min", "clamp_Tensor"),
    "torch.cdist(c2, h2)": same("x2", "__cdist_forward"),
    # The fused cells multiply without a bias.
    "nn.GRUCell(2, 2).cuda()(c2, h2)": same("mat2", "mm", "cuda:0", "cpu"),
    "nn.LSTMCell(2, 2).cuda()(c2, (h2, h2))": same("mat2", "mm", "cuda:0", "cpu"),
    "nn.LSTMCell(2, 2).cuda()(c2, (c2, h2))": same("cx", "__thnn_fused_lstm_cell"),
    "nn.GRUCell(2, 2)(c2)": same("mat2", "mm"),
    "nn.GRUCell(2, 2).cuda()(h2)": same("mat1", "addmm"),
    # Checked above the kernels, or by the kernel itself.
    "torch.meshgrid(ci, hi, indexing='ij')": "RuntimeError: meshgrid expects all tensors to have the same device",
    "torch.cartesian_prod(ci, hi)": "RuntimeError: meshgrid expects all tensors to have the same device",
    "torch.gradient(c2[0], spacing=(hi,))": (
        "RuntimeError: torch.gradient expected each tensor to be on the same device, but got devices cuda:0 and cpu!"
    ),
    "istft('cuda', 'cpu')": (
        "RuntimeError: istft input and window must be on the same device but got self on cuda:0 and window on cpu"
    ),
    "torch.block_diag(c2, h2)": (
        "RuntimeError: torch.block_diag: input tensors must all be on the same device. Input 0 is on device cuda:0 and "
        "input 1 is on device cpu"
    ),
    "torch.cholesky_solve(h2, c2)": (
        "RuntimeError: Expected b and A to be on the same device, but found b on cpu and A on cuda:0 instead."
    ),
    "torch.segment_reduce(c2[0], 'sum', lengths=hi)": (
        "RuntimeError: Expected data.get_device() == lengths_value.get_device() to be true, but got false.  (Could "
        "this error message be improved?  If so, please report an enhancement request to PyTorch.)"
    ),
    "torch.addmm(c2, c2, h2, out=c2.clone())": same("mat2", "addmm_out_out"),
    # TensorIterator.
    "c2 + h2": two(),
    "h2 + c2": two(),
    "c2.clone().add_(h2)": two(),
    "c2 == h2": two(),
    "F.mse_loss(c2, h2)": two(),
    "F.binary_cross_entropy(c2, h2)": two(),
    "F.binary_cross_entropy(c0, h0)": two(),
    "torch.addcdiv(c2, h0, c2)": two(),
    "torch.abs(h0, out=c0.clone())": two(),
    "torch.addcmul(c2, h0, h0)": "RuntimeError: Trying to pass too many CPU scalars to non-CPU kernel!",
    "torch.eq(h0, 1, out=c0 > 0)": "RuntimeError: Trying to pass too many CPU scalars to non-CPU kernel!",
    "torch._foreach_add([c2, c2], [c2, h2])": two(),
    "torch.where(hm, c2, c2)": two(),
    "torch.where(cm, h2, c2)": two(),
    "put(c2, hi, h2)": two(),
    "put(h2, ci, c2)": two(),
    # Those that check for themselves.
    "c2.masked_fill(hm, 0.0)": (
        "RuntimeError: expected self and mask to be on the same device, but got mask on cpu and self on cuda:0"
    ),
    "h2[ci]": ("RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"),
    "h2[cm]": ("RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cpu)"),
    "c2.index_put((hi,), h2, accumulate=True)": (
        "RuntimeError: expected device cuda:0 but got device cpu for value tensor"
    ),
    "torch.sum(c2, 0, out=h2[0].clone())": (
        "RuntimeError: Expected out tensor to have device cuda:0, but got cpu instead"
    ),
    "F.scaled_dot_product_attention(c2[None], c2[None], h2[None])": (
        "RuntimeError: Expected query, key, and value to have the same device type, but got query.device: cuda:0 "
        "key.device: cuda:0 and value.device: cpu instead."
    ),
    "F.scaled_dot_product_attention(*[c2[None]] * 3, attn_mask=h2)": same(
        "attn_bias", "__scaled_dot_product_efficient_attention"
    ),
    # Convolutions compare types.
    "F.conv2d(images('cuda'), kernel('cpu', 4, 3, 3, 3))": (
        "RuntimeError: Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same"
    ),
    "F.conv2d(images('cpu'), kernel('cuda', 4, 3, 3, 3))": (
        "RuntimeError: Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same or "
        "input should be a MKLDNN tensor and weight is a dense tensor"
    ),
    "F.conv2d(images('cuda'), kernel('cuda', 4, 3, 3, 3), kernel('cpu', 4))": (
        "RuntimeError: Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the same"
    ),
    "F.conv2d(images('cuda'), kernel('cpu', 3, 1, 3, 3), groups=3)": same("weight", "__conv_depthwise2d"),
    # Above and around.
    "torch.func.vmap(lambda row: row + h2[0])(c2)": two(),
    "torch.func.grad(lambda value: (value * h2).sum())(c2)": two(),
    "torch.sparse.mm(c2.to_sparse(), h2)": same("mat2", "addmm"),
    # What comes first on CUDA comes first here: shapes before devices where TensorIterator compares both, and the type
    # of a mask or an index.
    "c2 + torch.ones(3)": (
        "RuntimeError: The size of tensor a (2) must match the size of tensor b (3) at non-singleton dimension 1"
    ),
    "h0.clone().add_(c2)": ("RuntimeError: output with shape [] doesn't match the broadcast shape [2, 2]"),
    "torch.where(h2, c2, c2)": (
        "RuntimeError: where expected condition to be a boolean tensor, but got a tensor with dtype Float"
    ),
    "F.conv2d(images('cuda'), kernel('cpu', 4, 2, 3, 3))": (
        "RuntimeError: Given groups=1, weight of size [4, 2, 3, 3], expected input[2, 3, 8, 8] to have 2 channels, but "
        "got 3 channels instead"
    ),
}

TWO_DEVICES = {
    "c2 + d2": two("cuda:0", "cuda:1"),
    "d2 + c2": two("cuda:1", "cuda:0"),
    "c2 * d0": two("cuda:0", "cuda:1"),
    "c2 @ d2": same("mat2", "mm", "cuda:1", "cuda:0"),
    "c2[d0.long()[None]]": (
        "RuntimeError: indices should be either on cpu or on the same device as the indexed tensor (cuda:0)"
    ),
    "F.conv2d(images('cuda:0'), kernel('cuda:1', 4, 3, 3, 3))": same(
        "weight", "_cudnn_convolution", "cuda:1", "cuda:0"
    ),
    "(d2 * h0).device": "cuda:1",
    "c2.clone().copy_(d2).device": "cuda:0",
}


def test_what_cuda_allows_runs_and_stays_where_it_belongs(simulate: Simulate) -> None:
    rows = {f"({expression}).device": place for expression, place in LEGAL.items()}
    assert_texts(simulate, PRELUDE + SETTING, rows)


def test_what_cuda_refuses_is_refused_in_its_words(simulate: Simulate) -> None:
    assert_texts(simulate, PRELUDE + SETTING, REFUSED)


def test_devices_are_told_apart(simulate: Simulate) -> None:
    setting = SETTING + "d2 = torch.ones(2, 2, device='cuda:1')\nd0 = torch.tensor(1.0, device='cuda:1')\n"
    assert_texts(simulate, PRELUDE + setting, TWO_DEVICES, devices=2)


def test_the_line_is_the_users(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        model = torch.nn.Linear(2, 2)
        model.to("cuda")
        loss = model(torch.ones(1, 2))
        """
    )
    assert (result.error_type, result.line) == ("RuntimeError", 4)
    assert result.first_line == same("mat1", "addmm").removeprefix("RuntimeError: ")


def test_backward_and_optimizer_are_checked_and_their_results_placed(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam"):
            model = torch.nn.Linear(2, 2).to("cuda")
            optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
            model(torch.ones(1, 2, device="cuda")).sum().backward()
            optimizer.step()
            state = [value for entry in optimizer.state.values() for value in entry.values()]
            places = {str(value.device) for value in state if isinstance(value, torch.Tensor) and value.dim()}
            keep(name, [str(model.weight.grad.device), sorted(places)])
        """
    )
    assert result.message == ""
    assert result.values.pop("SGD") == ["cuda:0", []]
    assert all(value == ["cuda:0", ["cuda:0"]] for value in result.values.values())


def test_values_are_those_of_the_cpu(simulate: Simulate) -> None:
    code = """
        import torch
        def losses(device):
            torch.manual_seed(0)
            model = torch.nn.Sequential(
                torch.nn.Conv2d(1, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.Flatten(), torch.nn.Dropout(),
                torch.nn.Linear(144, 3),
            ).to(device)
            optimizer = torch.optim.Adam(model.parameters())
            found = []
            for _ in range(3):
                images, labels = torch.randn(5, 1, 8, 8).to(device), torch.randint(0, 3, (5,)).to(device)
                loss = torch.nn.functional.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                found.append(loss.item())
            return found
        keep("same", losses("cpu") == losses("cuda"))
        """
    assert simulate(code).values == {"same": True}


def test_the_refused_arguments_are_known(simulate: Simulate) -> None:
    result = simulate(
        """
        import sys, torch
        weight, target = torch.ones(2, 2, device="cuda"), torch.tensor([0, 1])
        mode = torch.utils._python_dispatch._get_current_dispatch_mode()
        try:
            torch.nn.functional.cross_entropy(weight, target)
        except RuntimeError:
            (name, tensor), *_ = mode._simulation.refused
            keep("refused", [name, tensor is target])
        """
    )
    assert result.values == {"refused": ["target", True]}


def test_the_old_wording(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        mode = torch.utils._python_dispatch._get_current_dispatch_mode()
        mode._simulation.version = (2, 7)
        torch.ones(2, 2, device="cuda") @ torch.ones(2, 2)
        """
    )
    assert result.first_line == (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu! "
        "(when checking argument for argument mat2 in method wrapper_CUDA_mm)"
    )


def test_an_operator_of_another_library_is_not_guessed_at(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        library = torch.library.Library("somebody", "DEF")
        library.define("mix(Tensor a, Tensor b) -> Tensor")
        library.impl("mix", lambda a, b: a.clone(), "CPU")
        one = torch.ones(2, device="cuda")
        keep("alike", str(torch.ops.somebody.mix(one, one).device))
        torch.ops.somebody.mix(one, torch.ones(2))
        """
    )
    assert result.values == {"alike": "cuda:0"}
    assert result.not_simulated == ["somebody::mix on tensors of different devices"]


def test_fake_tensors_and_subclasses_with_a_dispatch_of_their_own(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from torch._subclasses import FakeTensorMode
        from torch.testing._internal.two_tensor import TwoTensor
        with FakeTensorMode():
            fake = torch.empty(2, 2)
            keep("fake", list((fake + fake).shape))
        device, host = torch.ones(2, device="cuda"), torch.ones(2)
        keep("alike", str((TwoTensor(device, device) + device).a.device))
        TwoTensor(device, device) + host
        """
    )
    assert result.values == {"fake": [2, 2], "alike": "cuda:0"}
    assert result.first_line == two().removeprefix("RuntimeError: ")


@pytest.mark.slow
def test_agreement_with_recorded_outcomes() -> None:
    script = Path(__file__).parents[3] / "bench" / "agreement.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "with a device error" in done.stdout
