"""`torch.cuda` and `torch.accelerator` under the simulation: what scripts ask of them, and what they set."""

from typing import Any

import pytest

from .conftest import Simulate
from .tables import assert_errors, assert_values

IMPORT = "import torch\n"

# What a script asks before it uses the device; none of it may create a context.
QUERIES = {
    "torch.cuda.is_available()": True,
    "torch.cuda.device_count()": 1,
    "torch.cuda.is_initialized()": False,
    "torch.backends.cuda.is_built()": True,
    "torch.backends.cudnn.is_available()": True,
    "torch.backends.cudnn.enabled": True,
    "torch.backends.cudnn.version() > 90000": True,
    "torch.version.cuda.split('.')[0] in ('12', '13')": True,
    "torch.version.hip": None,
    "'sm_80' in torch.cuda.get_arch_list()": True,
    "torch.cuda.get_gencode_flags().startswith('-gencode compute=')": True,
    "torch.cuda.is_initialized() ": False,
    "torch.cuda.init()": None,
    "torch.cuda.is_initialized()  ": True,
    "torch.cuda.current_device()": 0,
    "torch.cuda.get_device_capability()": (8, 0),
    "torch.cuda.get_device_capability('cuda:0')": (8, 0),
    "type(torch.cuda.get_device_name(0)).__name__": "str",
    "torch.cuda.get_device_properties(torch.device('cuda')).total_memory >> 30": 80,
    "torch.cuda.get_device_properties(0).multi_processor_count > 0": True,
    "torch.cuda.get_device_properties(0) is torch.cuda.get_device_properties('cuda')": True,
    "'total_memory=81920MB' in repr(torch.cuda.get_device_properties(0))": True,
    "torch.cuda.is_bf16_supported()": True,
    "torch.cuda.can_device_access_peer(0, 0)": False,
    "torch.cuda.get_sync_debug_mode()": 0,
    "torch.cuda.synchronize()": None,
    "torch.cuda.synchronize('cuda:0')": None,
    "torch.cuda.ipc_collect()": None,
    "torch.cuda.empty_cache()": None,
    "torch.cuda.nvtx.range_push('step')": 0,
    "torch.cuda.nvtx.range_pop()": 0,
    "torch.cuda.nvtx.mark('here')": None,
    "torch.get_device_module('cuda').__name__": "torch.cuda",
    "torch.get_device_module().__name__": "torch.cuda",
    "torch.get_device_module(torch.device('cuda:0')).__name__": "torch.cuda",
    "torch.cuda.nccl.is_available([])": False,
    "torch.cuda.cudart().cudaProfilerStart()": 0,
    "torch.cuda.cudart().cudaError(2) == torch.cuda.cudart().cudaError.success": False,
    "torch.cuda.is_current_stream_capturing()": False,
    "torch.cuda.get_allocator_backend()": "native",
    "torch.utils.collect_env.__name__": "torch.utils.collect_env",
}

SETTINGS = """
import torch, torch.utils.collect_env
"""

ACCELERATOR = {
    "torch.accelerator.is_available()": True,
    "torch.accelerator.device_count()": 1,
    "str(torch.accelerator.current_accelerator())": "cuda",
    "str(torch.accelerator.current_accelerator(check_available=True))": "cuda",
    "torch.cuda.is_initialized()": False,
    "torch.accelerator.current_device_index()": 0,
    "torch.accelerator.set_device_index(0)": None,
    "torch.accelerator.synchronize()": None,
    "torch.accelerator.current_stream().device.type": "cuda",
    "str(torch.ones(2, device=torch.accelerator.current_accelerator()).device)": "cuda:0",
}

ACCELERATOR_MEMORY = {
    "torch.accelerator.memory_allocated()": 4096,
    "torch.accelerator.max_memory_allocated() >= 4096": True,
    "torch.accelerator.memory_reserved() >= 4096": True,
    "torch.accelerator.reset_peak_memory_stats()": None,
    "torch.accelerator.empty_cache()": None,
    "torch.accelerator.get_memory_info()[1] >> 30": 80,
}

