"""Attributes that a constructor fills, as those are filled that a method of the object moves, and that it leaves."""

import pytest

STORAGE = """
    class Storage:
        def __init__(self, steps):
            self.values = torch.zeros(steps, 1)
            self.returns = torch.zeros(steps, 1)
            self.masks = {made}
        def {method}(self, device):
            self.values = self.values.to(device)
            self.returns = self.returns.to(device){more}
        def discounted(self, step):
            return self.returns[step] * self.masks[step] + self.values[step]
"""


@pytest.mark.parametrize("made", ["torch.zeros(steps, 1)", "torch.ones(steps, 1)", "torch.full((steps, 1), 0.5)"])
def test_what_is_filled_with_another_number(placed, made: str) -> None:
    assert "masks" in placed(STORAGE.format(made=made, more="", method="place")).births


@pytest.mark.parametrize(
    ("made", "more"),
    [
        ("torch.ones(steps, 1)", "\n            self.masks = self.masks.to(device)"),
        ("[1.0] * steps", ""),
        ("torch.arange(steps)", ""),
    ],
)
def test_what_is_moved_or_made_otherwise(placed, made: str, more: str) -> None:
    assert "masks" not in placed(STORAGE.format(made=made, more=more, method="place")).births


CACHE = """
    class Cache:
        def __init__(self, pool, values):
            self.values = values.clone()
            self.sizes = values.long()
            self.places = {made}
        def to(self, device):
            self.values = self.values.to(device)
            self.sizes = self.sizes.to(device){more}
        def read(self, rows: torch.Tensor):
            return {read}
"""
PLACES, READ = "torch.argsort(self.values)", "rows + self.places[1:] * self.values"


@pytest.mark.parametrize(
    ("made", "more", "read"),
    [
        (PLACES, "\n            self.places = self.places.to(device)", READ),
        (PLACES, "", "self.places.tolist()"),
        (PLACES, "", "rows * self.values"),
        ("pool.sizes", "", "self.places[0]"),
    ],
)
def test_what_nobody_computes_with_or_is_moved(placed, made: str, more: str, read: str) -> None:
    assert "places" not in placed(CACHE.format(made=made, more=more, read=read)).births


def test_who_moves_an_object_moves_all_its_tensors(placed) -> None:
    assert placed(CACHE.format(made=PLACES, more="", read=READ)).births == ["places"]


BATCH = """
    @dataclass
    class Batch:
        users: Iterable[int]
        items: Iterable[int]
        labels: Iterable[float]
        def __post_init__(self):
            self.users = {made}
            self.items = torch.from_numpy(self.items).long()
            self.labels = torch.from_numpy(self.labels)
        def to_device(self, device):
            self.items = self.items.to(device)
            self.labels = self.labels.to(device)
            return self
"""


@pytest.mark.parametrize("made", ["list(self.users)", "np.asarray(self.users)", "check(self.users)"])
def test_a_field_that_is_made_otherwise(placed, made: str) -> None:
    assert placed(BATCH.format(made=made)).births == []


def test_a_field_of_which_a_tensor_is_made_whatever_its_annotation_says(placed) -> None:
    assert "users" in placed(BATCH.format(made="torch.from_numpy(self.users).long()")).births
