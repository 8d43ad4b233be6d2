"""What tensors of the simulated devices say, where moves and factories put them, and what leaves torch."""

import pytest

from .conftest import Simulate
from .tables import PRELUDE, assert_texts

NOT_FOR_NUMPY = (
    "TypeError: can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to host memory "
    "first."
)
NO_SUCH_DEVICE = "AcceleratorError: CUDA error: invalid device ordinal"

# Legal on CUDA, so it must not raise; expression: result.
ATTRIBUTES = {
    "c.device": "cuda:0",
    "h.device": "cpu",
    "(c.is_cuda, c.is_cpu, h.is_cuda, h.is_cpu)": "(True, False, False, True)",
    "(c.get_device(), h.get_device())": "(0, -1)",
    "c": "tensor([1., 1., 1.], device='cuda:0')",
    "h": "tensor([1., 1., 1.])",
    "c.type()": "torch.cuda.FloatTensor",
    "c.long().type()": "torch.cuda.LongTensor",
    "h.type()": "torch.FloatTensor",
    "c[0].item() + sum(c.tolist()) + float(c.sum()) + int(c[1])": "8.0",
    "bool(c[0] > 0)": "True",
    "c.data.device": "cuda:0",
    "c.detach().device": "cuda:0",
    "c[1:].view(2, 1).t().device": "cuda:0",
    "nn.Parameter(c).device": "cuda:0",
    "c.repeat(2, 1).to_sparse().transpose(0, 1).device": "cuda:0",
    "c.repeat(2, 1).to_sparse().t()._values().device": "cuda:0",
    "h.repeat(2, 1).to_sparse().t().device": "cpu",
    "(c + 1).device": "cuda:0",
    "torch.stack([c, c]).device": "cuda:0",
    "torch.stack([c, c]).max(0).indices.device": "cuda:0",
    # C++ makes these after the options of an operand.
    "torch.linalg.matrix_rank(c.new_empty(2, 0, 0)).device": "cuda:0",
    "torch.linalg.matrix_rank(h.new_empty(0, 0)).device": "cpu",
    "torch.linalg.cond(c.new_empty(0, 0)).device": "cuda:0",
    "torch.combinations(c, 0).device": "cuda:0",
    "torch.trapezoid(c.new_empty(3, 0)).device": "cuda:0",
    "torch.trapz(c.new_empty(0)).device": "cuda:0",
    "torch.vander(x=c, N=1).device": "cuda:0",
    "nn.functional.one_hot(c.new_empty(0).long(), 3).device": "cuda:0",
    "nn.functional.one_hot(h.long(), 3).device": "cpu",
    "torch.autograd.grad((leaf := c.clone().requires_grad_()).sgn().sum(), leaf)[0].device": "cuda:0",
    "((leaf := c.clone().requires_grad_()).sgn().sum().backward(), leaf.grad.device)[1]": "cuda:0",
    "c.untyped_storage().device": "cuda:0",
    "c.untyped_storage().is_cuda": "True",
    "c.untyped_storage().clone().device": "cuda:0",
    "c.untyped_storage().cpu().device": "cpu",
    "h.untyped_storage().cuda().device": "cuda:0",
    "h.untyped_storage().to(device='cuda').device": "cuda:0",
    "torch.UntypedStorage(4, device='cuda').device": "cuda:0",
    "c.__dlpack_device__()[1]": "0",
    "torch.from_dlpack(c).device": "cuda:0",
    "torch.from_dlpack(c).data_ptr() == c.data_ptr()": "True",
    "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(h)).device": "cpu",
    "isinstance(c, torch.Tensor)": "True",
    "isinstance(c.device, torch.device)": "True",
    "type(c.device) == torch.device": "True",
    "torch.device(0)": "cuda:0",
    "torch.device('cuda', 0) == c.device": "True",
    "torch.device('cuda') == c.device": "False",
    "torch.tensor([], device='meta').device": "meta",
    "c.to('meta').device": "meta",
    "torch.empty_like(c, device='meta').mul(2).is_cuda": "False",
    "torch.zeros_like(torch.zeros(2, device='meta')).device": "meta",
    "copy.deepcopy(c).device": "cuda:0",
    "copy.copy(c).device": "cuda:0",
    "copy.deepcopy(nn.Linear(2, 2).cuda()).weight.device": "cuda:0",
    "copy.deepcopy(c).data_ptr() == c.data_ptr()": "False",
    "pickle.loads(pickle.dumps(c.device))": "cuda:0",
    "pickle.loads(pickle.dumps(torch.zeros)) is torch.zeros": "True",
    "torch.zeros.__name__": "zeros",
    "c.share_memory_() is c": "True",
    "c.record_stream(None)": "None",
}

