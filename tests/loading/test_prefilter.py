"""Looks at the bytes of a file may say yes where nothing is, but never no where something is to be found."""

import pytest
from devfix_codemods.loading.prefilter import loads_to_anywhere

LOADS = [
    b"torch.load(path)",
    b"x = load(path)\n",
    b"model.zoo.load_url(url)",
    b"my_np.load(path)",
    b"json.load(f)\ntorch.load(path)",
    b"np .load(path)",
    b"load_model(path)",
    b"Net.load_from_checkpoint(path)",
]
LOADS_NOT = [
    b"np.load(path)",
    b"    json.load(f)",
    b"net.load_state_dict(state)",
    b"datasets.load_dataset(name)",
    b"upload(path)",
    b"DataLoader(rows)",
]


@pytest.mark.parametrize("data", LOADS)
def test_a_load_to_wherever_it_was_saved_is_seen(data: bytes) -> None:
    assert loads_to_anywhere(data)


@pytest.mark.parametrize("data", LOADS_NOT)
def test_other_loads_are_not(data: bytes) -> None:
    assert not loads_to_anywhere(data)
