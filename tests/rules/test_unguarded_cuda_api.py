"""DVF502: calls that need CUDA, where nothing asks whether it is there."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF502"

SILENT = {
    "a loop over what is on CUDA": """
        import torch
        def wait(stages, device):
            for one in {stage.device for stage in stages if stage.device.type == "cuda"}:
                torch.cuda.synchronize(one)
    """,
    "a loop over a name for what is on CUDA": """
        import torch
        def wait(stages, device):
            cards = [stage.device for stage in stages if stage.device.type == "cuda"]
            for one in cards:
                torch.cuda.synchronize(one)
    """,
    "what does nothing without CUDA": """
        import torch
        def free(device):
            torch.cuda.empty_cache()
            torch.cuda.manual_seed_all(0)
            print(torch.cuda.max_memory_allocated(), torch.cuda.device_count())
    """,
    "a state in a class that cannot do without CUDA": """
        import torch
        class Recomputed(torch.autograd.Function):
            @staticmethod
            def forward(ctx, run, x):
                ctx.state = torch.cuda.get_rng_state()
                return run(x)

            @staticmethod
            def backward(ctx, grad):
                with torch.random.fork_rng(devices=[torch.cuda.current_device()]):
                    torch.cuda.set_rng_state(ctx.state)
                    return None, grad
    """,
    "memory that is pinned before, which needs an accelerator": """
        import torch
        def restore(n, device, ready):
            held = torch.empty(n, pin_memory=True)
            flat = held.to(device, non_blocking=True)
            torch.cuda.synchronize()
            if ready:
                torch.cuda.synchronize()
            return flat
    """,
    "cards that are joined": """
        import torch
        from . import nvshmem
        def run(x, device):
            y = nvshmem.sum(x.to(device))
            torch.cuda.synchronize()
            return y
    """,
    "a state in a function that works on CUDA": """
        import torch
        def warm(n, dtype):
            state = torch.cuda.get_rng_state()
            run(torch.rand((n,), dtype=dtype, device="cuda"))
            torch.cuda.set_rng_state(state)
    """,
    "a wait between events": """
        import torch
        def timed(model, x, device):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            model(x.to(device))
            end.record()
            torch.cuda.synchronize()
            return begin.elapsed_time(end)
    """,
    "figures of the memory that are read by name, which only CUDA keeps": """
        import torch
        def run(model, loader, device):
            peaks = []
            for x in loader:
                torch.cuda.reset_peak_memory_stats(device)
                model(x.to(device))
                peaks.append(torch.cuda.memory_stats(device)["allocated_bytes.all.peak"])
            return peaks
    """,
    "figures of the memory under a name, and one of the card's generators": """
        import torch
        def run(model, x, device):
            torch.cuda.reset_peak_memory_stats()
            seeds = torch.cuda.default_generators
            model(x.to(device))
            figures = torch.cuda.memory_stats()
            return figures["num_ooms"], seeds[0].initial_seed()
    """,
    "under a condition": """
        import torch
        def wait(device):
            if torch.cuda.is_available():
                torch.cuda.synchronize()
    """,
    "under a flag that keeps the answer": """
        import torch
        def timed(model, x):
            device = x.device
            waits = device.type == "cuda"
            y = model(x)
            if waits:
                torch.cuda.synchronize(device)
            return y
    """,
    "under a flag of the module": """
        import torch
        fast = torch.cuda.is_available()
        def wait(device):
            if fast and device is not None:
                torch.cuda.synchronize(device)
    """,
    "after an exit by a flag that keeps the answer": """
        import torch
        def wait(device):
            waits = str(device).startswith("cuda")
            if not waits:
                return
            torch.cuda.synchronize(device)
    """,
    "under a flag of the object": """
        import torch
        class Clock:
            def __init__(self, device):
                self.device = device
                self.waits: bool = device.type == "cuda"
            def now(self):
                if self.waits:
                    torch.cuda.synchronize(self.device)
    """,
    "under a flag": """
        import torch
        def wait(args):
            if args.on_gpu:
                torch.cuda.synchronize(args.device)
    """,
    "the other branch of a condition": """
        import torch
        def wait(device):
            if device.type == "mps":
                torch.mps.synchronize()
            else:
                torch.cuda.synchronize()
    """,
    "behind `and`": """
        import torch
        def wait(device):
            device.type == "cuda" and torch.cuda.synchronize()
    """,
    "after an exit": """
        import torch
        def wait(device):
            if device == "cpu":
                return
            torch.cuda.synchronize()
    """,
    "after an assertion": """
        import torch
        def run(device):
            assert torch.cuda.is_available()
            torch.cuda.synchronize()
    """,
    "where failing is foreseen": """
        import torch
        def wait(device):
            try:
                torch.cuda.synchronize()
            except Exception:
                pass
    """,
    "all callers ask": """
        import torch
        class Timer:
            def __init__(self, device):
                self.device = device
            def _wait(self):
                torch.cuda.synchronize(self.device)
            def stop(self):
                if self.device.type == "cuda":
                    self._wait()
    """,
    "a function for CUDA": """
        import torch
        def wait_for_gpu(device):
            torch.cuda.synchronize(device)
    """,
    "a class for CUDA": """
        import torch
        class CudaTimer:
            def stop(self, device):
                torch.cuda.synchronize(device)
    """,
    "a program that is on CUDA in any case": """
        import torch
        def run(model, x, device):
            y = model(x.cuda())
            torch.cuda.synchronize()
            return y
    """,
    "after the card was chosen": """
        import torch
        def main(rank, device):
            torch.cuda.set_device(rank)
            torch.cuda.synchronize()
    """,
    "a process group of cards": """
        import torch
        import torch.distributed as dist
        def main(device):
            dist.init_process_group("nccl")
            torch.cuda.synchronize()
    """,
    "no other device is spoken of": """
        import torch
        def run(kernel, n):
            kernel(n)
            torch.cuda.synchronize()
    """,
    "a file of kernels": """
        import torch
        import triton
        def run(x, device):
            torch.cuda.synchronize()
    """,
    "a test": """
        import pytest
        import torch
        def run(device):
            torch.cuda.synchronize()
    """,
    "another `cuda`": """
        import torch
        from numba import cuda
        def run(device):
            cuda.synchronize()
    """,
    "the card is chosen": """
        import torch
        def run(device):
            torch.cuda.set_device(device)
    """,
    "a card by number": """
        import torch
        def run(x, index):
            with torch.cuda.device(index):
                return x + 1
    """,
    "the card of a tensor, for a kernel": """
        import torch
        def run(x):
            with torch.cuda.device(x.device):
                kernel[(1,)](x)
    """,
    "the number of a card in a function": """
        import torch
        def name():
            device = torch.cuda.current_device()
            return device
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


