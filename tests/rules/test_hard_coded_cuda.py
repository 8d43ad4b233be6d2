"""DVF501: CUDA spelled out where a device is at hand."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF501"

SILENT = {
    "for the parts of a batch that has other attributes than tensors": """
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence
        class Net(torch.nn.Module):
            def forward(self, batch):
                x = pack_padded_sequence(batch[0], batch[2], enforce_sorted=False).to(device="cuda")
                print(batch.y.shape)
                return x
    """,
    "for the parts of a mapping, which has no device": """
        import torch
        class Trainer:
            def start(self, batch):
                for k, v in batch.items():
                    if isinstance(v, torch.Tensor):
                        batch[k] = v.cuda()
                return batch
    """,
    "for what a map calls": """
        import torch
        def batch_to_device(batch):
            images, maps = batch
            return images.cuda(), list(map(lambda x: x.cuda(), maps))
        def training_step(net, batch):
            images, maps = batch
            with torch.autocast(device_type="cuda"):
                return net(images), maps
    """,
    "a device for a trainer that takes cards alone": """
        import lightning as L
        import torch
        device = torch.device("cuda")
        trainer = L.Trainer(accelerator="gpu", devices=1)
        data = Data(device=device)
        for x in data:
            trainer.fit(x)
    """,
    "wanted in both places": """
        import torch
        def compare(model, x):
            for device in ("cpu", "cuda"):
                model = model.to(device)
                for one in (x.cuda(), x.cpu(), x.half().cuda(), x.half().cpu()):
                    print(model.infer(one.float().to(device)))
    """,
    "under a condition": """
        import torch
        def f(x, use_cuda):
            h = torch.zeros(3)
            if use_cuda:
                h = h.cuda()
            return x.view(3) + h
    """,
    "where it is there": """
        import torch
        def f(x):
            h = torch.zeros(3)
            if torch.cuda.is_available():
                h = h.cuda()
            return x.view(3) + h
    """,
    "under a flag that keeps the answer": """
        import torch
        def f(x):
            fast = x.device.type == "cuda"
            h = torch.zeros(3)
            if fast:
                h = h.cuda()
            return x.view(3) + h
    """,
    "for a function of an extension whose name says CUDA": """
        import torch
        import meshCUDA.surfaces as surfaces
        class Scene:
            def __init__(self, device="cpu"):
                self.device = device
                self.parts = []
            def add(self, heights):
                corners = surfaces.corners(heights.to("cuda"))
                self.parts.append(corners.to(self.device))
    """,
    "for a function of a module beside whose name says CUDA": """
        import torch
        from .opsCUDA import neighbours
        def f(x, points):
            return x + neighbours(points.cuda())
    """,
    "in one branch of an expression": """
        import torch
        def f(x, cuda):
            return x.view(3) + (torch.zeros(3).cuda() if cuda else torch.zeros(3))
    """,
    "after an assertion": """
        import torch
        def f(x, device):
            assert x.is_cuda
            return x.view(3) + torch.zeros(3).cuda()
    """,
    "after an exit": """
        import torch
        def f(x, device):
            if device.type == "cpu":
                return x
            return x.view(3) + torch.zeros(3).cuda()
    """,
    "all callers ask": """
        import torch
        def f(x):
            return x.view(3) + torch.zeros(3).cuda()
        def g(x):
            return f(x) if x.is_cuda else x
    """,
    "a function for CUDA": """
        import torch
        def to_gpu(batch, device):
            return [x.cuda() for x in batch]
        def move_to_cuda(sample, device):
            return sample.cuda()
    """,
    "a method for CUDA": """
        import torch
        class Batch:
            def __init__(self, x, device):
                self.x, self.device = x, device
            def cuda(self):
                self.x = self.x.cuda()
                return self
    """,
    "a test that is skipped": """
        import torch
        @requires_cuda
        def check(device):
            x = torch.zeros(3).cuda()
    """,
    "a file of kernels": """
        import torch
        import triton
        def f(x: torch.Tensor):
            out = torch.empty(3).cuda()
            return x + out
    """,
    "kernels of CUTLASS": """
        import torch
        import cutlass.cute as cute
        a = torch.arange(10, device="cuda")
        cute.compile(add_one, cute.from_dlpack(a))(a)
    """,
    "an extension": """
        import torch
        import fused_norm_cuda
        def f(x: torch.Tensor):
            return x + torch.empty(3).cuda()
    """,
    "a default of a parameter": """
        import torch
        def f(n, device="cuda"):
            return torch.zeros(n, device=device)
    """,
    "a card of its own": """
        import torch
        def f(x: torch.Tensor):
            return x + torch.zeros(3).to("cuda:1")
    """,
    "a card of its own by its number": """
        import torch
        def f(x: torch.Tensor):
            return x + torch.zeros(3).to(torch.device("cuda", 1))
    """,
    "a card that is chosen by a number": """
        import torch
        def f(x: torch.Tensor, rank):
            return x + torch.zeros(3).to(torch.device("cuda", rank))
    """,
    "a card that is chosen": """
        import torch
        def f(x: torch.Tensor, gpu, rank):
            return x.cuda(gpu) + torch.zeros(3).cuda(rank)
    """,
    "types for the whole process": """
        import torch
        torch.set_default_tensor_type(torch.cuda.FloatTensor)
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
    """,
    "a type by condition": """
        import torch
        Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
        def f(x):
            return Tensor(3) + x
    """,
    "the amp of CUDA": """
        import torch
        def f(x: torch.Tensor, device):
            with torch.autocast("cuda"):
                return x + 1
    """,
    "a library function without anything to follow": """
        import torch
        def make(n):
            return torch.zeros(n).cuda()
    """,
    "the input itself, for a model that is nowhere": """
        import torch
        class Runner:
            def run(self, image: torch.Tensor):
                return self.net(image.cuda())
    """,
    "there and back again, for what works on CUDA alone": """
        import torch
        def unpacked(packed, kernels, device):
            return kernels.unpack(packed.rows.cuda(), bits=4).to(device).t()
    """,
    "where a tensor was, kept while it is on CUDA": """
        import torch
        def factors(a: torch.Tensor, driver=None):
            # drivers work on CUDA only
            device = None
            if driver is not None:
                device = a.device
                a = a.cuda()
            u, s, v = torch.linalg.svd(a, driver=driver)
            if device is not None:
                u = u.to(device)
                s = s.to(device)
                v = v.to(device)
            return u, s, v
    """,
    "where a model was, kept while it is on CUDA": """
        import torch
        def timed(model: torch.nn.Module, x: torch.Tensor, run):
            device = next(model.parameters()).device
            model.cuda()
            took = run(model)
            model.to(device)
            return took
    """,
    "where a tensor was, kept before the question for CUDA": """
        import torch
        def solve(a: torch.Tensor, b: torch.Tensor):
            device = a.device
            if torch.cuda.is_available():
                a = a.cuda()
            return torch.linalg.inv(a).to(device)
    """,
    "a dataset": """
        import torch
        class Rows(torch.utils.data.Dataset):
            def __getitem__(self, i):
                return self.rows[i].cuda(), torch.zeros(3).cuda()
    """,
    "a host tensor beside it": """
        import torch
        def f(points: torch.Tensor, draw):
            image = torch.zeros(3).cuda()
            points = points.cpu()
            return draw(image)
    """,
    "several cards": """
        import torch
        from torch import nn
        if __name__ == "__main__":
            torch.distributed.init_process_group("nccl")
            model = nn.Linear(3, 3).cuda()
    """,
    "half precision": """
        import torch
        from torch import nn
        if __name__ == "__main__":
            model = nn.Linear(3, 3).half().cuda()
            model(torch.zeros(3).half().cuda())
    """,
    "a script under DeepSpeed": """
        import deepspeed
        import torch
        if __name__ == "__main__":
            model = Net().cuda()
            model(torch.zeros(3).cuda())
    """,
    "a script in which CUDA is also named where torch does not read it": """
        import torch
        from graphs import Loader
        if __name__ == "__main__":
            model = Net().cuda()
            loader = Loader(torch.arange(3).cuda(), device="cuda")
    """,
    "a part that is built in a module": """
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.first = nn.Linear(3, 3).cuda()
                self.last = nn.Linear(3, 3).cuda()
    """,
    "a model in shared memory": """
        import torch
        def play(shared, queue):
            shared.eval()
            net = build()
            levels = torch.linspace(0, 1, 8).cuda()
            net.load_state_dict(shared.state_dict())
            return net(levels)
    """,
    "the tensor it meets goes to CUDA on the way": """
        import torch
        from torch import nn
        class Coder(nn.Module):
            def __init__(self):
                super().__init__()
                self.center = nn.Linear(4, 3)
                self.spread = nn.Linear(4, 3)
                self.out = nn.Linear(3, 4)
            def forward(self, x):
                center, spread = self.center(x), self.spread(x)
                drawn = self.draw(center, spread)
                return self.out(drawn)
            def draw(self, center, spread):
                noise = torch.randn(*center.size())
                spread = (0.5 * spread).exp()
                spread, noise = spread.cuda(), noise.cuda()
                center = center.cuda()
                drawn = noise * spread + center
                return drawn
    """,
    "the card that is chosen has the last word": """
        import torch
        def codes(model, loader, card):
            for x, _ in loader:
                x = x.type(torch.cuda.FloatTensor)
                x = x.cuda(card)
                yield model(x)
    """,
    "goes on to the device": """
        import torch
        def f(model, x, device):
            return model(x.cuda().to(device))
        def g(model, x, device):
            x = x.cuda()
            x = x.to(device)
            return model(x)
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize("path", ["ops/testcuda.py", "kernels/cuda_ops.py"])
def test_a_file_named_for_cuda_is_for_cuda(path: str) -> None:
    program = b"import torch\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3).cuda()\n"
    assert check(Source(path, program), Options(frozenset({CODE}))) == Checked(())