MOVES = {
    "h.cuda().device": "cuda:0",
    "h.cuda(0).device": "cuda:0",
    "h.cuda('cuda:1').device": "cuda:1",
    "h.cuda(torch.device('cuda', 1)).device": "cuda:1",
    "h.cuda(device='cuda', non_blocking=True).device": "cuda:0",
    "h.to('cuda').device": "cuda:0",
    "h.to(1).device": "cuda:1",
    "h.to(torch.device('cuda:1')).device": "cuda:1",
    "h.to(device='cuda').device": "cuda:0",
    "h.to(c).device": "cuda:0",
    "h.to(other=c.double()).dtype": "torch.float64",
    "h.long().to(c).dtype": "torch.float32",
    "h.to('cuda', torch.float16).dtype": "torch.float16",
    "h.to('cuda', torch.float16, True, True).device": "cuda:0",
    "h.to('cuda', dtype=torch.long, non_blocking=True).dtype": "torch.int64",
    "h.to('cuda', None, True).device": "cuda:0",
    "h.to(torch.float64).device": "cpu",
    "c.to(torch.float64).device": "cuda:0",
    "c.to(dtype=torch.float64).device": "cuda:0",
    "c.half().device": "cuda:0",
    "c.to(memory_format=torch.contiguous_format) is c": "True",
    "torch.ones(2, 3, 4, 4).to('cuda', memory_format=torch.channels_last).stride()": "(48, 1, 12, 3)",
    "c.to('cuda') is c": "True",
    "c.to('cuda:0') is c": "True",
    "c.to(c) is c": "True",
    "c.cuda() is c": "True",
    "h.cpu() is h": "True",
    "h.to('cpu') is h": "True",
    "c.to('cuda', copy=True) is c": "False",
    "c.to('cuda', copy=True).device": "cuda:0",
    "c.cpu().device": "cpu",
    "c.cpu().data_ptr() == c.data_ptr()": "False",
    "h.cuda().data_ptr() == h.data_ptr()": "False",
    "c.type_as(h).device": "cpu",
    "h.type_as(c.double()).type()": "torch.cuda.DoubleTensor",
    "h.type(torch.cuda.FloatTensor).device": "cuda:0",
    "h.type('torch.cuda.LongTensor').type()": "torch.cuda.LongTensor",
    "c.type(torch.FloatTensor).device": "cpu",
    "c.type(torch.int32).type()": "torch.cuda.IntTensor",
    "h.type(torch.DoubleTensor).type()": "torch.DoubleTensor",
    "h.requires_grad_().to('cuda').is_leaf": "False",
    "h.to('cuda').grad_fn.name()": "ToCopyBackward0",
    "h.detach().to('cuda').grad_fn": "None",
    "torch.zeros(2, device='meta').device": "meta",
    "h.detach().to('meta').device": "meta",
    "h.detach().pin_memory().is_pinned()": "True",
    "h.detach().pin_memory()[1:].is_pinned()": "True",
    "h.is_pinned()": "False",
    "c.is_pinned()": "False",
    "torch.UntypedStorage(4).pin_memory().is_pinned()": "True",
    "h.detach().untyped_storage().pin_memory(device='cuda').is_pinned(device='cuda')": "True",
    "(lambda storage: storage.cpu() is storage)(torch.UntypedStorage(4))": "True",
    "torch.zeros(2, pin_memory=True).is_pinned()": "True",
    "torch.zeros(2, pin_memory=True).cuda(non_blocking=True).is_pinned()": "False",
    "c.copy_(h.detach()).device": "cuda:0",
    "torch.empty(0, device='cuda').set_(c).device": "cuda:0",
    "h.detach().copy_(c).device": "cpu",
    "nn.Linear(2, 2).to(0).weight.device": "cuda:0",
    "nn.Linear(2, 2).to('cuda:1', torch.float64).weight.type()": "torch.cuda.DoubleTensor",
    "nn.Linear(2, 2).to(device=1).weight.device": "cuda:1",
    "nn.Linear(2, 2).cuda().half().bias.device": "cuda:0",
    "nn.Linear(2, 2).cuda().cpu().bias.device": "cpu",
    "nn.Linear(2, 2).to(c).bias.device": "cuda:0",
    "nn.Linear(2, 2, device='meta').to_empty(device='cuda').weight.device": "cuda:0",
    "nn.BatchNorm1d(2).cuda().running_mean.device": "cuda:0",
    "nn.BatchNorm1d(2).cuda().num_batches_tracked.device": "cuda:0",
}

