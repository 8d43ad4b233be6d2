"""What sort of thing a value is: by what makes it, and by what is done to it."""

import ast
from textwrap import dedent

import pytest
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Op
from devfix_codemods.placement.analysis import Analysis

HEAD = "import numpy as np\nimport torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(3, 3)
        self.table = torch.zeros(3)
    def forward(self, x):
        return self.one(x)
"""

MADE = {
    "a factory": ("probe(torch.zeros(3))", Kind.TENSOR),
    "a conversion": ("probe(torch.tensor(y))", Kind.TENSOR),
    "an operation": ("probe(torch.matmul(x, y))", Kind.TENSOR),
    "a function of nn": ("probe(F.relu(x))", Kind.TENSOR),
    "arithmetic": ("x = torch.zeros(3)\nprobe(x * 2)", Kind.TENSOR),
    "a part": ("x = torch.zeros(3)\nprobe(x[0])", Kind.TENSOR),
    "a method": ("x = torch.zeros(3)\nprobe(x.view(1, 3))", Kind.TENSOR),
    "a copy elsewhere": ("x = torch.zeros(3)\nprobe(x.cuda())", Kind.TENSOR),
    "in both branches": ("if c:\n    x = torch.zeros(3)\nelse:\n    x = torch.ones(3)\nprobe(x)", Kind.TENSOR),
    "or none": ("x = None\nif c:\n    x = torch.zeros(3)\nprobe(x)", Kind.TENSOR),
    "a size": ("x = torch.zeros(3)\nprobe(x.size(0))", Kind.NUMBER),
    "an item": ("x = torch.zeros(3)\nprobe(x.item())", Kind.NUMBER),
    "an array": ("x = torch.zeros(3)\nprobe(x.numpy())", Kind.ARRAY),
    "of numpy": ("probe(np.zeros(3))", Kind.ARRAY),
    "computed of an array": ("probe(np.zeros(3).astype(float)[:, 0] * 2)", Kind.ARRAY),
    "computed of an array and a tensor": ("probe(np.zeros(3) * torch.zeros(3))", Kind.TENSOR),
    "of the language": ("probe(sorted(x))", Kind.SEQUENCE),
    "a layer": ("probe(nn.Linear(3, 3))", Kind.MODULE),
    "a layer elsewhere": ("probe(nn.Linear(3, 3).to(d))", Kind.MODULE),
    "a class of the file": (NET + "probe(Net())", Kind.MODULE),
    "a wrapped module": (NET + "probe(nn.DataParallel(Net()))", Kind.MODULE),
    "torchvision": ("import torchvision\nprobe(torchvision.models.resnet18())", Kind.MODULE),
    "from_pretrained": ("from transformers import AutoModel\nprobe(AutoModel.from_pretrained(p))", Kind.MODULE),
    "transforms": ("import albumentations as A\nprobe(A.Compose.from_pretrained(p))", Kind.OTHER),
    "a tokenizer": ("from transformers import AutoTokenizer\nprobe(AutoTokenizer.from_pretrained(p))", Kind.TOKENIZER),
    "a loader": ("from torch.utils.data import DataLoader\nprobe(DataLoader(data))", Kind.LOADER),
    "a data set": ("probe(torch.utils.data.TensorDataset(x))", Kind.DATASET),
    "an optimizer": ("probe(torch.optim.SGD(p, lr=1))", Kind.OPTIMIZER),
    "a device": ("probe(torch.device('cuda'))", Kind.DEVICE),
    "text that names one": ("probe('cuda:0')", Kind.DEVICE),
    "the place of a tensor": ("probe(x.device)", Kind.DEVICE),
    "a type": ("probe(torch.float32)", Kind.DTYPE),
    "a short type": ("y = x.to(torch.int16)\nprobe(torch.int16)", Kind.DTYPE),
    "a complex type": ("y = x.to(torch.complex64)\nprobe(torch.complex64)", Kind.DTYPE),
    "text": ("probe('words')", Kind.TEXT),
    "a number": ("probe(3)", Kind.NUMBER),
    "a list": ("probe([1])", Kind.SEQUENCE),
    "a dict": ("probe({1: 2})", Kind.MAPPING),
    "read by its own keys": ("def f(x):\n    probe(x)\n    return {k: x[k].cuda() for k in x}", Kind.MAPPING),
    "read by the keys of another": ("def f(x, y):\n    probe(x)\n    return {k: x[k].cuda() for k in y}", None),
    "a comprehension": ("probe([x for x in y])", Kind.SEQUENCE),
    "a function": ("probe(lambda x: x)", Kind.FUNCTION),
    "a parameter": ("probe(nn.Parameter(make()))", Kind.TENSOR),
    "a list of parameters": ("probe(nn.ParameterList(make()))", None),
    "nobody knows": ("from lib import make\nprobe(make())", None),
}

USED = {
    "by a method that only tensors have": ("def f(x):\n    probe(x)\n    x.unsqueeze(0)", Kind.TENSOR),
    "by a function of tensors": ("def f(x):\n    probe(x)\n    torch.relu(x)", Kind.TENSOR),
    "by both operands of a product": ("def f(x, y):\n    probe(y)\n    torch.matmul(x, y)", Kind.TENSOR),
    "by the other operand of a method": ("def f(x):\n    probe(x)\n    torch.zeros(3, 3).mm(x)", Kind.TENSOR),
    "by the number that a method takes": ("def f(d):\n    probe(d)\n    torch.zeros(3).gather(d, i)", Kind.NUMBER),
    "as a mask": ("def f(m):\n    probe(m)\n    torch.zeros(3).masked_fill(m, 0.0)", Kind.TENSOR),
    "compared, for a mask": ("def f(m):\n    probe(m)\n    torch.zeros(3).masked_fill(m == 0, 0.0)", Kind.TENSOR),
    "compared, for a choice": ("def f(m):\n    probe(m)\n    torch.where(m > 0, 1, 0)", Kind.TENSOR),
    "compared with another, for a mask": ("def f(m, n):\n    probe(m)\n    torch.where(m > n, 1, 0)", None),
    "by columns, of a batch that is moved": (
        "def f(z, c):\n    for _, y in z:\n        if c:\n            y = y.cuda()\n        probe(y)\n        y[:, 0]",
        Kind.TENSOR,
    ),
    "as the same part is in another loop": (
        "def f(z):\n    for x, y in z:\n        y.unsqueeze(0)\n    for x, y in z:\n        probe(y)",
        Kind.TENSOR,
    ),
    "as another part is in another loop": (
        "def f(z):\n    for x, y in z:\n        y.unsqueeze(0)\n    for x, y in z:\n        probe(x)",
        None,
    ),
    "compared with a tensor, and moved": (
        "def f(x, d):\n    probe(x)\n    x = x.to(d)\n    return torch.zeros(3) == x",
        Kind.TENSOR,
    ),
    "compared with a tensor": ("def f(x):\n    probe(x)\n    return torch.zeros(3) == x", None),
    "by columns": ("def f(x):\n    probe(x)\n    x[:, None]", None),
    "by columns that are used as a tensor": ("def f(x):\n    probe(x)\n    x[:, None].unsqueeze(0)", Kind.TENSOR),
    "by one row that is used as a tensor": ("def f(x):\n    probe(x)\n    x[0].unsqueeze(0)", None),
    "by backward": ("from lib import g\ndef f():\n    x = g()\n    probe(x)\n    x.backward()", Kind.TENSOR),
    "by a method that only modules have": ("def f(n):\n    probe(n)\n    n.parameters()", Kind.MODULE),
    "by train": ("def f(n):\n    probe(n)\n    n.train()", Kind.MODULE),
    "by zero_grad and step": ("def f(o):\n    probe(o)\n    o.zero_grad()\n    o.step()", Kind.OPTIMIZER),
    "by a loop over a name": (
        "def f(my_loader):\n    probe(my_loader)\n    for x in my_loader: pass",
        Kind.LOADER,
    ),
    "by the name alone": ("def f(my_loader):\n    probe(my_loader)", None),
    "as a device": ("def f(d):\n    probe(d)\n    torch.zeros(3, device=d)", Kind.DEVICE),
    "by its annotation": ("def f(x: torch.Tensor):\n    probe(x)", Kind.TENSOR),
    "by one of None": ("def f(x: 'torch.Tensor | None'):\n    probe(x)", Kind.TENSOR),
    "by an annotation as a module": ("def f(n: nn.Module):\n    probe(n)", Kind.MODULE),
    "by an annotation as a callable of tensors": ("def f(n: Callable[[torch.Tensor], Tensor]):\n    probe(n)", None),
    "by an annotation as one, perhaps": ("def f(n: 'None | typing.Callable[[Tensor], int]'):\n    probe(n)", None),
    "by an annotation as a class of modules": ("def f(n: type[nn.Module]):\n    probe(n)", None),
    "by an annotation as a tensor or a callable": ("def f(n: Tensor | Callable[[], int]):\n    probe(n)", Kind.TENSOR),
    "by an annotation as a number": ("def f(n: int):\n    probe(n)", Kind.NUMBER),
    "by its default": ("def f(n=3):\n    probe(n)", Kind.NUMBER),
    "a parameter, by an argument": ("def f(x):\n    probe(x)\nf(torch.zeros(3))", Kind.TENSOR),
    "a result, by what is returned": ("def f():\n    return torch.zeros(3)\nprobe(f())", Kind.TENSOR),
    "an argument, by the parameter": ("def f(x):\n    x.unsqueeze(0)\ndef g(y):\n    probe(y)\n    f(y)", Kind.TENSOR),
    "an attribute of the object": (NET + "    def g(self):\n        probe(self.table)", Kind.TENSOR),
    "a part of the module": (NET + "    def g(self):\n        probe(self.one)", Kind.MODULE),
    "an attribute from outside": (NET + "net = Net()\nprobe(net.table)", Kind.TENSOR),
    "the object": (NET + "    def g(self):\n        probe(self)", Kind.MODULE),
    "what loss.backward needs of a class": (
        "from lib import Model\ndef f(x):\n    m = Model()\n    probe(m)\n    m(x).backward()",
        Kind.MODULE,
    ),
    "as an operand, and moved": ("def f(x, y):\n    probe(x)\n    return x.cuda(), x * y", Kind.TENSOR),
    "as an operand, and not moved": ("def f(x, y):\n    probe(x)\n    return x * y", None),
    "by what is computed, and moved": ("def f(x, y):\n    z = x + y\n    z.cpu()\n    probe(z)", Kind.TENSOR),
    "by a method of arrays, and moved": ("def f(x, d):\n    probe(x)\n    return x.to(d), x.flatten()", Kind.TENSOR),
    "by a method of arrays alone": ("def f(x):\n    probe(x)\n    return x.flatten()", None),
    "moved, and called": ("def f(x, y):\n    probe(x)\n    return x.cuda(), x(y)", Kind.MODULE),
    "by a comparison with text": ("def f(x):\n    probe(x)\n    return x == 'sum'", Kind.TEXT),
    "by a comparison with a number": ("def f(x):\n    probe(x)\n    return x == 3", None),
    "by what tensors and modules have": (
        "def f(x, d):\n    probe(x)\n    x.requires_grad_(False)\n    return x.to(d, dtype=torch.float16)",
        None,
    ),
    "by a sum in a type": ("def f(x):\n    probe(x)\n    return x.sum(dtype=torch.float16)", Kind.TENSOR),
    "contradictory uses": ("def f(x: int):\n    probe(x)\n    x.parameters()", None),
}


def _asked(program: str) -> tuple[Analysis, list]:
    analysis = Analysis(ast.parse(HEAD + dedent(program)))
    calls = [one for one in analysis.module.nodes() if one.op is Op.CALL and one.args[0].extra == "probe"]
    return analysis, [one.args[1] for one in calls]


@pytest.mark.parametrize(
    ("program", "kind"),
    [pytest.param(*one, id=name) for table in (MADE, USED) for name, one in table.items()],
)
def test_what_it_is(program: str, kind: Kind | None) -> None:
    analysis, (value,) = _asked(program)
    assert analysis.kinds.of(value) is kind


@pytest.mark.parametrize(
    ("base", "body", "yes"),
    [
        ("nn.Module", "pass", True),
        ("torch.nn.Module", "pass", True),
        ("nn.Linear", "pass", True),
        ("transformers.PreTrainedModel", "pass", True),
        ("Base", "def forward(self, x): pass", True),
        ("Base", "def call(self, x): pass", False),
        ("object", "pass", False),
    ],
)
def test_which_classes_are_modules(base: str, body: str, yes: bool) -> None:
    program = f"import transformers\nclass Net({base}):\n    {body}\nprobe(Net())"
    analysis, (value,) = _asked(program)
    assert bool(analysis.kinds.module_classes) is yes
    assert analysis.kinds.is_module(value) is yes


def test_a_class_that_is_derived_from_a_module_of_the_file() -> None:
    analysis, (value,) = _asked(NET + "class More(Net):\n    pass\nprobe(More())")
    assert analysis.kinds.is_module(value)


@pytest.mark.parametrize(
    ("program", "yes"),
    [
        ("probe(nn.CrossEntropyLoss())", True),
        ("criterion = nn.MSELoss()\nprobe(criterion)", True),
        ("probe(F.cross_entropy)", True),
        ("probe(nn.Linear(3, 3))", False),
        ("probe(F.relu)", False),
    ],
)
def test_what_is_a_loss(program: str, yes: bool) -> None:
    analysis, (value,) = _asked(program)
    assert analysis.kinds.is_loss(value) is yes


@pytest.mark.parametrize(
    ("program", "owner"),
    [
        (NET + "probe(Net())", "Net"),
        (NET + "net = Net().to(d)\nprobe(net)", "Net"),
        (NET + "net = Net()\nnet.to(d)\nprobe(net)", "Net"),
        (
            NET + "class T:\n    def __init__(self):\n        self.n = Net()\n    def f(self): probe(self.n)",
            "Net",
        ),
        (NET + "def f(net):\n    probe(net)\nf(Net())", "Net"),
        ("probe(nn.Linear(3, 3))", None),
    ],
)
def test_whose_object_it_is(program: str, owner: str | None) -> None:
    analysis, (value,) = _asked(program)
    found = analysis.kinds.class_of(value)
    assert (found.name if found else None) == owner


WEIGHTS = """
    def update(net: nn.Module, optimizer: torch.optim.Optimizer, rows):
        for {target} in {rows}:
            keep({kept})
    def call(net: nn.Module, optimizer: torch.optim.Optimizer):
        update(net, optimizer, {given})
