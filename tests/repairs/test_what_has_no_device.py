"""Which values are moved, copied or asked for their device: no dicts, arrays, numbers, and what may be None."""

import pytest
from devfix_codemods.findings import Safety

WINDOWED = """
    class Net(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.options = {kept}
        def forward(self, sig):
            return torch.stft(sig, {given})
"""


@pytest.mark.parametrize(
    ("kept", "given"),
    [
        ('{"n_fft": n, "window": torch.hann_window(n)}', "**self.options"),
        ('{"n_fft": n, "window": torch.hann_window(n)}', '**{**self.options, "center": True}'),
    ],
)
def test_a_mapping_is_not_moved(repairs, kept: str, given: str) -> None:
    written = repairs.written(WINDOWED.format(kept=kept, given=given), Safety.SUGGESTION)
    assert "}.to(" not in written
    assert "options.to(" not in written


def test_its_part_is(repairs) -> None:
    program = WINDOWED.format(kept='{"window": torch.hann_window(8)}', given='8, window=self.options["window"]')
    assert 'self.options["window"].to(sig.device)' in repairs.written(program, Safety.SUGGESTION)


SCALED = """
    def noise(shape, {name}, rows):
        return torch.rand(shape) * 2 * {name} {then}
"""


@pytest.mark.parametrize("name", ["io_ratio", "temperature", "bound", "lr"])
def test_what_scales_is_not_asked(repairs, name: str) -> None:
    written = repairs.written(SCALED.format(name=name, then="+ rows[:, 0]"), Safety.SUGGESTION)
    assert f"{name}.device" not in written


@pytest.mark.parametrize("name", ["rows", "features"])
def test_what_is_only_added_is_asked_on_demand_alone(repairs, name: str) -> None:
    program = f"def noise({name}):\n    return torch.rand(3) + {name}\n"
    assert f"{name}.device" not in repairs.written(program)
    assert f"{name}.device" in repairs.written(program, Safety.SUGGESTION)


MASKED = """
    class Layer(nn.Module):
        def __init__(self, shape, mask=None):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(shape))
            self.register_buffer("mask", mask)
        def initial(self, shape):
            params = torch.rand(shape)
            {test}params = params * self.mask
            return params
"""


def test_an_attribute_that_may_be_none_is_not_asked(repairs) -> None:
    program = MASKED.format(test="if self.mask is not None:\n                ")
    assert "self.mask.device" not in repairs.written(program, Safety.SUGGESTION)


READ = """
    import cv2
    def measure(image{said}):
        h, w = image.shape[:2]
        return {read}
"""


@pytest.mark.parametrize("said", ["", ": Any", ": np.ndarray"])
@pytest.mark.parametrize("read", ["cv2.cvtColor(image, 3)", "np.roll(image.squeeze(), 3)", "np.asarray(image)"])
def test_what_may_be_an_array_is_not_copied(repairs, said: str, read: str) -> None:
    assert ".cpu()" not in repairs.written(READ.format(said=said, read=read), Safety.SUGGESTION)


@pytest.mark.parametrize("read", ["np.roll(image, image.size(0))", "np.asarray(image), image.detach()"])
def test_what_is_used_as_a_tensor_alone_is(repairs, read: str) -> None:
    assert "image.cpu()" in repairs.written(READ.format(said="", read=read), Safety.SUGGESTION)


@pytest.mark.parametrize("made", ["weights.cpu().numpy().flatten()", "weights.cpu().numpy().reshape(-1)"])
def test_views_of_arrays_are_arrays(repairs, made: str) -> None:
    program = f"""
        def show(net, least):
            for name, weights in net.named_parameters():
                weights = {made}
                if least:
                    weights = weights[weights.nonzero()]
                np.linspace(min(weights), max(weights), 20)
    """
    assert repairs.added(program) == []


@pytest.mark.parametrize(
    ("made", "found"), [("Mask.ones_like(net)", False), ("torch.ones_like(net.weight.cuda())", True)]
)
def test_what_a_class_of_another_file_makes_is_not_copied(repairs, made: str, found: bool) -> None:
    program = f"""
        from masks import Mask
        def prune(net, x):
            net = net.cuda()
            kept = x.cuda().cpu().numpy()
            return {made}.numpy(), kept
    """
    assert (".cpu().numpy(), kept" in repairs.written(program, Safety.SUGGESTION)) is found


UNPACKED = """
    def scores(named):
        for name, param, grad in named:
            {test}
            print(param.detach().to(grad.device).mul(grad.detach()), torch.zeros(3) + grad)
"""


@pytest.mark.parametrize("test", ["if grad is None: continue", "assert grad is not None"])
def test_a_part_that_may_be_none_is_not_asked_before_that(repairs, test: str) -> None:
    written = repairs.written(UNPACKED.format(test=test), Safety.SUGGESTION)
    assert "grad.device" not in written.partition(test.partition(" is ")[0])[0]