FACTORY_SETTING = """
import numpy
array = numpy.ones(3)
for text in ("To copy construct", "Sparse invariant checks", "The PyTorch API of nested tensors"):
    warnings.filterwarnings("ignore", text)
"""

FACTORIES = {
    "torch.zeros(2, device='cuda').device": "cuda:0",
    "torch.ones(2, device=0).device": "cuda:0",
    "torch.empty(2, device=torch.device('cuda')).device": "cuda:0",
    "torch.full((2,), 1.5, device='cuda').device": "cuda:0",
    "torch.arange(3, device='cuda').device": "cuda:0",
    "torch.linspace(0, 1, 3, device='cuda').device": "cuda:0",
    "torch.logspace(0, 1, 3, device='cuda').device": "cuda:0",
    "torch.eye(3, device='cuda').device": "cuda:0",
    "torch.rand(3, device='cuda').device": "cuda:0",
    "torch.randn(3, device='cuda', requires_grad=True).is_leaf": "True",
    "torch.randint(3, (2,), device='cuda').device": "cuda:0",
    "torch.randperm(3, device='cuda').device": "cuda:0",
    "torch.normal(0.0, 1.0, (2,), device='cuda').device": "cuda:0",
    "torch.normal(c, 1.0).device": "cuda:0",
    "torch.scalar_tensor(1, device='cuda').device": "cuda:0",
    "torch.tril_indices(2, 2, device='cuda').device": "cuda:0",
    "torch.triu_indices(2, 2, device='cuda').device": "cuda:0",
    "torch.complex(c, c).device": "cuda:0",
    "torch.hann_window(4, device='cuda').device": "cuda:0",
    "torch.fft.fftfreq(4, device='cuda').device": "cuda:0",
    "torch.empty_strided((2, 2), (2, 1), device='cuda').device": "cuda:0",
    "torch.tensor([1, 2], device='cuda').device": "cuda:0",
    "torch.tensor(1.0).device": "cpu",
    "torch.tensor(c).device": "cuda:0",
    "torch.tensor(c, device='cpu').device": "cpu",
    "torch.tensor([c[0], c[1]]).device": "cpu",
    "torch.as_tensor(c) is c": "True",
    "torch.as_tensor(c, device='cuda') is c": "True",
    "torch.as_tensor(h, device='cuda').device": "cuda:0",
    "torch.as_tensor([1.0], dtype=torch.float64, device='cuda').type()": "torch.cuda.DoubleTensor",
    "torch.normal(0.0, c).device": "cuda:0",
    "torch.as_tensor(array).data_ptr() == array.ctypes.data": "True",
    "torch.as_tensor(array, device='cuda').data_ptr() == array.ctypes.data": "False",
    "torch.as_tensor(array, device='cuda').device": "cuda:0",
    "torch.asarray(h, device='cuda').device": "cuda:0",
    "torch.from_numpy(array).device": "cpu",
    "torch.from_numpy(array).data_ptr() == array.ctypes.data": "True",
    "torch.frombuffer(bytearray(8), dtype=torch.float32).device": "cpu",
    "torch.zeros_like(c).device": "cuda:0",
    "torch.zeros_like(h, device='cuda').device": "cuda:0",
    "torch.rand_like(c).device": "cuda:0",
    "torch.ones_like(c, device='cpu').device": "cpu",
    "c.new_zeros(2).device": "cuda:0",
    "c.new_tensor([1.0]).device": "cuda:0",
    "c.new_full((2,), 3, device='cpu').device": "cpu",
    "h.new_empty(2, device='cuda').device": "cuda:0",
    "c.new([1.0, 2.0]).device": "cuda:0",
    "c.new(2, 3).device": "cuda:0",
    "torch.zeros(2, out=torch.empty(2, device='cuda')).device": "cuda:0",
    "torch.sparse_coo_tensor([[0]], [1.0], (2,), device='cuda').device": "cuda:0",
    "torch.sparse_coo_tensor([[0]], c[:1], (2,)).to_dense().device": "cuda:0",
    "torch.sparse_coo_tensor([[0]], [1.0], (2,)).cuda().cpu().device": "cpu",
    "torch.Tensor([1, 2]).device": "cpu",
    "torch.Tensor(2, 3).shape": "torch.Size([2, 3])",
    "torch.Tensor(c).device": "cuda:0",
    "torch.FloatTensor([1]).device": "cpu",
    "torch.cuda.FloatTensor([1, 2]).device": "cuda:0",
    "torch.cuda.LongTensor(2, 3).type()": "torch.cuda.LongTensor",
    "torch.cuda.FloatTensor(c).device": "cuda:0",
    "isinstance(c, torch.cuda.FloatTensor)": "True",
    "torch.nested.nested_tensor([torch.ones(1), torch.ones(2)], device='cuda').device": "cuda:0",
    "torch.nested.nested_tensor([torch.ones(1), torch.ones(2)]).cuda().device": "cuda:0",
    "isinstance(c, torch.FloatTensor)": "False",
    "isinstance(h, torch.FloatTensor)": "True",
    "isinstance(h, torch.cuda.FloatTensor)": "False",
    "isinstance(c, torch.cuda.LongTensor)": "False",
    "nn.Linear(2, 2, device='cuda').weight.device": "cuda:0",
    "nn.LSTM(2, 2, device='cuda').weight_ih_l0.device": "cuda:0",
    "nn.utils.skip_init(nn.Linear, 2, 2, device='cuda').weight.device": "cuda:0",
    "nn.utils.parametrizations.weight_norm(nn.Linear(2, 2, device='cuda')).weight.device": "cuda:0",
    "F.one_hot(torch.tensor([1], device='cuda')).device": "cuda:0",
    "sorted({str(p.device) for p in nn.TransformerEncoderLayer(4, 2, device='cuda').parameters()})": "['cuda:0']",
    "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(c)).device": "cuda:0",
    "torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(h)).device": "cpu",
    "torch.nested.nested_tensor([h, c], device='cuda').device": "cuda:0",
}

