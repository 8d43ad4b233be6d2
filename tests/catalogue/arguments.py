"""What each row is called with, as text: the names are those of `observing.tensors`.

Of a method, the first argument is the receiver.
"""

from devfix_codemods.catalogue import torch as rows
from devfix_codemods.catalogue.effects import Effect

DEFAULTS = {
    Effect.FACTORY: "3",
    Effect.CONVERSION: "v",
    Effect.HOST: "array",
    Effect.LIKE: "m",
    Effect.MEET: "m, n",
    Effect.ARITHMETIC: "m, n",
    Effect.SEQUENCE: "[m, n]",
    Effect.SAME: "m",
    Effect.READ: "m",
    Effect.SYNC: "s",
    Effect.NEEDS_HOST: "m",
    Effect.COPY_INTO: "m, n",
    Effect.TO_HOST: "m",
    Effect.CUDA: "m",
    Effect.PASS: "m",
    Effect.WRAP: "net",
    Effect.OTHER: "m",
}
"""What a row is called with that the tables below do not name."""

BOTH = {
    "addcmul": "m, n, m",
    "addcdiv": "m, n, m",
    "lerp": "m, n, m",
    "where": "k, m, n",
    "logical_and": "k, k",
    "logical_or": "k, k",
    "logical_xor": "k, k",
    "bitwise_and": "i, i",
    "bitwise_or": "i, i",
    "bitwise_not": "i",
    "bmm": "b, b",
    "mv": "m, v",
    "dot": "v, e",
    "vdot": "v, e",
    "inner": "v, e",
    "outer": "v, e",
    "ger": "v, e",
    "addmm": "m, n, m",
    "addbmm": "m, b, b",
    "baddbmm": "b, b, b",
    "masked_select": "m, k",
    "masked_fill": "m, k, s",
    "masked_scatter": "m, k, n",
    "gather": "m, 0, ii",
    "scatter": "m, 0, ii, n",
    "scatter_add": "m, 0, ii, n",
    "scatter_reduce": "m, 0, ii, n, 'sum'",
    "index_select": "m, 0, i",
    "index_add": "m, 0, i, n",
    "index_copy": "m, 0, i, n",
    "index_reduce": "m, 0, i, n, 'mean'",
    "index_fill": "m, 0, i, s",
    "index_put": "m, (i, i), v",
    "take": "m, i",
    "take_along_dim": "m, ii, 0",
    "view_as_real": "c",
    "view_as_complex": "pair",
    "unsqueeze": "m, 0",
    "reshape": "m, (9,)",
    "view": "m, (9,)",
    "transpose": "m, 0, 1",
    "swapaxes": "m, 0, 1",
    "swapdims": "m, 0, 1",
    "permute": "m, (1, 0)",
    "movedim": "m, 0, 1",
    "moveaxis": "m, 0, 1",
    "flip": "m, (0,)",
    "roll": "m, 1",
    "clamp": "m, 0, 1",
    "clip": "m, 0, 1",
    "clamp_min": "m, 0",
    "clamp_max": "m, 1",
    "softmax": "m, 0",
    "log_softmax": "m, 0",
    "logsumexp": "m, 0",
    "cumsum": "m, 0",
    "cumprod": "m, 0",
    "cummax": "m, 0",
    "cummin": "m, 0",
    "repeat_interleave": "m, 2",
    "repeat": "m, 2, 2",
    "tile": "m, (2, 2)",
    "expand": "v, 3, 3",
    "broadcast_to": "v, (3, 3)",
    "topk": "m, 1",
    "kthvalue": "m, 1",
    "quantile": "m, 0.5",
    "bincount": "i",
    "multinomial": "m, 1",
    "chunk": "m, 3",
    "split": "m, 1",
    "tensor_split": "m, 3",
    "narrow": "m, 0, 0, 1",
    "select": "m, 0, 0",
    "unfold": "m, 0, 2, 1",
    "unflatten": "m, 0, (3, 1)",
    "vander": "v",
    "searchsorted": "sorted, v",
    "bucketize": "v, sorted",
    "is_nonzero": "s",
}
"""Functions of `torch` and methods of the same name, with the underscore of those in place left out."""

