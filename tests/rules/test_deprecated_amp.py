"""DVF302: torch.cuda.amp and torch.cpu.amp."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check, rewrite
from devfix_codemods.findings import Finding, Safety
from devfix_codemods.outcomes import Changed, Checked, Clean, Options
from devfix_codemods.source import Source

SELECT = frozenset({"DVF302"})


def findings(code: str, path: str = "train.py", target: tuple[int, int] | None = None) -> tuple[Finding, ...]:
    outcome = check(Source(path, dedent(code).encode()), Options(SELECT, target_torch=target))
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
        """
        import torch
        try:
            context = torch.amp.autocast("cuda", dtype=torch.float16)
        except Exception:
            context = torch.cuda.amp.autocast(dtype=torch.float16)
        """,
        """
        try:
            from torch.amp import GradScaler
        except:
            from torch.cuda.amp import GradScaler
        scaler = GradScaler()
        """,
        "import torch\nwith torch.amp.autocast('cuda'): pass\n",
        "from torch.amp import GradScaler, autocast\nscaler = GradScaler('cuda')\n",
        "from torch.cuda.amp import autocast\n",
        "from torch.cuda.amp import common\ncommon.amp_definitely_not_available()\n",
        "import torch\nif torch.cuda.amp.common.amp_definitely_not_available(): pass\n",
        "from apex import amp\nwith amp.autocast(): pass\n",
        "import torch\ntorch.npu.amp.GradScaler()\n",
        "def f(torch):\n    return torch.cuda.amp.autocast()\n",
        "import torch\ntext = 'torch.cuda.amp.autocast()'  # torch.cuda.amp.autocast()\n",
        "import torch\ndef f(scaler: 'torch.cuda.amp.GradScaler'): pass\n",
        "from .compat import torch\nwith torch.cuda.amp.autocast(): pass\n",
        "from torch.cuda.amp import *\nwith autocast(): pass\n",
        "import torch\ntorch.cuda.amp.autocast = wrapped\n",
        "import torch\nCLASSES = [torch.autocast, torch.cuda.amp.autocast]\n",
        "import torch\nif kind is torch.cuda.amp.autocast: pass\n",
        "import torch\nisinstance(context, torch.cuda.amp.autocast)\n",
        "import torch\nfamily = {torch.cuda.amp.autocast: 'cuda'}\n",
        "from torch.cuda.amp import autocast\nautocast = wrap(autocast)\nwith autocast(): pass\n",
    ],
)
def test_is_silent(code: str) -> None:
    assert findings(code) == ()


@pytest.mark.parametrize(
    "code",
    [
        """
        try:
            from torch.amp import autocast
        except ImportError:
            from torch.cuda.amp import autocast
        with autocast("cuda"):
            pass
        """,
        """
        try:
            from torch.cuda.amp import GradScaler
        except ImportError:
            pass
        scaler = GradScaler()
        """,
        """
        try:
            from torch.cuda.amp import autocast
        except ImportError:
            class autocast:
                pass
        with autocast():
            pass
        """,
        """
        if version.parse(torch.__version__) >= version.parse("2.4"):
            from torch.amp import autocast
        else:
            from torch.cuda.amp import autocast
        with autocast():
            pass
        """,
        """
        import torch
        if TORCH_2_4:
            scaler = torch.amp.GradScaler("cuda")
        else:
            scaler = torch.cuda.amp.GradScaler()
        """,
        """
        import torch
        scaler = torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else torch.cuda.amp.GradScaler()
        """,
        """
        import torch
        make = getattr(torch.amp, "GradScaler", torch.cuda.amp.GradScaler)
        """,
        """
        import torch
        def scaler(device):
            try:
                return torch.amp.GradScaler(device)
            except (AttributeError, TypeError):
                return torch.cuda.amp.GradScaler()
        """,
        """
        import torch
        def scaler():
            if torch_version >= (2, 4):
                return torch.amp.GradScaler("cuda")
            return torch.cuda.amp.GradScaler()
        """,
        """
        import torch
        if not hasattr(torch.amp, "custom_fwd"):
            torch.amp.custom_fwd = torch.cuda.amp.custom_fwd
        """,
        """
        import torch
        autocast = torch.cuda.amp.autocast if is_torch_version("<", "1.10") else torch.autocast
        """,
    ],
)
def test_deliberate_choices_by_version_are_left_alone(code: str) -> None:
    assert findings(code) == ()


@pytest.mark.parametrize(
    "use",
    [
        "make = partial(autocast, True)\n",
        "models.append(autocast)\n",
        "class Mine(autocast): pass\n",
        "@autocast\ndef forward(x): return x\n",
        "with autocast(*options): pass\n",
        "autocast.__enter__\n",
        "contexts = {'amp': autocast}\n",
        "context = autocast if use_amp else nullcontext\n",
    ],
)
def test_one_use_without_a_place_for_the_type_leaves_the_whole_name_alone(use: str) -> None:
    code = f"from functools import partial\nfrom torch.cuda.amp import autocast\nwith autocast():\n    pass\n{use}"
    found = findings(code)
    assert len(found) == 2
    assert all(one.fix is None and one.advice for one in found)


def test_a_class_that_is_asked_for_keeps_the_name() -> None:
    code = "from torch.cuda.amp import autocast\nc = autocast()\nassert isinstance(c, autocast)\n"
    (finding,) = findings(code)
    assert finding.fix is None
    assert finding.advice is not None


def test_other_names_of_the_same_import_are_still_moved() -> None:
    code = """
        from torch.cuda.amp import GradScaler, autocast, common
        scaler = GradScaler()
        models.append(autocast)
    """
    text = fixed(code)
    assert "from torch.cuda.amp import autocast, common\n" in text
    assert "from torch.amp import GradScaler\n" in text
    assert 'scaler = GradScaler("cuda")' in text


def test_a_package_s_init_keeps_what_it_offers() -> None:
    code = "from torch.cuda.amp import autocast\nwith autocast():\n    pass\n"
    (finding,) = findings(code, "mylib/__init__.py")
    assert finding.fix is None
    assert findings(code, "mylib/train.py")[0].fix is not None


def test_an_import_inside_a_function_of_an_init_is_not_offered() -> None:
    code = "def f():\n    from torch.cuda.amp import autocast\n    return autocast()\n"
    assert findings(code, "mylib/__init__.py")[0].fix is not None


def test_a_name_in_dunder_all_is_kept() -> None:
    code = "from torch.cuda.amp import autocast\n__all__ = ['autocast']\nwith autocast():\n    pass\n"
    assert [one.fix for one in findings(code)] == [None]


def test_a_version_test_around_one_use_keeps_the_name() -> None:
    code = """
        from torch.cuda.amp import autocast
        if torch.__version__ < "2":
            first = autocast()
        second = autocast()
    """
    (finding,) = findings(code)
    assert finding.fix is None
    assert finding.span.line == 5


GATE = """
    import torch
    from packaging import version
    if version.parse(torch.__version__) >= version.parse("{release}"):
        {gated}
    scaler = torch.cuda.amp.GradScaler()