@pytest.mark.parametrize("path", ["tests/timing.py", "test_timing.py", "pkg/benchmarks/run.py", "bench_loop.py"])
def test_who_runs_tests_chose_the_machine(path: str) -> None:
    program = b"import torch\ndef run(device):\n    torch.cuda.synchronize()\n"
    assert check(Source(path, program), Options(frozenset({CODE}))) == Checked(())


def test_asks_first(rule) -> None:
    program = "import torch\ndef run(device):\n    go(device)\n    torch.cuda.synchronize(device)\n"
    after = program.replace("    torch.cuda.sync", "    if torch.cuda.is_available():\n        torch.cuda.sync")
    assert rule.fixed(program) == after
    assert rule.finding(program).fix.safety is Safety.SAFE


@pytest.mark.parametrize(
    ("device", "test"),
    [
        ('torch.device("cuda" if torch.cuda.is_available() else "cpu")', 'device.type == "cuda"'),
        ("torch.device(args.device)", 'device.type == "cuda"'),
        ("torch.relu(x).device", 'device.type == "cuda"'),
        ("args.device", "torch.cuda.is_available()"),
        ("args.card", "torch.cuda.is_available()"),
    ],
)
def test_a_device_that_is_given_says_itself_whether_it_is_a_card(rule, device: str, test: str) -> None:
    program = f"""
        import torch
        def run(model, x, args):
            device = {device}
            model(x.to(device))
            torch.cuda.synchronize(device)
    """
    assert f"    if {test}:\n        torch.cuda.synchronize(device)" in rule.fixed(dedent(program))


@pytest.mark.parametrize("given", ["", "torch.device(device)", "x.device.index"])
def test_a_card_that_is_no_name_is_not_asked(rule, given: str) -> None:
    program = f"""
        import torch
        def run(model, x, args):
            device = torch.device("cuda" if args.card else "cpu")
            model(x.to(device))
            torch.cuda.synchronize({given})
    """
    assert "    if torch.cuda.is_available():\n" in rule.fixed(dedent(program))