@pytest.mark.parametrize("path", ["tests/models.py", "test_loss.py", "benchmarks/run.py", "pkg/loss_test.py"])
def test_who_runs_tests_chose_the_machine(path: str) -> None:
    program = b"import torch\ndef f(x: torch.Tensor):\n    return x + torch.zeros(3).cuda()\n"
    assert check(Source(path, program), Options(frozenset({CODE}))) == Checked(())


@pytest.mark.parametrize("given", ["y", "x.float()", "torch.ones(3).to(d)"])
def test_a_constructor_that_may_get_a_tensor_is_told(rule, given: str) -> None:
    finding = rule.finding(f"""
        import torch
        def f(x: torch.Tensor, d):
            y = x.mean()
            return x * torch.cuda.FloatTensor({given})
    """)
    assert finding.fix is None


@pytest.mark.parametrize("given", ["labels", "labels[0]", "self.labels", "labels.values", "labels + 1", "rows"])
def test_nor_is_what_nobody_knows_given_to_one(rule, given: str) -> None:
    finding = rule.finding(f"""
        import torch
        class Loss:
            def __init__(self, device):
                self.device = device
            def f(self, labels):
                for rows in labels:
                    return torch.cuda.FloatTensor({given})
    """)
    assert finding.fix is None


NO_TENSORS = {
    "a list": "[1.0, 2.0]",
    "numbers of a list": "[one.sum() for one in labels]",
    "a repeated list": "[1.0] * count",
    "what a loop counts by": "count",
    "an array": "np.asarray(labels)",
    "an array under a name": "array",
    "what is said to be an array": "said",
    "a list of its numbers": "labels.tolist()",
}


@pytest.mark.parametrize("given", NO_TENSORS.values(), ids=NO_TENSORS)
def test_numbers_lists_and_arrays_are(rule, given: str) -> None:
    fixed = rule.fixed(
        f"""
        import numpy as np
        import torch
        class Loss:
            def __init__(self, device):
                self.device = device
            def f(self, labels, count, said: np.ndarray):
                for i in range(count):
                    rows, columns = labels.shape
                    array = np.zeros(3)
                    self.keep(array + i)
                return torch.cuda.FloatTensor({given})
        """,
        unsafe=True,
    )
    assert f"return torch.FloatTensor({given}).to(self.device)" in fixed


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("FloatTensor(count, 3)", "torch.empty(count, 3, device=self.device)"),
        ("FloatTensor(x.size())", "torch.empty(x.size(), device=self.device)"),
        ("FloatTensor(x.shape[0])", "torch.empty(x.shape[0], device=self.device)"),
        ("FloatTensor(rows * 2)", "torch.empty(rows * 2, device=self.device)"),
        ("LongTensor(256)", "torch.empty(256, dtype=torch.int64, device=self.device)"),
        ("FloatTensor([256])", "torch.FloatTensor([256]).to(self.device)"),
        ("FloatTensor(x.tolist())", "torch.FloatTensor(x.tolist()).to(self.device)"),
        ("FloatTensor(*x.shape)", "torch.FloatTensor(*x.shape).to(self.device)"),
        ("LongTensor([x.size(0)] * 3)", "torch.LongTensor([x.size(0)] * 3).to(self.device)"),
    ],
)
def test_what_gets_a_size_is_never_on_the_host(rule, given: str, after: str) -> None:
    fixed = rule.fixed(
        f"""
        import torch
        class Loss:
            def __init__(self, device):
                self.device = device
            def f(self, x, count):
                rows, columns = x.shape
                for i in range(count):
                    print(i, columns)
                return torch.cuda.{given}
        """,
        unsafe=True,
    )
    assert f"return {after}" in fixed


HEAD = "import torch\nfrom torch import nn\n"

MEETS = {
    "a factory": ("h = torch.zeros(3).cuda()\n    return x + h", "torch.zeros(3).to(x.device)"),
    "a factory with a device": (
        "h = torch.zeros(3, device='cuda')\n    return x + h",
        "torch.zeros(3, device=x.device)",
    ),
    "the first card": ("return torch.cat([x, torch.ones(1).cuda(0)])", "torch.ones(1).to(x.device)"),
    "by name": ("return x * torch.ones(1).to('cuda:0')", "torch.ones(1).to(x.device)"),
    "by an object": ("return x * torch.ones(1).to(torch.device('cuda'))", "torch.ones(1).to(x.device)"),
    "not blocking": (
        "return x * torch.ones(1).cuda(non_blocking=True)",
        "torch.ones(1).to(x.device, non_blocking=True)",
    ),
    "a type": ("return x * torch.ones(1).type(torch.cuda.LongTensor)", "torch.ones(1).to(x.device, torch.int64)"),
    "the name of a type": (
        "return x * torch.ones(1).type('torch.cuda.HalfTensor')",
        "torch.ones(1).to(x.device, torch.float16)",
    ),
    "a legacy constructor": ("return x * torch.cuda.FloatTensor([1, 2])", "torch.FloatTensor([1, 2]).to(x.device)"),
    "in steps": (
        "h = torch.arange(3)\n    h = h.float().cuda().view(1, 3)\n    return x @ h",
        "h.float().to(x.device).view",
    ),
    "over lines": (
        "h = torch.zeros(\n        3,  # wide\n    ).cuda()\n    return x + h",
        "torch.zeros(\n        3,  # wide\n    ).to(x.device)\n",
    ),
}


@pytest.mark.parametrize(("body", "expected"), MEETS.values(), ids=MEETS)
def test_follows_the_tensor_it_meets(rule, body: str, expected: str) -> None:
    program = f"{HEAD}def f(x: torch.Tensor):\n    {body}\n"
    assert expected in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]


def test_follows_the_input_of_a_module(rule) -> None:
    program = HEAD + (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.net = nn.Linear(3, 2)\n"
        "    def forward(self, x):\n"
        "        return self.net(x) + torch.randn(x.shape[0], 2).cuda()\n"
    )
    assert "torch.randn(x.shape[0], 2).to(x.device)" in rule.fixed(program)