"""


@pytest.mark.parametrize(
    ("target", "rows", "kept", "given"),
    [
        ("k, v", "net.named_parameters()", "k", "3"),
        ("k", "net.state_dict()", "k", "3"),
        ("k, v", "optimizer.state_dict().items()", "v", "3"),
        ("k, v", "rows", "v", "net.children()"),
    ],
)
def test_no_weight(placed, told, target: str, rows: str, kept: str, given: str) -> None:
    assert _kept(placed(WEIGHTS.format(target=target, rows=rows, kept=kept, given=given)), told) is not Kind.TENSOR


@pytest.mark.parametrize(
    ("target", "rows", "kept", "given"),
    [
        ("k, v", "net.named_parameters()", "v", "3"),
        ("v", "net.buffers()", "v", "3"),
        ("k, v", "net.state_dict().items()", "v", "3"),
        ("v", "net.state_dict().values()", "v", "3"),
        ("v", "rows", "v", "net.parameters()"),
        ("k, v", "rows", "v", "net.named_buffers()"),
    ],
)
def test_a_weight(placed, told, target: str, rows: str, kept: str, given: str) -> None:
    assert _kept(placed(WEIGHTS.format(target=target, rows=rows, kept=kept, given=given)), told) is Kind.TENSOR


def _kept(found, told) -> Kind | None:
    (kept,) = [one for one in found.analysis.module.nodes() if told(one).startswith("keep(")]
    return found.analysis.kinds.of(kept.args[1])


COLLECTED = """
    def collect(net: nn.Module, rows):
        kept = {display}
        keep({part})
