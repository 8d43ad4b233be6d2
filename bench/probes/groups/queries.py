"""What torch.cuda and torch.accelerator tell: availability, current device, memory, streams, events, properties."""

import torch
from expectations import ORDINAL, passes, raises

DOCUMENTED = "https://docs.pytorch.org/docs/stable/cuda.html"


@passes(DOCUMENTED)
def availability():
    assert torch.cuda.is_available()
    assert torch.cuda.device_count() >= 1
    assert torch.cuda.current_device() == 0
    assert torch.version.cuda is not None


@passes(DOCUMENTED + ": is_initialized")
def initialisation():
    torch.ones(1, device="cuda")
    assert torch.cuda.is_initialized()
    torch.cuda.init()


@passes(DOCUMENTED + ": get_device_name, get_device_capability, get_device_properties")
def properties():
    assert isinstance(torch.cuda.get_device_name(), str)
    assert torch.cuda.get_device_name(0) == torch.cuda.get_device_properties("cuda").name
    assert len(torch.cuda.get_device_capability()) == 2
    assert torch.cuda.get_device_properties(0).total_memory > 0
    assert torch.cuda.get_device_properties(0).multi_processor_count > 0


@raises("AssertionError", "Invalid device id", "torch.cuda.get_device_properties, torch/cuda/__init__.py")
def properties_of_a_device_that_is_not_there():
    torch.cuda.get_device_properties(99)


@raises(
    ORDINAL,
    "CUDA error: invalid device ordinal",
    "torch.cuda.set_device by c10::cuda::set_device; AcceleratorError since torch 2.8",
)
def setting_a_device_that_is_not_there():
    torch.cuda.set_device(99)


@raises("ValueError", "Expected a cuda device, but got: cpu", "torch.cuda._utils._get_device_index")
def setting_the_host():
    torch.cuda.set_device("cpu")


@passes(DOCUMENTED + ": set_device", devices=2)
def setting_the_device():
    torch.cuda.set_device(1)
    try:
        assert torch.zeros(1, device="cuda").get_device() == 1
        assert torch.cuda.current_device() == 1
    finally:
        torch.cuda.set_device(0)


@passes(DOCUMENTED + ": device_of", devices=2)
def device_of_a_tensor():
    with torch.cuda.device_of(torch.zeros(1, device="cuda:1")):
        assert torch.cuda.current_device() == 1
    with torch.cuda.device_of(torch.zeros(1)):
        assert torch.cuda.current_device() == 0


@passes("https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management")
def memory_grows_and_shrinks():
    before = torch.cuda.memory_allocated()
    x = torch.ones(1 << 20, device="cuda")
    assert torch.cuda.memory_allocated() >= before + 4 * (1 << 20)
    assert torch.cuda.max_memory_allocated() >= torch.cuda.memory_allocated()
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()
    del x
    assert torch.cuda.memory_allocated() <= before + 4096
    torch.cuda.empty_cache()


@passes(DOCUMENTED + ": memory management")
def memory_statistics():
    torch.cuda.reset_peak_memory_stats()
    free, total = torch.cuda.mem_get_info()
    assert 0 <= free <= total
    assert "allocated_bytes.all.current" in torch.cuda.memory_stats()
    assert isinstance(torch.cuda.memory_summary(), str)


@passes(DOCUMENTED + ": streams and events")
def streams_and_events():
    stream = torch.cuda.Stream()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    with torch.cuda.stream(stream):
        x = torch.ones(2, device="cuda")
        assert torch.cuda.current_stream() == stream
    x.record_stream(torch.cuda.current_stream())
    torch.cuda.current_stream().wait_stream(stream)
    end.record()
    torch.cuda.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0


@passes("https://docs.pytorch.org/docs/stable/accelerator.html")
def accelerator():
    assert torch.accelerator.is_available()
    assert torch.accelerator.current_accelerator() == torch.device("cuda")
    assert torch.accelerator.device_count() == torch.cuda.device_count()
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()


@passes("the idiom of every training script")
def device_idiom():
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    assert device.type == "cuda"
    assert torch.randn(2).to(device).device == torch.device("cuda:0")


@passes("torch.backends.cudnn documentation")
def cudnn_settings():
    torch.backends.cudnn.benchmark = True
    torch.backends.cudnn.deterministic = False
    assert torch.backends.cudnn.is_available()
    assert isinstance(torch.backends.cudnn.version(), int)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.set_float32_matmul_precision("high")
    torch.set_float32_matmul_precision("highest")


@passes(DOCUMENTED + ": is_bf16_supported, get_arch_list")
def abilities():
    assert isinstance(torch.cuda.is_bf16_supported(), bool)
    assert isinstance(torch.cuda.get_arch_list(), list)
    assert torch.cuda.can_device_access_peer is not None


@passes(DOCUMENTED + ": nvtx", alone=True)
def nvtx_ranges():
    with torch.cuda.nvtx.range("step"):
        torch.ones(1, device="cuda")


@passes("torch.get_device_module documentation")
def device_module():
    assert torch.get_device_module("cuda") is torch.cuda


@passes("torch.utils.data and others ask torch.cuda._is_in_bad_fork and is_current_stream_capturing")
def private_questions_of_libraries():
    assert not torch.cuda._is_in_bad_fork()
    assert torch.cuda.is_current_stream_capturing() is False