def test_follows_what_was_moved_to_a_device(rule) -> None:
    program = HEAD + "def f(x, device):\n    x = x.to(device)\n    return x * torch.ones(3).cuda()\n"
    assert "torch.ones(3).to(device)" in rule.fixed(program)


@pytest.mark.parametrize(
    "call", ["net(x, several, size)", "net.predict(x, several)", "net(x, several).sum().backward()"]
)
def test_not_an_option_beside_it(rule, call: str) -> None:
    program = (
        HEAD
        + f"def f(image, net: nn.Module, several, size):\n    x = torch.from_numpy(image).cuda()\n    return {call}\n"
    )
    assert "several.device" not in "".join(str(one.fix) for one in rule.findings(program))


@pytest.mark.parametrize("used", ["torch.cat([x, several])", "torch.matmul(x, several)", "torch.stack([several, x])"])
def test_but_what_an_operator_gets(rule, used: str) -> None:
    program = HEAD + f"def f(image, several):\n    x = torch.from_numpy(image).cuda()\n    return {used}\n"
    assert "several.device" in "".join(str(one.fix) for one in rule.findings(program))


def test_not_one_that_may_be_none(rule) -> None:
    program = HEAD + (
        "def f(x: torch.Tensor = None):\n    h = torch.zeros(3).cuda()\n    return h if x is None else x + h\n"
    )
    assert "x.device" not in "".join(str(one.fix) for one in rule.findings(program))


IN_SCOPE = {
    "a parameter": ("def f(data, device):\n    return go(data.cuda())\n", "data.to(device)"),
    "a name": (
        "device = torch.device(name)\ndef f(data):\n    return go(data.to('cuda'))\n",
        "data.to(device)",
    ),
    "an attribute": (
        (
            "class Run:\n    def __init__(self, device):\n        self.device = device\n"
            "    def go(self, data):\n        return self.net(data.cuda())\n"
        ),
        "data.to(self.device)",
    ),
    "an option": (
        "def f(args, net, data):\n    net.to(args.device)\n    return go(data.cuda())\n",
        "data.to(args.device)",
    ),
    "the accelerator": (
        (
            "from accelerate import Accelerator\ndef f(pipe):\n    accelerator = Accelerator()\n"
            "    a = b.to(accelerator.device)\n    return pipe.to('cuda')\n"
        ),
        "pipe.to(accelerator.device)",
    ),
}


@pytest.mark.parametrize(("program", "expected"), IN_SCOPE.values(), ids=IN_SCOPE)
def test_a_device_in_scope_is_a_choice(rule, program: str, expected: str) -> None:
    assert expected in rule.unchanged_unless_unsafe(HEAD + program)


def test_another_name_for_cuda_is_no_choice(rule) -> None:
    program = HEAD + "class Net(nn.Module):\n    device = 'cuda'\n    def go(self, data):\n        return data.cuda()\n"
    assert rule.findings(program) == ()


def test_an_imported_function_for_devices_is_none(rule) -> None:
    program = HEAD + (
        "from tools import torch_device\nclass Net(nn.Module):\n    def run(self, data):\n"
        "        with torch_device(self):\n            return self.net(data.cuda())\n"
    )
    assert "self.net(data.to(next(self.parameters()).device))" in rule.unchanged_unless_unsafe(program)


def test_goes_where_its_model_is(rule) -> None:
    program = HEAD + "def run(model, x):\n    model.eval()\n    return model(x.cuda())\n"
    assert "model(x.to(next(model.parameters()).device))" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize(
    "program",
    [
        "def run(scale, x):\n    return scale(x.cuda())\n",
        "def run(model, x):\n    y = x.cuda()\n    return model(y.sum().item())\n",
        "def run(x, model=None):\n    return model(x.cuda())\n",
        "class Net:\n    def forward(self, encoder, x):\n        return encoder(x.cuda())\n",
    ],
)
def test_nothing_says_that_it_goes_to_a_module(rule, program: str) -> None:
    assert rule.findings(HEAD + program) == ()


def test_goes_where_what_is_called_a_model_is(rule) -> None:
    program = HEAD + "def run(flow_model, x, pad):\n    x, y = pad(x[None].cuda(), x)\n    return flow_model(x, y)\n"
    after = rule.unchanged_unless_unsafe(program)
    assert "pad(x[None].to(next(flow_model.parameters()).device), x)" in after


def test_goes_where_the_tensor_beside_it_is(rule) -> None:
    program = HEAD + "def loss(x: torch.Tensor):\n    band = torch.arange(9).cuda()\n    return power(x, band)\n"
    assert "torch.arange(9).to(x.device)" in rule.unchanged_unless_unsafe(program)


def test_is_filled_from_a_tensor(rule) -> None:
    program = HEAD + "def f(x: torch.Tensor):\n    y = torch.zeros(9).cuda()\n    y[:3] = x * 2\n    return y\n"
    assert "torch.zeros(9).to(x.device)" in rule.unchanged_unless_unsafe(program)


SUM = "def total(parameters):\n    parts = {parts}\n    return torch.stack([{one} for one in parts]).sum()\n"


@pytest.mark.parametrize(
    ("parts", "one"),
    [
        ("[p.grad for p in parameters]", "torch.tensor(one).cuda()"),
        ("(p.grad for p in parameters)", "torch.norm(one).cuda()"),
        ("read(parameters)", "torch.norm(one).cuda()"),
    ],
)
def test_nothing_says_where_the_first_is(rule, parts: str, one: str) -> None:
    assert rule.findings(HEAD + SUM.format(parts=parts, one=one)) == ()


def test_all_go_where_the_first_is(rule) -> None:
    program = HEAD + SUM.format(parts="[p.grad for p in parameters]", one="torch.norm(one).cuda()")
    assert "torch.norm(one).to(parts[0].device) for one" in rule.unchanged_unless_unsafe(program)


# Guarded by the place of another


def test_asks_where_another_tensor_is(rule) -> None:
    program = HEAD + "def f(x, y):\n    h = torch.zeros(3)\n    if x.is_cuda:\n        h = h.cuda()\n    return y + h\n"
    assert rule.fixed(program) == program.replace(
        "    if x.is_cuda:\n        h = h.cuda()\n", "    h = h.to(x.device)\n"
    )


def test_a_flag_that_says_cuda_is_no_extension(rule) -> None:
    program = f"from settings import useCUDA\n{HEAD}def f(x):\n    return x.view(3) + torch.zeros(3).cuda()\n"
    assert "torch.zeros(3).to(x.device)" in rule.fixed(program)


def test_asks_where_another_tensor_is_in_an_expression(rule) -> None:
    program = f"{HEAD}def f(x, y):\n    h = torch.zeros(3)\n    h = h.cuda() if x.is_cuda else h\n    return y + h\n"
    assert rule.fixed(program) == program.replace("h.cuda() if x.is_cuda else h", "h.to(x.device)")


def test_the_type_of_another_tensor_before_its_device(rule) -> None:
    program = f"{HEAD}def f(x, y):\n    return g(y).type(x.type()).to(x.device) + g(y).type(x.type())\n"
    assert "g(y).to(x.dtype).to(x.device) + g(y).to(x)\n" in rule.fixed(program)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("g(y).to(x.get_device()).type(x.type())", "g(y).to(x)"),
        ("g(y).to(x.device).type(x.type())", "g(y).to(x)"),
        ("g(y).cuda(x.get_device()).type(x.type())", "g(y).to(x)"),
        ("g(y).type(x.type()).to(x.get_device())", "g(y).to(x)"),
        ("g(y).type(x.type()).cuda(x.get_device())", "g(y).to(x)"),
        ("g(y).type(x.type()).to(card)", "g(y).to(x.dtype).to(card)"),
        ("g(y).to(torch.int64).type(x.type())", "g(y).to(torch.int64).to(x)"),
    ],
)
def test_the_type_of_another_tensor_beside_a_move_leaves_one_move(rule, before, after) -> None:
    program = f"{HEAD}def f(x, y, card):\n    return h({before})\n"
    assert rule.fixed(program) == program.replace(before, after)


