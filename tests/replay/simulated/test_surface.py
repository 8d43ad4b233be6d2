"""Autograd, defaults, generators, sequences, subclasses, transforms and TorchScript on the simulated devices."""

import pytest

from .conftest import Simulate
from .tables import PRELUDE, assert_texts

DEFAULTS = """
def inside(make, where="cuda"):
    with torch.device(where):
        return make()
def set_to(make, where="cuda"):
    torch.set_default_device(where)
    try:
        return make()
    finally:
        torch.set_default_device(None)
def legacy(make):
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    try:
        return make()
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)
import numpy
"""

DEFAULT_ROWS = {
    "inside(lambda: torch.zeros(2).device)": "cuda:0",
    "inside(lambda: torch.zeros(2).device, 'cuda:1')": "cuda:1",
    "inside(lambda: torch.zeros(2, device='cpu').device)": "cpu",
    "inside(lambda: torch.zeros(2).device, 'meta')": "meta",
    "inside(lambda: inside(lambda: torch.zeros(2).device, 'cpu'))": "cpu",
    "inside(lambda: torch.tensor([1.0]).device)": "cuda:0",
    "inside(lambda: torch.randn(2).device)": "cuda:0",
    "inside(lambda: torch.as_tensor([1.0]).device)": "cuda:0",
    "inside(lambda: torch.as_tensor(h).device)": "cuda:0",
    "inside(lambda: torch.from_numpy(numpy.ones(1)).device)": "cpu",
    "inside(lambda: torch.zeros_like(h).device)": "cpu",
    "inside(lambda: h.new_zeros(1).device)": "cpu",
    "inside(lambda: torch.Tensor([1]).device)": "cpu",
    "inside(lambda: nn.Linear(2, 2).weight.device)": "cuda:0",
    "inside(lambda: h.device)": "cpu",
    "inside(lambda: (c + 1).device)": "cuda:0",
    "inside(lambda: h.to('cuda').device)": "cuda:0",
    "inside(lambda: str(torch.zeros(1)))": "tensor([0.], device='cuda:0')",
    "inside(torch.get_default_device)": "cuda:0",
    "set_to(lambda: torch.ones(2).device)": "cuda:0",
    "set_to(lambda: torch.ones(2).device, torch.device('cuda:1'))": "cuda:1",
    "set_to(torch.get_default_device)": "cuda:0",
    "set_to(lambda: inside(lambda: torch.ones(2).device, 'cpu'))": "cpu",
    "set_to(lambda: nn.LSTM(2, 2)(torch.ones(1, 1, 2))[0].device)": "cuda:0",
    "legacy(lambda: torch.ones(2).device)": "cuda:0",
    "legacy(lambda: torch.Tensor([1]).device)": "cuda:0",
    "legacy(lambda: str(torch.ones(1)))": "tensor([1.])",
    "torch.zeros(2).device": "cpu",
    "torch.get_default_device()": "cpu",
}

GENERATORS = """
def of(kind, seed=1):
    return torch.Generator(device=kind).manual_seed(seed)
WRONG = "Expected a 'cuda' device type for generator but found 'cpu'"
import copy, pickle
"""

NOT_FOR_CUDA = "RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'"
NOT_FOR_HOST = "RuntimeError: Expected a 'cpu' device type for generator but found 'cuda'"

