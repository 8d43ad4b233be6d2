"""DVF104: all that an operation needs in one place goes there, or nothing does."""

import pytest
from devfix_codemods.engine import check
from devfix_codemods.findings import Safety
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.source import Source

CODE = "DVF104"
CONFLICTS_ALONE = True

PAIRS = """
import torch
class Pairs:
    def __init__(self, first, second, outcome):
        self.first = first.long()
        self.second = second.long()
        self.outcome = outcome.float()
    def rates(self, n):
        counts = {counts}
        counts.scatter_add_(0, self.first, {first})
        counts.scatter_add_(0, self.second, {second})
        return counts
def start(n):
    return torch.zeros(n)
"""


def test_an_attribute_is_followed_where_the_tensor_is_made(rule) -> None:
    before = PAIRS.format(counts="torch.zeros(n)", first="torch.ones(8)", second="torch.ones(8)")
    after = PAIRS.format(
        counts="torch.zeros(n, device=self.first.device)",
        first="torch.ones(8, device=self.first.device)",
        second="torch.ones(8, device=self.second.device)",
    )
    assert rule.fixed(before, unsafe=True) == after


def test_what_is_written_stays_on_the_host(rule) -> None:
    findings = rule.findings(PAIRS.format(counts="start(n)", first="torch.ones(8)", second="torch.ones(8)"))
    assert all(one.fix is None for one in findings)


def test_an_attribute_that_the_method_gives_another_value(rule) -> None:
    program = """
import torch
class Sums:
    def __init__(self, index):
        self.index = index.long()
    def counted(self, n, more):
        counts = torch.zeros(n)
        self.index = more
        counts.scatter_add_(0, self.index, more.float())
        return counts
"""
    assert "torch.zeros(n, device=more.device)" in rule.fixed(program, unsafe=True)


COUNTED = """
import torch
def votes(nearest: torch.Tensor, n, k):
    _, index = nearest.topk(k, 0)
    label = torch.cat((torch.ones(n), torch.zeros(n)))
    count = {count}
    for i in range(k):
        count = {summed}
    return count
"""


MADE_THERE = "torch.cat((torch.ones(n, device=nearest.device), torch.zeros(n, device=nearest.device)))"


def test_all_operands_of_an_expression_go_there(rule) -> None:
    after = rule.fixed(
        COUNTED.format(count="torch.zeros(n + n)", summed="count + label.index_select(0, index[i])"), unsafe=True
    )
    assert MADE_THERE in after
    assert "count = torch.zeros(n + n, device=nearest.device)" in after


def test_no_operand_of_the_same_expression_stays_on_the_host(rule) -> None:
    for count, summed in (
        ("torch.zeros(n + n, device=nearest.device)", "count + label.index_select(0, index[i])"),
        ("nearest.new_zeros(n + n)", "count + label.index_select(0, index[i])"),
        ("0", "count + label.index_select(0, index[i])"),
        ("torch.zeros(n + n)", "label.index_select(0, index[i])"),
    ):
        assert MADE_THERE in rule.fixed(COUNTED.format(count=count, summed=summed), unsafe=True)


WRAPPED = """
import torch
from torch import nn
class Wrapper(nn.Module):
    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model
    def _caches(self, n):
        cache = torch.zeros(n{device})
        return [(cache.clone(), cache.clone()) for _ in range(3)]
    def forward(self, tokens: torch.Tensor):
        positions = torch.arange(tokens.shape[1])
        return self.model.forward(tokens, positions, caches={caches}, limit=torch.tensor([1.0]))
"""


def test_a_list_that_the_same_call_gets_is_made_there_as_well(rule) -> None:
    after = rule.fixed(WRAPPED.format(device="", caches="self._caches(3)"), unsafe=True)
    assert after.count("device=tokens.device") == 2
    assert "torch.zeros(n, device=next(self.parameters()).device)" in after
    assert "self._caches(3)," in after


def test_no_list_that_the_same_call_gets_stays_on_the_host(rule) -> None:
    for device, caches in ((", device=self.device", "self._caches(3)"), ("", "None"), ("", "[3, tokens]")):
        after = rule.fixed(WRAPPED.format(device=device, caches=caches), unsafe=True)
        assert "torch.arange(tokens.shape[1], device=tokens.device)" in after
        assert "torch.tensor([1.0], device=tokens.device)" in after