FUNCTIONS = {
    "torch.empty_strided": "(3,), (1,)",
    "torch.full": "(3,), 1.0",
    "torch.linspace": "0, 1, 3",
    "torch.logspace": "0, 1, 3",
    "torch.randint": "3, (3,)",
    "torch.range": "0, 3",
    "torch.tril_indices": "3, 3",
    "torch.triu_indices": "3, 3",
    "torch.scalar_tensor": "2.0",
    "torch.frombuffer": "buffer, dtype=torch.float32",
    "torch._shape_as_tensor": "m",
    "torch.onnx.operators.shape_as_tensor": "m",
    "torch.LongTensor": "[1, 2]",
    "torch.IntTensor": "[1, 2]",
    "torch.ShortTensor": "[1, 2]",
    "torch.ByteTensor": "[1, 2]",
    "torch.BoolTensor": "[True]",
    "torch.HalfTensor": "[1.0]",
    "torch.DoubleTensor": "[1.0]",
    "torch.BFloat16Tensor": "[1.0]",
    "torch.full_like": "m, 1.0",
    "torch.randint_like": "m, 3",
    "torch.einsum": "'ij,jk->ik', m, n",
    "torch.tensordot": "m, n, 1",
    "torch.cross": "m, n, dim=0",
    "torch.linalg.solve_triangular": "m, n, upper=True",
    "torch.linalg.lu_solve": "*lu, n",
    "torch.linalg.ldl_solve": "*ldl, n",
    "torch.stft": "long, 8, return_complex=True, window=torch.ones(8)",
    "torch.istft": "spectrum, 8, window=torch.ones(8)",
    "torch.empty_permuted": "(3, 3), (0, 1)",
    "torch.fft.irfft": "c",
    "torch.linalg.matrix_power": "m, 2",
    "torch.nn.utils.rnn.pack_sequence": "[v, w]",
    "torch.nn.utils.rnn.pack_padded_sequence": "tokens, [5, 4]",
    "torch.meshgrid": "v, e",
    "torch.imag": "c",
    "torch.bernoulli": "v",
    "torch.normal": "m, n",
    "torch.nn.utils.rnn.pad_packed_sequence": "packed",
    "torch.nn.utils.rnn.pad_sequence": "[v, w]",
    "torch.nn.utils.parameters_to_vector": "[m, n]",
    "torch.cartesian_prod": "v, e",
    "torch.broadcast_tensors": "m, n",
    "torch.Size": "[3]",
    "torch.finfo": "torch.float32",
    "torch.iinfo": "torch.int32",
    "torch.device": "'cpu'",
    "torch.result_type": "m, n",
    "torch.can_cast": "torch.float32, torch.float64",
    "torch.get_default_dtype": "",
    "torch.manual_seed": "0",
    "torch.set_grad_enabled": "False",
    "torch.is_grad_enabled": "",
    "torch.no_grad": "",
    "torch.enable_grad": "",
    "torch.inference_mode": "",
    "torch.set_num_threads": "1",
    "torch.get_num_threads": "",
    "torch.cuda.is_available": "",
    "torch.cuda.device_count": "",
    "torch.cuda.current_device": "",
    "torch.cuda.empty_cache": "",
    "torch.cuda.synchronize": "",
    "torch.cuda.is_bf16_supported": "",
    "torch.nn.functional.pad": "m, (1, 1)",
    "torch.nn.functional.one_hot": "i",
    "torch.nn.functional.softmin": "m, 0",
    "torch.nn.functional.glu": "image, 1",
    "torch.nn.functional.interpolate": "image, 4",
    "torch.nn.functional.upsample": "image, 4",
    "torch.nn.functional.unfold": "image, 2",
    "torch.nn.functional.fold": "signal, (17, 1), (2, 1)",
    "torch.nn.functional.dropout1d": "signal",
    "torch.nn.functional.dropout2d": "image",
    "torch.nn.functional.dropout3d": "volume",
    **{
        f"torch.nn.functional.{kind}{dims}d": f"{what}, 2"
        for kind in ("max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool")
        for dims, what in ((1, "signal"), (2, "image"), (3, "volume"))
    },
    "torch.nn.functional.lp_pool2d": "image, 2, 2",
    "torch.nn.functional.pixel_shuffle": "image, 2",
    "torch.nn.functional.pixel_unshuffle": "image, 2",
    "torch.nn.functional.channel_shuffle": "image, 2",
    "torch.nn.functional.instance_norm": "image",
    "torch.nn.functional.affine_grid": "torch.ones(1, 2, 3), (1, 1, 4, 4)",
    "torch.nn.functional.threshold": "m, 0, 0",
    "torch.nn.functional.conv1d": "signal, torch.ones(2, 2, 2), w",
    "torch.nn.functional.conv2d": "image, torch.ones(2, 4, 2, 2), w",
    "torch.nn.functional.conv3d": "volume, torch.ones(2, 2, 2, 2, 2), w",
    "torch.nn.functional.conv_transpose1d": "signal, torch.ones(2, 2, 2), w",
    "torch.nn.functional.conv_transpose2d": "image, torch.ones(4, 2, 2, 2), w",
    "torch.nn.functional.conv_transpose3d": "volume, torch.ones(2, 2, 2, 2, 2), w",
    "torch.nn.functional.linear": "m, n, v",
    "torch.nn.functional.bilinear": "m, n, b[:1], torch.ones(1)",
    "torch.nn.functional.embedding": "i, m",
    "torch.nn.functional.embedding_bag": "i, m, j",
    "torch.nn.functional.layer_norm": "m, (3,), v, e",
    "torch.nn.functional.rms_norm": "m, (3,), v",
    "torch.nn.functional.group_norm": "torch.ones(2, 2, 3), 2, w, torch.ones(2)",
    "torch.nn.functional.batch_norm": "m, v, e, v * 1, e * 1, True",
    "torch.nn.functional.prelu": "m, v",
    "torch.nn.functional.grid_sample": "image, torch.ones(1, 2, 2, 2)",
    "torch.nn.functional.scaled_dot_product_attention": "b, b * 1, b * 2",
    "torch.nn.functional.multi_head_attention_forward": (
        "tokens, tokens * 1, tokens * 2, 4, 2, torch.ones(12, 4), torch.ones(12), None, None, False, 0.0, "
        "torch.ones(4, 4), torch.ones(4)"
    ),
    "torch.nn.functional.binary_cross_entropy": "v / 2, e / 2, sorted",
    "torch.nn.functional.binary_cross_entropy_with_logits": "v, e, sorted",
    "torch.nn.functional.cosine_embedding_loss": "m, n, torch.ones(3)",
    "torch.nn.functional.cross_entropy": "m, i, v",
    "torch.nn.functional.nll_loss": "m, i, v",
    "torch.nn.functional.ctc_loss": "tokens, torch.ones(2, 3, dtype=torch.long), lengths, lengths - 2",
    "torch.nn.functional.gaussian_nll_loss": "v, e, torch.ones(3)",
    "torch.nn.functional.margin_ranking_loss": "v, e, torch.ones(3)",
    "torch.nn.functional.multi_margin_loss": "m, i, weight=v",
    "torch.nn.functional.multilabel_margin_loss": "m, ii",
    "torch.nn.functional.multilabel_soft_margin_loss": "m, n, v",
    "torch.nn.functional.triplet_margin_loss": "m, n, n * 2",
    "torch.nn.functional.triplet_margin_with_distance_loss": "m, n, n * 2",
}

