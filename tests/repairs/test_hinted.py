"""Cuts where hints alone say where a value belongs, and of what is unpacked."""

from devfix_codemods.findings import Safety

SOUND = """
    import torchaudio
    def run(path, device):
        net = nn.Linear(3, 3).to(device)
        wave, rate = torchaudio.load(path)
        return net(wave)
"""


def test_what_is_unpacked_is_moved_behind_it(repairs) -> None:
    assert repairs.added(SOUND, Safety.SAFE) == ["wave = wave.to(device)"]


OBSERVED = """
    def observe(w: torch.Tensor, scale=None):
        if scale is None:
            seen = torch.quantization.observer.MinMaxObserver()
            seen(w)
            scale, point = seen.calculate_qparams()
            scale = scale.cuda().type_as(w)
        return scale * w
"""


def test_a_module_follows_what_it_is_called_with(repairs) -> None:
    """Beside a move, that it belongs to CUDA is a guess; that it meets `w` is none."""
    assert repairs.added(OBSERVED, Safety.SAFE) == ["seen = torch.quantization.observer.MinMaxObserver().to(w.device)"]