"""


@pytest.mark.parametrize(
    ("display", "part"),
    [
        ("[p.clone() for p in net.parameters()]", "kept[1:]"),
        ("[p for p in rows]", "kept[0]"),
        ("{k: p.clone() for k, p in net.named_parameters()}", "next(iter(kept))"),
    ],
)
def test_no_tensor_of_a_comprehension(placed, told, display: str, part: str) -> None:
    assert _kept(placed(COLLECTED.format(display=display, part=part)), told) is not Kind.TENSOR


@pytest.mark.parametrize(
    ("display", "part"),
    [
        ("[p.clone() for p in net.parameters()]", "kept[0]"),
        ("{k: p.clone() for k, p in net.named_parameters()}", "kept['weight']"),
    ],
)
def test_a_tensor_of_a_comprehension(placed, told, display: str, part: str) -> None:
    assert _kept(placed(COLLECTED.format(display=display, part=part)), told) is Kind.TENSOR


MODELS = """
    from zoo import vae, other
    def build(config):
        {first}
        encoder = {made}
        keep(encoder)
"""


@pytest.mark.parametrize(
    ("first", "made"),
    [
        ("decoder = other.Decoder(3).cuda()", "vae.Encoder(3)"),
        ("decoder = vae.Decoder(3)", "vae.Encoder(3)"),
        ("decoder = vae.Decoder(3).cuda()", "vae.encoder(3)"),
    ],
)
def test_no_module_beside_others(placed, told, first: str, made: str) -> None:
    program = MODELS.replace("zoo import vae, other", "zoo import vae\n    import other")
    assert _kept(placed(program.format(first=first, made=made)), told) is not Kind.MODULE


@pytest.mark.parametrize(
    "first", ["decoder = vae.Decoder(3).cuda()", "decoder = vae.Decoder(3)\n        decoder.train()"]
)
def test_a_module_beside_one_of_its_package(placed, told, first: str) -> None:
    assert _kept(placed(MODELS.format(first=first, made="vae.Encoder(3)")), told) is Kind.MODULE


SHAPES = """
    def shown(loader, model, device, steps):
        size = None
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            if size is None:
                size = {size}
            raw = model(x)
            given = [step(raw, x, size[-2:]) for step in steps]
        return given
