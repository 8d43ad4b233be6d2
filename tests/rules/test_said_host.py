"""DVF104: what the code itself says to be on the host stays there."""

from pathlib import Path

import pytest
from devfix.project.import_graph import DiskFiles
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.project.files import Project
from devfix_codemods.source import Source

CODE = "DVF104"
CONFLICTS_ALONE = True

MATRIX = """
import torch
def counted(labels: torch.Tensor, size):
    counts = torch.zeros(size)
    {refusal}
    return counts.scatter_add_(0, labels, torch.ones(size, device=labels.device))
"""


@pytest.mark.parametrize(
    "refusal",
    [
        'assert counts.device.type == "cpu"',
        'assert counts.device == torch.device("cpu")',
        "assert counts.is_cpu",
        'if not counts.device.type == "cpu":\n        raise ValueError("on the host")',
    ],
)
def test_a_place_that_is_refused(rule, refusal: str) -> None:
    assert all(one is None for one in rule.safeties(MATRIX.format(refusal=refusal)))


def test_a_place_that_is_only_asked_for(rule) -> None:
    after = rule.fixed(MATRIX.format(refusal='where = counts.device.type == "cpu"'))
    assert "torch.zeros(size, device=labels.device)" in after


@pytest.mark.parametrize("name", ["part_cpu", "host_part"])
def test_a_name_of_the_host(rule, name: str) -> None:
    program = f"import torch\ndef f(x: torch.Tensor):\n    {name} = torch.zeros(3)\n    return x.view(3) + {name}\n"
    assert rule.findings(program) == ()


SHARED = """
import json
import torch
import torch.distributed as dist
def share(metrics, device):
    told = torch.tensor(bytearray(json.dumps(metrics).encode()), dtype=torch.uint8)
    dist.broadcast(told, 0)
    return {read}
"""


def test_what_processes_exchange_is_read_as_an_array(rule) -> None:
    assert all(one is None for one in rule.safeties(SHARED.format(read="told.numpy().tobytes()")))


REFUSED = """
import torch
def packed(bits: torch.Tensor):
    {refusal}
    return (bits * (2 ** torch.arange(8))).sum(-1)
"""


@pytest.mark.parametrize(
    "refusal",
    [
        'if bits.device.type != "cpu":\n        raise ValueError("CPU tensors only")',
        'if not bits.is_cpu or bits.numel() == 0:\n        raise ValueError("CPU tensors only")',
        'if bits.is_cuda:\n        raise ValueError("CPU tensors only")',
        'assert bits.device.type == "cpu"',
    ],
)
def test_a_function_that_refuses_tensors_of_a_device(rule, refusal: str) -> None:
    assert rule.findings(REFUSED.format(refusal=refusal)) == ()


@pytest.mark.parametrize(
    "refusal",
    [
        'if not bits.is_cuda:\n        raise ValueError("CUDA tensors only")',
        'assert bits.device.type != "cpu"',
        'if bits.device.type != "cpu" and bits.dim() > 2:\n        raise ValueError("only flat ones")',
    ],
)
def test_a_function_that_refuses_something_else(rule, refusal: str) -> None:
    assert "torch.arange(8, device=bits.device)" in rule.fixed(REFUSED.format(refusal=refusal))


def test_a_helper_of_the_file_refuses_them(rule) -> None:
    program = """
import torch
def checked(value):
    if value.device.type != "cpu":
        raise ValueError("CPU tensors only")
    return value
class Runner:
    def run(self, x: torch.Tensor):
        step = checked(x).long()
        return step.view(3) + torch.arange(3)
"""
    assert rule.findings(program) == ()


def test_a_function_of_the_host_by_its_name(rule) -> None:
    program = "import torch\ndef {}(x: torch.Tensor):\n    return x.view(8) * torch.arange(8)\n"
    assert rule.findings(program.format("_packed_cpu")) == ()
    assert rule.findings(program.format("host_sum")) == ()
    assert rule.safeties(program.format("_packed")) != []


CALLED = """
import torch
def _packed(x: torch.Tensor):
    return x.view(8) * torch.arange(8)
def iou(x: torch.Tensor, y: torch.Tensor):
    if {test}:
        return _packed(x), _packed(y)
    return {other}, y
"""


def test_a_function_that_is_called_on_the_host_only(rule) -> None:
    assert rule.findings(CALLED.format(test='x.device.type == "cpu"', other="x")) == ()
    assert rule.findings(CALLED.format(test='x.device == torch.device("cpu") and y.is_cpu', other="x")) == ()
    assert rule.safeties(CALLED.format(test='x.device.type == "cpu"', other="_packed(x)")) != []
    assert rule.safeties(CALLED.format(test='x.device.type == "cuda"', other="x")) != []
    assert rule.safeties(CALLED.format(test='x.device.type == "cpu" or y.dim() == 1', other="x")) != []


