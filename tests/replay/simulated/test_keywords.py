"""Patched functions take their arguments by the names that torch gives them."""

from .conftest import Simulate
from .tables import PRELUDE, assert_texts

SETUP = (
    PRELUDE
    + """
import numpy
m, s = torch.ones(4, 4, device='cuda'), torch.ones(400, device='cuda')
i = torch.zeros(4, 1, dtype=torch.long, device='cuda')
w = torch.ones(16, device='cuda')
state = torch.get_rng_state()
"""
)

# Expression: the device of its result, or what it gives.
CALLS = {
    "torch.take_along_dim(input=m, indices=i, dim=1).device": "cuda:0",
    "torch.quantile(input=m, q=0.5).device": "cuda:0",
    "torch.nanquantile(input=m, q=0.5, dim=1).device": "cuda:0",
    "torch.stft(input=s, n_fft=16, window=w, return_complex=True).device": "cuda:0",
    "torch.tensor_split(input=m, sections=2)[0].device": "cuda:0",
    "torch.linalg.multi_dot(tensors=[m, m]).device": "cuda:0",
    "torch.grid_sampler(input=m[None, None], grid=m[None, :, :2, None].expand(1, 4, 2, 2), interpolation_mode=0, "
    "padding_mode=0, align_corners=False).device": "cuda:0",
    "torch.multinomial(input=m, num_samples=2).device": "cuda:0",
    "torch.bernoulli(input=m).device": "cuda:0",
    "torch.poisson(input=m).device": "cuda:0",
    "torch.binomial(count=m, prob=m).device": "cuda:0",
    "torch.rms_norm(input=m, normalized_shape=[4], weight=m[0]).device": "cuda:0",
    "torch.ctc_loss(log_probs=m[:, None], targets=i[:, 0][None] + 1, input_lengths=[4], target_lengths=[1]).device": (
        "cuda:0"
    ),
    "F.scaled_dot_product_attention(query=m[None], key=m[None], value=m[None], attn_mask=m).device": "cuda:0",
    "F.grid_sample(input=m[None, None], grid=m[None, :, :2, None].expand(1, 4, 2, 2), align_corners=False).device": (
        "cuda:0"
    ),
    "torch.zeros_like(input=m).device": "cuda:0",
    "torch.rand_like(input=m).device": "cuda:0",
    "torch.full(size=(2,), fill_value=1., device='cuda').device": "cuda:0",
    "torch.tensor(data=[1., 2.], device='cuda').device": "cuda:0",
    "torch.as_tensor(data=[1., 2.], device='cuda').device": "cuda:0",
    "torch.asarray(obj=[1., 2.], device='cuda').device": "cuda:0",
    "torch.asarray(obj=h, device='cuda').device": "cuda:0",
    "torch.from_numpy(numpy.ones(2)).device": "cpu",
    "torch.frombuffer(buffer=bytearray(8), dtype=torch.float32).device": "cpu",
    "torch.from_dlpack(ext_tensor=c).device": "cuda:0",
    "torch.normal(mean=m, std=m).device": "cuda:0",
    "torch.set_rng_state(new_state=state)": "None",
    "torch.manual_seed(seed=0) is None": "False",
    "m.take_along_dim(indices=i, dim=1).device": "cuda:0",
    "m.to(other=h).device": "cpu",
    "m.to(device='cpu', dtype=torch.half).dtype": "torch.float16",
    "m.cpu(memory_format=torch.preserve_format).device": "cpu",
    "h.cuda(device=0, non_blocking=True).device": "cuda:0",
    "h.type(dtype='torch.cuda.FloatTensor').device": "cuda:0",
    "h.type_as(other=c).device": "cuda:0",
    "c.new_zeros(size=(2,)).device": "cuda:0",
    "c.new_tensor(data=[1.]).device": "cuda:0",
    "c.uniform_(to=2.).device": "cuda:0",
}
REFUSED = {
    "torch.take_along_dim(input=m, indices=i.cpu(), dim=1)": (
        "RuntimeError: Expected tensor to have cuda Device, but got tensor with cpu Device (while checking arguments "
        "for torch.take_along_dim():)"
    ),
    "torch.quantile(input=m, q=torch.ones(1))": (
        "RuntimeError: quantile() q tensor must be on the same device as the input tensor"
    ),
}


def test_calls_by_keyword_are_calls(simulate: Simulate) -> None:
    assert_texts(simulate, SETUP, CALLS)


def test_calls_by_keyword_are_checked(simulate: Simulate) -> None:
    assert_texts(simulate, SETUP, REFUSED)
