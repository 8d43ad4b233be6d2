"""DVF301: autocast without its device type."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Finding
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.source import Source

OPTIONS = Options(frozenset({"DVF301"}))
PAIR = """\
try:
    from torch.amp import GradScaler, autocast
except ImportError:
    from torch.cuda.amp import GradScaler, autocast
"""


def findings(code: str) -> tuple[Finding, ...]:
    outcome = check(Source("train.py", dedent(code).encode()), OPTIONS)
    assert isinstance(outcome, Checked)
    return outcome.findings


def fixed(code: str) -> str:
    outcome = rewrite(Source("train.py", dedent(code).encode()), OPTIONS)
    assert isinstance(outcome, Changed), outcome
    again = rewrite(Source("train.py", outcome.data), OPTIONS)
    assert isinstance(again, Clean), again
    return outcome.data.decode()


@pytest.mark.parametrize(
    "code",
    [
        "import torch\nwith torch.autocast('cuda'): pass\n",
        "import torch\nwith torch.amp.autocast(device_type='cuda', enabled=False): pass\n",
        "import torch\nwith torch.amp.autocast(enabled=False, device_type='cuda'): pass\n",
        "import torch\nwith torch.autocast(device.type, dtype=torch.bfloat16): pass\n",
        "import torch\nwith torch.autocast(kind): pass\n",
        "import torch\nwith torch.autocast(*args): pass\n",
        "import torch\nwith torch.autocast(**options): pass\n",
        "import torch\nwith torch.autocast(enabled=True, **options): pass\n",
        "import torch\nwith torch.cuda.amp.autocast(enabled=True): pass\n",
        "import torch\nwith torch.cuda.amp.autocast(): pass\n",
        "from torch.cuda.amp import autocast\nwith autocast(): pass\n",
        "from accelerate import Accelerator\nwith Accelerator().autocast(): pass\n",
        "from mylib import autocast\nwith autocast(): pass\n",
        "def step(torch):\n    with torch.autocast(): pass\n",
        "from torch import autocast\nautocast = wrap(autocast)\nwith autocast(): pass\n",
        "import torch\n# torch.autocast(enabled=True)\ntext = 'torch.autocast(enabled=True)'\n",
        "import torch\nfrom functools import partial\nmake = partial(torch.autocast, dtype=torch.half)\n",
        "import torch\nif torch.__version__ < '1.10':\n    ctx = torch.autocast()\n",
        "from torch.amp import custom_fwd\n@custom_fwd(device_type='cuda')\ndef forward(ctx, x): return x\n",
        "from torch.cuda.amp import custom_fwd\n@custom_fwd\ndef forward(ctx, x): return x\n",
        "from torch.amp import custom_fwd\n@custom_fwd(**options)\ndef forward(ctx, x): return x\n",
    ],
)
def test_is_silent(code: str) -> None:
    assert findings(code) == ()


@pytest.mark.parametrize(
    "use",
    [
        "with autocast(**autocast_options()): pass\n",
        "with autocast(*options): pass\n",
        "scaler = GradScaler(enabled=use_amp)\n",
        "scaler = GradScaler()\n",
        "scaler = GradScaler(**options)\n",
        "scaler = GradScaler(device.type)\n",
        "scaler = GradScaler('cuda', *options)\n",
    ],
)
def test_is_silent_under_an_import_pair(use: str) -> None:
    assert findings(PAIR + use) == ()


def test_a_flag_of_the_import_pair_guards_the_calls() -> None:
    code = """
        try:
            from torch.amp import autocast
            NEW = True
        except ImportError:
            from torch.cuda.amp import autocast
            NEW = False
        ctx = autocast("cuda", enabled=True) if NEW else autocast(enabled=True)
    """
    assert findings(code) == ()


def test_a_keyword_call_gets_the_type_in_front() -> None:
    code = """
        import torch
        with torch.amp.autocast(enabled=use_amp, dtype=torch.bfloat16):
            run()
    """
    assert 'torch.amp.autocast("cuda", enabled=use_amp, dtype=torch.bfloat16)' in fixed(code)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("autocast()", 'autocast("cuda")'),
        ("autocast(True)", 'autocast("cuda", enabled=True)'),
        ("autocast(False, torch.bfloat16)", 'autocast("cuda", enabled=False, dtype=torch.bfloat16)'),
        ("autocast(not debug)", 'autocast("cuda", enabled=not debug)'),
        ("autocast(torch.bfloat16)", 'autocast("cuda", dtype=torch.bfloat16)'),
        ("autocast(torch.float16, use_amp)", 'autocast("cuda", dtype=torch.float16, enabled=use_amp)'),
        ("autocast(level == 1, cache_enabled=False)", 'autocast("cuda", enabled=level == 1, cache_enabled=False)'),
    ],
)
def test_positional_arguments_become_keywords(before: str, after: str) -> None:
    code = "import torch\nfrom torch import autocast\nwith {}:\n    pass\n"
    assert fixed(code.format(before)) == code.format(after)


def test_a_decorator_gets_the_type() -> None:
    code = """
        from torch import autocast

        @autocast(enabled=False)
        def forward(self, x):
            return x
    """
    assert '@autocast("cuda", enabled=False)' in fixed(code)


def test_a_sibling_gives_type_quotes_and_keyword() -> None:
    code = """
        import torch
        name = "a"
        other = "b"
        with torch.autocast(device_type='cpu', dtype=torch.bfloat16):
            validate()
        with torch.autocast(dtype=torch.bfloat16):
            train()
    """
    assert "with torch.autocast(device_type='cpu', dtype=torch.bfloat16):\n    train()" in fixed(code)


def test_a_deprecated_sibling_means_cuda() -> None:
    code = """
        import torch
        def train(device: torch.device):
            with torch.cuda.amp.autocast():
                validate()
            with torch.autocast(dtype=torch.bfloat16):
                run()
    """
    assert 'torch.autocast("cuda", dtype=torch.bfloat16)' in fixed(code)


def test_siblings_that_disagree_decide_nothing() -> None:
    code = """
        import torch
        device = torch.device("cuda")
        first = torch.autocast("cpu")
        second = torch.autocast("cuda")
        third = torch.autocast()
    """
    assert "third = torch.autocast(device.type)" in fixed(code)


def test_the_type_of_a_sibling_s_device_only_where_it_is_bound() -> None:
    code = """
        import torch
        def train(device: torch.device):
            with torch.autocast(device_type=device.type):
                run()
            with torch.autocast(enabled=False):
                run()
        def evaluate(model):
            with torch.autocast(enabled=False):
                run()
    """
    text = fixed(code)
    assert text.count("torch.autocast(device_type=device.type, enabled=False)") == 1
    assert text.count('torch.autocast("cuda", enabled=False)') == 1


@pytest.mark.parametrize(
    "parameter",
    ["device: torch.device", "device: 'torch.device'"],
)
def test_a_parameter_annotated_as_a_device(parameter: str) -> None:
    code = f"import torch\ndef train(model, {parameter}):\n    with torch.autocast():\n        pass\n"
    assert "torch.autocast(device.type)" in fixed(code)


@pytest.mark.parametrize(
    "parameter",
    ["device", "device='cuda:0'", "device: str", "device: torch.device = None", "device: torch.device = 'cuda:0'"],
)
def test_a_parameter_of_unknown_kind_is_not_used(parameter: str) -> None:
    code = f"import torch\ndef train(model, *, {parameter}):\n    with torch.autocast():\n        pass\n"
    assert "device.type" not in fixed(code)


def test_a_device_bound_on_one_path_only_is_not_used() -> None:
    code = """
        import torch
        def train(gpu):
            if gpu:
                device = torch.device("cuda")
            with torch.autocast():
                run()
    """
    assert 'torch.autocast("cuda")' in fixed(code)


def test_a_device_that_is_bound_again_to_something_unknown_is_not_used() -> None:
    code = """
        import torch
        def train():
            device = torch.device("cuda")
            device = pick(device)
            with torch.autocast():
                run()
    """
    assert 'torch.autocast("cuda")' in fixed(code)


def test_a_device_bound_later_is_not_used() -> None:
    code = """
        import torch
        def train():
            with torch.autocast():
                run()
            device = torch.device("cuda")
    """
    assert 'torch.autocast("cuda")' in fixed(code)


def test_the_device_of_the_class() -> None:
    code = """
        import torch
        class Trainer:
            def __init__(self):
                self.device = torch.device("cuda")
            def step(self):
                with torch.autocast(dtype=torch.half):
                    run()
    """
    assert "torch.autocast(self.device.type, dtype=torch.half)" in fixed(code)


def test_a_device_of_the_class_that_only_one_method_sets_is_not_used() -> None:
    code = """
        import torch
        class Trainer:
            def setup(self):
                self.device = torch.device("cuda")
            def step(self):
                with torch.autocast():
                    run()
    """
    assert 'torch.autocast("cuda")' in fixed(code)


def test_the_tensor_of_a_forward() -> None:
    code = """
        import torch
        class Norm(torch.nn.Module):
            def forward(self, x):
                n = x.shape[0]
                with torch.autocast(enabled=False):
                    return x / n
    """
    assert "torch.autocast(x.device.type, enabled=False)" in fixed(code)


def test_a_forward_whose_input_may_be_anything() -> None:
    code = """
        import torch
        class Model(torch.nn.Module):
            def forward(self, batch):
                with torch.autocast(enabled=False):
                    return self.inner(batch)
    """
    assert 'torch.autocast("cuda", enabled=False)' in fixed(code)


def test_the_quotes_of_the_file() -> None:
    assert "torch.autocast('cuda')" in fixed("import torch\na = 'x'\nb = 'y'\nc = torch.autocast()\n")


def test_an_import_pair_is_repaired_as_one_fix() -> None:
    code = PAIR + (
        "scaler = GradScaler(enabled=use_amp)\n"
        "with autocast('cuda', enabled=use_amp):\n    evaluate()\n"
        "with autocast(enabled=use_amp, dtype=dtype):\n    train()\n"
        "with autocast():\n    train()\n"
    )
    first, second = findings(code)
    assert first.fix == second.fix
    text = fixed(code)
    assert "from torch import autocast" in text
    assert "from torch.cuda.amp import GradScaler\n" in text
    assert "with autocast('cuda', enabled=use_amp, dtype=dtype):" in text
    assert "with autocast('cuda'):" in text
    assert "GradScaler(enabled=use_amp)" in text


def test_a_pair_whose_calls_all_have_the_type_gets_another_fall_back() -> None:
    (finding,) = findings(PAIR + "with autocast('cuda'):\n    pass\n")
    assert "fall-back" in finding.message
    text = fixed(PAIR + "with autocast('cuda'):\n    pass\n")
    assert "from torch import autocast" in text
    assert "with autocast('cuda'):\n    pass\n" in text


@pytest.mark.parametrize(
    "other",
    [
        "context = autocast if use_amp else nullcontext\n",
        "with autocast(**options):\n    pass\n",
        "with autocast(use_amp):\n    pass\n",
        "__all__ = ['autocast']\n",
    ],
)
def test_one_use_that_cannot_be_repaired_leaves_the_pair_alone(other: str) -> None:
    (finding,) = findings(PAIR + "with autocast(enabled=True):\n    pass\n" + other)
    assert finding.fix is None
    assert finding.advice is not None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("GradScaler('cuda')", "GradScaler()"),
        ("GradScaler('cuda', enabled=use_amp)", "GradScaler(enabled=use_amp)"),
        ("GradScaler('cuda', 1024.0)", "GradScaler(init_scale=1024.0)"),
        ("GradScaler(device='cuda', enabled=use_amp)", "GradScaler(enabled=use_amp)"),
    ],
)
def test_a_scaler_under_a_pair_loses_the_device(before: str, after: str) -> None:
    assert f"scaler = {after}\n" in fixed(f"{PAIR}scaler = {before}\n")


def test_custom_functions_get_their_type() -> None:
    code = """
        import torch
        from torch.amp import custom_bwd, custom_fwd

        class Square(torch.autograd.Function):
            @staticmethod
            @custom_fwd(cast_inputs=torch.float32)
            def forward(ctx, x):
                return x * x

            @staticmethod
            @custom_bwd
            def backward(ctx, g):
                return g
    """
    text = fixed(code)
    assert '@custom_fwd(device_type="cuda", cast_inputs=torch.float32)' in text
    assert '@custom_bwd(device_type="cuda")' in text


def test_messages_name_what_raises() -> None:
    (missing,) = findings("import torch\ntorch.autocast()\n")
    assert "TypeError" in missing.message
    (wrong,) = findings("import torch\ntorch.autocast(True)\n")
    assert "ValueError" in wrong.message
    assert "`True`" in wrong.message


@pytest.mark.parametrize(
    ("x", "above", "kept"),
    [
        ("x: torch.Tensor", "pass", True),
        ("x: torch.Tensor | None = None", "pass", False),
        ("x: torch.Tensor | float", "pass", False),
        ("x: list[torch.Tensor]", "pass", False),
        ("x: torch.Tensor", "x = load(x)", False),
        ("x: torch.Tensor | None = None", "n = x.shape[0]", True),
        ("x: torch.Tensor | None = None", "assert x is not None", True),
        ("x: torch.Tensor", "y = x + 1", True),
    ],
)
def test_a_parameter_that_is_surely_a_tensor_there(x: str, above: str, kept: bool) -> None:
    program = f"""
        import torch
        def scale({x}):
            {above}
            with torch.amp.autocast():
                return x * 2
    """
    assert ("autocast(x.device.type)" in fixed(program)) is kept


@pytest.mark.parametrize(
    ("caller", "tensor"),
    [("scale(None, y)", "y"), ("scale(np.zeros(3), y)", "y"), ("scale([1.0], y)", "y"), ("scale(x, y)", "x")],
)
def test_no_parameter_that_a_caller_gives_what_has_no_device(caller: str, tensor: str) -> None:
    program = f"""
        import numpy as np
        import torch
        def scale(x: torch.Tensor, y: torch.Tensor):
            with torch.amp.autocast():
                return x * y
        def run(x, y):
            return {caller}
    """
    assert f"autocast({tensor}.device.type)" in fixed(program)