READ = """
import numpy as np
import torch
import waves
def smooth(x, width):
    parts = waves.split(torch.randn_like(x), width)
    kept = []
    for one, other in zip(parts, waves.split(x, width)):
        kept.append((one, torch.sign(other)))
    return waves.join(kept)
def main(rows, width):
    x = torch.tensor(rows)[None]
    y = torch.clamp(smooth(x + 1.0, width), -2.0, 2.0)
    first = {read}
    return first, (y - x).std()
"""


@pytest.mark.parametrize("read", ["np.mean(x.numpy() - y.numpy())", "y.detach().numpy()"])
def test_numpy_reads_the_other_as_it_is(rule, read: str) -> None:
    assert rule.findings(READ.format(read=read)) == ()


DOCUMENTED = """
{module}
import torch
class Graph:
    {owner}
    def __init__(self, starts):
        self.starts = starts
    def edges(self, nodes: torch.Tensor):
        {own}
        degrees = self.starts[nodes].long()
        return torch.arange(8) - degrees.cumsum(0), torch.arange(8)[nodes.argsort()]
"""
SAID = [
    '"""Graphs, stored as\\ntensors on CPU."""',
    '"""All of this works on CPU tensors."""',
    '"""Every tensor is on the host."""',
    '"""The search runs on CPU, where it is exact."""',
    '"""All of it is done entirely on the\nhost."""',
    '"""CPU-only reference implementation."""',
    '"""Rows are float64 on the CPU."""',
    '"""Takes CPU float32 tensors."""',
]
NOT_SAID = [
    '"""Works for tensors on the CPU and on the GPU."""',
    '"""Tensors on CPU/CUDA."""',
    '"""Sums on the CPU."""',
    '"""Runs on the CPU or the GPU."""',
    '"""Runs on CPU by default."""',
    '"""Sums slowly when running on CPU."""',
    '"""This does not run on the CPU."""',
    '"""Can run on CPU, too."""',
]


def documented(part: str, text: str) -> str:
    return DOCUMENTED.format(**({"module": "", "owner": "", "own": ""} | {part: text}))


def codes(program: str) -> set[str]:
    outcome = check(Source("graph.py", program.encode()), Options(frozenset({"DVF104", "DVF105"})))
    assert isinstance(outcome, Checked), outcome
    return {one.code for one in outcome.findings}


@pytest.mark.parametrize("part", ["module", "owner", "own"])
def test_a_docstring_says_where_the_tensors_are(part: str) -> None:
    for text in SAID:
        assert codes(documented(part, text)) == set()
    for text in NOT_SAID:
        assert codes(documented(part, text)) == {"DVF104", "DVF105"}


def test_a_class_that_moves_what_it_has_made_on_the_host() -> None:
    text = '"""Builds CPU tensors and moves them to the device of the model."""'
    assert codes(documented("owner", text)) == codes(documented("module", text)) == {"DVF104", "DVF105"}


OVERRIDING = """
import torch
class Layout:
    def edges(self, nodes):
        '''Gives the edges, {said}.'''
        raise NotImplementedError
class Fixed(Layout):
    pass
class Graph(Fixed):
    def edges(self, nodes: torch.Tensor):
        {own}
        degrees = self.starts[nodes].long()
        return torch.arange(8) - degrees.cumsum(0)
"""


def test_the_docstring_of_what_is_overridden() -> None:
    assert codes(OVERRIDING.format(said="every one a CPU tensor", own="")) == set()
    assert codes(OVERRIDING.format(said="every one a CPU tensor", own="'The edges of a graph.'")) == set()
    assert codes(OVERRIDING.format(said="wherever the nodes are", own="")) == {"DVF104"}
    elsewhere = "'The edges, on the device of the nodes.'"
    assert codes(OVERRIDING.format(said="every one a CPU tensor", own=elsewhere)) == {"DVF104"}


CALLERS = """
import torch
def merged(rows: torch.Tensor):
    '''The merge runs on CPU.'''
    return _ranks(rows.cpu())
def _ranks(rows: torch.Tensor):
    return torch.arange(8) - rows.cumsum(0)
{other}
"""


def test_a_private_function_that_such_a_function_calls() -> None:
    assert codes(CALLERS.format(other="")) == set()
    without = CALLERS.replace("rows.cpu()", "rows").replace("The merge runs on CPU.", "Merges.")
    assert codes(without.format(other="def again(rows):\n    return _ranks(rows)")) == {"DVF104"}


