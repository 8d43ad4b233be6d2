"""Repairs by another end of a value, what callers of helpers have in common, and devices that are named elsewhere."""

import pytest
from devfix_codemods.findings import Safety

BY_HELPER = """
    def factor(x):
        return 10 ** (x / 20)
    def mixed(wave: torch.Tensor, n):
        loudness = torch.rand(n, 1)
        return 1 / (factor(loudness) + 1) * wave
    def doubled(table):
        return factor(table.unsqueeze(0))
"""


def test_a_helper_that_only_computes_on_the_way(repairs) -> None:
    assert "loudness = torch.rand(n, 1, device=wave.device)" in repairs.added(BY_HELPER, Safety.UNSAFE)


def test_a_helper_that_makes_it_for_another_caller_as_well(repairs) -> None:
    program = """
        def rows(n):
            return torch.rand(n, 1)
        def mixed(wave: torch.Tensor, n):
            return rows(n) * wave
        print(rows(3).numpy())
    """
    assert not any("wave.device" in one for one in repairs.added(program, Safety.UNSAFE) if "torch.rand" in one)


PICKED = """
    class Loss(nn.Module):
        def forward(self, scores: torch.Tensor, target: torch.Tensor):
            table = torch.eye(3){rows}
            return (scores * table).sum()
"""


def test_an_index_on_the_host_suits_a_table_anywhere(repairs) -> None:
    added = repairs.added(PICKED.format(rows="[target.cpu().long()]"), Safety.SAFE)
    assert added == ["table = torch.eye(3, device=scores.device)[target.cpu().long()]"]


def test_a_table_that_meets_a_copy_on_the_host(repairs) -> None:
    assert repairs.added(PICKED.format(rows=" * target.cpu()"), Safety.SAFE) == []


ADDED = """
    class Learner:
        def prepare(self, rows):
            return placed(rows, {device})
        def train(self, rows):
            total = torch.{first}
            for one in self.prepare(rows):
                loss = self.calc_loss(one)
                total += loss
            return total
"""


@pytest.mark.parametrize("device", ["self.net.device", "package.device"])
@pytest.mark.parametrize("first", ["tensor(0.0)", "zeros(1)"])
def test_a_sum_begins_on_the_device_that_the_file_names(repairs, device: str, first: str) -> None:
    program = "import package\n" + repairs.plain(ADDED.format(device=device, first=first))
    assert f"total = torch.{first[:-1]}, device={device})" in repairs.added(program, Safety.UNSAFE)


@pytest.mark.parametrize(
    "device", ["self.net.device, self.old.device", "self.net.device_count()", "rows.device", "self.options.verbose"]
)
def test_a_sum_where_the_file_names_no_device_or_several(repairs, device: str) -> None:
    added = repairs.added(ADDED.format(device=device, first="tensor(0.0)"), Safety.UNSAFE)
    assert added == ["total = total + loss"]


def test_what_is_added_to_in_place_cannot_be_wrapped(repairs) -> None:
    program = ADDED.format(device="rows", first="zeros(1)")
    assert not any(".to(" in one for one in repairs.added(program, Safety.SUGGESTION))


def test_a_tensor_at_hand_that_it_surely_meets(repairs) -> None:
    program = """
        def closed(rows: torch.Tensor, flag):
            if flag:
                rows = torch.cat((rows, torch.Tensor([1.0]).unsqueeze(0)), dim=1)
            return (rows == 1).nonzero()
        def run(rows: torch.Tensor, edges: torch.Tensor):
            return torch.zeros(3, device=edges.device) + closed(rows, True) + edges
        print(closed(torch.ones(3, 3), False))
    """
    (found,) = [one for one in repairs.findings(program) if one.fix and "rows.device" in one.fix.title]
    assert found.fix is not None
    assert found.fix.safety is Safety.SAFE