BAND = """
import torch
class Band:
    def __init__(self, lengths: torch.Tensor, levels: torch.Tensor, free: torch.Tensor):
        self.lengths = lengths.float()
        self.levels = levels.float()
        self.count = len(lengths)
        self.inner = self.matrix()[:, free]
    def matrix(self):
        band = {band}
        for i, (length, level) in enumerate(zip(self.lengths, self.levels)):
            band[:, i : i + 2] = {summed}
        return band
"""


@pytest.mark.parametrize(
    "summed",
    [
        "band[:, i : i + 2] + level * torch.Tensor([[1.0, 2.0], [3.0, 4.0]]) / length**3",
        "-level * torch.Tensor([[1.0, 2.0], [3.0, 4.0]]) + band[:, i : i + 2]",
    ],
)
def test_all_parts_of_what_is_summed_go_there(rule, summed: str) -> None:
    after = rule.fixed(BAND.format(band="torch.zeros((2, self.count))", summed=summed), unsafe=True)
    assert "torch.Tensor([[1.0, 2.0], [3.0, 4.0]]).to(" in after
    assert "torch.zeros((2, self.count), device=self.le" in after


def test_a_part_of_what_is_summed_is_there_already(rule) -> None:
    summed = "band[:, i : i + 2] + level * torch.Tensor([[1.0, 2.0], [3.0, 4.0]])"
    before = BAND.format(band="torch.zeros((2, self.count), device=self.levels.device)", summed=summed)
    assert "torch.Tensor([[1.0, 2.0], [3.0, 4.0]]).to(level.device)" in rule.fixed(before, unsafe=True)


WINDOWS = """
import torch
from windows import distances
def windows(places: torch.Tensor, speed: torch.Tensor):
    first = 1 + 2 * {made}
    second = 3 + 4 * {made}
    steps = distances(places)
    latest = (9 - first - second) / steps * torch.relu(speed)
    return latest + second
"""


def test_all_factories_of_a_sum_are_told_at_once(rule) -> None:
    after = WINDOWS.format(made="torch.rand(3, device=speed.device)")
    assert rule.fixed(WINDOWS.format(made="torch.rand(3)"), unsafe=True) == after


RANKS = """
import torch
def ranks(nodes, sources):
    found, inverse = torch.unique(torch.cat([nodes, sources]), return_inverse=True)
    places = torch.arange(len(inverse){place})
    first = torch.full((len(found),), len(inverse){beside})
    {reduced}
    return first
"""
PLACE = ", device=inverse.device"


@pytest.mark.parametrize(
    "reduced",
    [
        'first = first.scatter_reduce(0, inverse, places, reduce="amin")',
        'first.scatter_reduce_(0, inverse, places, reduce="amin")',
        'first = torch.scatter_reduce(first, 0, inverse, places, reduce="amin")',
        'first = first.index_reduce(0, inverse, places, "amin")',
        'first.index_reduce_(0, inverse, places, "amin")',
    ],
)
def test_what_is_reduced_at_an_index(rule, reduced: str) -> None:
    after = rule.fixed(RANKS.format(place="", beside="", reduced=reduced), unsafe=True)
    assert after.replace("=nodes.", "=inverse.") == RANKS.format(place=PLACE, beside=PLACE, reduced=reduced)


STEPS = """
import functools
import torch
class Steps:
    def __init__(self, options):
        self.options = options
    {decorator}
    def table(self):
        first = torch.tensor([1.0, 2.0], dtype=self.options.dtype{place})
        second = torch.tensor([3.0, 2.0], dtype=self.options.dtype{place})
        return first, first - second
    def step(self, y: torch.Tensor, f: torch.Tensor, dt: float):
        first, second = self.table
        parts = torch.empty(2, *f.shape)
        parts[0] = f
        return y + torch.tensordot(dt * first[:1], parts[:1].clone(), dims=([0], [0]))
"""


