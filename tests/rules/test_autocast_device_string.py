"""DVF303: devices where a device type is wanted."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.source import Source

SELECT = frozenset({"DVF303"})
IMPORTS = "import torch\nfrom torch.amp import GradScaler, custom_fwd, is_autocast_available\n"


def findings(code: str) -> tuple[Finding, ...]:
    outcome = check(Source("train.py", dedent(code).encode()), Options(SELECT))
    assert isinstance(outcome, Checked)
    return outcome.findings


def fixed(code: str, unsafe: bool = False) -> str:
    options = Options(SELECT, unsafe=unsafe)
    outcome = rewrite(Source("train.py", dedent(code).encode()), options)
    assert isinstance(outcome, Changed), outcome
    again = rewrite(Source("train.py", outcome.data), options)
    assert isinstance(again, Clean), again
    return outcome.data.decode()


@pytest.mark.parametrize(
    "code",
    [
        "torch.autocast('cuda')",
        "torch.autocast(device_type='cpu')",
        "torch.autocast(device.type)",
        "torch.autocast(self.device.type)",
        "torch.autocast(x.device.type)",
        "torch.autocast(torch.device(name).type)",
        "torch.autocast(device)",
        "torch.autocast(self.device)",
        "torch.autocast(args.device)",
        "torch.autocast(x.device)",
        "torch.autocast(str(device).split(':')[0])",
        "torch.autocast(str(kind))",
        "torch.autocast(f'{name}')",
        "torch.autocast(f'{name}:0')",
        "torch.autocast(*options)",
        "torch.autocast(**options)",
        "torch.autocast()",
        "torch.cuda.amp.autocast('cuda:0')",
        "accelerator.autocast(device='cuda:0')",
        "maybe_autocast(device='cuda:0')",
        "GradScaler('cuda')",
        "GradScaler(device)",
        "GradScaler(device.type)",
        "is_autocast_available('cuda:0')",
        "custom_fwd(f, device_type='cuda')",
        "torch.zeros(3, device='cuda:0')",
    ],
)
def test_is_silent(code: str) -> None:
    assert findings(f"{IMPORTS}{code}\n") == ()


@pytest.mark.parametrize(
    "lines",
    [
        'device = "cuda" if torch.cuda.is_available() else "cpu"\ntorch.autocast(device)\n',
        "device = torch.device('cuda')\ndevice = device.type\ntorch.autocast(device)\n",
        "device = torch.device('cuda')\ndevice = pick(device)\ntorch.autocast(device)\n",
        "def train(device: torch.device):\n    device = name_of(device)\n    torch.autocast(device)\n",
        "def train(device: str):\n    torch.autocast(device)\n",
        "def train(device: str | torch.device):\n    torch.autocast(device)\n",
        "def train(device: torch.device = 'cuda'):\n    torch.autocast(device)\n",
        "if gpu:\n    device = torch.device('cuda')\nelse:\n    device = 'cpu'\ntorch.autocast(device)\n",
        "for device in devices:\n    torch.autocast(device)\n",
        "device = torch.device('cuda')\ndef train(device):\n    torch.autocast(device)\n",
        "args.device = torch.device('cuda')\nargs = other()\ntorch.autocast(args.device)\n",
        "with torch.device('cuda') as device:\n    torch.autocast(device)\n",
        "device: torch.device = 'cuda' if gpu else 'cpu'\ntorch.autocast(device)\n",
        "device: torch.device = name or 'cuda'\ntorch.autocast(device)\n",
        "device: torch.device = f'{name}'\ntorch.autocast(device)\n",
        "parser.add_argument('--device')\ndevice: torch.device = args.device\ntorch.autocast(device)\n",
        "def pick() -> torch.device:\n    return name or 'cpu'\ntorch.autocast(pick())\n",
        "def train(device: torch.device):\n    torch.autocast(device)\ntrain('cuda')\n",
        "def train(*, device: torch.device):\n    torch.autocast(device)\ntrain(device='cuda')\n",
        "class Run:\n    device: torch.device = 'cpu'\n    def go(self):\n        torch.autocast(self.device)\n",
        "parser.add_argument('--device', default='cuda')\ntorch.autocast(args.device)\n",
        "parser.add_argument('--device', type=parse, default='cuda:0')\ntorch.autocast(args.device)\n",
        "def train(device: torch.device):\n    if isinstance(device, str):\n        torch.autocast(device)\n",
        "def train(device=torch.device('cpu')):\n    if type(device) is str:\n        torch.autocast(device)\n",
        "def train(device: torch.device):\n    note(isinstance(device, str))\n    torch.autocast(device)\n",
        "def train(device: torch.device):\n    if type(device) is not torch.device:\n        torch.autocast(device)\n",
        "def train(device: torch.device):\n    isinstance(device, (str, torch.device))\n    torch.autocast(device)\n",
        "device: torch.device = pick()\nnote(isinstance(device, str))\ntorch.autocast(device)\n",
    ],
)
def test_a_name_that_may_hold_the_type_is_left_alone(lines: str) -> None:
    assert findings(IMPORTS + lines) == ()


@pytest.mark.parametrize(
    ("begins", "rest"),
    [
        ("def go(device=torch.device('cpu')):\n    torch.autocast(device)\n", "go({})\n"),
        ("def go(device: torch.device):\n    torch.autocast(device)\ndef run(one):\n    go(one)\n", "run({})\n"),
        ("def go(device: torch.device):\n    torch.autocast(device)\n", "def run(one: type({})):\n    go(one)\n"),
        (
            (
                "class Run:\n    def __init__(self):\n        self.device = torch.device('cpu')\n"
                "    def go(self):\n        torch.autocast(self.device)\n"
            ),
            "run = Run()\nrun.device = {}\n",
        ),
        (
            "class Run:\n    device = torch.device('cpu')\n    def go(self):\n        torch.autocast(self.device)\n",
            "class Other(Run):\n    device = {}\n",
        ),
        (
            (
                "class Run:\n    def __init__(self, device: torch.device):\n        self.device = device\n"
                "    def go(self):\n        torch.autocast(self.device)\n"
            ),
            "class Other(Run):\n    def __init__(self):\n        super().__init__({})\n",
        ),
    ],
)
def test_text_that_comes_from_elsewhere_in_the_file(begins: str, rest: str) -> None:
    assert ".type)" in fixed(IMPORTS + begins + rest.format("torch.device('cuda')"))
    assert findings(IMPORTS + begins + rest.replace("type({})", "str").format("'cuda'")) == ()


def test_text_whose_index_the_class_reads() -> None:
    code = """
        import torch
        class Brain:
            def __init__(self, options):
                self.device = options["device"]
                if "cuda" in self.device:
                    torch.cuda.set_device(int(self.device[-1]))
                self.context = TorchAutocast(device_type=self.device, dtype=torch.half)
                self.noted = Settings(device_type=self.device)
        class Other:
            def __init__(self, options):
                self.device = options["device"]
                self.context = TorchAutocast(device_type=self.device, dtype=torch.half)
    """
    changed = fixed(code, unsafe=True)
    assert changed.count("torch.device(self.device).type") == 1
    assert "TorchAutocast(device_type=torch.device(self.device).type, dtype=torch.half)" in changed


WIRED = """
    import torch
    class Net(torch.nn.Module):
        def forward(self, {parameters}):
            batch = x.shape[0]
            {header}
                return self.layers(x).view(batch, -1)