REFUSED = {
    "c.numpy()": NOT_FOR_NUMPY,
    "c.__array__()": NOT_FOR_NUMPY,
    "numpy.asarray(c)": NOT_FOR_NUMPY,
    "numpy.sqrt(c)": NOT_FOR_NUMPY,
    "c.numpy(force=True)": "[1. 1. 1.]",
    "c.pin_memory()": "RuntimeError: cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    "torch.zeros(2, device='cuda', pin_memory=True)": "RuntimeError: Only dense CPU tensors can be pinned",
    "nn.Embedding(5, 2).cuda()(torch.ones(2, 3, dtype=torch.long)[:, :-1])": (
        "RuntimeError: Expected all tensors to be on the same device, but got index is on cpu, different from other "
        "tensors on cuda:0 (when checking argument in method wrapper_CUDA__index_select)"
    ),
    "h.to('cuda:2')": NO_SUCH_DEVICE,
    "h.cuda(2)": NO_SUCH_DEVICE,
    "torch.zeros(2, device='cuda:7')": NO_SUCH_DEVICE,
    "nn.Linear(2, 2).to('cuda:2')": NO_SUCH_DEVICE,
    "torch.empty(0, device='cuda').set_(h)": (
        'RuntimeError: Attempted to set the storage of a tensor on device "cuda:0" to a storage on different device '
        '"cpu".  This is no longer allowed; the devices must match.'
    ),
    "h.cuda('cpu')": "RuntimeError: Invalid device, must be cuda device",
    "setattr(c, 'grad', h)": (
        "RuntimeError: attempting to assign a gradient with device type 'cpu' to a tensor with device type 'cuda'. "
        "Please ensure that the gradient and the tensor are on the same device"
    ),
    "c.new(2, device='cpu')": (
        "RuntimeError: legacy constructor expects device type: cuda but device type: cpu was passed"
    ),
    "torch.Tensor(2, device='cuda')": (
        "RuntimeError: legacy constructor expects device type: cpu but device type: cuda was passed"
    ),
    "torch.zeros(2, device='nowhere')[0]": (
        "RuntimeError: Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, "
        "lazy, vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: nowhere"
    ),
    "nn.Linear(2, 2, device='meta').cuda()": "NotImplementedError: Cannot copy out of meta tensor; no data!",
}