def test_in_the_words_of_the_file(rule) -> None:
    program = "import torch as th\ndef run(device):\n    th.cuda.synchronize()\n"
    assert "    if th.cuda.is_available():\n        th.cuda.synchronize()\n" in rule.fixed(program)


def test_a_name_of_its_own(rule) -> None:
    program = "import torch\nfrom torch.cuda import synchronize\ndef run(device):\n    synchronize()\n"
    assert "    if torch.cuda.is_available():\n        synchronize()\n" in rule.fixed(program)


def test_a_name_of_its_own_without_torch_at_hand(rule) -> None:
    assert rule.findings("from torch.cuda import synchronize\ndef run(device):\n    synchronize()\n") == ()


def test_in_one_line_with_others(rule) -> None:
    program = "import torch\ndef run(device):\n    a(); torch.cuda.synchronize(); b()\n"
    assert "    a()\n    if torch.cuda.is_available():\n        torch.cuda.synchronize()\n    b()\n" in rule.fixed(
        program
    )


def test_a_state_and_its_return_are_guarded_together(rule) -> None:
    program = """
        import torch
        def sample(seed):
            state = torch.cuda.get_rng_state()
            draw(seed)
            torch.cuda.set_rng_state(state)
    """
    expected = """
        import torch
        def sample(seed):
            if torch.cuda.is_available():
                state = torch.cuda.get_rng_state()
            draw(seed)
            if torch.cuda.is_available():
                torch.cuda.set_rng_state(state)
    """
    assert rule.fixed(program) == dedent(expected)


@pytest.mark.parametrize(
    "pinned", ["if pin:\n        x = x.pin_memory()", "loader = torch.utils.data.DataLoader(x, pin_memory=True)"]
)
def test_memory_that_may_be_pinned_needs_no_accelerator(rule, pinned: str) -> None:
    program = (
        f"import torch\ndef run(x, device, pin):\n    {pinned}\n    torch.cuda.synchronize()\n    return x.to(device)\n"
    )
    assert "is_available()" in rule.fixed(program)


@pytest.mark.parametrize(
    "read",
    [
        'torch.cuda.memory_stats(device).get("num_ooms", 0)',
        "dict(torch.cuda.memory_stats(device))",
        'torch.cuda.memory_stats(device)["num_ooms"] if torch.cuda.is_available() else 0',
    ],
)
def test_figures_that_may_be_missing_need_no_card(rule, read: str) -> None:
    program = f"""
        import torch
        def run(model, x, device):
            torch.cuda.reset_peak_memory_stats()
            model(x.to(device))
            return {read}
    """
    assert "    if torch.cuda.is_available():\n        torch.cuda.reset_peak" in rule.fixed(dedent(program))


def test_a_flag_that_asks_for_no_device_guards_nothing(rule) -> None:
    program = """
        import torch
        def run(model, x, device):
            y = model(x.to(device))
            late = y.sum() > 0
            if late and y:
                torch.cuda.synchronize()
            return y
    """
    assert "is_available()" in rule.fixed(program)


def test_a_flag_of_another_function_guards_nothing(rule) -> None:
    program = """
        import torch
        def other(device):
            late = device.type == "cuda"
            return late
        def run(model, x, device, late):
            y = model(x.to(device))
            if late:
                torch.cuda.synchronize()
            return y
    """
    assert "is_available()" in rule.fixed(program)


def test_a_state_that_goes_elsewhere_is_only_told(rule) -> None:
    program = """
        import torch
        def states():
            state = torch.cuda.get_rng_state()
            return {"cuda": state}
    """
    finding = rule.finding(program)
    assert finding.fix is None
    assert finding.advice == "ask `torch.cuda.is_available()` first"


def test_a_state_that_another_method_gives_back_by_itself_is_only_told(rule) -> None:
    program = """
        import torch
        class Again(torch.autograd.Function):
            @staticmethod
            def forward(ctx, run, *args):
                ctx.state = torch.cuda.get_rng_state()
                return run(*args)
            @staticmethod
            def backward(ctx, *args):
                give_back(ctx.state)
    """
    assert rule.finding(program).fix is None