"""


@pytest.mark.parametrize("release", ["1.6", "2.3"])
def test_a_file_that_provides_for_an_older_torch_keeps_the_names(release: str) -> None:
    (finding,) = findings(GATE.format(release=release, gated="from torch.cuda.amp import autocast"))
    assert finding.fix is None
    assert finding.advice is not None
    assert f"chooses by torch {release}" in finding.advice


def test_a_test_for_another_library_says_nothing() -> None:
    code = """
        import torch, torchvision
        if torchvision.__version__ >= "0.13":
            context = torch.autocast("cuda")
        scaler = torch.cuda.amp.GradScaler()
    """
    assert 'scaler = torch.amp.GradScaler("cuda")' in fixed(code)


@pytest.mark.parametrize(
    ("release", "gated"),
    [("2.4", "from torch.amp import autocast"), ("1.6", "from torch import fft")],
)
def test_a_test_for_a_torch_that_says_nothing_of_the_new_name(release: str, gated: str) -> None:
    assert 'scaler = torch.amp.GradScaler("cuda")' in fixed(GATE.format(release=release, gated=gated))


def test_an_except_that_only_raises_is_no_choice() -> None:
    code = """
        try:
            from torch.cuda.amp import autocast
        except ImportError:
            raise ImportError("torch 1.6 is needed")
        with autocast():
            pass
    """
    assert 'with autocast("cuda"):' in fixed(code)


def test_import_and_calls_move_together() -> None:
    code = """\
        from torch.cuda.amp import autocast, GradScaler

        scaler = GradScaler(enabled=use_amp)
        with autocast(enabled=use_amp, dtype=torch.bfloat16):  # mixed precision
            loss = model(x)
        with torch.no_grad(), autocast():
            validate()
    """
    assert fixed(code) == dedent("""\
        from torch.amp import autocast, GradScaler

        scaler = GradScaler("cuda", enabled=use_amp)
        with autocast("cuda", enabled=use_amp, dtype=torch.bfloat16):  # mixed precision
            loss = model(x)
        with torch.no_grad(), autocast("cuda"):
            validate()
    """)


def test_the_uses_of_a_name_share_one_fix() -> None:
    code = "from torch.cuda.amp import autocast\na = autocast()\nb = autocast()\nc = 1\n"
    first, second = findings(code)
    assert first.fix is not None
    assert first.fix == second.fix
    only_first = rewrite(Source("a.py", code.encode()), Options(SELECT), lambda one: one.span == first.span)
    assert isinstance(only_first, Changed)
    assert only_first.data.count(b'autocast("cuda")') == 2


@pytest.mark.parametrize("first", [True, False])
def test_refusing_one_name_keeps_the_file_right(first: bool) -> None:
    code = "from torch.cuda.amp import GradScaler, autocast\na = autocast()\nb = GradScaler()\n"
    wanted = "autocast" if first else "GradScaler"
    outcome = rewrite(Source("a.py", code.encode()), Options(SELECT), lambda one: f"amp.{wanted}`" in one.message)
    assert isinstance(outcome, Changed)
    text = outcome.data.decode()
    assert f"from torch.amp import {wanted}\n" in text
    assert f'{wanted}("cuda")' in text
    assert text.count('"cuda"') == 1


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cuda.amp.autocast()", 'amp.autocast("cuda")'),
        ("cuda.amp.autocast(False)", 'amp.autocast("cuda", enabled=False)'),
        ("cuda.amp.autocast(on, half)", 'amp.autocast("cuda", enabled=on, dtype=half)'),
        ("cuda.amp.autocast(on, half, False)", 'amp.autocast("cuda", enabled=on, dtype=half, cache_enabled=False)'),
        ("cuda.amp.autocast(on, dtype=half)", 'amp.autocast("cuda", enabled=on, dtype=half)'),
        ("cuda.amp.autocast(**options)", 'amp.autocast("cuda", **options)'),
        ("cuda.amp.autocast(device_type='cuda')", "amp.autocast(device_type='cuda')"),
        ("cpu.amp.autocast(dtype=half)", 'amp.autocast("cpu", dtype=half)'),
        ("cuda.amp.GradScaler()", 'amp.GradScaler("cuda")'),
        ("cuda.amp.GradScaler(1024.0, 2.0)", 'amp.GradScaler("cuda", 1024.0, 2.0)'),
        ("cuda.amp.GradScaler(*scales, enabled=on)", 'amp.GradScaler("cuda", *scales, enabled=on)'),
        ("cuda.amp.grad_scaler.GradScaler()", 'amp.GradScaler("cuda")'),
        ("cpu.amp.GradScaler()", 'amp.GradScaler("cpu")'),
        ("cuda.amp.custom_bwd(f)", 'amp.custom_bwd(f, device_type="cuda")'),
    ],
)
def test_dotted_calls_are_mapped_by_signature(before: str, after: str) -> None:
    double = 'name = ["a", "b"]\n'
    assert fixed(f"import torch as th\n{double}x = th.{before}\n") == f"import torch as th\n{double}x = th.{after}\n"


def test_decorators() -> None:
    code = """
        import torch
        from torch.cuda.amp import autocast, custom_bwd, custom_fwd

        class Function(torch.autograd.Function):
            @staticmethod
            @custom_fwd(cast_inputs=torch.float32)
            def forward(ctx, x):
                return x

            @staticmethod
            @custom_bwd
            def backward(ctx, g):
                return g

        class Net(torch.nn.Module):
            @autocast(enabled=False)
            def forward(self, x):
                return x

            @torch.cuda.amp.autocast()
            def predict(self, x):
                return x
    """
    text = fixed(code)
    assert "from torch.amp import autocast, custom_bwd, custom_fwd" in text
    assert '@custom_fwd(device_type="cuda", cast_inputs=torch.float32)' in text
    assert '@custom_bwd(device_type="cuda")' in text
    assert '@autocast("cuda", enabled=False)' in text
    assert '@torch.amp.autocast("cuda")' in text


def test_an_alias_stays() -> None:
    code = "from torch.cuda.amp import autocast as mixed\nwith mixed(True):\n    pass\n"
    assert fixed(code) == 'from torch.amp import autocast as mixed\nwith mixed("cuda", enabled=True):\n    pass\n'


def test_a_module_imported_as_amp_becomes_the_new_module() -> None:
    code = "from torch.cuda import amp\nscaler = amp.GradScaler()\nwith amp.autocast():\n    pass\n"
    assert fixed(code) == (
        'from torch import amp\nscaler = amp.GradScaler("cuda")\nwith amp.autocast("cuda"):\n    pass\n'
    )
    code = "import torch.cuda.amp as amp\nwith amp.autocast():\n    pass\n"
    assert fixed(code) == 'import torch.amp as amp\nwith amp.autocast("cuda"):\n    pass\n'


def test_a_module_with_other_uses_stays_and_the_calls_go_through_torch() -> None:
    code = "from torch.cuda import amp\nwith amp.autocast():\n    register(amp)\n"
    text = fixed(code)
    assert "import torch\n" in text
    assert "from torch.cuda import amp\n" in text
    assert 'with torch.amp.autocast("cuda"):' in text


def test_annotations_only_change_their_name() -> None:
    code = """
        import torch
        from typing import Optional
        def step(scaler: Optional[torch.cuda.amp.GradScaler] = None) -> torch.cuda.amp.GradScaler:
            kept: torch.cuda.amp.GradScaler | None = scaler
    """
    text = fixed(code)
    assert "Optional[torch.amp.GradScaler] = None) -> torch.amp.GradScaler:" in text
    assert "kept: torch.amp.GradScaler | None = scaler" in text


def test_an_isinstance_test_of_a_scaler_made_elsewhere_is_told_only() -> None:
    code = "from torch.cuda.amp import GradScaler\ndef f(s):\n    return isinstance(s, (int, GradScaler))\n"
    (finding,) = findings(code)
    assert finding.fix is None
    assert finding.advice is not None
    assert "does not warn" in finding.advice


def test_an_isinstance_test_of_a_scaler_made_elsewhere_is_unsafe_where_torch_is_new_enough() -> None:
    code = "from torch.cuda.amp import GradScaler\ndef f(s):\n    return isinstance(s, (int, GradScaler))\n"
    options = Options(frozenset({"DVF302"}), unsafe=True, target_torch=(2, 3))
    outcome = rewrite(Source("train.py", code.encode()), options)
    assert isinstance(outcome, Changed)
    assert b"from torch.amp import GradScaler" in outcome.data
    assert [one.fix.safety for one in outcome.fixed if one.fix] == [Safety.UNSAFE]


def test_an_isinstance_test_and_what_it_tests_change_together() -> None:
    code = "import torch\ns = torch.cuda.amp.GradScaler()\nassert isinstance(s, torch.cuda.amp.GradScaler)\n"
    first, second = findings(code)
    assert first.fix == second.fix
    assert fixed(code) == 'import torch\ns = torch.amp.GradScaler("cuda")\nassert isinstance(s, torch.amp.GradScaler)\n'


def test_inside_of_an_autocast_with_another_dtype_the_fix_is_unsafe() -> None:
    code = """
        import torch
        with torch.autocast("cuda", dtype=torch.bfloat16):
            with torch.cuda.amp.autocast():
                run()
            with torch.cuda.amp.autocast(enabled=False):
                run()
            with torch.cuda.amp.autocast(dtype=torch.float16):
                run()
    """
    safeties = [one.fix.safety for one in findings(code) if one.fix]
    assert safeties == [Safety.UNSAFE, Safety.SAFE, Safety.SAFE]


@pytest.mark.parametrize("other", ["autocast()", "autocast(*options)"])
def test_a_fix_holds_where_one_that_says_the_same_is_left_in_its_line(other: str) -> None:
    head = "import torch\nfrom torch.cuda.amp import autocast\n"
    program = f"{head}with torch.cuda.amp.autocast(True, half), {other}:\n    run()\n"
    after = program.replace(
        "torch.cuda.amp.autocast(True, half)", 'torch.amp.autocast("cuda", enabled=True, dtype=half)'
    )
    assert fixed(program) == after


def test_a_class_that_is_called_later_with_keywords_alone_becomes_a_partial() -> None:
    code = """
        import torch
        from contextlib import nullcontext
        def train(use_amp):
            context = torch.cuda.amp.autocast if use_amp else nullcontext
            with context():
                run()
    """
    text = fixed(code)
    assert "from functools import partial\n" in text
    assert 'context = partial(torch.amp.autocast, "cuda") if use_amp else nullcontext' in text


def test_a_class_that_is_called_later_with_positions_is_left_alone() -> None:
    code = """
        import torch
        def train(use_amp):
            context = torch.cuda.amp.autocast
            with context(use_amp):
                run()
            send(context)
    """
    assert [one.fix for one in findings(code)] == [None]


def test_partials_take_the_type_where_no_position_can_follow() -> None:
    code = """
        import torch
        from functools import partial
        model = Wrapper(partial(torch.cuda.amp.autocast, enabled=True, dtype=torch.half))
    """
    assert 'partial(torch.amp.autocast, "cuda", enabled=True, dtype=torch.half)' in fixed(code)
    code = "import torch\nfrom functools import partial\nf(partial(torch.cuda.amp.autocast, dtype=torch.half))\n"
    (finding,) = findings(code)
    assert finding.fix is not None
    assert finding.fix.safety is Safety.UNSAFE
    assert 'partial(torch.amp.autocast, "cuda", dtype=torch.half)' in fixed(code, unsafe=True)


def test_many_lines_keep_their_layout() -> None:
    code = """\
        from torch.cuda.amp import (
            autocast,  # context
            GradScaler,
        )

        scaler = GradScaler(
            init_scale=1024.0,  # small
            enabled=use_amp,
        )
        with autocast(): pass
    """
    text = fixed(code)
    assert text.startswith("from torch.amp import (\n    autocast,  # context\n    GradScaler,\n)\n")
    assert "    init_scale=1024.0,  # small\n    enabled=use_amp,\n)" in text


def test_the_quotes_of_the_file() -> None:
    assert "autocast('cuda')" in fixed("from torch.cuda.amp import autocast\na = 'x'\nb = autocast()\n")


def test_calls_inside_calls() -> None:
    code = "import torch\nx = torch.cuda.amp.autocast()(torch.cuda.amp.GradScaler(init_scale=f(1)))\n"
    assert 'torch.amp.autocast("cuda")(torch.amp.GradScaler("cuda", init_scale=f(1)))' in fixed(code)


@pytest.mark.parametrize(
    ("use", "since"),
    [("autocast()", (1, 12)), ("GradScaler()", (2, 3)), ("custom_bwd(f)", (2, 4))],
)
def test_an_older_target_gets_advice(use: str, since: tuple[int, int]) -> None:
    code = f"import torch\ntorch.cuda.amp.{use}\n"
    assert findings(code, target=since)[0].fix is not None
    before = (since[0], since[1] - 1)
    assert findings(code, target=before)[0].fix is None


FALLBACK = """
    import torch
    def make(kind):
        try:
            {tried}
        except {caught}:
            return torch.cuda.amp.GradScaler(enabled=kind == "cuda")