"""
ON_CUDA = 'with torch.autocast("cuda", enabled=self.amp, dtype=self.dtype):'


@pytest.mark.parametrize(
    ("parameters", "header"),
    [
        ("x", 'with torch.autocast("cuda", enabled=x.is_cuda):'),
        ("x", 'with torch.autocast("cuda", enabled=False), torch.autocast("mps", enabled=False):'),
        ("x", 'with torch.autocast("cpu", enabled=self.amp):'),
        ("x", 'if x.is_cuda:\n              with torch.autocast("cuda"):'),
        ("x", 'context = torch.autocast("cuda")\n            with context:'),
        ("y", ON_CUDA),
    ],
)
def test_cuda_on_purpose_and_without_a_tensor(parameters: str, header: str) -> None:
    assert findings(WIRED.format(parameters=parameters, header=header)) == ()


OPTIONAL = """
    import torch
    class Net(torch.nn.Module):
        def forward(self, x=None):
            {above}
            with torch.autocast("cuda", enabled=self.amp):
                return torch.relu(x).view(2, -1)
"""


@pytest.mark.parametrize(("above", "count"), [("pass", 0), ("batch = x.shape[0]", 1)])
def test_a_tensor_that_may_be_left_out_is_there_where_it_was_read(above: str, count: int) -> None:
    assert len(findings(OPTIONAL.format(above=above))) == count


def test_a_device_that_is_asked_about_under_two_names() -> None:
    header = 'with torch.autocast("cuda", enabled=self.device.type != "cpu" and device.type != "cpu"):'
    text = fixed(ASKED.format(device="self.device", header=header), unsafe=True)
    assert "torch.autocast(self.device.type, enabled=" in text


def test_cuda_where_the_data_says_more() -> None:
    code = WIRED.format(parameters="x", header=ON_CUDA)
    (finding,) = findings(code)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert "with torch.autocast(x.device.type, enabled=self.amp, dtype=self.dtype):" in fixed(code, unsafe=True)


ASKED = """
    import torch
    from contextlib import nullcontext
    class Trainer:
        def __init__(self, net, device: torch.device, amp=True):
            self.net, self.device, self.amp = net, device, amp
        def step(self, batch):
            device = {device}
            {header}
                return self.net(batch.to(device))