@pytest.mark.parametrize(
    ("setup", "rows", "devices"),
    [
        pytest.param("import copy, pickle", ATTRIBUTES, 1, id="attributes"),
        pytest.param("", MOVES, 2, id="moves"),
        pytest.param(FACTORY_SETTING, FACTORIES, 1, id="factories"),
        pytest.param("import numpy", REFUSED, 2, id="refused"),
    ],
)
def test_each_expression_gives_what_cuda_gives(
    simulate: Simulate, setup: str, rows: dict[str, str], devices: int
) -> None:
    assert_texts(simulate, PRELUDE + setup, rows, devices)


def test_without_a_device_error_a_host_script_never_hears_of_devices(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch, sys
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(), torch.nn.Linear(4, 1))
        optimizer = torch.optim.AdamW(model.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            model(torch.randn(8, 4)).pow(2).mean().backward()
            optimizer.step()
        keep("place", str(model[0].weight.device))
        keep("state", sorted({str(v.device) for s in optimizer.state.values() for v in s.values()}))
        """
    )
    assert result.error_type == "", result.printed
    assert result.values == {"place": "cpu", "state": ["cpu"]}
    assert (result.not_simulated, result.notes) == ([], [])


def test_parameters_keep_their_identity_and_ties_when_a_module_moves(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from torch import nn
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.embedding = nn.Embedding(5, 4)
                self.head = nn.Linear(4, 5, bias=False)
                self.head.weight = self.embedding.weight
                self.register_buffer("scale", torch.ones(1))
                self.loose = torch.ones(1)
        model = Tied()
        before = [id(p) for p in model.parameters()]
        moved = model.cuda()
        keep("same", moved is model and before == [id(p) for p in model.parameters()])
        keep("tied", model.head.weight is model.embedding.weight)
        keep("places", [str(t.device) for t in (model.head.weight, model.scale, model.loose)])
        keep("leaf", model.head.weight.is_leaf and model.head.weight.requires_grad)
        model.embedding(torch.tensor([1], device="cuda")).sum().backward()
        keep("grad", str(model.head.weight.grad.device))
        model.cpu()
        keep("back", [str(model.scale.device), str(model.head.weight.grad.device)])
        """
    )
    assert result.error_type == "", result.printed
    assert result.values == {
        "same": True,
        "tied": True,
        "places": ["cuda:0", "cuda:0", "cpu"],
        "leaf": True,
        "grad": "cuda:0",
        "back": ["cpu", "cpu"],
    }


def test_optimizer_state_lives_with_its_parameters(simulate: Simulate) -> None:
    result = simulate(
        """
        import copy
        import torch
        def places(optimizer):
            return [{k: str(v.device) for k, v in s.items() if v is not None} for s in optimizer.state.values()]
        def trained(model, **options):
            optimizer = torch.optim.Adam(model.parameters(), **options)
            place = next(model.parameters()).device
            model(torch.ones(1, 2, device=place)).sum().backward()
            optimizer.step()
            return optimizer
        on_device = trained(torch.nn.Linear(2, 1, bias=False).cuda())
        keep("device", places(on_device))
        keep("fused", places(trained(torch.nn.Linear(2, 1, bias=False).cuda(), foreach=False)))
        on_host = trained(torch.nn.Linear(2, 1, bias=False))
        resumed = torch.optim.Adam(torch.nn.Linear(2, 1, bias=False).cuda().parameters())
        resumed.load_state_dict(copy.deepcopy(on_host.state_dict()))
        keep("resumed", places(resumed))
        """
    )
    assert result.error_type == "", result.printed
    wanted = [{"step": "cpu", "exp_avg": "cuda:0", "exp_avg_sq": "cuda:0"}]
    assert result.values == {"device": wanted, "fused": wanted, "resumed": wanted}