GENERATOR_ROWS = {
    "of('cuda').device": "cuda:0",
    "of('cuda:1').device": "cuda:1",
    "of('cpu').device": "cpu",
    "torch.Generator().device": "cpu",
    "isinstance(of('cuda'), torch.Generator)": "True",
    "isinstance(torch.default_generator, torch.Generator)": "True",
    "of('cuda', 5).initial_seed()": "5",
    "of('cuda').get_state().device": "cpu",
    "torch.get_rng_state().device": "cpu",
    "(torch.rand(2, device='cuda', generator=of('cuda')) == torch.rand(2, generator=of('cpu')).cuda()).tolist()": (
        "[True, True]"
    ),
    "torch.randperm(4, generator=of('cuda'), device='cuda').device": "cuda:0",
    "torch.randint(3, (2,), generator=of('cuda'), device='cuda').device": "cuda:0",
    "torch.normal(c, c, generator=of('cuda')).device": "cuda:0",
    "c.clone().normal_(generator=of('cuda')).device": "cuda:0",
    "c.multinomial(2, generator=of('cuda')).device": "cuda:0",
    "torch.rand(2, device='cuda', generator=torch.cuda.default_generators[0]).device": "cuda:0",
    "torch.bernoulli(c, generator=of('cuda')).device": "cuda:0",
    "h.clone().uniform_(generator=of('cpu')).device": "cpu",
    "nn.init.normal_(torch.empty(2, device='cuda'), generator=of('cuda')).device": "cuda:0",
    "copy.deepcopy(of('cuda')).device": "cuda:0",
    "pickle.loads(pickle.dumps(of('cuda', 3))).initial_seed()": "3",
    "of('cuda').clone_state().device": "cuda:0",
    "len(list(torch.utils.data.DataLoader(range(4), shuffle=True, generator=of('cpu'))))": "4",
    "torch.rand(2, device='cuda', generator=of('cpu'))": NOT_FOR_CUDA,
    "torch.rand(2, generator=of('cuda'))": NOT_FOR_HOST,
    "torch.randperm(4, device='cuda', generator=of('cpu'))": NOT_FOR_CUDA,
    "torch.randperm(4, generator=of('cuda'))": NOT_FOR_HOST,
    "c.clone().normal_(generator=of('cpu'))": NOT_FOR_CUDA,
    "h.clone().normal_(generator=of('cuda'))": NOT_FOR_HOST,
    "c.multinomial(1, generator=of('cpu'))": NOT_FOR_CUDA,
    "torch.multinomial(h, 1, generator=of('cuda'))": NOT_FOR_HOST,
    "torch.bernoulli(c, generator=of('cpu'))": NOT_FOR_CUDA,
    "torch.normal(c, c, generator=of('cpu'))": NOT_FOR_CUDA,
    "len(list(torch.utils.data.DataLoader(range(4), shuffle=True, generator=of('cuda'))))": NOT_FOR_HOST,
}

SEQUENCES = """
def hidden(kind, place):
    state = torch.zeros(1, 2, 5, device=place)
    return (state, state) if kind is nn.LSTM else state
def layer(kind, model="cuda", data="cuda", state=None):
    given = () if state is None else (hidden(kind, state),)
    return kind(3, 5, batch_first=True).to(model)(torch.ones(2, 4, 3, device=data), *given)[0].device
def packed(lengths="cpu", **options):
    lengths = torch.tensor([4, 2], device=lengths)
    return nn.utils.rnn.pack_padded_sequence(torch.ones(2, 4, 3, device="cuda"), lengths, batch_first=True, **options)
def through(kind):
    output, _ = kind(3, 5, batch_first=True).cuda()(packed(enforce_sorted=False))
    padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
    return (str(padded.device), str(lengths.device), str(output.batch_sizes.device))
"""

WRONG_HIDDEN = (
    "RuntimeError: Input and hidden tensors are not at the same device, found input tensor at cuda:0 and hidden tensor "
    "at cpu"
)
HOST_INPUT = (
    "RuntimeError: Input and parameter tensors are not at the same device, found input tensor at cpu and parameter "
    "tensor at cuda:0"
)
HOST_MODEL = (
    "RuntimeError: Input and parameter tensors are not at the same device, found input tensor at cuda:0 and parameter "
    "tensor at cpu"
)