METHODS = {
    "new_zeros": "m, (3,)",
    "new_ones": "m, (3,)",
    "new_empty": "m, (3,)",
    "new_full": "m, (3,), 1.0",
    "new_tensor": "m, [1.0]",
    "new": "m, 3",
    "fill_": "m, 0",
    "to": "m, 'cuda'",
    "view_as": "m, n",
    "item": "s",
    "type": "m, torch.float64",
    "type_as": "m, n",
    "expand_as": "m, n",
    "reshape_as": "m, n",
    "where": "m, k, n",
    "bernoulli": "v",
    "inner": "v, e",
    "set_": "m, n",
}

CALLS = {
    "torch.save": ("lambda one: torch.save(one, io.BytesIO())", "m"),
    "torch.load": ("lambda one, **told: torch.load(saved(one), **told)", "m"),
    "torch.autograd.grad": ("with_grad(lambda x, g: torch.autograd.grad(x.requires_grad_() * 2, x, g))", "m, n"),
    "torch.nn.utils.clip_grad_norm_": (
        "lambda grads: torch.nn.utils.clip_grad_norm_(with_grads(grads), 1.0)",
        "[m, n]",
    ),
    ".log_prob": ("lambda mean, x: torch.distributions.Normal(mean, 1.0).log_prob(x)", "m, n"),
    ".backward": ("with_grad(lambda x, g: (x.requires_grad_() * 2).backward(g))", "m, n"),
    ".retain_grad": ("with_grad(lambda x: (x.requires_grad_() * 2).retain_grad())", "m"),
    ".register_hook": ("with_grad(lambda x: x.requires_grad_().register_hook(print))", "m"),
}
"""Rows for which more is written than a call."""