@pytest.mark.parametrize("chain", ["g(y).to(card).type(x.type())", "g(y).cuda(1).type(x.type()).to(card)"])
def test_the_type_of_another_tensor_among_moves_elsewhere_stays(rule, chain) -> None:
    program = f"{HEAD}def f(x, y, card):\n    return h({chain})\n"
    assert not rule.findings(program)


def test_asks_where_another_tensor_is_for_something_given(rule) -> None:
    program = HEAD + "def f(x, h, y):\n    if x.is_cuda:\n        h = h.cuda()\n    return y + h\n"
    assert "    h = h.to(x.device)\n    return" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize(
    "branch",
    [
        "if x.is_cuda:\n        h = h.cuda()\n    else:\n        h = h + 1",
        "if x.is_cuda:\n        # the kernel wants it so\n        h = h.cuda()",
        "if x.is_cuda:\n        x = x.cuda()",
        "if x.is_cuda and y:\n        h = h.cuda()",
    ],
)
def test_does_more_than_follow(rule, branch: str) -> None:
    assert rule.findings(f"{HEAD}def f(x, h, y):\n    {branch}\n    return y + h\n") == ()


# Guarded by the question whether CUDA is there


CLASS = """
import torch


class Decoder:
    def __init__(self, device):
        self.device = device

    def run(self, x, net):
"""
ASKS = "        if torch.cuda.is_available():\n            "

BESIDE_A_DEVICE = {
    "the same device": (
        "import torch\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "def f(x):\n    if torch.cuda.is_available():\n        x = x.cuda()\n    return x\n"
    ),
    "the same device by a flag": (
        "import torch\nuse = torch.cuda.is_available()\ndevice = torch.device('cuda' if use else 'cpu')\n"
        "def f(x):\n    if torch.cuda.is_available():\n        x = x.cuda()\n    return x\n"
    ),
    "no device": "import torch\ndef f(x):\n    if torch.cuda.is_available():\n        x = x.cuda()\n    return x\n",
    "another question": f"{CLASS}        if self.on_gpu:\n            x = x.cuda()\n        return x\n",
    "two questions": (
        f"{CLASS}        if torch.cuda.is_available() and net:\n            x = x.cuda()\n        return x\n"
    ),
    "something for the host": (
        f"{CLASS}{ASKS}x = x.cuda()\n        else:\n            x = x.float()\n        return x\n"
    ),
    "more than moves": (f"{CLASS}{ASKS}x = x.cuda()\n            net.half()\n        return x\n"),
    "another name": f"{CLASS}{ASKS}y = x.cuda()\n        return x\n",
    "a card by its number": (f"{CLASS}{ASKS}x = x.cuda(0)\n        return x\n"),
}