SEQUENCE_ROWS = {
    **{f"layer(nn.{kind})": "cuda:0" for kind in ("LSTM", "GRU", "RNN")},
    **{f"layer(nn.{kind}, state='cuda')": "cuda:0" for kind in ("LSTM", "GRU", "RNN")},
    **{f"layer(nn.{kind}, 'cpu', 'cpu')": "cpu" for kind in ("LSTM", "GRU", "RNN")},
    **{f"through(nn.{kind})": "('cuda:0', 'cpu', 'cpu')" for kind in ("LSTM", "GRU", "RNN")},
    "packed().data.device": "cuda:0",
    "packed().is_cuda": "True",
    "packed().cpu().data.device": "cpu",
    "packed().to('cuda').data.device": "cuda:0",
    "nn.LSTMCell(3, 5).cuda()(torch.ones(2, 3, device='cuda'))[0].device": "cuda:0",
    **{f"layer(nn.{kind}, state='cpu')": WRONG_HIDDEN for kind in ("LSTM", "GRU", "RNN")},
    **{f"layer(nn.{kind}, data='cpu')": HOST_INPUT for kind in ("LSTM", "GRU", "RNN")},
    **{f"layer(nn.{kind}, model='cpu')": HOST_MODEL for kind in ("LSTM", "GRU", "RNN")},
    "packed(lengths='cuda')": (
        "RuntimeError: 'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor"
    ),
}


@pytest.mark.parametrize(
    ("setup", "rows"),
    [
        pytest.param(DEFAULTS, DEFAULT_ROWS, id="defaults"),
        pytest.param(GENERATORS, GENERATOR_ROWS, id="generators"),
        pytest.param(SEQUENCES, SEQUENCE_ROWS, id="sequences"),
    ],
)
def test_each_expression_gives_what_cuda_gives(simulate: Simulate, setup: str, rows: dict[str, str]) -> None:
    assert_texts(simulate, PRELUDE + setup, rows, devices=2)


AUTOGRAD = """
warnings.filterwarnings("ignore", "`torch.jit.script` is deprecated")  # torch.func compiles with it
from torch.func import functional_call, grad, vmap
from torch.utils.checkpoint import checkpoint
def leaf(place="cpu"):
    return torch.ones(3, device=place, requires_grad=True)
def after_backward(make):
    x = leaf()
    make(x).backward()
    return (str(x.grad.device), x.grad.tolist())
def twice():
    x = leaf()
    first, = torch.autograd.grad((x.cuda() ** 3).sum(), x, create_graph=True)
    (first ** 2).sum().backward()
    return (str(first.device), str(x.grad.device), x.grad.tolist())
def hooked():
    seen = []
    x = leaf()
    y = x.to("cuda")
    y.register_hook(lambda gradient: seen.append(str(gradient.device)))
    x.register_hook(lambda gradient: seen.append(str(gradient.device)))
    y.retain_grad()
    y.sum().backward()
    return (*seen, str(y.grad.device), str(x.grad.device))
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2
class ToHost(Double):
    @staticmethod
    def backward(ctx, gradient):
        return (gradient * 2).cpu()
def backward_of(make, *gradient, place="cuda"):
    x = leaf(place)
    make(x).backward(*gradient)
    return x.grad.device
def through_checkpoint(reentrant):
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout()).cuda()
    x = leaf("cuda")
    checkpoint(model, x, use_reentrant=reentrant).sum().backward()
    return x.grad.device
model = nn.Linear(3, 1).cuda()
def per_sample():
    def loss(parameters, x):
        return functional_call(model, parameters, (x,)).sum()
    return vmap(grad(loss), in_dims=(None, 0))(dict(model.named_parameters()), torch.ones(2, 3, device="cuda"))
def without_gradients(context):
    with context():
        return (model(c).device, h.cuda().requires_grad)
"""