"""


@pytest.mark.parametrize(
    ("device", "header"),
    [
        ("self.device", 'with torch.autocast("cuda", enabled=device.type == "cuda"):'),
        ("self.device", 'with torch.autocast("cuda", enabled=device.type != "cpu" and torch.cuda.is_available()):'),
        ("self.device", 'with torch.autocast("cuda", enabled=device.type != "cpu" or self.amp):'),
        ("self.device", 'with torch.autocast("cuda", enabled=not (device.type != "cpu")):'),
        ("self.device", 'with torch.autocast("cuda", enabled=device.type == "cpu"):'),
        ("self.device", 'with torch.autocast("cpu", enabled=device.type != "cpu"):'),
        ("self.device", 'with torch.autocast("cuda", enabled=self.other.type != "cpu" and device.type != "cpu"):'),
        ("self.device", 'with torch.autocast("cuda") if device.type == "cpu" else nullcontext():'),
        ('"cuda" if torch.cuda.is_available() else "cpu"', 'with torch.autocast("cuda", enabled=device != "cpu"):'),
        (
            'torch.device("cuda:0" if torch.cuda.is_available() else "cpu")',
            'with torch.autocast("cuda", enabled=device.type != "cpu"):',
        ),
        (
            "self.device",
            'if device.type != "mps" and device.type != "cpu":\n              with torch.autocast("cuda"):',
        ),
        (
            "self.device",
            'amp = device.type != "cpu"; device = self.other\n            with torch.autocast("cuda", enabled=amp):',
        ),
    ],
)
def test_cuda_where_more_is_asked_than_whether_it_is_the_host(device: str, header: str) -> None:
    assert findings(ASKED.format(device=device, header=header)) == ()


@pytest.mark.parametrize(
    ("header", "after"),
    [
        ('with torch.autocast("cuda", enabled=device.type != "cpu"):', "device.type, enabled="),
        ('with torch.autocast(device_type="cuda", enabled=not device.type == "cpu"):', "device_type=device.type, "),
        ('with torch.autocast("cuda", enabled=self.amp and device != torch.device("cpu")):', "device.type, enabled="),
        ('with nullcontext() if self.device.type == "cpu" else torch.autocast("cuda"):', "self.device.type):"),
        ('amp = self.device.type != "cpu"\n            with torch.autocast("cuda", enabled=amp):', "self.device.type,"),
        ('if device.type != "cpu":\n              with torch.autocast("cuda", torch.half):', "device.type, torch.half"),
    ],
)
def test_cuda_for_whatever_is_not_the_host(header: str, after: str) -> None:
    code = ASKED.format(device="self.device", header=header)
    (finding,) = findings(code)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert f"torch.autocast({after}" in fixed(code, unsafe=True)


@pytest.mark.parametrize(
    ("arguments", "count"), [("dtype=torch.float32", 1), ("dtype=torch.float16", 0), ("enabled=False", 0)]
)
def test_a_forward_decorated_for_cuda(arguments: str, count: int) -> None:
    code = f"""
        import torch
        class Net(torch.nn.Module):
            @torch.autocast(device_type="cuda", {arguments})
            def forward(self, x):
                return self.layers(x)
            @torch.autocast(device_type="cuda")
            def benchmark(self):
                return self.layers(self.example)
    """
    found = findings(code)
    assert len(found) == count
    assert all(one.fix is None and one.advice for one in found)


def test_an_attribute_that_only_some_methods_make_a_device() -> None:
    code = """
        import torch
        class Trainer:
            def __init__(self, device):
                self.device = device
            def move(self):
                self.device = torch.device("cuda")
            def step(self):
                with torch.autocast(self.device): pass
    """
    assert findings(code) == ()


@pytest.mark.parametrize(
    "lines",
    [
        "device = torch.device('cuda')\ntorch.autocast({})\n",
        "def train(device: torch.device):\n    torch.autocast({})\n",
        "def train(device: 'torch.device'):\n    torch.autocast({})\n",
        "def train(*, device: torch.device):\n    for x in y:\n        torch.autocast({})\n",
        "def train(device):\n    device = torch.device(device)\n    torch.autocast({})\n",
        "device: torch.device = pick()\ntorch.autocast({})\n",
        "device = next(model.parameters()).device\ntorch.autocast({})\n",
        "device = torch.device('cuda') if gpu else torch.device('cpu')\ntorch.autocast({})\n",
        "device = torch.device('cuda')\ndef train():\n    torch.autocast({})\n",
        "if gpu:\n    device = torch.device('cuda')\nelse:\n    device = torch.device('cpu')\ntorch.autocast({})\n",
        "def train(x: torch.Tensor):\n    device = x.device\n    torch.autocast({})\n",
        "def train(device: torch.device):\n    def inner():\n        torch.autocast({})\n",
        (
            "def train(device: torch.device):\n    if isinstance(device, str):\n        device = torch.device(device)\n"
            "    torch.autocast({})\n"
        ),
        "def train(device=torch.device('cpu')):\n    if not isinstance(device, str):\n        torch.autocast({})\n",
        "def train(device: torch.device):\n    assert isinstance(device, torch.device)\n    torch.autocast({})\n",
    ],
)
def test_a_name_that_certainly_holds_a_device(lines: str) -> None:
    code = IMPORTS + lines
    (finding,) = findings(code.format("device"))
    assert finding.fix is not None
    assert finding.fix.safety is Safety.SAFE
    assert fixed(code.format("device")) == code.format("device.type")


def test_the_device_of_the_class() -> None:
    code = """
        import torch
        class Trainer:
            def __init__(self, name):
                self.device = torch.device(name)
            def step(self):
                with torch.autocast(device_type=self.device, enabled=True): pass
    """
    assert "torch.autocast(device_type=self.device.type, enabled=True)" in fixed(code)


def test_a_property_that_says_what_it_returns() -> None:
    code = """
        import torch
        class Model:
            @property
            def device(self) -> torch.device:
                return self._device
            def step(self):
                with torch.autocast(self.device): pass
    """
    assert "torch.autocast(self.device.type)" in fixed(code)


CHOSEN = """
    import torch
    def pick(name):
        {chosen}
    class Trainer:
        def __init__(self, name):
            self.device = pick(name)
        def step(self):
            with torch.autocast(self.device): pass
