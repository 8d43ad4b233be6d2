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