STREAMS = {
    "torch.cuda.current_stream() == torch.cuda.default_stream()": True,
    "stream == torch.cuda.current_stream()": False,
    "inside(torch.cuda.stream(stream))": True,
    "inside(stream)": True,
    "torch.cuda.current_stream() == torch.cuda.default_stream() ": True,
    "str(stream.device)": "cuda:0",
    "stream.query()": True,
    "stream.synchronize()": None,
    "stream.wait_stream(torch.cuda.current_stream())": None,
    "stream.wait_event(stream.record_event())": None,
    "isinstance(stream, torch.Stream)": True,
    "issubclass(torch.cuda.Stream, torch.Stream)": True,
    "issubclass(torch.cuda.Event, torch.Event)": True,
    "isinstance(start, type('Own', (torch.Stream,), {}))": False,
    "torch.cuda.ExternalStream(stream.cuda_stream) == stream": True,
    "torch.cuda.Stream(device='cuda:0', priority=-1).priority": -1,
    "torch.cuda.Stream(priority=-100).priority": -3,
    "torch.cuda.Stream.priority_range()": (0, -3),
    "torch.cuda.default_stream().cuda_stream": 0,
    "len({stream, stream, torch.cuda.Stream()})": 2,
    "start.elapsed_time(end) > 0": True,
    "end.query()": True,
    "end.synchronize()": None,
    "end.wait()": None,
    "str(start.device)": "cuda:0",
    "isinstance(start, torch.Event)": True,
    "str(torch.Stream('cuda').device)": "cuda:0",
    "str(torch.Stream(0).device)": "cuda:0",
    "isinstance(torch.Stream('cuda'), torch.Stream)": True,
    "isinstance(torch.Stream('cpu'), torch.Stream)": True,
    "torch.Event('cuda').record()": None,
    "torch.ones(2, device='cuda').record_stream(stream)": None,
}

STREAM_SETTING = """
import time, torch
stream = torch.cuda.Stream()
start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
start.record()
time.sleep(0.001)
end.record(torch.cuda.current_stream())

def inside(context):
    with context:
        return torch.cuda.current_stream() == stream
"""

STREAM_ERRORS = {
    "torch.cuda.Event().elapsed_time(torch.cuda.Event())": (
        "ValueError: Both events must be created with argument 'enable_timing=True'."
    ),
    "start.elapsed_time(torch.cuda.Event(enable_timing=True))": (
        "ValueError: Both events must be recorded before calculating elapsed time."
    ),
}

MEMORY = {
    "torch.cuda.memory_allocated()": 4096 + 512,
    "torch.cuda.memory_allocated('cuda:0')": 4096 + 512,
    "torch.cuda.memory_reserved()": 4096 + 512,
    "del_(kept, 'large')": None,
    "torch.cuda.memory_allocated() ": 512,
    "torch.cuda.max_memory_allocated()": 4096 + 512,
    "torch.cuda.reset_peak_memory_stats()": None,
    "torch.cuda.max_memory_allocated() ": 512,
    "torch.cuda.memory_stats()['allocated_bytes.all.freed']": 4096,
    "torch.cuda.memory_stats()['requested_bytes.all.current']": 40,
    "torch.cuda.memory_stats()['allocation.all.current']": 1,
    "torch.cuda.memory_stats()['num_ooms']": 0,
    "'Allocated memory' in torch.cuda.memory_summary()": True,
    "'Allocated memory' in torch.cuda.memory_summary(abbreviated=True)": True,
    "type(torch.cuda.memory_snapshot()).__name__": "list",
    "torch.cuda.mem_get_info()[1] - torch.cuda.mem_get_info()[0]": 512,
    "torch.cuda.set_per_process_memory_fraction(0.5)": None,
    "torch.cuda.reset_accumulated_memory_stats()": None,
    "sums()": [512, 0, 0],
    "kept.update(another=torch.ones(3, device='cuda'))": None,
    "torch.cuda.memory_stats()['allocated_bytes.all.allocated'] ": 512,
    "kept.clear() or views.clear()": None,
    "sums() ": [0, 512, 1024],
}

MEMORY_SETTING = """
import torch
kept = {"large": torch.ones(1024, device="cuda"), "small": torch.ones(10, device="cuda"), "host": torch.ones(9999)}
views = [kept["small"][:3], kept["small"].t()]
nothing = torch.ones(0, 3, device="cuda")
def del_(holder, key):
    del holder[key]
def sums():
    found = torch.cuda.memory_stats()
    return [found[f"allocated_bytes.all.{what}"] for what in ("current", "allocated", "freed")]
"""

SEEDS = {
    "drawn_twice(lambda: torch.cuda.manual_seed(3))": True,
    "drawn_twice(lambda: torch.cuda.manual_seed_all(4))": True,
    "drawn_twice(lambda: torch.manual_seed(5))": True,
    "torch.cuda.initial_seed()": 5,
    "drawn_twice(lambda state=torch.cuda.get_rng_state(): torch.cuda.set_rng_state(state))": True,
    "drawn_twice(lambda states=torch.cuda.get_rng_state_all(): torch.cuda.set_rng_state_all(states))": True,
    "str(torch.cuda.get_rng_state().device)": "cpu",
    "torch.cuda.seed()": None,
    "torch.cuda.seed_all()": None,
    "len(torch.cuda.default_generators)": 1,
    "str(torch.cuda.default_generators[0].device)": "cuda:0",
    "isinstance(torch.cuda.default_generators[0], torch.Generator)": True,
}