@pytest.mark.parametrize("read", ["torch.save(state, path)", "return state"])
def test_a_state_that_only_another_function_gives_back_is_only_told(rule, read: str) -> None:
    program = f"""
        import torch
        def keep(path):
            state = torch.cuda.get_rng_state()
            {read}
        def give_back(state):
            torch.cuda.set_rng_state(state)
    """
    assert rule.finding(program).fix is None


def test_a_state_that_is_read_under_another_name_is_only_told(rule) -> None:
    program = """
        import torch
        def sample(seed, kept):
            state = saved = torch.cuda.get_rng_state()
            draw(seed)
            torch.cuda.set_rng_state(state)
            kept.append(saved)
    """
    assert rule.finding(program).fix is None


def test_another_state_of_that_name_stays_as_it_is(rule) -> None:
    program = """
        import torch
        def sample(seed):
            state = torch.cuda.get_rng_state()
            draw(seed)
            torch.cuda.set_rng_state(state)
        def give_back(state):
            torch.cuda.set_rng_state(state)
    """
    assert rule.fixed(program).endswith("def give_back(state):\n    torch.cuda.set_rng_state(state)\n")


def test_the_current_card_of_a_script(rule) -> None:
    program = "import torch\ndevice = torch.cuda.current_device()\nx = torch.ones(2).to(device)\n"
    after = rule.unchanged_unless_unsafe(program)
    assert 'device = torch.cuda.current_device() if torch.cuda.is_available() else "cpu"\n' in after


def test_the_card_of_a_tensor(rule) -> None:
    program = "import torch\ndef norm(x):\n    with torch.cuda.device(x.device):\n        return x / x.norm()\n"
    assert rule.fixed(program) == program.replace("device(x.device)", "device_of(x)")


@pytest.mark.parametrize("use", ["net(x)", "net.run(x)", "start(net, x)"])
def test_what_has_a_device_and_may_be_no_tensor_is_not_followed_unasked(rule, use: str) -> None:
    program = f"import torch\ndef run(net, x):\n    with torch.cuda.device(net.device):\n        return {use}\n"
    assert rule.safeties(program) == [Safety.UNSAFE]


def test_the_card_of_a_module_is_only_told(rule) -> None:
    program = """
        import torch
        def run(net: torch.nn.Module, x):
            with torch.cuda.device(net.device):
                return net(x)
    """
    assert rule.finding(program).fix is None
    assert rule.finding(program).advice == "ask `torch.cuda.is_available()` first"


@pytest.mark.parametrize("x", ["x: torch.Tensor", "x"])
def test_the_card_of_what_surely_is_a_tensor(rule, x: str) -> None:
    program = f"""
        import torch
        def run({x}, step):
            rows = x.size(0)
            with torch.cuda.device(x.device):
                return step(x, rows)
    """
    assert rule.safeties(program) == [Safety.SAFE]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("assert torch.cuda.is_available()", 0),
        ("if not torch.cuda.is_available():\n            sys.exit(1)", 0),
        ("print(torch.cuda.is_available())", 1),
        ("if not torch.cuda.is_available():\n            print('slow')", 1),
    ],
)
def test_what_holds_where_a_function_is_defined(rule, line: str, told: int) -> None:
    program = f"""
        import sys
        import torch
        {line}
        class Timer:
            def stop(self, device):
                torch.cuda.synchronize()
                return self.total.to(device)
    """
    assert len(rule.findings(program)) == told


def test_a_call_over_several_lines_keeps_its_layout(rule):
    call = "    torch.cuda.synchronize(\n        device,  # the card\n    )\n"
    program = f"import torch\ndef run(device):\n    a()\n{call}    b()\n"
    guarded = "    if torch.cuda.is_available():\n" + "".join(f"    {line}\n" for line in call.splitlines())
    assert rule.fixed(program) == program.replace(call, guarded)


@pytest.mark.parametrize(
    ("caught", "count"), [("RuntimeError", 0), ("(KeyboardInterrupt, Exception)", 0), ("KeyboardInterrupt", 1)]
)
def test_a_try_that_waits_for_the_keyboard_guards_nothing(rule, caught: str, count: int) -> None:
    text = f"""
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(3, 3).to(device)
        try:
            model(torch.zeros(3, device=device)).sum().backward()
            torch.cuda.synchronize()
        except {caught}:
            print("stopped")
    """
    assert len(rule.findings(text)) == count