FURTHER = {
    "torch.clamp": "m, n, n + 1",
    "torch.clip": "m, n",
    "torch.max": "m, n",
    "torch.min": "m, n",
    "torch.repeat_interleave": "v, i",
    "torch.bincount": "i, weights=v",
    "torch.diff": "v, prepend=e",
    "torch.quantile": "v, sorted",
    "torch.cov": "m, fweights=i",
    "torch.nn.functional.instance_norm": "image, weight=torch.ones(4), bias=torch.ones(4)",
}
"""Functions whose result follows their first argument, with further tensors."""

DISTRIBUTIONS = {
    "Normal": "m, n",
    "Laplace": "m, n",
    "Uniform": "m * 0, n + 1",
    "Beta": "m, n",
    "Gamma": "m, n",
    "MultivariateNormal": "v, m",
}
"""Classes of `torch.distributions` that take several tensors."""

OF_MODULES = frozenset(
    "state_dict parameters named_parameters buffers named_buffers modules children named_children named_modules eval "
    "train to_empty".split()
)
"""Methods of modules alone."""

UNTESTED = {
    "torch.jit.load": "not simulated: `torch.jit.save`",
    "torch.jit.script": "gives a function or a module of another class",
    "torch.compile": "gives a function",
    "torch.utils.data.Subset": "takes a dataset",
    "torch.utils.data.ConcatDataset": "takes datasets",
    "torch.hub.load_state_dict_from_url": "reads the net; `torch.load` with a name",
    "torch.utils.model_zoo.load_url": "reads the net; `torch.load` with a name",
    "torch.nn.parallel.DistributedDataParallel": "needs a process group",
    "torch.nn.SyncBatchNorm.convert_sync_batchnorm": "of use in a process group",
    **{name: "needs a process group" for name in rows.FUNCTIONS if name.startswith("torch.distributed.")},
    ".xpu": "the simulation has one kind of device",
    ".npu": "a method that another package adds",
    ".hpu": "a method that another package adds",
    ".ipu": "the simulation has one kind of device",
}
"""Rows that cannot be run, and why."""

_TAKES_DEVICE = {Effect.FACTORY, Effect.CONVERSION, Effect.LIKE}
_NO_DEVICE = {"torch.nn.functional.ctc_loss", "torch.nn.utils.rnn.pack_padded_sequence", "torch.tensor_split"}


def orders() -> list[tuple[str, str, str, bool]]:
    """What `observing` is to run: the row, its callee, its arguments, whether `device=` is to be tried."""
    found = []
    for name, effect in rows.FUNCTIONS.items():
        if name in UNTESTED:
            continue
        callee, text = CALLS.get(name) or (name, _arguments(name, effect))
        found.append((name, callee, text, effect in _TAKES_DEVICE and name not in _NO_DEVICE))
    for name, effect in rows.METHODS.items():
        row = f".{name}"
        if row in UNTESTED:
            continue
        callee, text = CALLS.get(row) or (
            f"lambda itself, *given, **told: itself.{name}(*given, **told)",
            _given(name, effect),
        )
        found.append((row, callee, text, name.startswith("new_")))
    found += [(f"further {name}", name, text, False) for name, text in FURTHER.items()]
    for name, text in DISTRIBUTIONS.items():
        found.append((f"distribution {name}", f"lambda *of: torch.distributions.{name}(*of).rsample()", text, False))
    found.append(("distribution of numbers", "lambda: torch.distributions.Normal(0.0, 1.0).sample((3,))", "", False))
    found.append(("distribution of numbers meets", "torch.distributions.Normal(0.0, 1.0).log_prob", "m", False))
    return found


def _arguments(name: str, effect: Effect) -> str:
    last = name.rpartition(".")[2]
    shared = BOTH.get(last) if name.count(".") == 1 or effect is Effect.SAME else None
    return FUNCTIONS.get(name) or ("" if name in FUNCTIONS else shared or DEFAULTS[effect])


def _given(name: str, effect: Effect) -> str:
    if name in OF_MODULES:
        return "norm, device='cuda'" if name == "to_empty" else "norm"
    return METHODS.get(name) or BOTH.get(name) or BOTH.get(name.removesuffix("_")) or DEFAULTS[effect]