"""


@pytest.mark.parametrize("caught", ["Exception", "(RuntimeError, ValueError)", "BaseException as error"])
@pytest.mark.parametrize(
    "tried",
    ["return torch.amp.GradScaler(kind)", "return torch.GradScaler(kind)", "with torch.autocast(kind): return 3"],
)
def test_what_is_left_where_the_new_name_failed(tried: str, caught: str) -> None:
    assert findings(FALLBACK.format(tried=tried, caught=caught)) == ()


def test_a_handler_of_something_else() -> None:
    code = FALLBACK.format(tried="return load(kind)", caught="Exception")
    assert 'torch.amp.GradScaler("cuda", enabled=kind == "cuda")' in fixed(code)


SAME_NAMES = """
    import torch
    import lib.torch as other
    def test_state():
        assert torch.cuda.amp.GradScaler().state_dict() == other.cuda.amp.GradScaler().state_dict()
"""


def test_a_test_that_compares_the_old_names_of_two_libraries_keeps_them() -> None:
    assert not findings(SAME_NAMES, "tests/test_scaler.py")
    assert findings(SAME_NAMES, "scaler.py")


def test_a_test_of_the_old_names_keeps_them() -> None:
    code = """
class TestAmp:
    \"\"\"Test {} under the patch.\"\"\"
    def test_scaler(self):
        from torch.cuda.amp import GradScaler
        assert GradScaler() is not None