AUTOGRAD_ROWS = {
    "after_backward(lambda x: (x.to('cuda') * c).sum())": "('cpu', [1.0, 1.0, 1.0])",
    "after_backward(lambda x: (x.cuda() * 2).cpu().sum())": "('cpu', [2.0, 2.0, 2.0])",
    "after_backward(lambda x: x.cuda().sum() + x.sum().cuda())": "('cpu', [2.0, 2.0, 2.0])",
    "after_backward(lambda x: x.double().cuda().float().sum())": "('cpu', [1.0, 1.0, 1.0])",
    "after_backward(lambda x: x.to('cuda', torch.float64).sum())": "('cpu', [1.0, 1.0, 1.0])",
    "after_backward(lambda x: x.to('cuda').mul_(3).sum())": "('cpu', [3.0, 3.0, 3.0])",
    "after_backward(lambda x: torch.as_tensor(x, device='cuda').sum())": "('cpu', [1.0, 1.0, 1.0])",
    "twice()": "('cpu', 'cpu', [36.0, 36.0, 36.0])",
    "hooked()": "('cuda:0', 'cpu', 'cuda:0', 'cpu')",
    "backward_of(lambda x: Double.apply(x).sum())": "cuda:0",
    "backward_of(lambda x: Double.apply(x.cuda()).sum(), place='cpu')": "cpu",
    "backward_of(lambda x: x * 2, torch.ones(3, device='cuda'))": "cuda:0",
    "backward_of(lambda x: x.sum(), torch.tensor(1.0))": "cuda:0",
    "through_checkpoint(True)": "cuda:0",
    "through_checkpoint(False)": "cuda:0",
    "vmap(lambda x: (x.cuda() * 2).sum())(torch.ones(2, 3)).device": "cuda:0",
    "vmap(lambda x: x * (2 if x.is_cuda else 3))(torch.ones(2, 3).cuda()).sum().item()": "12.0",
    "grad(lambda x: (x.cuda() ** 2).sum())(h)": "tensor([2., 2., 2.])",
    "grad(lambda x: x.sum())(c).device": "cuda:0",
    "torch.func.hessian(lambda x: (x**3).sum())(c).device": "cuda:0",
    "torch.func.jvp(lambda x: x**2, (c,), (c,))[1].device": "cuda:0",
    "functional_call(model, dict(model.named_parameters()), (c,)).device": "cuda:0",
    "sorted({str(g.device) for g in per_sample().values()})": "['cuda:0']",
    "without_gradients(torch.no_grad)": "(device(type='cuda', index=0), False)",
    "without_gradients(torch.inference_mode)": "(device(type='cuda', index=0), False)",
    "torch.nn.utils.clip_grad_norm_([leaf('cuda')], 1.0).device": "cpu",
    "backward_of(lambda x: ToHost.apply(x).sum())": (
        "RuntimeError: Function ToHostBackward returned an invalid gradient at index 0 - expected device cuda:0 but "
        "got cpu"
    ),
    "backward_of(lambda x: x * 2, torch.ones(3))": (
        "RuntimeError: invalid gradient at index 0 - expected device cuda:0 but got cpu"
    ),
    "vmap(lambda x, y: x + y)(c, h)": (
        "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, cuda:0 and cpu!"
    ),
}

SUBCLASSES = """
warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta state")
class Plain(torch.Tensor):
    pass
class Watching(torch.Tensor):
    seen = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(func)
        return super().__torch_function__(func, types, args, kwargs or {})
class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LazyLinear(2)
    def forward(self, x):
        return self.layer(x)
def lazy():
    model = Lazy().cuda()
    model(c)
    return model.layer.weight.device
plain = Plain([1, 2])
watching = h.as_subclass(Watching)
sparse = nn.Embedding(4, 2, sparse=True).cuda()
def sparse_step():
    sparse(torch.tensor([1], device="cuda")).sum().backward()
    torch.optim.SparseAdam(sparse.parameters()).step()
    return (sparse.weight.grad.is_sparse, str(sparse.weight.grad.device))
"""