@pytest.mark.parametrize("program", BESIDE_A_DEVICE.values(), ids=BESIDE_A_DEVICE)
def test_asks_for_cuda_and_nothing_more(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_a_device_that_was_chosen_goes_before_the_question(rule) -> None:
    program = f"{CLASS}{ASKS}x = x.cuda(non_blocking=True)\n        return x\n"
    after = rule.unchanged_unless_unsafe(program)
    assert after == f"{CLASS}        x = x.to(self.device, non_blocking=True)\n        return x\n"


def test_all_that_is_moved_under_the_question(rule) -> None:
    program = f"{CLASS}{ASKS}net.cuda()\n            x = x.cuda()\n        return net(x)\n"
    after = rule.unchanged_unless_unsafe(program)
    assert after == f"{CLASS}        net.to(self.device)\n        x = x.to(self.device)\n        return net(x)\n"


def test_the_question_in_an_expression(rule) -> None:
    program = f"{CLASS}        return net(x.cuda() if torch.cuda.is_available() else x)\n"
    assert rule.unchanged_unless_unsafe(program) == f"{CLASS}        return net(x.to(self.device))\n"


def test_the_device_of_a_package(rule) -> None:
    program = (
        "import torch\nimport tagger\n\n\nclass Tagger(torch.nn.Module):\n"
        "    def load(self, path):\n        return torch.load(path, map_location=tagger.device)\n\n"
        f"    def run(self, x):\n{ASKS}x = x.cuda()\n        return self(x)\n"
    )
    assert "        x = x.to(tagger.device)\n        return" in rule.unchanged_unless_unsafe(program)


def test_a_comment_keeps_the_question(rule) -> None:
    program = f"{CLASS}{ASKS}# first\n            x = x.cuda()\n        return x\n"
    finding = rule.finding(program)
    assert finding.fix is None
    assert "self.device" in finding.advice


# Scripts


def test_a_script_gets_a_device(rule) -> None:
    program = HEAD + (
        "model = nn.Linear(3, 3).cuda()\nfor x in torch.zeros(4, 3):\n    model(x.cuda()).sum().backward()\n"
    )
    after = rule.unchanged_unless_unsafe(program)
    declared = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    assert after == program.replace(".cuda()", ".to(device)").replace("nn\n", f"nn\n\n{declared}\n", 1)


OF_SCRIPT = (
    "import torch\nfrom torch import nn\n"
    "class Net(nn.Module):\n    def forward(self, x):\n        return torch.zeros(()){in_class}\n"
    "def build(x):\n    return x{in_function}\n"
    "if __name__ == '__main__':\n    rank, device = pick()\n    net = Net().to(device)\n"
    "    build(net(torch.zeros(3)))\n"
)


def test_a_name_that_only_the_script_has_is_none_for_a_class(rule) -> None:
    assert rule.findings(OF_SCRIPT.format(in_class=".cuda()", in_function="")) == ()


def test_a_name_that_the_script_has_is_one_for_what_it_calls(rule) -> None:
    after = rule.unchanged_unless_unsafe(OF_SCRIPT.format(in_class="", in_function=".cuda()"))
    assert after == OF_SCRIPT.format(in_class="", in_function=".to(device)")


def test_a_main_block_gets_a_device_of_its_own(rule) -> None:
    program = HEAD + (
        "class Net(nn.Module):\n    pass\n"
        "if __name__ == '__main__':\n"
        "    # try it\n"
        "    model = Net().cuda()\n"
        "    model(torch.zeros(3).cuda())\n"
    )
    after = rule.unchanged_unless_unsafe(program)
    assert after.endswith(
        "__':\n"
        '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "    # try it\n"
        "    model = Net().to(device)\n"
        "    model(torch.zeros(3).to(device))\n"
    )


def test_a_function_that_runs_a_model_gets_a_device_of_its_own(rule) -> None:
    program = HEAD + (
        "def predict(path, loader):\n"
        "    model = build(path)\n"
        "    model.cuda()\n"
        "    model.eval()\n"
        "    return [model(x.cuda()) for x in loader]\n"
    )
    after = rule.unchanged_unless_unsafe(program)
    assert after.count("device = torch.device(") == 1
    assert "    model.to(device)\n" in after
    assert "[model(x.to(device)) for x in loader]" in after


def test_the_device_of_a_script_is_a_constant(rule) -> None:
    program = HEAD + "device = 'cuda'\nmodel = nn.Linear(3, 3).to(device)\n"
    assert "device = 'cuda' if torch.cuda.is_available() else 'cpu'\n" in rule.unchanged_unless_unsafe(program)


def test_the_number_of_a_card_in_a_script(rule) -> None:
    program = HEAD + 'device = torch.device("cuda:1" if torch.cuda.is_available() and use_gpu else "cpu")\n'
    assert rule.unchanged_unless_unsafe(program) == program.replace("cuda:1", "cuda")


@pytest.mark.parametrize("first", ["cuda:1", "cuda:0"])
def test_numbers_of_several_cards_are_a_plan(rule, first: str) -> None:
    program = HEAD + (
        f'first = torch.device("{first}" if torch.cuda.is_available() else "cpu")\n'
        'second = torch.device("cuda:2" if torch.cuda.is_available() else "cpu")\n'
    )
    assert rule.findings(program) == ()


@pytest.mark.parametrize("count", ["torch.cuda.device_count()", "cards"])
def test_a_card_that_was_counted_is_there(rule, count: str) -> None:
    program = HEAD + (
        "cards = torch.cuda.device_count()\n"
        f'device = torch.device("cuda:1" if torch.cuda.is_available() and {count} > 1 else "cpu")\n'
    )
    assert rule.findings(program) == ()
    assert len(rule.findings(program.replace(f" and {count} > 1", ""))) == 1


@pytest.mark.parametrize("given", ['type="cuda"', 'type="cuda", index=0', '"cuda", 0'])
def test_the_device_of_a_script_may_be_given_by_keyword(rule, given: str) -> None:
    program = HEAD + f"device = torch.device({given})\nmodel = nn.Linear(3, 3).to(device)\n"
    chosen = given.replace('"cuda"', '"cuda" if torch.cuda.is_available() else "cpu"')
    assert rule.unchanged_unless_unsafe(program) == program.replace(given, chosen)


def test_the_text_of_a_device_may_hold_a_number(rule) -> None:
    program = HEAD + "def card(device):\n    return 0 if str(device) == 'cuda' else -1\n"
    assert "0 if str(device).startswith('cuda') else -1" in rule.unchanged_unless_unsafe(program)


def test_the_text_of_a_device_that_is_to_be_another(rule) -> None:
    program = HEAD + "def card(device):\n    return -1 if str(device) != 'cuda' else 0\n"
    assert "-1 if not str(device).startswith('cuda') else 0" in rule.unchanged_unless_unsafe(program)


PICKED = """
    import torch
    from typing import Union
    class Agent:
        def __init__(self, net, device: torch.device, fast=True):
            self.net, self.device = net, device
            self.own = torch.device("cuda" if fast else "cpu")
        def run(self, x: torch.Tensor, device, where: Union[torch.device, str] = "auto"):
            chosen = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            {lines}
"""


@pytest.mark.parametrize(
    "lines",
    [
        "return chosen == torch.device('cuda')",
        "return self.own == torch.device('cuda')",
        "return self.device == torch.device('cpu')",
        "return self.device == torch.device('cuda:0')",
        "return self.device == torch.device('cuda', 1)",
        "return self.device == x.device",
        "return self.device == torch.device('mps')",
        "return self.other == torch.device('cuda')",
        "return self.net.device == torch.device('cuda')",
        "device = pick(device)\n            return device == torch.device('cuda')",
        "return torch.device('cuda') == torch.device('cuda')",
    ],
)
def test_devices_that_have_no_number(rule, lines: str) -> None:
    assert not [one for one in rule.findings(PICKED.format(lines=lines)) if "number" in one.message]


@pytest.mark.parametrize(
    ("lines", "after"),
    [
        ("return self.device == torch.device('cuda')", "return self.device.type == 'cuda'\n"),
        ("return torch.device('cuda') != self.device", "return 'cuda' != self.device.type\n"),
        ("return x.device == torch.device('cuda')", "return x.device.type == 'cuda'\n"),
        ("return x.device == torch.device('mps')", "return x.device.type == 'mps'\n"),
        (
            "where = torch.device(where)\n            return where == torch.device('cuda')",
            "return where.type == 'cuda'\n",
        ),
    ],
)
def test_a_device_with_a_number_is_of_its_type_all_the_same(rule, lines: str, after: str) -> None:
    assert rule.unchanged_unless_unsafe(PICKED.format(lines=lines)).endswith(after)


def test_what_may_be_text_is_told_without_an_edit(rule) -> None:
    (one,) = rule.findings(PICKED.format(lines="return device == torch.device('cuda')"))
    assert one.fix is None
    assert one.advice == "compare the types of the devices"


@pytest.mark.parametrize("test", ["device.type == 'cuda'", "str(name) == 'cuda'", "str(device) == 'cpu'"])
def test_other_comparisons(rule, test: str) -> None:
    assert rule.findings(f"{HEAD}def f(device, name):\n    return {test}\n") == ()


TENSORS = HEAD + "from torch import Tensor\ndef f(a: Tensor, b: Tensor):\n    return {test}\n"


def test_devices_of_tensors_compared_in_a_chain(rule) -> None:
    fixed = rule.unchanged_unless_unsafe(TENSORS.format(test='1 if a.device == b.device == "cuda" else 2'))
    assert "return 1 if a.device == b.device and a.is_cuda else 2\n" in fixed


@pytest.mark.parametrize("test", ["a.device == b.device", 'a.device.type == b.device.type == "cuda"'])
def test_chains_that_may_hold(rule, test: str) -> None:
    assert rule.findings(TENSORS.format(test=test)) == ()


LIBRARY = HEAD + "import ours\ndef f(x, device):\n    if {test}:\n        x = x.to({to})\n    return x\n"


@pytest.mark.parametrize(
    ("test", "to"),
    [
        ("device == 'gpu'", "device"),
        ("device.name == 'gpu'", "device.name"),
        ("ours.device == 'gpu'", "'cuda:0' if f else 'cpu'"),
        ("ours.device == 'cpu'", "ours.device"),
        ("ours.kind == 'gpu'", "ours.device"),
    ],
)
def test_names_for_the_gpu_that_may_be_meant(rule, test: str, to: str) -> None:
    assert rule.findings(LIBRARY.format(test=test, to=to)) == ()


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ("ours.device == 'gpu'", 'if str(ours.device).startswith("cuda"):'),
        ("ours.device != 'gpu'", 'if not str(ours.device).startswith("cuda"):'),
        ("x.device.type == 'gpu'", 'if x.device.type == "cuda":'),
    ],
)
def test_no_device_is_called_gpu(rule, test: str, expected: str) -> None:
    assert expected in rule.unchanged_unless_unsafe(LIBRARY.format(test=test, to="ours.device"))


CHOSEN = (
    HEAD + "def f(given, wanted):\n    device = {value}\n    if wanted and device == 'gpu':\n        device = 'cpu'\n"
)


@pytest.mark.parametrize(
    "value", ["given", "'gpu' if wanted else 'cpu'", "'cpu'", "torch.device('cuda')", "pick('cuda')"]
)
def test_values_that_may_be_gpu(rule, value: str) -> None:
    assert all("never" not in one.message for one in rule.findings(CHOSEN.format(value=value)))


def test_a_default_is_not_all_that_a_parameter_may_be(rule) -> None:
    assert rule.findings(HEAD + "def f(x, device='cuda'):\n    return x.to(device) if device == 'gpu' else x\n") == ()


def test_a_value_that_is_never_gpu(rule) -> None:
    program = CHOSEN.format(value="'cuda' if torch.cuda.is_available() else 'cpu'")
    assert "if wanted and device == 'cuda':" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize("made", ["torch.device('gpus')", "torch.device(f'{kind}:gpu')", "ours.device('gpu')"])
def test_other_names_of_devices(rule, made: str) -> None:
    assert rule.findings(f"{HEAD}import ours\ndef f(kind):\n    return {made}\n") == ()


@pytest.mark.parametrize("name", ["'gpu'", "'gpu:0'", "'gpu:%d' % card", "f'gpu:{card}'", "'gpu' if card else 'cpu'"])
def test_torch_makes_no_device_of_this_name(rule, name: str) -> None:
    program = f"{HEAD}def f(card):\n    return torch.device({name})\n"
    assert rule.fixed(program) == program.replace("gpu", "cuda")
    assert rule.safeties(program) == [Safety.SAFE]


MOVED = """
    import torch
    class Mixin:
        def {method}(self, device=None):
            device = {device}
            self._device = device
            return super().cuda(device=device)
"""


