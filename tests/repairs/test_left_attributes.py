"""Attributes that a method leaves behind where it moves its object are moved beside one that is moved always."""

import pytest
from devfix_codemods.findings import Safety

CACHE = """
    class Cache:
        def __init__(self, pool, values):
            self.values = values.clone()
            self.sizes = values.long()
            self.places = torch.argsort(self.values)
        def to(self, device):
            self.values = self.values.to(device)
            self.sizes = self.sizes.to(device){more}
        def read(self, rows: torch.Tensor):
            return rows + self.places[1:] * self.values
"""


@pytest.mark.parametrize(
    "more", ["", "\n            if self.rest is not None:\n                self.rest = self.rest.to(device)"]
)
def test_who_moves_an_object_moves_all_its_tensors(repairs, more: str) -> None:
    written = repairs.written(CACHE.format(more=more), Safety.UNSAFE)
    assert "        self.sizes = self.sizes.to(device)\n        self.places = self.places.to(device)\n" in written


QUEUES = """
    class Queues(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("first", torch.randn(n, 3))
            self.register_buffer("second", torch.randn(n, 3))
            self.register_buffer("third", torch.randn(n, 3))
            self.first = F.normalize(self.first, dim=1)
            self.second = F.normalize(self.second.cuda(), dim=1)
            self.third = self.third.cuda()
"""


def test_what_is_computed_anew_is_moved_once(repairs) -> None:
    """A second rewrite, which `written` makes, changes nothing."""
    written = repairs.written(QUEUES, Safety.UNSAFE)
    assert written.count("self.first = self.first.cuda()") == 1