SUBCLASS_ROWS = {
    "type(plain).__name__": "Plain",
    "plain.device": "cpu",
    "(type(plain.cuda()).__name__, plain.cuda().device)": "('Plain', device(type='cuda', index=0))",
    "type(plain.cuda() + 1).__name__": "Plain",
    "(watching.to('cuda') * 2).device": "cuda:0",
    "torch.Tensor.to in Watching.seen": "True",
    "torch.Tensor.device.__get__ in Watching.seen": "True",
    "Watching.seen.count(torch.Tensor.to)": "1",
    "nn.Parameter(plain.cuda()).device": "cuda:0",
    "nn.Buffer(c).device": "cuda:0",
    "lazy()": "cuda:0",
    "sparse_step()": "(True, 'cuda:0')",
    "sparse.weight.grad.coalesce().values().device": "cuda:0",
    "torch.ones(2, 2).to_sparse().cuda().device": "cuda:0",
    "(torch.ones(2, 2).to_sparse().cuda() @ torch.ones(2, 2).cuda()).device": "cuda:0",
    "torch.ones(2, 2).cuda().to_sparse_csr().device": "cuda:0",
}


@pytest.mark.parametrize(
    ("setup", "rows"),
    [pytest.param(AUTOGRAD, AUTOGRAD_ROWS, id="autograd"), pytest.param(SUBCLASSES, SUBCLASS_ROWS, id="subclasses")],
)
def test_each_expression_computes_where_cuda_does(simulate: Simulate, setup: str, rows: dict[str, str]) -> None:
    assert_texts(simulate, PRELUDE + setup, rows)


def test_a_loader_under_a_default_device_draws_with_a_host_generator(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        torch.set_default_device("cuda")
        data = torch.utils.data.TensorDataset(torch.zeros(4, 1))
        for batch in torch.utils.data.DataLoader(data, shuffle=True, generator=torch.Generator()):
            pass
        """
    )
    assert (result.line, result.first_line) == (4, NOT_FOR_CUDA.partition(": ")[2])


def test_device_draws_repeat_when_reseeded(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        x = torch.ones(20, device="cuda")
        def draws():
            return [F.dropout(x).tolist(), torch.rand(2, device="cuda").tolist(), x.clone().normal_().tolist()]
        F = torch.nn.functional
        torch.manual_seed(0)
        torch.cuda.manual_seed(7)
        first = draws()
        torch.rand(3)
        torch.cuda.manual_seed(7)
        keep("again", draws() == first)
        keep("onwards", draws() == first)
        state = torch.cuda.get_rng_state()
        here = draws()
        torch.cuda.set_rng_state(state)
        keep("state", draws() == here)
        torch.manual_seed(7)
        keep("all", draws() == first)
        """
    )
    assert result.error_type == "", result.printed
    assert result.values == {"again": True, "onwards": False, "state": True, "all": True}


def test_host_draws_do_not_depend_on_seeded_devices(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        def host(reseed):
            torch.manual_seed(0)
            if reseed:
                torch.cuda.manual_seed(5)
                torch.rand(7, device="cuda")
            return torch.rand(3).tolist()
        keep("same", host(True) == host(False))
        """
    )
    assert result.values == {"same": True}, result.printed


def test_torchscript_runs_as_python_and_says_so(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        @torch.jit.script
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2
        model = torch.jit.trace(torch.nn.Linear(3, 1).cuda(), torch.ones(1, 3).cuda())
        keep("places", [str(double(torch.ones(1).cuda()).device), str(model(torch.ones(1, 3).cuda()).device)])
        torch.jit.save(model, "model.pt")
        """
    )
    assert result.values == {"places": ["cuda:0", "cuda:0"]}
    assert result.notes == ["torch.jit.script: runs as Python", "torch.jit.trace: runs as Python"]
    assert (result.line, result.first_line) == (7, "not simulated: torch.jit.save")
    assert result.not_simulated == ["torch.jit.save"]