@pytest.mark.parametrize("decorator", ["@property", "@functools.cached_property"])
def test_what_is_computed_with_what_a_property_makes(rule, decorator: str) -> None:
    for place in ("", ", device=self.options.device"):
        assert "torch.empty(2, *f.shape, device=" in rule.fixed(
            STEPS.format(decorator=decorator, place=place), unsafe=True
        )


def test_a_property_that_reads_itself(rule) -> None:
    program = """
    import torch
    class Loop:
        @property
        def steps(self):
            return self.steps + torch.zeros(3)
        def forward(self, x: torch.Tensor):
            return x.view(3) + self.steps
    """
    assert rule.safeties(program) == []


MASSES = """
import torch
class Masses:
    def __init__(self, sets, weights):
        self.sets = sets.long()
        self.weights = weights.float()
    def discounted(self, rate):
        rest = torch.as_tensor(rate, dtype=self.weights.dtype{place})
        whole = torch.tensor([7]{whole})
        {joined}
"""
JOINED = [
    "return combine(torch.cat([self.sets, whole]), torch.cat([rest * self.weights, (1 - rest).reshape(1)]))",
    'return {"sets": torch.cat([self.sets, whole]), "rest": torch.cat([self.weights, (1 - rest).reshape(1)])}',
    "sets, weights = torch.cat([self.sets, whole]), torch.cat([self.weights, (1 - rest).reshape(1)])",
]


@pytest.mark.parametrize(
    ("joined", "place"),
    [*((one, "") for one in JOINED), *((one, ", device=self.weights.device") for one in JOINED[1:])],
)
def test_another_operation_of_the_statement_is_no_reason_to_leave_the_first(rule, joined: str, place: str) -> None:
    after = rule.fixed(MASSES.format(place=place, whole="", joined=joined), unsafe=True)
    assert "torch.tensor([7], device=self.sets.device)" in after


BASIS = """
import torch
def nodes(n):
    if n == 1:
        return torch.tensor([0.0])
    return -torch.cos(torch.pi * torch.arange(n) / (n - 1))
class Basis{base}:
    def __init__(self, n, length=2.0):
        self.n = n
        self.scale = 0.5 * n
        self.places = {places}
        self.gaps = self._gaps()
    def _gaps(self):
        gaps = torch.ones((self.n, self.n){device})
        for j in range(self.n):
            gaps[j, j] = 3.0
        return gaps
    def __call__(self, x: torch.Tensor, j: int):
        {lines}
"""
KEPT = [
    "return torch.where(torch.arange(self.n) != j, x / self.gaps[j], torch.tensor(1.0))",
    "rest = x.unsqueeze(-1) - self.places\n        return torch.where(torch.arange(self.n) != j, rest, 1.0)",
    "rest = x / self.gaps\n        far = rest + 1\n        return far[:, j] * torch.arange(self.n)",
    "return torch.cat([x + self.gaps[0], torch.zeros(self.n)])",
]


def basis(lines: str, places: str = "(length / 2.0) * nodes(n)", device: str = "", base: str = "") -> str:
    return BASIS.format(lines=lines, places=places, device=device, base=base)


@pytest.mark.parametrize("lines", KEPT)
def test_a_class_that_is_no_module_keeps_a_table_on_the_host(rule, lines: str) -> None:
    assert Safety.SAFE not in rule.safeties(basis(lines))


@pytest.mark.parametrize("lines", KEPT)
def test_a_table_that_is_kept_on_a_device(rule, lines: str) -> None:
    assert "self.n, device=" in rule.fixed(basis(lines, "nodes(n).to(self.place)", ", device=self.place"), unsafe=True)


@pytest.mark.parametrize(
    "line",
    [
        "return torch.where(torch.arange(self.n) != j, x / self.gaps[j].to(x.device), 1.0)",
        "return torch.where(torch.arange(self.n) != j, x / self.scale, 1.0)",
        "return torch.where(torch.arange(self.n) != j, x / self.gaps.sum(), 1.0)",
        "return torch.where(torch.arange(self.n) != j, x / len(self.places), 1.0)",
    ],
)
def test_what_is_kept_has_no_place_of_its_own(rule, line: str) -> None:
    assert "torch.arange(self.n, device=x.device)" in rule.fixed(basis(line), unsafe=True)


