"""Which values are asked for their device: those that surely are tensors."""

import pytest
from devfix_codemods.findings import Safety

NOISE = """
    from library import Skeleton
    def noise(rows, scale=None, share=None):
        if share is not None:
            scale = {computed}
        return torch.randn({shape}) * scale
"""


@pytest.mark.parametrize("computed", ["share * torch.std(rows)", "share + rows.std()"])
def test_what_may_be_a_number_on_the_other_path(repairs, computed: str) -> None:
    """Where nothing but arithmetic is done with a parameter, a number is given as well."""
    written = repairs.written(NOISE.format(computed=computed, shape="3"))
    assert "device" not in written


def test_a_tensor_beside_it(repairs) -> None:
    program = NOISE.format(computed="share * torch.std(rows)", shape="rows.shape").replace("* scale", "* scale + rows")
    assert repairs.added(program) == ["return torch.randn(rows.shape, device=rows.device) * scale + rows"]


MEASURED = """
    from library import Skeleton
    def shift(rows, by):
        return rows + by
    def measure(rows{of_rows}, width: int):
        return shift(rows, torch.arange(width))
"""


@pytest.mark.parametrize("annotation", ["Skeleton", "'Skeleton'", "Skeleton | None", "library.Skeleton"])
def test_what_is_annotated_as_an_object(repairs, annotation: str) -> None:
    assert "rows.device" not in repairs.written(MEASURED.format(of_rows=f": {annotation}"), Safety.SUGGESTION)


@pytest.mark.parametrize("annotation", ["", ": torch.Tensor", ": Float[Tensor, 'n']", ": Any"])
def test_what_may_be_annotated_as_a_tensor(repairs, annotation: str) -> None:
    written = repairs.written(MEASURED.format(of_rows=annotation), Safety.SUGGESTION)
    assert "torch.arange(width, device=rows.device)" in written


FITTED = """
    class Policy(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
        def forward(self, rows):
            return self.layer(rows)
        def fit(self, rows, weights):
            loss = nn.CrossEntropyLoss(weight=weights)
            loss(self(rows), rows).backward()
    def weights_of(n):
        return torch.ones(n)
    def estimate(rows):
        weights = weights_of(3)
        fitted = Policy()
        fitted.fit(rows, weights=weights)
        return fitted
    policy = {bound}
    {then}
"""


def test_what_is_bound_by_what_runs_the_function(repairs) -> None:
    """`policy` has no value while `estimate` runs, which calls `weights_of`."""
    program = FITTED.format(bound="estimate(torch.ones(3))", then="print(policy)")
    assert "next(policy.parameters())" not in repairs.written(program, Safety.SUGGESTION)


def test_what_is_bound_before_the_function_runs(repairs) -> None:
    program = FITTED.format(bound="Policy()", then="policy.fit(torch.ones(3), weights_of(3))")
    assert "next(policy.parameters())" in repairs.written(program, Safety.SUGGESTION)
