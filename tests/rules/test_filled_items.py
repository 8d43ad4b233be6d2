"""Mappings that are filled by one call again and again: some of its results are moved, and one is not."""

import pytest

CODE = "DVF101"

FILL = """
    import torch
    from torch.nn.utils.rnn import pad_sequence

    class Tagger:
        def run(self, rows):
            batch = {{"ids": {first}}}
            for name in ("mask", "kind"):
                batch[name] = pad_sequence([one[name] for one in rows], padding_value=0).to({device})
            {last}
"""
FIRST = 'pad_sequence([one["ids"] for one in rows], padding_value=1)'


def _fill(first: str = FIRST, device: str = "self.device", last: str = "return self.model(**batch)") -> str:
    return FILL.format(first=first, device=device, last=last)


@pytest.mark.parametrize(
    "program",
    [
        _fill(f"{FIRST}.to(self.device)"),
        _fill("self.net(rows)"),
        _fill("pad_sequence(rows, padding_value=1)"),
        _fill(last="return batch"),
        _fill(last="return self.model(**{k: v.to(self.device) for k, v in batch.items()})"),
        _fill(last="batch = batch.to(self.device)\n            return self.model(**batch)"),
        _fill(device="torch.float"),
        _fill(last="return self.model(**batch)").replace("pad_sequence([one[name]", "torch.stack([one[name]"),
    ],
)
def test_what_is_placed_or_made_otherwise(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_items_one_by_one(rule) -> None:
    program = """
        import torch

        def score(model, pairs, device):
            given = {}
            given["left"] = torch.stack([one for one, _ in pairs]).to(device)
            given["right"] = torch.stack([one for _, one in pairs])
            return model(given)
    """
    assert 'given["right"] = torch.stack([one for _, one in pairs]).to(device)\n' in rule.fixed(program, unsafe=True)


def test_a_device_that_comes_later(rule) -> None:
    program = _fill(device="device").replace("for name in", "device = self.pick()\n            for name in")
    assert rule.findings(program) == ()