"""


@pytest.mark.parametrize("size", ["y.shape", "y.size()", "y.mean(0)", "torch.relu(y)"])
def test_a_shape_and_what_is_computed_of_a_moved_tensor(placed, size: str) -> None:
    assert placed(SHAPES.format(size=size)).births == []


@pytest.mark.parametrize("size", ["read()", "loader.other"])
def test_a_part_of_what_comes_from_elsewhere(placed, size: str) -> None:
    assert placed(SHAPES.format(size=size)).births == ["size[-2:]"]


NEAREST = """
    def values(x, n, k, device):
        x = x.to(device)
        ranks = torch.arange(n, dtype=torch.float, device=device) + 1
        ranks[: n - 1] = ranks[: n - 1] * k
        far = x.clone()
        far[{bound} : n - 1] = 3
        return x * far / ranks
"""


@pytest.mark.parametrize(("bound", "found"), [("k", []), ("n - 2", ["k"])])
def test_the_bound_of_a_slice_is_a_number(placed, bound: str, found: list[str]) -> None:
    assert placed(NEAREST.format(bound=bound)).births == found


CONVERTED = """
    import cv2
    def as_array(x: torch.Tensor):
        if len(x.shape) == 2:
            return x.cpu().permute(1, 0).numpy()
    def put(path, x):
        cv2.imwrite(path, as_array(x.cpu()))
    def shown(y, times):
        if times == 0:
            return y
        if isinstance(y, torch.Tensor):
            y = as_array(y)
        return y
"""


def test_what_is_converted_where_it_is_a_tensor_is_no_tensor_behind_that(placed) -> None:
    assert placed(CONVERTED).births == []