@pytest.mark.parametrize(
    ("method", "device"),
    [
        ("cuda", 'torch.device("cuda", 0)'),
        ("cuda", 'torch.device("cuda", index=rank or 0)'),
        ("xpu", 'torch.device("xpu", index=device or 0)'),
        ("place", 'torch.device("cuda", index=device or 0)'),
    ],
)
def test_cards_that_are_chosen(rule, method: str, device: str) -> None:
    assert rule.findings(MOVED.format(method=method, device=device)) == ()


@pytest.mark.parametrize("index", ["index=", ""])
def test_the_first_card_is_not_the_current_one(rule, index: str) -> None:
    program = MOVED.format(method="cuda", device=f'torch.device("cuda", {index}device or 0)')
    expected = f'torch.device("cuda", {index}torch.cuda.current_device() if device is None else device)'
    assert expected in rule.unchanged_unless_unsafe(program)


PREFETCHER = """
    import torch
    class Prefetcher:
        def __iter__(self):
            {test}
                stream = torch.cuda.Stream({given})
            for x in self.loader:
                with torch.cuda.stream(stream):
                    x = x.to({device}, non_blocking=True)
                torch.cuda.current_stream().wait_stream(stream)
                yield x
"""


@pytest.mark.parametrize(
    ("test", "given", "device"),
    [
        ("if self.is_cuda:", "device=self.device", "self.device"),
        ("if self.is_cuda:", "self.device", "self.device"),
        ("if self.is_cuda:", "", "self.dtype"),
        ("if torch.cuda.is_available():", "", "self.device"),
        ("if not self.is_cuda:", "", "self.device"),
    ],
)
def test_streams_of_the_card_or_on_any_machine(rule, test: str, given: str, device: str) -> None:
    found = rule.findings(PREFETCHER.format(test=test, given=given, device=device))
    assert not any("stream" in one.message for one in found)


@pytest.mark.parametrize("device", ["self.device", "device=self.device"])
@pytest.mark.parametrize("test", ["if self.is_cuda:", "if self.device.type == 'cuda':"])
def test_streams_of_the_device_that_is_kept(rule, test: str, device: str) -> None:
    fixed = rule.unchanged_unless_unsafe(PREFETCHER.format(test=test, given="", device=device))
    assert "stream = torch.cuda.Stream(device=self.device)\n" in fixed
    assert "torch.cuda.current_stream(device=self.device).wait_stream(stream)\n" in fixed


def test_streams_of_the_device_that_is_kept_with_the_flag(rule) -> None:
    kept = "    def __init__(self, device):\n            self.device = device\n            self.is_cuda = {}\n"
    made = kept.format("device.type == 'cuda' and torch.cuda.is_available()")
    program = PREFETCHER.format(test="if self.is_cuda:", given="", device="self.device")
    program = program.replace("    def __iter__", f"{made}        def __iter__")
    fixed = rule.unchanged_unless_unsafe(program)
    assert "stream = torch.cuda.Stream(device=self.device)\n" in fixed


# Frameworks


def test_a_lightning_module_is_only_told(rule) -> None:
    program = """
        import pytorch_lightning as pl
        import torch
        class Net(pl.LightningModule):
            def training_step(self, batch, index):
                noise = torch.randn(3).to("cuda")
                return self.loss(batch["x"].float() + noise)
    """
    finding = rule.finding(program)
    assert finding.fix is None
    assert "drop the move" in finding.advice


def test_a_module_with_the_hooks_of_lightning_is_only_told(rule) -> None:
    program = """
        import torch
        from ours import BaseModule
        class Net(BaseModule):
            def training_step(self, batch, index):
                return self.loss(batch["x"].float() + torch.randn(3).cuda())
            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), lr=0.1)
    """
    assert [one.fix for one in rule.findings(program)] == [None]


PLACED = {
    "prepared": """
        import torch
        from accelerate import Accelerator
        accelerator = Accelerator()
        model, loader = accelerator.prepare(model, loader)
        model = model.cuda()
    """,
    "device_map": """
        from transformers import AutoModel
        model = AutoModel.from_pretrained(name, device_map="auto")
        model.to("cuda")
    """,
    "offloaded": """
        import torch
        pipe = load(name)
        pipe.enable_model_cpu_offload()
        pipe.to("cuda")
    """,
}


@pytest.mark.parametrize("program", PLACED.values(), ids=PLACED)
def test_what_a_framework_has_placed_is_only_told(rule, program: str) -> None:
    finding = rule.finding(program)
    assert finding.fix is None
    assert "drop the move" in finding.advice


CONSTRUCTOR = """
import torch
class Operator(Base):
    def __init__(self, data, {parameter}):
        {first}
        self.sigma = torch.tensor(data.sigma).to(device)
        self.index(data)
{more}
    def index(self, data):
        self.rows = torch.tensor(data.rows).cuda()
"""


@pytest.mark.parametrize(
    "parts",
    [
        {"parameter": "device=None", "first": "pass", "more": ""},
        {"parameter": "device", "first": "device = resolve(device)", "more": ""},
        {"parameter": "device", "first": "pass", "more": "    def device(self):\n        return 'cpu'"},
    ],
)
def test_a_device_that_is_not_kept_is_only_told(rule, parts) -> None:
    finding = rule.finding(CONSTRUCTOR.format(**parts))
    assert finding.fix is None
    assert finding.advice == "keep the `device` of the constructor as `self.device`, and use it here"


def test_the_device_of_the_constructor_is_kept(rule) -> None:
    parts = {"parameter": "device='cuda'", "first": "super().__init__(data)", "more": ""}
    after = rule.unchanged_unless_unsafe(CONSTRUCTOR.format(**parts))
    assert "        super().__init__(data)\n        self.device = device\n        self.sigma" in after
    assert "self.rows = torch.tensor(data.rows).to(self.device)\n" in after


def test_the_device_is_kept_above_what_needs_it(rule) -> None:
    parts = {"parameter": "device", "first": '"""Reads."""', "more": ""}
    after = rule.unchanged_unless_unsafe(CONSTRUCTOR.format(**parts))
    assert '        """Reads."""\n        self.device = device\n        self.sigma' in after


@pytest.mark.parametrize(
    "sent", ["dist.broadcast(out, 0)", "dist.send(out.contiguous(), 1)", "dist.all_gather([out], self.tensor)"]
)
def test_what_other_processes_get_follows_no_tensor_that_may_be_on_the_host(rule, sent: str) -> None:
    program = f"""
        import torch
        import torch.distributed as dist
        class Shared:
            def __init__(self, tensor):
                self.device = tensor.device
                self.tensor = tensor
            def share(self, shape):
                out = torch.empty(shape, device="cuda")
                {sent}
                return out
    """
    assert rule.findings(program) == ()
    assert "device=self.device" in rule.fixed(program.replace(sent, "out.fill_(0)"), unsafe=True)


@pytest.mark.parametrize("line", ["from . import nccl", "from .nccl import send", "import package.nccl"])
def test_files_that_speak_to_nccl(rule, line: str) -> None:
    program = f"""
        import torch
        {line}
        def publish(x: torch.Tensor, rank):
            shape = torch.tensor(x.shape).cuda()
            transfer(shape, x, rank)
    """
    assert rule.findings(program) == ()
    assert "to(x.device)" in rule.fixed(program.replace(line, "import package"), unsafe=True)


LOADED = """
import torch
def load(net, path, device):
    net.load_state_dict(torch.load(path, {given}))
"""


@pytest.mark.parametrize("keyword", ["", "map_location="])
def test_a_storage_is_placed_by_the_device_alone(rule, keyword: str) -> None:
    given = f"{keyword}lambda storage, place: storage.cuda()"
    assert rule.unchanged_unless_unsafe(LOADED.format(given=given)) == LOADED.format(given=f"{keyword}device")


@pytest.mark.parametrize("options", ["{{'map_location': {}}}", "dict(map_location={})"])
def test_a_storage_is_placed_by_options(rule, options: str) -> None:
    program = LOADED.format(given=f"**{options}")
    fixed = rule.unchanged_unless_unsafe(program.format("lambda storage, place: storage.cuda()"))
    assert fixed == program.format("device")