"""
    assert not findings(code.format("torch.cuda.amp"), "tests/test_patch.py")
    assert findings(code.format("the scaler"), "tests/test_patch.py")
    assert findings(code.format("torch.cuda.amp"), "patch.py")


def test_a_benchmark_that_tells_of_the_old_names_takes_the_new_ones() -> None:
    code = """
import torch

def evaluate(model, x, precision):
    \"\"\"Scores of a model.

    precision: what torch.cuda.amp.autocast() takes
    \"\"\"
    with torch.cuda.amp.autocast(dtype=precision):
        return model(x)
"""
    assert findings(code, "src/bench/benchmark.py")


def test_a_test_under_another_name_of_torch_takes_the_new_names() -> None:
    code = "import torch as T\nscaler = T.cuda.amp.GradScaler()\n"
    assert findings(code, "tests/test_scaler.py")


@pytest.mark.parametrize(
    "given",
    ["x.device.type, enabled=on", "device_type, enabled=on", "'cuda'", "device_type=x.device.type, enabled=on"],
)
def test_a_call_that_gives_the_device_type_already(given: str) -> None:
    head = "from torch.cuda.amp import autocast\n"
    program = f"{head}def f(x, device_type, on):\n    with autocast({given}):\n        g(x)\n"
    assert fixed(program) == program.replace("torch.cuda.amp", "torch.amp")


@pytest.mark.parametrize("given", ["'cpu'", "x.device.type", "device_type, torch.bfloat16"])
def test_another_device_type_was_taken_for_true_by_the_old_name(given: str) -> None:
    head = "import torch\nfrom torch.cuda.amp import autocast\n"
    program = f"{head}def f(x, device_type):\n    with autocast({given}):\n        g(x)\n"
    assert [one.fix.safety for one in findings(program) if one.fix] == [Safety.UNSAFE]
    assert fixed(program, unsafe=True) == program.replace("torch.cuda.amp", "torch.amp")


@pytest.mark.parametrize(
    "on", ["on", "'cuda' == x.device.type", "'cuda' in x.device.type", "not x.on_device_type", "on and x.device.type"]
)
def test_a_call_that_says_nothing_of_a_device(on: str) -> None:
    program = f"from torch.cuda.amp import autocast\ndef f(x, on):\n    with autocast({on}):\n        g(x)\n"
    assert f"with autocast('cuda', enabled={on}):" in fixed(program).replace('"', "'")


PUT_OFF = """
import contextlib
import torch