def test_state_made_before_the_move_is_left_behind(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        model = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(model.parameters(), foreach=False)
        model(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        model.cuda()
        model(torch.ones(1, 2).cuda()).sum().backward()
        optimizer.step()
        """
    )
    assert (result.error_type, result.line) == ("RuntimeError", 8)
    assert result.first_line.startswith("Expected all tensors to be on the same device")


def test_values_equal_those_of_a_plain_run(simulate: Simulate) -> None:
    code = """
        import torch
        torch.manual_seed(3)
        torch.cuda.manual_seed_all(3)
        device = "{device}"
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Dropout(), torch.nn.Linear(8, 1)).to(device)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for _ in range(4):
            loss = model(torch.randn(8, 4).to(device) + torch.rand(8, 4, device=device)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        keep("losses", losses)
        """
    on_device, on_host = (simulate(code.format(device=device)) for device in ("cuda", "cpu"))
    assert on_device.error_type == "", on_device.printed
    assert on_device.values["losses"] == on_host.values["losses"]
    assert len(set(on_device.values["losses"])) == 4


def test_what_a_move_remembers(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from _devfix_probe.simulated.claims import claim_of
        x = torch.zeros(2)
        y = x.to("cuda")
        z = y * 2
        z = z.cpu()
        claim = claim_of(z)
        history = []
        while claim is not None:
            history.append([str(claim.place), claim.how, claim.line])
            claim = claim.before
        keep("history", history)
        """
    )
    assert result.error_type == "", result.printed
    assert result.values["history"] == [
        ["cpu", "moved by .cpu", 6],
        ["cuda:0", "moved by .to", 4],
        ["cpu", "made by torch.zeros", 3],
    ]


def test_a_value_going_to_and_fro_does_not_remember_all_of_it(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from _devfix_probe.simulated.claims import claim_of
        x = torch.zeros(2)
        for _ in range(100):
            x = x.cuda()
            x = x.cpu()
        claim, count = claim_of(x), 0
        while claim is not None:
            claim, count = claim.before, count + 1
        keep("count", count)
        """
    )
    assert 10 < result.values["count"] < 30


def refusal(wanted: tuple[str, str], given: tuple[str, str]) -> str:
    options = (
        "TensorOptions(dtype={}, device={}, layout=Strided, requires_grad=false (default), "
        "pinned_memory=false (default), memory_format=(nullopt))"
    )
    return f"TypeError: expected {options.format(*wanted)} (got {options.format(*given)})"


def test_legacy_constructors_refuse_in_the_words_of_torch(simulate: Simulate) -> None:
    texts = {
        "torch.FloatTensor(c)": refusal(("float", "cpu"), ("float", "cuda:0")),
        "torch.cuda.FloatTensor(h.double())": refusal(("float", "cuda"), ("double", "cpu")),
        "torch.cuda.FloatTensor(c.double())": refusal(("float", "cuda"), ("double", "cuda:0")),
        "torch.cuda.HalfTensor(h.half())": refusal(("c10::Half", "cuda"), ("c10::Half", "cpu")),
        "c.int().new(h)": refusal(("int", "cuda"), ("float", "cpu")),
        "h.new(h.long())": refusal(("float", "cpu"), ("long int", "cpu")),
        "str(torch.cuda.FloatTensor)": "<class 'torch.cuda.FloatTensor'>",
        "str(torch.FloatTensor)": "<class 'torch.FloatTensor'>",
        "torch.cuda.FloatTensor(c).device": "cuda:0",
        "c.new(c).device": "cuda:0",
    }
    assert_texts(simulate, PRELUDE, texts)


def test_the_default_type_is_where_tensors_are_made(simulate: Simulate) -> None:
    texts = {
        "c.type(torch.Tensor).device": "cpu",
        "c.type('torch.Tensor').device": "cpu",
        "h.int().type(torch.Tensor).dtype": "torch.float32",
        "h.type(dtype=torch.Tensor).device": "cpu",
    }
    assert_texts(simulate, PRELUDE, texts)


def test_gradients_of_inputs_that_can_be_read_once(simulate: Simulate) -> None:
    texts = {
        "torch.autograd.grad(leaf.sgn().sum(), iter([leaf]))[0].device": "cuda:0",
        "torch.autograd.grad(leaf.sgn().sum(), leaf)[0].device": "cuda:0",
    }
    assert_texts(simulate, PRELUDE + "leaf = torch.ones(2, device='cuda', requires_grad=True)\n", texts)


def test_a_gradient_that_is_deleted_is_none(simulate: Simulate) -> None:
    texts = {
        "(delattr(leaf, 'grad'), leaf.grad)[1]": "None",
        "(delattr(other, 'grad'), other.grad)[1]": "None",
        "delattr(h, 'is_cpu')": "AttributeError: attribute 'is_cpu' of 'torch._C.TensorBase' objects is not writable",
    }
    code = """
leaf = torch.ones(2, device='cuda', requires_grad=True)
class Other(torch.Tensor):
    pass
other = torch.ones(2, device='cuda').as_subclass(Other).requires_grad_()
(leaf * other).sum().backward()
"""
    assert_texts(simulate, PRELUDE + code, texts)