def test_numpy_reads_what_is_said_to_be_on_the_host() -> None:
    program = """
import numpy as np
import torch
def between(x: torch.Tensor, points: torch.Tensor, device):
    {}
    return torch.from_numpy(np.interp(x.detach().numpy(), points.numpy(), points.numpy())).to(device)
"""
    source = Source("scores.py", program.format("'The metric runs on CPU.'").encode())
    outcome = check(source, Options(frozenset({"DVF402"}), suggestions=True))
    assert isinstance(outcome, Checked), outcome
    assert not outcome.findings
    outcome = check(Source("scores.py", program.format("").encode()), Options(frozenset({"DVF402"}), suggestions=True))
    assert isinstance(outcome, Checked), outcome
    assert outcome.findings


DRAWS = {
    "context.py": """
import torch
class Context:
    def rand(self, *shape):
        '''Draws numbers as a float64 CPU tensor.'''
        return self.draws.pop()
    def mean(self, rows):
        return rows.mean(-1).cpu()
    def drawn(self, *shape):
        return torch.rand(shape, generator=self.generator)
    def noise(self, *shape):
        '''Draws numbers on the device of the model.'''
        return self.draws.pop()
    def grid(self, *shape):
        return self.draws.pop()
""",
    "effects.py": """
import torch
from {module} import Context
def faded(context: {said}, rows: torch.Tensor):
    steps = context.{method}
    return torch.arange(8) - steps.long().cumsum(0), torch.arange(8)[steps.long().argsort()]
""",
}


def drawn(folder: Path, method: str, said: str = "Context") -> set[str]:
    for name, text in DRAWS.items():
        (folder / name).write_text(text.format(method=method, said=said, module="context") if "{" in text else text)
    source = Source(str(folder / "effects.py"), (folder / "effects.py").read_bytes())
    options = Options(frozenset({"DVF104", "DVF105"}))
    outcome = check(source, options, Project(DiskFiles(str(folder))))
    assert isinstance(outcome, Checked), outcome
    return {one.code for one in outcome.findings}


@pytest.mark.parametrize("method", ["rand(8)", "mean(rows)", "drawn(8)", "rand(8)[None] < 0.5"])
@pytest.mark.parametrize("said", ["Context", '"Context"', "Context | None"])
def test_what_a_method_of_another_file_gives(tmp_path: Path, method: str, said: str) -> None:
    assert drawn(tmp_path, method, said) == set()


@pytest.mark.parametrize("method", ["noise(8)", "grid(8)"])
def test_a_method_that_says_nothing_of_the_host(tmp_path: Path, method: str) -> None:
    assert "DVF104" in drawn(tmp_path, method)


def test_an_annotation_that_names_nothing_of_the_project(tmp_path: Path) -> None:
    assert "DVF104" in drawn(tmp_path, "rand(8)", "object")


BROUGHT = """
import torch
from grids import Grid, first_rows
def merged(groups: torch.Tensor, places: torch.Tensor):
    {steps}
    return torch.arange(8) - rows.long().cumsum(0), torch.arange(8)[rows.long().argsort()]
"""


def test_what_the_function_has_taken_to_the_host_itself() -> None:
    for steps in (
        "rows = first_rows(groups.detach().cpu())",
        'here = groups.to(device="cpu")\n    rows = first_rows(here)',
        'grid = Grid(3, device="cpu")\n    rows = grid.cells()',
        'grid = Grid(3, device="cpu")\n    _, rows = grid.sorted(groups.cpu())',
    ):
        assert codes(BROUGHT.format(steps=steps)) == set()
    for steps in (
        "rows = first_rows(groups)",
        "grid = Grid(3)\n    rows = grid.cells(groups)",
    ):
        assert "DVF104" in codes(BROUGHT.format(steps=steps)), steps


READS = """
import torch
class Runner:
    def scores(self, x):
        {said}
        return {given}
    def report(self, x, device):
        return self.scores(x.to(device)).detach().numpy()
"""


def test_numpy_reads_what_a_method_brings_to_the_host() -> None:
    def found(said: str, given: str) -> bool:
        source = Source("runs.py", READS.format(said=said, given=given).encode())
        outcome = check(source, Options(frozenset({"DVF402"})))
        assert isinstance(outcome, Checked), outcome
        return bool(outcome.findings)

    assert not found("", "self.model(x).cpu()")
    assert not found("'Gives a CPU tensor.'", "self.gather(x)")
    assert found("'Gives a tensor.'", "self.model(x)")


PLACED = """
import torch
def placed(points, seen):
    return torch.ones(8, device=points.device)
def spread(rows: torch.Tensor, turns):
    {said}
    kept = placed(rows, turns)
    return torch.arange(8) - kept, torch.arange(8)[kept.long()]
"""


def test_what_a_function_that_is_read_gives_where_its_argument_is() -> None:
    assert codes(PLACED.format(said="'Spreads out CPU tensors.'")) == set()
    assert codes(PLACED.format(said="")) == {"DVF104", "DVF105"}
