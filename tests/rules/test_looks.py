"""Looks at the bytes of a file may say yes in vain, but never no where something is to be found."""

import pytest
from devfix_codemods.rules._hand_encodings import encodes_by_hand
from devfix_codemods.rules._looks import loads_to_anywhere

LOADS = [
    b"torch.load(path)",
    b"x = load(path)\n",
    b"model.zoo.load_url(url)",
    b"my_np.load(path)",
    b"json.load(f)\ntorch.load(path)",
    b"np .load(path)",
]
LOADS_NOT = [
    b"np.load(path)",
    b"    json.load(f)",
    b"torch.load(path, map_location=device)",
    b"torch.hub.load_state_dict_from_url(url, map_location='cpu')",
    b"upload(path)",
    b"load_model(path)",
]
ENCODES = [
    b"torch.tensor([tokenizer.encode(text)])",
    b"torch.LongTensor(self.sp.EncodeAsIds(text))",
    b"ids = tokenizer.encode(text)\nx = torch.tensor(ids)",
    b"ids = [bos] + tokenizer.convert_tokens_to_ids(tokens)\nn = len(ids)\nx = torch.tensor([ids])",
]
ENCODES_NOT = [
    b"ids = tokenizer.encode(text)\nx = torch.tensor(other)",
    b"data = text.encode()\nprint(data)",
    b"x = torch.tensor(ids)",
]


@pytest.mark.parametrize("data", LOADS)
def test_a_load_to_wherever_it_was_saved_is_seen(data: bytes) -> None:
    assert loads_to_anywhere(data)


@pytest.mark.parametrize("data", LOADS_NOT)
def test_other_loads_are_not(data: bytes) -> None:
    assert not loads_to_anywhere(data)


@pytest.mark.parametrize("data", ENCODES)
def test_a_tensor_of_what_was_just_encoded_is_seen(data: bytes) -> None:
    assert encodes_by_hand(data)


@pytest.mark.parametrize("data", ENCODES_NOT)
def test_other_tensors_and_encodings_are_not(data: bytes) -> None:
    assert not encodes_by_hand(data)