def test_a_table_that_the_class_moves(rule) -> None:
    program = (
        basis(KEPT[0]) + "    def to(self, device):\n        self.gaps = self.gaps.to(device)\n        return self\n"
    )
    assert "torch.arange(self.n, device=" in rule.fixed(program, unsafe=True)


def test_a_table_that_a_module_keeps(rule) -> None:
    program = basis(KEPT[0], base="(torch.nn.Module)")
    assert "torch.arange(self.n, device=x.device)" in rule.fixed(program, unsafe=True)


LIKELY = """
import torch
from scores import functional as F


def check(scores: torch.Tensor, rows):
    total = torch.tensor([-1e4] * 3)
    for row in rows:
        total = torch.logaddexp(total{more}, F.likely(scores, {given}))
    return total + scores
"""


def test_what_is_made_for_code_that_is_not_seen_is_left(rule) -> None:
    found = rule.findings(LIKELY.format(more="", given="torch.tensor(row)"))
    assert all(one.fix is None or ".to(scores.device)" not in str(one.fix.edits) for one in found)


TWINS = """
import torch
class Teacher:
    def __init__(self, network):
        self.network = network
        for one in self.network.parameters():
            torch.nn.init.normal_(one)
    def data(self, n):
        {first}
        second = torch.zeros(n, 3)
        {line}
        known = self.network(self.draw(n)).squeeze()
        return self.network(second).squeeze(), known
"""


@pytest.mark.parametrize("first", ["first = torch.zeros(n)", "first = self.draw(n)"])
def test_a_module_that_somebody_gives_may_be_on_the_host(rule, first: str) -> None:
    found = rule.findings(TWINS.format(first=first, line="more = self.network(first)"))
    assert all(one.fix is None for one in found)


ROWS = """
import torch
def masks(lengths: torch.Tensor, longest):
    lengths = lengths[1:] - lengths[:-1]
    found = torch.Tensor([]).to(dtype=torch.bool)
    for one in range(3):
        found = torch.cat([found, torch.Tensor({row}).to(dtype=torch.bool).unsqueeze(0)], dim=0)
    return found.to(device="cuda")
"""


@pytest.mark.parametrize("row", ["[False] * lengths[one]", "lengths[one] * [False]"])
def test_a_list_is_repeated_as_often_as_a_tensor_says(rule, row: str) -> None:
    assert all(one.fix is None for one in rule.findings(ROWS.format(row=row)))


SHAPES = """
import torch
from torch import nn
{imports}
class Embedding(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.size = size
    def forward(self, x: torch.Tensor):
        shape = {shape}
        tokens = shape[1] // self.size
        return torch.cat((torch.tensor([-1]), tokens.view(1), torch.tensor([self.size])))
"""


@pytest.mark.parametrize(
    ("imports", "shape", "moved"),
    [
        ("import torch.onnx.operators", "torch.onnx.operators.shape_as_tensor(x)", False),
        ("from torch.onnx.operators import shape_as_tensor", "shape_as_tensor(x)", False),
        ("", "torch._shape_as_tensor(x)", False),
        ("", "x.long()", True),
    ],
)
def test_a_shape_is_a_tensor_of_the_host(rule, imports: str, shape: str, moved: bool) -> None:
    found = rule.findings(SHAPES.format(imports=imports, shape=shape))
    assert any(one.fix is not None for one in found) is moved


BESIDE = """
import torch
def loss(device, prepare):
    net = torch.nn.Linear(3, 3).to(device)
    waves = torch.rand(4, 3)
    marks = {marks}
    return torch.nn.functional.mse_loss(waves, {given}) + net(waves).sum()
"""


@pytest.mark.parametrize(
    ("marks", "given", "safeties"),
    [
        ("prepare(torch.zeros(4, 3))", "marks", {Safety.UNSAFE}),
        ("torch.zeros(4, 3)", "marks", {Safety.SAFE}),
        ("torch.zeros(4, 3)", "0.5 * marks", {Safety.SAFE}),
        ("torch.zeros(4, 3, device=device)", "marks", {Safety.SAFE}),
        ("prepare(torch.zeros(4, 3))", "waves", {Safety.SAFE}),
    ],
)
def test_no_operand_is_left_by_a_safe_fix(rule, marks: str, given: str, safeties: set[Safety]) -> None:
    assert set(rule.safeties(BESIDE.format(marks=marks, given=given))) == safeties