def context(use, dtype):
    if use:
        {comment}
        manager = torch.cpu.amp.autocast(dtype=dtype)
    else:
        manager = contextlib.nullcontext()
    return manager
"""


@pytest.mark.parametrize(
    "comment",
    [
        "# torch.amp.autocast('cpu') is preferred, but unavailable\n        # on torch 2.1: we can change this later",
        "# use torch.amp.autocast once we drop torch 1.9",
    ],
)
def test_a_comment_that_puts_it_off(comment: str) -> None:
    assert [one.fix for one in findings(PUT_OFF.format(comment=comment))] == [None]
    assert [one.fix for one in findings("page = 1\n\f\n\n" + PUT_OFF.format(comment=comment))] == [None]


@pytest.mark.parametrize(
    "comment", ["# the same as torch.amp.autocast('cpu')", "# unavailable until 2.1\n        use = 1", "pass"]
)
def test_a_comment_that_does_not(comment: str) -> None:
    assert [one.fix is not None for one in findings(PUT_OFF.format(comment=comment))] == [True]


@pytest.mark.parametrize(
    ("code", "safety"),
    [
        (
            "def f():\n    with torch.autocast('cuda', torch.bfloat16):\n        with torch.cuda.amp.autocast(): f()\n",
            Safety.UNSAFE,
        ),
        (
            "@torch.autocast('cuda', dtype=torch.bfloat16)\ndef f():\n    with torch.cuda.amp.autocast(): f()\n",
            Safety.UNSAFE,
        ),
        ("with torch.autocast('cuda', torch.half), torch.cuda.amp.autocast(): run()\n", Safety.UNSAFE),
        ("with torch.cuda.amp.autocast(), torch.autocast('cuda', dtype=torch.half): run()\n", Safety.SAFE),
        ("@torch.no_grad()\ndef f():\n    with torch.cuda.amp.autocast(): run()\n", Safety.SAFE),
        (
            "outer = torch.autocast('cuda', dtype=half)\nwith outer:\n    with torch.cuda.amp.autocast(): run()\n",
            Safety.UNSAFE,
        ),
        (
            "with torch.autocast('cuda', dtype=half) if on else off:\n    with torch.cuda.amp.autocast(): run()\n",
            Safety.UNSAFE,
        ),
        ("with torch.autocast('cuda', **said):\n    with torch.cuda.amp.autocast(): run()\n", Safety.UNSAFE),
        ("torch.set_autocast_gpu_dtype(half)\nwith torch.cuda.amp.autocast(): run()\n", Safety.UNSAFE),
        ("torch.set_autocast_gpu_dtype(half)\nwith torch.cuda.amp.autocast(dtype=half): run()\n", Safety.SAFE),
        ("outer = torch.autocast('cuda')\nwith outer:\n    with torch.cuda.amp.autocast(): run()\n", Safety.SAFE),
        ("with outer(dtype=half):\n    with torch.cuda.amp.autocast(): run()\n", Safety.SAFE),
    ],
    ids=[
        *("by position", "around the function", "before it in one with", "after it in one with", "another decorator"),
        *("under a name", "in a branch", "by a mapping", "by default", "its own", "none", "another context"),
    ],
)
def test_the_dtype_of_an_autocast_around_it(code: str, safety: Safety) -> None:
    assert [one.fix.safety for one in findings(f"import torch\n{code}") if one.fix] == [safety]


def test_an_attribute_of_a_class_in_a_function_is_no_local_name() -> None:
    code = """
        import torch
        def make():
            class Trainer:
                context = torch.cuda.amp.autocast
                def step(self):
                    with self.context(True):
                        run()
            return Trainer
    """
    assert [one.fix for one in findings(code)] == [None]