SEED_SETTING = """
import torch
def drawn_twice(seed):
    seed()
    first = torch.rand(3, device="cuda")
    seed()
    return torch.equal(first, torch.rand(3, device="cuda"))
"""

TWO_DEVICES = {
    "torch.cuda.device_count()": 2,
    "torch.cuda.set_device(1)": None,
    "torch.cuda.current_device()": 1,
    "str(torch.ones(2).cuda().device)": "cuda:1",
    "str(torch.ones(2, device='cuda').device)": "cuda:1",
    "in_context(torch.cuda.device(0))": ("cuda:0", "cuda:1"),
    "in_context(torch.cuda.device('cuda:0'))": ("cuda:0", "cuda:1"),
    "in_context(torch.cuda.device(None))": ("cuda:1", "cuda:1"),
    "in_context(torch.cuda.device_of(torch.ones(1, device='cuda:0')))": ("cuda:0", "cuda:1"),
    "in_context(torch.cuda.device_of(torch.ones(1)))": ("cuda:1", "cuda:1"),
    "torch.cuda.set_device(-1)": None,
    "torch.cuda.set_device('cuda:0')": None,
    "torch.cuda.current_device() ": 0,
    "in_thread()": 0,
    "torch.cuda.current_device()  ": 0,
    "str(torch.cuda.current_stream(1).device)": "cuda:1",
    "str(torch.cuda.Stream(device=1).device)": "cuda:1",
    "on_stream_of(1)": ("cuda:1", "cuda:0"),
    "torch.cuda.memory_allocated(1)": 512,
    "torch.cuda.can_device_access_peer(0, 1)": True,
    "len(torch.cuda.get_rng_state_all())": 2,
}

TWO_DEVICE_SETTING = """
import threading, torch
kept = torch.ones(1, device="cuda:1")
def here():
    return str(torch.ones(1).cuda().device)
def in_context(context):
    with context:
        inside = here()
    return inside, here()
def on_stream_of(index):
    return in_context(torch.cuda.stream(torch.cuda.Stream(device=index)))
def in_thread():
    found = []
    thread = threading.Thread(target=lambda: (found.append(torch.cuda.current_device()), torch.cuda.set_device(1)))
    thread.start()
    thread.join()
    return found[0]
"""

ERRORS = {
    "torch.cuda.set_device(2)": "AcceleratorError: CUDA error: invalid device ordinal",
    "torch.cuda.get_device_properties(2)": "AssertionError: Invalid device id",
    "torch.cuda.get_device_name('cpu')": "ValueError: Expected a cuda device, but got: cpu",
    "torch.cuda.set_device('cuda')": "ValueError: Expected a torch.device with a specified index or an integer",
}


@pytest.mark.parametrize(
    ("setting", "expected", "devices"),
    [
        pytest.param(SETTINGS, QUERIES, 1, id="queries"),
        pytest.param(STREAM_SETTING, STREAMS, 1, id="streams"),
        pytest.param(MEMORY_SETTING, MEMORY, 1, id="memory"),
        pytest.param(SEED_SETTING, SEEDS, 1, id="seeds"),
        pytest.param(TWO_DEVICE_SETTING, TWO_DEVICES, 2, id="two devices"),
        pytest.param(IMPORT, ACCELERATOR, 1, id="accelerator"),
        pytest.param(IMPORT + "kept = torch.ones(1024, device='cuda')", ACCELERATOR_MEMORY, 1, id="its memory"),
    ],
)
def test_what_scripts_ask(simulate: Simulate, setting: str, expected: dict[str, Any], devices: int) -> None:
    assert_values(simulate, setting, expected, devices)