def test_a_function_that_places_storages_is_only_told(rule) -> None:
    function = "device):\n    def placed(storage, place):\n        return storage.cuda()\n"
    program = LOADED.format(given="map_location=placed").replace("device):\n", function)
    assert rule.safeties(program) == [None]


def test_where_they_meet_before_the_other_goes_to_cuda(rule) -> None:
    body = "    noise = torch.randn(*x.size()){}\n    y = noise * x.view(3)\n    x = x.cuda()\n    return x, y\n"
    program = "import torch\ndef f(x):\n" + body
    assert rule.fixed(program.format(".cuda()")) == program.format(".to(x.device)")


def test_one_name_for_the_device_of_a_model(rule):
    program = """
        import torch

        def validate(model, criterion, loader, steps):
            model.eval()
            total = 0.0
            with torch.no_grad():
                for batch in loader:
                    x, lengths, prior, target = batch
                    x, lengths = x.cuda(), lengths.cuda()
                    target = target.cuda(non_blocking=True)
                    prior = prior.cuda() if prior is not None else None
                    total += criterion(model(x, lengths, prior), target)
            return total + steps.cuda()
    """
    fixed = rule.unchanged_unless_unsafe(program)
    assert fixed.count("next(model.parameters()).device") == 1
    assert "    total = 0.0\n    device = next(model.parameters()).device\n    with" in fixed
    for line in (
        "x, lengths = x.to(device), lengths.to(device)",
        "target = target.to(device, non_blocking=True)",
        "prior = prior.to(device) if prior is not None else None",
        "return total + steps.to(device)",
    ):
        assert line in fixed


@pytest.mark.parametrize(
    ("loop", "body"),
    [
        ("for x in loader:", "yield model(x.cuda())"),
        ("for x, y in loader:", "device = len(x)\n                yield model(x.cuda(), y.cuda())"),
    ],
)
def test_the_device_of_a_model_where_a_name_is_not_worth_it_or_taken(rule, loop, body):
    program = f"""
        import torch
        def run(model, loader):
            model.eval()
            {loop}
                {body}
    """
    assert "model(x.to(next(model.parameters()).device)" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("mark", ["'", '"'])
def test_the_host_in_the_quotes_of_the_device(rule, mark):
    program = f'import torch\nx = ""\ndevice = torch.device({mark}cuda{mark})\nrun(torch.zeros(3, device=device))\n'
    assert f"{mark}cuda{mark} if torch.cuda.is_available() else {mark}cpu{mark}" in rule.fixed(program, unsafe=True)


JUDGED = """
import torch
def judged(model, loader, weights, judge):
    model.eval()
    for images, labels in loader:
        images = images.cuda()
        {other} = {other}.cuda()
        yield judge(model(images), {other})
"""


def test_what_a_loop_yields_goes_where_its_siblings_go(rule) -> None:
    after = rule.unchanged_unless_unsafe(JUDGED.format(other="labels"))
    assert "    device = next(model.parameters()).device\n" in after
    assert "        images = images.to(device)\n        labels = labels.to(device)\n" in after


def test_what_is_judged_with_the_result_of_a_model_goes_there_as_well(rule) -> None:
    after = rule.unchanged_unless_unsafe(JUDGED.format(other="weights"))
    assert "        images = images.to(device)\n        weights = weights.to(device)\n" in after


CAST = """
import torch
def trained(model, labeled, unlabeled):
    model.train()
    for a, b in zip(labeled, unlabeled):
        a = a.type(torch.cuda.FloatTensor)
        b = b.type(torch.cuda.FloatTensor)
        {between}
        a = a.cuda()
        b = b.cuda()
        yield model(a) + model(b)
"""


def test_what_is_moved_below_is_only_cast(rule) -> None:
    fixed = rule.fixed(CAST.format(between="pass"), unsafe=True)
    assert "        a = a.to(torch.float32)\n        b = b.to(torch.float32)\n" in fixed
    assert "        a = a.to(device)\n        b = b.to(device)\n" in fixed


def test_what_is_used_before_it_is_moved_again_is_moved_as_well(rule) -> None:
    assert "a = a.to(device, torch.float32)" in rule.fixed(CAST.format(between="print(a.mean())"), unsafe=True)


def test_what_is_kept_beside_its_moved_copy_is_moved_as_well(rule) -> None:
    program = (
        CAST.format(between="pass").replace("a = a.cuda()", "c = a.cuda()").replace("model(a)", "model(a) + model(c)")
    )
    assert "a = a.to(device, torch.float32)" in rule.fixed(program, unsafe=True)


TYPED = """
import torch
def f(x, net, other, device: torch.device, kind, store):
    {line}
"""


@pytest.mark.parametrize(
    "line",
    [
        "with torch.autocast(x.device.type): return net(x)",
        "return torch.device(x.device.type, 1)",
        "return store.load(x, device=x.device.type)",
        "return x.to(kind.type)",
        "return x.to(other.dtype.type)",
        "return store.scaler(device=device.type)",
        "torch.cuda.set_device(device); return x.to(device.type)",
    ],
)
def test_the_type_of_a_device_where_one_is_wanted(rule, line: str) -> None:
    assert rule.findings(TYPED.format(line=line)) == ()


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("return other.to(x.device.type, non_blocking=True)", "return other.to(x.device, non_blocking=True)"),
        ("return torch.zeros(3, device=device.type) + x", "return torch.zeros(3, device=device) + x"),
        ("return torch.Generator(device=x.device.type)", "return torch.Generator(device=x.device)"),
        ("net.to(device=other.weight.device.type)", "net.to(device=other.weight.device)"),
    ],
)
def test_the_type_of_a_device_names_no_card(rule, line: str, after: str) -> None:
    assert after in rule.unchanged_unless_unsafe(TYPED.format(line=line))


TEXTS = """
import torch
class Runner:
    def __init__(self, net, device: torch.device, place="cpu"):
        self.net, self.device, self.place = net, device, place
    def run(self, x, device, loose: torch.device = "cpu"):
        own = torch.device(device)
        {line}
def make(net, device):
    return Runner(net, {given})
"""


@pytest.mark.parametrize(
    ("line", "given"),
    [
        ("return device == 'cpu'", "device"),
        ("return self.place == 'cpu'", "device"),
        ("return loose == 'cpu'", "device"),
        ("return self.device.type == 'cpu'", "device"),
        ("return str(self.device) == 'cpu'", "device"),
        ("return own == 'auto'", "device"),
        ("return own == device", "device"),
        ("return self.device == 'cpu'", "'cpu'"),
        ("return self.device == 'cpu'", "device='cuda' if net else 'cpu'"),
    ],
)
def test_what_may_equal_a_string(rule, line: str, given: str) -> None:
    assert rule.findings(TEXTS.format(line=line, given=given)) == ()


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("return self.device == 'cpu'", "return self.device.type == 'cpu'\n"),
        ("return 'cuda' != own", "return 'cuda' != own.type\n"),
        ("return own == 'cuda:1'", "return str(own) == 'cuda:1'\n"),
    ],
)
def test_a_device_equals_no_string(rule, line: str, after: str) -> None:
    program = TEXTS.format(line=line, given="torch.device(device)") + "# cuda: device == 'cuda'\n"
    assert after in rule.unchanged_unless_unsafe(program)


HALF = """
    import torch
    class Flow(torch.nn.Module):
        def reinforce(self, rows, sizes: torch.Tensor):
            {line}
            return torch.zeros(3).cuda() + sizes
"""


@pytest.mark.parametrize(
    ("line", "follows"),
    [
        ("rows[0].reward(3)", True),
        ("rows[0].reward(sizes.cuda())", True),
        ("rows[0].reward(torch.full((1,), 3).cuda())", False),
        ("for i in range(sizes[0]): rows[i].reward(torch.full((1,), i).cuda())", False),
    ],
)
def test_one_of_several_values_is_not_moved_alone(rule, line: str, follows: bool) -> None:
    assert any(rule.safeties(HALF.format(line=line))) is follows