CHOSEN_BESIDE = """
import torch
def loss(device, prepare, drawn):
    net = torch.nn.Linear(3, 3).to(device)
    waves = torch.rand(4, 3) if drawn else {other}
    marks = (waves * torch.ones(4, 3)).to(device)
    return net(waves).sum() + net(marks).sum()
"""


@pytest.mark.parametrize(
    ("other", "safety"), [("prepare(torch.zeros(4, 3))", Safety.UNSAFE), ("torch.randn(4, 3)", Safety.SAFE)]
)
def test_an_operand_that_is_moved_later_is_left_as_well(rule, other: str, safety: Safety) -> None:
    """All that the other operand may be is on the host where they meet: its way to the device begins there."""
    safeties = {one.origin.line: one.fix.safety for one in rule.findings(CHOSEN_BESIDE.format(other=other)) if one.fix}
    assert safeties[6] is safety
    assert safeties[5] is safety


BRANCHES_BESIDE = """
import torch
def loss(net, x, device, prepare, drawn):
    net = net.to(device)
    waves = {waves}
    marks = waves * torch.ones(4, 3){behind}
    return net(marks.to(device)).sum()
"""


@pytest.mark.parametrize(
    ("waves", "behind", "safety"),
    [
        ("x.to(device) if drawn else prepare(torch.zeros(4, 3))", "", Safety.SAFE),
        ("2 * (x.to(device) if drawn else torch.zeros(4, 3))", "", Safety.SAFE),
        ("x.to(device) if drawn else torch.zeros(4, 3, device=device)", "", Safety.SAFE),
        ("x.to(device)", " + torch.rand(4, 3)", Safety.SAFE),
    ],
)
def test_what_follows_its_operand_leaves_none(rule, waves: str, behind: str, safety: Safety) -> None:
    program = BRANCHES_BESIDE.format(waves=waves, behind=behind)
    safeties = {one.origin.line: one.fix.safety for one in rule.findings(program) if one.fix and one.origin}
    assert safeties[6] is safety


WEIGHED = """
import torch
WEIGHTS = [torch.ones(3) for _ in range(3)]
def weighed(x, device):
    z = torch.zeros(3)
    scaled = z * {other}
    return scaled + x.to(device)
"""


def test_what_meets_a_value_that_nothing_moves_is_only_told(rule) -> None:
    one = rule.finding(WEIGHED.format(other="WEIGHTS[0]"))
    assert one.fix is None
    assert one.advice == "`torch.ones(3)` (line 3), which it meets, has to move with it: nothing moves that."


@pytest.mark.parametrize("other", ["3", "WEIGHTS[0].to(device)", "torch.tensor(3.0)", "len(WEIGHTS)"])
def test_what_meets_none_is_moved(rule, other: str) -> None:
    assert "z = torch.zeros(3, device=device)" in rule.fixed(WEIGHED.format(other=other))


MATCHED = """
import torch
from extension import load
emd = load("emd")
class Matching(torch.autograd.Function):
    @staticmethod
    def forward(ctx, first, second, eps, iters):
        b, n, _ = first.size()
        first = first.contiguous().float().cuda()
        second = second.contiguous().float().cuda()
        prices = torch.zeros(b, n, device="cuda").contiguous()
        bids = torch.zeros(b, n, device="cuda").contiguous()
        inverse = torch.zeros(b, n).contiguous() - 1
        emd.forward(first, second, prices, bids, inverse, eps, iters)
        return prices
"""


def test_what_only_stands_beside_moved_parameters_is_surely_no_operand(rule) -> None:
    outcome = check(Source("train.py", MATCHED.encode()), Options(frozenset({CODE}), suggestions=True))
    assert isinstance(outcome, Checked)
    assert 'Make it on `"cuda"`' in [one.fix.title for one in outcome.findings if one.fix is not None]