def test_seeding_before_use_leaves_the_device_with_the_random_numbers_of_the_host(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        torch.manual_seed(0)
        torch.cuda.manual_seed_all(0)
        first = torch.rand(2)
        keep("initialised", torch.cuda.is_initialized())
        keep("device", torch.rand(2, device="cuda").tolist())
        torch.manual_seed(0)
        keep("host", torch.rand(4)[2:].tolist())
        """
    )
    assert result.values["device"] == result.values["host"]
    assert result.values["initialised"] is False


def test_switches_of_libraries_are_kept(simulate: Simulate) -> None:
    assert_values(
        simulate,
        """
        import torch
        torch.backends.cudnn.benchmark = True
        torch.backends.cudnn.deterministic = True
        torch.backends.cuda.matmul.allow_tf32 = True
        torch.backends.cuda.enable_flash_sdp(False)
        torch.cuda.set_sync_debug_mode("warn")
        torch.set_float32_matmul_precision("high")
        from torch.nn.attention import SDPBackend, sdpa_kernel
        attend = torch.nn.functional.scaled_dot_product_attention
        query = torch.randn(1, 2, 4, 8, device="cuda")
        def attention(backend):
            with sdpa_kernel(backend):
                return str(attend(query, query, query).device), torch.backends.cuda.math_sdp_enabled()
        def without_cudnn():
            with torch.backends.cudnn.flags(enabled=False):
                return torch.backends.cudnn.enabled
        """,
        {
            "torch.backends.cudnn.benchmark": True,
            "torch.backends.cudnn.deterministic": True,
            "without_cudnn()": False,
            "torch.backends.cudnn.enabled": True,
            "torch.backends.cuda.flash_sdp_enabled()": False,
            "torch.cuda.get_sync_debug_mode()": 1,
            "attention(SDPBackend.FLASH_ATTENTION)": ("cuda:0", False),
            "attention(SDPBackend.EFFICIENT_ATTENTION)": ("cuda:0", False),
            "attention(SDPBackend.MATH)": ("cuda:0", True),
            "attention([SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION])": ("cuda:0", True),
            "torch.backends.cuda.math_sdp_enabled()": True,
            "str(attend(query, query, query, is_causal=True).device)": "cuda:0",
        },
    )


def test_errors_are_those_of_cuda(simulate: Simulate) -> None:
    assert_errors(simulate, IMPORT, ERRORS)
    assert_errors(simulate, STREAM_SETTING, STREAM_ERRORS)


def test_no_device_is_visible_where_the_script_hides_all(simulate: Simulate) -> None:
    result = simulate(
        """
        import os
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
        import torch
        keep("available", torch.cuda.is_available())
        keep("count", torch.cuda.device_count())
        torch.ones(2).cuda()
        """
    )
    assert result.values == {"available": False, "count": 0}
    assert (result.error_type, result.message) == ("RuntimeError", "No CUDA GPUs are available")


def test_as_many_devices_as_the_script_names(simulate: Simulate) -> None:
    assert_values(
        simulate,
        'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "3"\nimport torch',
        {"torch.cuda.device_count()": 1, "str(torch.ones(2).cuda().device)": "cuda:0"},
        devices=2,
    )


@pytest.mark.parametrize(
    ("call", "what"),
    [
        ("torch.cuda.CUDAGraph()", "torch.cuda.CUDAGraph"),
        ("torch.cuda.graph(None)", "torch.cuda.graph"),
        ("torch.cuda.make_graphed_callables(len, ())", "torch.cuda.make_graphed_callables"),
        ("torch.cuda.cudart().cudaHostRegister(0, 0, 0)", "cudaHostRegister of the CUDA runtime"),
        ("torch.cuda.temperature()", "torch.cuda.temperature"),
        ("torch.cuda.MemPool()", "torch.cuda.MemPool"),
    ],
)
def test_what_reaches_the_driver_is_not_simulated(simulate: Simulate, call: str, what: str) -> None:
    result = simulate(f"import torch\n{call}\n")
    assert (result.message, result.not_simulated, result.line) == (f"not simulated: {what}", [what], 2)


def test_an_operator_that_only_cuda_has_is_not_simulated(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        query = torch.randn(1, 2, 4, 8, device="cuda").half()
        torch.ops.aten._flash_attention_forward(query, query, query, None, None, 2, 2, 0.0, False, False)
        """
    )
    assert result.not_simulated == ["aten::_flash_attention_forward, which only has a kernel for CUDA"]


def test_attention_runs_the_kernel_that_the_script_allows(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel
        query = torch.randn(1, 2, 4, 8, device="cuda", requires_grad=True)

        def node():
            return type(torch.nn.functional.scaled_dot_product_attention(query, query, query).grad_fn).__name__

        keep("at first", node())
        with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
            keep("fused", node())
        with sdpa_kernel(SDPBackend.MATH):
            keep("math", node())
            out = torch.nn.functional.scaled_dot_product_attention(query, query, query)
            (gradient,) = torch.autograd.grad(out.sum(), query, create_graph=True)
            gradient.square().sum().backward()
            keep("twice", str(query.grad.device))
        keep("at last", node())
        torch.backends.cuda.enable_flash_sdp(False)
        torch.backends.cuda.enable_mem_efficient_sdp(False)
        keep("switched off", node())
        keep("told", [torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled()])
        """
    )
    fused, plain = "ScaledDotProductFlashAttentionForCpuBackward0", "UnsafeViewBackward0"
    assert result.error_type == "", result.printed
    assert result.values == {
        "at first": fused,
        "fused": fused,
        "math": plain,
        "twice": "cuda:0",
        "at last": fused,
        "switched off": plain,
        "told": [False, True],
    }
