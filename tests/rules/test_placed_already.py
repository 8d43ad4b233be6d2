"""Tensors of the host whose place somebody has thought of already: no factory is told another one."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF104"
CONFLICTS_ALONE = True

SILENT = {
    "made of an empty tensor, on a device that is named": """
        import torch
        import torch.nn.functional as F
        def weights(scores: torch.Tensor):
            unit = torch.Tensor().new_ones((scores.size(0),), dtype=torch.float, device=scores.device)
            return unit / scores.sum(-1)
        def loss(scores: torch.Tensor):
            rest = torch.empty(0).new_full((scores.size(0),), 2.0, device=scores.device) - scores.sum(-1)
            like = torch.ones_like(torch.zeros(3), device=scores.device) * scores
            return rest + like.sum(-1)
    """,
    "the method of another accelerator moves it": """
        import torch
        def nearest(points: torch.Tensor, k):
            found = points.new_zeros((points.size(0), k))
            if points.device.type == "npu":
                return found.where(found > 3, torch.zeros(points.shape[0], k).npu())
            if points.device.type == "mlu":
                rest = torch.ones(points.shape[0], k).mlu()
                return found + rest
            return found.where(found > 3, torch.arange(k).xpu())
    """,
    "a helper is asked to put it where another is": """
        import torch
        def placed(tensor, cuda):
            return tensor.cuda() if cuda else tensor
        def index(tags: torch.Tensor):
            return tags + placed(torch.arange(5).unsqueeze(0) * 3, tags.is_cuda)
        def steps(tags: torch.Tensor):
            first = placed(torch.arange(5), cuda=tags.is_cuda)
            return tags + first
    """,
    "what it meets was told to stay on the host": """
        import torch
        from torch import nn
        class Compare:
            def __init__(self, first: nn.Module, device=None):
                self.device = torch.device(device) if device else torch.device("cuda")
                self.first = first
                self.first.to(self.device)
        def run(first):
            pair = Compare(first, device="cpu")
            x = torch.randn(8, 10)
            return pair.first(x)
    """,
    "a decoder hands it to a function of another file and moves what that gives": """
        import torch
        from torch import nn
        from .encodings import positions
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.proj = nn.Linear(8, 8)
            def add_positions(self, patches, scale):
                pos = positions(4, 8, scale=scale).to(patches.device).detach()
                return patches + pos
            def forward(self, patches, scale):
                return self.proj(self.add_positions(patches, scale))
        class Model(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.table = table
                self.encoder = nn.Linear(8, 8)
                self.decoder = Decoder()
            def forward(self, batch):
                scale = torch.tensor(self.table[batch["name"]])
                pixels = batch["pixels"].clone()
                patches = self.encoder(pixels)
                return self.decoder(patches, scale)
    """,
    "a decoder hands it to a module of another file": """
        import torch
        from torch import nn
        from .embedding import DynamicEmbedding
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = DynamicEmbedding(8)
            def forward(self, patches, waves):
                pixels, waves = self.embed(patches, waves)
                return pixels, waves
        class Model(nn.Module):
            def __init__(self, table):
                super().__init__()
                self.table = table
                self.encoder = nn.Linear(8, 8)
                self.decoder = Decoder()
            def forward(self, batch):
                waves = torch.tensor(list(self.table.values()))
                pixels = batch["pixels"].clone()
                patches = self.encoder(pixels)
                return self.decoder(patches, waves)
    """,
}


@pytest.mark.parametrize("shape", SILENT)
def test_silent_where_somebody_has_placed_it(rule, shape: str) -> None:
    assert rule.findings(SILENT[shape]) == ()


def test_what_is_on_the_host_itself_is_not_followed(rule) -> None:
    program = """
        import torch
        from torch import nn
        class Decoder(nn.Module):
            def __init__(self):
                super().__init__()
                self.embed = nn.Embedding(10, 8)
                self.out = nn.Linear(8, 10)
                self.mix = nn.GRU(8, 8)
            def decode(self, src):
                size = src.shape[0]
                memory = self.mix(src)
                tokens = torch.full((size, 1), 2, dtype=torch.int64)
                scores = torch.full((size, 1), 1.0)
                for _ in range(25):
                    prob = torch.softmax(self.out(self.embed(tokens)), dim=1)
                    best = prob.argmax(dim=1)
                    top = torch.max(prob, dim=1).values
                    tokens = torch.cat([tokens, torch.reshape(best, (-1, 1))], dim=1)
                    scores = torch.cat([scores, torch.reshape(top, (-1, 1))], dim=1)
                return tokens, scores
            def forward(self, src):
                return self.decode(src)
    """
    assert not [one for one in rule.findings(program) if one.fix is not None and "tokens.device" in repr(one.fix)]


ENCODER = """
import torch
from torch import nn
from .variables import placed
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.proj = nn.Linear(8, 8)
    def forward(self, h, graph):
        mask = torch.ones(h.size(0), 1)
        mask[0] = 0
        mask = placed(mask{more})
        for _ in range(3):
            h = self.proj(h).tanh() * mask
        return h
"""

MOVED_ABROAD = {
    "through a variable": "def placed(tensor):\n    return torch.autograd.Variable(tensor).cuda()",
    "on one path": "def placed(x):\n    if torch.cuda.is_available():\n        x = x.to('cuda')\n    return x",
}


def fits_beside(folder: Path, helper: str, program: str = ENCODER) -> list[Safety | None]:
    """The fixes of a mask that goes through a function of a file beside it."""
    (folder / "variables.py").write_text(f"import torch\n{helper}\n")
    program = program.format(more="")
    source, project = Source(str(folder / "train.py"), program.encode()), Project(DiskFiles(str(folder)))
    outcome = check(source, Options(frozenset({CODE})), project)
    assert isinstance(outcome, Checked)
    return [one.fix.safety if one.fix is not None else None for one in outcome.findings]


@pytest.mark.parametrize("helper", MOVED_ABROAD.values(), ids=MOVED_ABROAD)
def test_a_function_of_another_file_moves_it(tmp_path: Path, helper: str) -> None:
    assert fits_beside(tmp_path, helper) == []


def test_a_function_of_another_file_changes_its_type_alone(tmp_path: Path) -> None:
    helper = "def placed(x):\n    return x.to(torch.long)"
    program = ENCODER.replace("h = self.proj(h).tanh() * mask", "h = torch.tanh(h) * mask")
    assert fits_beside(tmp_path, helper, program) != []


DRAWN = """
import torch
from torch import nn
class Model(nn.Module):
    def forward(self, frames: torch.Tensor, sampling=None):
        b = frames.shape[0]
        for i in range(3):
            if sampling:
                {lines}
                frames = mask * frames
        return frames
"""


@pytest.mark.parametrize(
    "lines",
    [
        "mask = (torch.rand(b) < sampling[0]).type_as(frames)[:, None]",
        "mask = (1.0 - (torch.rand(b) < sampling).float()).to(frames.device)",
        "mask = (sampling[1] > torch.rand(b)).float().unsqueeze(-1).to(frames)",
        "mask = torch.rand(b) < sampling[0]\n                mask = mask.cuda()",
        "drawn = torch.rand(b) < sampling[0]\n                mask = drawn.to(device=frames.device)",
    ],
)
def test_what_is_drawn_for_a_number_is_moved_behind(rule, lines: str) -> None:
    assert rule.safeties(DRAWN.format(lines=lines)) == []


@pytest.mark.parametrize(
    "lines",
    [
        "mask = (torch.rand(b) < frames[:, 0]).type_as(frames)[:, None]",
        "mask = (torch.rand(b) < sampling[0]).to(frames.dtype) + frames",
        "drawn = torch.rand(b) < frames[:, 0]\n                mask = drawn.to(device=frames.device)",
    ],
)
def test_what_meets_a_tensor_before_it_is_moved(rule, lines: str) -> None:
    assert rule.safeties(DRAWN.format(lines=lines))


EVALUATED = """
import torch
from evaluating import evaluate
class Solver:
    def __init__(self, model, loader, loss_function):
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = model.to(self.device)
        self.loader = loader
        self.loss_function = loss_function
    def test(self):
        for mixture, sources in self.loader:
            enhanced = evaluate(mixture=mixture, model=self.model, device=self.device)
            loss = self.loss_function(enhanced, sources)
            loss.backward()
"""
EVALUATE = """
import torch
def evaluate(mixture, model, device):
    output = model({given})
    enhanced = torch.zeros(mixture.shape{placed})
    enhanced[..., :3] = output[0]
    return enhanced[..., : mixture.shape[-1]]
"""


def moved_in_solver(tmp_path: Path, given: str, placed: str) -> set[str]:
    """What is moved in a file whose helper stands in another one."""
    (tmp_path / "evaluating.py").write_text(EVALUATE.format(given=given, placed=placed))
    (tmp_path / "solver.py").write_text(EVALUATED)
    source = Source(str(tmp_path / "solver.py"), EVALUATED.encode())
    outcome = check(source, Options(frozenset({"DVF101"})), Project(DiskFiles(str(tmp_path))))
    assert isinstance(outcome, Checked)
    fixes = [one.fix for one in outcome.findings if one.fix is not None and one.fix.safety is not Safety.SUGGESTION]
    return {name for name in ("mixture", "sources") if any(f"`{name}`" in fix.title for fix in fixes)}


def test_what_a_helper_of_another_file_moves_and_gives_back_on_the_host(tmp_path: Path) -> None:
    assert moved_in_solver(tmp_path, "mixture.to(device)", "") == set()


def test_what_it_does_not_move_or_gives_on_the_device(tmp_path: Path) -> None:
    assert moved_in_solver(tmp_path, "mixture", "") == {"mixture"}
    assert moved_in_solver(tmp_path, "mixture.to(device)", ", device=device") == {"sources"}