"""


@pytest.mark.parametrize(
    "chosen",
    [
        "return torch.device(name)",
        "if name:\n            return torch.device(name)\n        return torch.device('cpu')",
        "found = torch.device(name)\n        return found",
    ],
)
def test_a_device_that_a_function_of_the_file_gives(chosen: str) -> None:
    assert "torch.autocast(self.device.type)" in fixed(CHOSEN.format(chosen=chosen))


@pytest.mark.parametrize(
    "chosen",
    [
        "return name",
        "if name:\n            return torch.device(name)\n        return 'cpu'",
        "if name:\n            return torch.device(name)\n        return None",
    ],
)
def test_what_a_function_of_the_file_gives_may_be_something_else(chosen: str) -> None:
    assert findings(CHOSEN.format(chosen=chosen)) == ()


def test_a_device_that_the_program_keeps_in_its_arguments() -> None:
    code = IMPORTS + "args = parse()\nargs.device = torch.device(args.device)\ntorch.autocast(args.device)\n"
    assert "torch.autocast(args.device.type)" in fixed(code)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('torch.autocast("cuda:0")', 'torch.autocast("cuda")'),
        ("torch.autocast('cuda:1', torch.half)", "torch.autocast('cuda', torch.half)"),
        ('torch.autocast(f"cuda:{rank}")', 'torch.autocast("cuda")'),
        ("torch.autocast(device_type=f'cuda:{rank}')", "torch.autocast(device_type='cuda')"),
        ("torch.autocast(torch.device('cuda:0'))", "torch.autocast(torch.device('cuda:0').type)"),
        ("torch.autocast(next(m.parameters()).device)", "torch.autocast(next(m.parameters()).device.type)"),
        ("is_autocast_available(torch.device('cuda'))", "is_autocast_available(torch.device('cuda').type)"),
        ("custom_fwd(f, device_type=torch.device('cuda'))", "custom_fwd(f, device_type=torch.device('cuda').type)"),
    ],
)
def test_expressions(before: str, after: str) -> None:
    assert fixed(f"{IMPORTS}x = {before}\n") == f"{IMPORTS}x = {after}\n"


def test_text_of_a_known_device() -> None:
    code = IMPORTS + "device = torch.device('cuda:0')\ntorch.autocast(str(device))\n"
    assert fixed(code).endswith("torch.autocast(device.type)\n")


def test_text_of_an_unknown_device_is_unsafe() -> None:
    code = IMPORTS + "torch.autocast(str(self.device))\n"
    (finding,) = findings(code)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert fixed(code, unsafe=True).endswith("torch.autocast(torch.device(self.device).type)\n")


@pytest.mark.parametrize(
    "assignment",
    [
        'device = "cuda:0"\n',
        'device = "cuda:0" if torch.cuda.is_available() else "cpu"\n',
        'device = f"cuda:{rank}"\n',
        'device: torch.device = "cuda:0" if torch.cuda.is_available() else "cpu"\n',
        'if gpu:\n    device = "cuda:0"\nelse:\n    device = "cpu"\n',
    ],
)
def test_a_variable_that_may_have_an_index(assignment: str) -> None:
    code = f"{IMPORTS}{assignment}def train():\n    torch.autocast(device)\n"
    assert fixed(code).endswith("torch.autocast(torch.device(device).type)\n")


def test_the_name_of_torch_and_its_import() -> None:
    code = "from torch import autocast\ndevice = 'cuda:0'\nautocast(device)\n"
    assert fixed(code).endswith("autocast(torch.device(device).type)\n")
    assert "import torch\n" in fixed(code)
    code = "import torch as th\ndevice = 'cuda:0'\nth.autocast(device)\n"
    assert fixed(code).endswith("th.autocast(th.device(device).type)\n")


def test_an_option_whose_default_has_an_index() -> None:
    code = IMPORTS + "parser.add_argument('--device', default='cuda:0')\ntorch.autocast(args.device)\n"
    assert fixed(code).endswith("torch.autocast(torch.device(args.device).type)\n")
    code = IMPORTS + "parser.add_argument('--device', type=torch.device)\ntorch.autocast(args.device)\n"
    assert fixed(code).endswith("torch.autocast(args.device.type)\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("torch.autocast(device='cuda')", "torch.autocast(device_type='cuda')"),
        ("torch.autocast(enabled=on, device=x.type)", "torch.autocast(enabled=on, device_type=x.type)"),
        ("torch.autocast(device='cuda:0', enabled=on)", "torch.autocast(device_type='cuda', enabled=on)"),
        ("torch.autocast(device=torch.device(n))", "torch.autocast(device_type=torch.device(n).type)"),
        ("GradScaler(device_type='cuda', enabled=on)", "GradScaler(device='cuda', enabled=on)"),
        ("custom_fwd(f, device_type='cuda')", "custom_fwd(f, device_type='cuda')"),
    ],
)
def test_the_keyword_of_the_other_class(before: str, after: str) -> None:
    code = f"{IMPORTS}x = {before}\n"
    if before == after:
        assert findings(code) == ()
        return
    text = fixed(code, unsafe="x.type" in before)
    assert text == f"{IMPORTS}x = {after}\n"


def test_a_keyword_with_an_unknown_device_is_unsafe() -> None:
    code = IMPORTS + "torch.autocast(device=device)\n"
    (finding,) = findings(code)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert fixed(code, unsafe=True).endswith("torch.autocast(device_type=torch.device(device).type)\n")


@pytest.mark.parametrize(
    "use",
    ["GradScaler('cuda:0')", "GradScaler(torch.device('cuda'))", "custom_fwd(f, device_type='cuda:0')"],
)
def test_what_works_in_another_way_today_is_unsafe(use: str) -> None:
    (finding,) = findings(f"{IMPORTS}{use}\n")
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE


FOR_CUDA = """
    import torch
    {before}
    def mixed(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cuda", enabled=False):
            return torch.relu(x.half())
    {after}
"""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'torch.library.Library("ops", "FRAGMENT").impl("mixed", mixed, "AutocastCUDA")'),
        ("", 'torch.library.register_kernel("ops::mixed", "cuda", mixed)'),
        ("", 'torch.library.impl("ops::mixed", "CUDA")(mixed)'),
        ('@torch.library.impl("ops::mixed", "CUDA")', ""),
        ('@torch.library.custom_op("ops::mixed", mutates_args=(), device_types="cuda")', ""),
        ("", "def run(x):\n        if x.is_cuda:\n            return mixed(x)\n        return x"),
        ("", 'def run(x):\n        fast = x.device.type == "cuda"\n        return mixed(x) if fast else x'),
    ],
)
def test_a_function_for_cuda_alone_says_so(before: str, after: str) -> None:
    assert not findings(FOR_CUDA.format(before=before, after=after))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", 'torch.library.Library("ops", "FRAGMENT").impl("mixed", mixed, "CompositeImplicitAutograd")'),
        ("@torch.no_grad()", ""),
        ("", "def run(x):\n        if x.is_cuda:\n            return x\n        return mixed(x)"),
        ("", "def run(x):\n        if x.is_cuda:\n            mixed(x)\n        return mixed(x)"),
    ],
)
def test_a_function_for_any_device_takes_the_type_of_its_tensor(before: str, after: str) -> None:
    program = FOR_CUDA.format(before=before, after=after)
    assert "torch.autocast(x.device.type, enabled=False)" in fixed(program, unsafe=True)


TRAINED = """
import torch
class Trainer:
    def step(self, x: torch.Tensor):
        with {autocast}:
            logits = self.model(x)
        return torch.sigmoid(logits)
    def probabilities(self, x):
        return {read}
"""


@pytest.mark.parametrize("read", ["self.step(x).cpu().numpy()", "self.step(x.float()).numpy()"])
def test_numpy_has_no_type_of_autocast_on_the_host(read: str) -> None:
    code = TRAINED.format(autocast='torch.autocast("cuda", enabled=self.amp)', read=read)
    (finding,) = findings(code)
    assert finding.fix is None


@pytest.mark.parametrize(
    "read",
    [
        "self.step(x)",
        "self.step(x).float().cpu().numpy()",
        "self.step(x).argmax(-1).cpu().numpy()",
        "self.step(x).item()",
    ],
)
def test_what_numpy_reads_has_a_type_that_it_knows(read: str) -> None:
    code = TRAINED.format(autocast='torch.autocast("cuda", enabled=self.amp)', read=read)
    assert "with torch.autocast(x.device.type, enabled=self.amp):" in fixed(code, unsafe=True)


def test_where_the_host_was_left_out_before_numpy_reads_what_it_did() -> None:
    code = TRAINED.format(
        autocast='torch.autocast("cuda", enabled=x.device.type != "cpu")', read="self.step(x).numpy()"
    )
    assert "torch.autocast(x.device.type, enabled=" in fixed(code, unsafe=True)


@pytest.mark.parametrize("dtype", ["torch.float16", "torch.half"])
def test_nothing_runs_in_half_precision_on_the_host_that_did_not(dtype: str) -> None:
    code = TRAINED.format(autocast=f'torch.autocast("cuda", dtype={dtype})', read="self.step(x)")
    (finding,) = findings(code)
    assert finding.fix is None
    assert "enabled=x.device.type == 'cuda'" in str(finding.advice)


@pytest.mark.parametrize("given", ["dtype=torch.bfloat16", 'dtype=torch.float16, enabled=x.device.type != "cpu"'])
def test_what_the_host_computes_in_or_was_left_out_of(given: str) -> None:
    code = TRAINED.format(autocast=f'torch.autocast("cuda", {given})', read="self.step(x)")
    assert f"torch.autocast(x.device.type, {given})" in fixed(code, unsafe=True)


OLDER = [
    "NEW = check(torch.__version__, '1.9')",
    "NEW = torch.__version__ >= '2.3'",
    "if torch.__version__ >= '2.5': new()",
]
NEWER = ["", "assert torch.__version__ >= '2.5'", "NEW = check(numpy.__version__, '1.9')"]


@pytest.mark.parametrize("gate", OLDER)
def test_a_literal_stays_where_torch_may_refuse_another_type(gate: str) -> None:
    (finding,) = findings(FOR_CUDA.format(before="", after=gate))
    assert finding.fix is None
    assert finding.advice is not None
    assert "MPS" in finding.advice


@pytest.mark.parametrize("gate", NEWER)
def test_it_goes_where_torch_takes_all_types(gate: str) -> None:
    (finding,) = findings(FOR_CUDA.format(before="", after=gate))
    assert finding.fix is not None


@pytest.mark.parametrize("given", ['r"cuda:0"', 'rf"cuda:{i}"', 'u"cuda:0"'])
def test_a_text_with_a_prefix(given: str) -> None:
    assert 'torch.autocast("cuda")' in fixed(f"import torch\ntorch.autocast({given})\n")


@pytest.mark.parametrize("given", ["str(x.device if c else y.device)", "device=x.device if c else y.device"])
def test_the_type_of_a_choice(given: str) -> None:
    code = f"""
        import torch
        def f(x: torch.Tensor, y: torch.Tensor, c):
            x, y = torch.relu(x), torch.relu(y)
            torch.autocast({given})
    """
    assert "(x.device if c else y.device).type" in fixed(code, unsafe=True)


@pytest.mark.parametrize(
    "text", ["'cuda' \":0\"", "\"cuda\" ':0'", '"cu" "da:0"', '"""cuda:0"""', "'cuda' f\":{rank}\""]
)
def test_text_in_pieces_and_in_other_quotes(text: str) -> None:
    changed = fixed(f"{IMPORTS}rank = 0\ntorch.autocast({text})\n")
    assert changed.splitlines()[-1] in {"torch.autocast('cuda')", 'torch.autocast("cuda")'}


def test_arguments_that_another_call_spells() -> None:
    assert findings(f"{IMPORTS}from functools import partial\npartial(torch.autocast, 'cuda:0')()\n") == ()


@pytest.mark.parametrize("decorator", ["property", "functools.cached_property"])
def test_properties_of_both_sorts(decorator: str) -> None:
    code = f"""
        import functools
        import torch
        class Trainer:
            @{decorator}
            def device(self):
                return torch.device("cuda:0")
            def step(self):
                torch.autocast(self.device)
    """
    assert "torch.autocast(self.device.type)" in fixed(code)


GIVEN = """
    import torch

    class Trainer:
        def shifted(self, spec: torch.Tensor, hint: torch.Tensor):
            spec = spec.float()
            with torch.autocast(device_type="cuda", dtype=torch.bfloat16):
                return self.net(spec, hint)

        def step(self, batch):
            if "hint" in batch:
                hint = self.hinted(batch["hint"])
            else:
                hint = {otherwise}
            return self.shifted(batch["spec"], hint)
"""


@pytest.mark.parametrize(("otherwise", "is_asked"), [("None", False), ("torch.zeros(3)", True)])
def test_what_a_caller_gives_as_none_has_no_type(otherwise: str, is_asked: bool) -> None:
    fixes = [one.fix.title for one in findings(GIVEN.format(otherwise=otherwise)) if one.fix]
    assert any("hint.device.type" in one for one in fixes) is is_asked, fixes