def test_one_move_of_several_values_is_told_once(rule) -> None:
    program = """
        import torch
        def f(model: torch.nn.Module, x, y, device):
            x, y = [one.cuda() for one in (x, y)]
            return model.to(device)(x) + y
    """
    assert len(rule.findings(program)) == 1


def test_what_is_moved_is_no_place_to_go(rule) -> None:
    """It is where its other name says; its own device is the one that it has."""
    program = HEAD + (
        "def labels(x: torch.Tensor):\n"
        "    ys = torch.tensor(list(range(x.shape[0]))).reshape(len(x), 1)\n"
        "    ys = ys.repeat(1, x.shape[1]).to(x.device)\n"
        "    return ys.cuda()\n"
    )
    assert "return ys.to(x.device)" in rule.fixed(program)


def test_a_module_does_not_follow_itself(rule) -> None:
    program = HEAD + (
        "class Net(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.conv = nn.Conv2d(3, 3, 3)\n"
        "        self.more = nn.Sequential(nn.Conv2d(3, 3, 3))\n"
        "    def reset(self):\n"
        "        self.conv.apply(print)\n"
        "        self.cuda()\n"
        "    def forward(self, x):\n"
        "        return self.more(self.conv(x))\n"
    )
    assert all("self.to(" not in str(one.fix) and "parameters()" not in str(one.fix) for one in rule.findings(program))


def test_a_device_that_one_branch_binds_is_not_followed_behind_it(rule) -> None:
    program = HEAD + (
        "def run(x, restore):\n"
        "    net = nn.Linear(3, 3)\n"
        "    if restore:\n"
        '        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "        net = net.to(device)\n"
        "    return net(x.cuda())\n"
    )
    assert all("x.to(device)" not in str(one.fix) for one in rule.findings(program))
    assert "x.to(device)" in rule.fixed(program.replace("if restore", "if True"), unsafe=True)


def test_a_name_for_a_device_without_a_number(rule) -> None:
    program = """
        import torch
        def f(x):
            dev = torch.device("cuda")
            x = torch.relu(x)
            if x.device == dev:
                return x
            return x.device == torch.device("cpu")
    """
    assert "if x.device.type == dev.type:" in rule.unchanged_unless_unsafe(program)


@pytest.mark.parametrize(
    "test",
    [
        "cuda == 'gpu'",
        "args.cuda == 'gpu'",
        "x.device != torch.device(args.cuda)",
        "x.device == x.grad.device == cuda",
        "cuda in device",
    ],
)
def test_what_is_only_called_cuda_is_no_text(rule, test: str) -> None:
    program = f"{HEAD}def f(x, args, cuda, device):\n    x = torch.relu(x).to(device)\n    return 'cuda' in x, {test}\n"
    told = [one.message for one in rule.findings(program)]
    assert not any(word in message for message in told for word in ("never", "may be", "equals no"))


def test_gpu_on_the_left(rule) -> None:
    program = f"{HEAD}def f(x):\n    if 'gpu' == x.device.type:\n        return x\n"
    assert 'if "cuda" == x.device.type:' in rule.unchanged_unless_unsafe(program).replace("'", '"')


@pytest.mark.parametrize(
    "body",
    [
        """
    d = y.device.type
    for z in zs:
        x = x.to(d)
        if z.big:
            d = z.device.type
    return x
""",
        "    return x.type(dtype=y.type())\n",
    ],
)
def test_what_has_to_come_to_an_end(rule, body: str) -> None:
    rule.findings(f"{HEAD}def f(x, y, zs):\n{body}")


@pytest.mark.parametrize(
    ("base", "own"),
    [
        ("    @property\n    def device(self):\n        return self.x.device\n", ""),
        ("    pass\n", "    __slots__ = ('sigma', 'rows')\n"),
    ],
)
def test_a_device_that_cannot_be_kept_is_only_told(rule, base: str, own: str) -> None:
    program = CONSTRUCTOR.format(parameter="device", first="pass", more="")
    program = program.replace("class Operator(Base):\n", f"class Base:\n{base}class Operator(Base):\n{own}")
    finding = rule.finding(program)
    assert finding.fix is None
    assert finding.advice == "keep the `device` of the constructor as `self.device`, and use it here"


ATTACKED = """
    import torch
    class Attack(Attacker):
        def forward(self, images, labels):
            {moves}
            found = images.clone()
            for _ in range(10):
                noise = torch.randn_like(images)
                rows = torch.clamp(images + noise, min=0, max=1)
                outputs = self.model(rows)
                success = (labels != outputs.max(-1)[-1]).float()
                found = success * rows + (1.0 - success) * found
            return found
"""


@pytest.mark.parametrize(
    ("moves", "follows"),
    [
        ("images, labels = images.cuda(), labels.cuda()", False),
        ("labels = labels.cuda()", True),
    ],
)
def test_what_is_moved_itself_is_not_asked_for_where_it_was(rule, moves: str, follows: bool) -> None:
    assert any(rule.safeties(ATTACKED.format(moves=moves))) is follows


@pytest.mark.parametrize(
    ("imported", "named"),
    [
        ("from torch._C import device", False),
        ("from torch import device", False),
        ("from settings import device", True),
    ],
)
def test_the_class_is_no_device(rule, imported: str, named: bool) -> None:
    program = f"""
        import torch
        {imported}
        def loss(labels):
            one = torch.ones(labels.size())
            if torch.cuda.is_available():
                one = one.cuda()
            return torch.sum(one - labels)
    """
    assert any("`device`" in one.fix.title for one in rule.findings(program) if one.fix is not None) is named


@pytest.mark.parametrize("name", ["device_ids", "device_list", "devices"])
def test_several_devices_are_no_choice(rule, name: str) -> None:
    program = HEAD + f"def f(net, {name}):\n    return nn.DataParallel(net, device_ids={name}).cuda()\n"
    assert not any(one.fix is not None and name in one.fix.title for one in rule.findings(program))


@pytest.mark.parametrize("name", ["device", "own_device"])
def test_one_is(rule, name: str) -> None:
    program = HEAD + f"def f(net, {name}):\n    return nn.DataParallel(net).cuda()\n"
    assert any(one.fix is not None and name in one.fix.title for one in rule.findings(program))


@pytest.mark.parametrize("given", ["batch", "**batch"])
def test_follows_an_entry_that_it_replaces(rule, given: str) -> None:
    line = 'batch["x"] = 2 * torch.ones_like(batch["x"]).long().cuda() + batch["x"]'
    assert '.to(batch["x"].device)' in rule.fixed(HEAD + f"def f({given}):\n    {line}\n    return batch\n")


IN_RANKS = HEAD + "def f(args, net, data):\n    net.to(args.{name})\n    return go(data.cuda())\n"


@pytest.mark.parametrize("name", ["local_rank", "rank", "gpu", "gpu_id"])
def test_the_number_of_a_card_is_no_choice(rule, name: str) -> None:
    assert not any(one.fix is not None and name in one.fix.title for one in rule.findings(IN_RANKS.format(name=name)))


@pytest.mark.parametrize("name", ["device", "torch_device"])
def test_a_device_is_one(rule, name: str) -> None:
    found = rule.findings(IN_RANKS.format(name=name))
    assert any(one.fix is not None and f"args.{name}" in one.fix.title for one in found)


PICTURE = """
    import torch
    from pictures import load, preprocess, Net
    device = torch.device(choose())
    model = Net(3).to(device)
    picture = preprocess(load("a.jpeg"))["image"]
    picture = picture.{method}(0).cuda()
    print(model(picture).argmax())
"""


@pytest.mark.parametrize("method", ["unsqueeze_", "unsqueeze"])
def test_what_a_value_was_computed_of_is_no_place_for_it_to_go(rule, method: str) -> None:
    fixed = rule.fixed(PICTURE.format(method=method), unsafe=True)
    assert f"picture = picture.{method}(0).to(device)\n" in fixed
