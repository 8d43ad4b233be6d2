"""A copy of a batch that holds what the batch holds, as it is, where the device is at hand."""

import pytest

FINE = {
    "the device is used": """
        def f(batch, device):
            return net.to(device), {key: value for key, value in batch.items()}
    """,
    "no device is told": "def f(batch):\n    return {key: value for key, value in batch.items()}\n",
    "a device that may be left out": (
        "def f(batch, device=None):\n    return {key: value for key, value in batch.items()}\n"
    ),
    "some are left out": "def f(batch, device):\n    return {key: value for key, value in batch.items() if value}\n",
    "others keys": "def f(batch, device):\n    return {named[key]: value for key, value in batch.items()}\n",
    "parameters": """
        def f(net, device):
            return [one for one in net.parameters()]
    """,
    "numbers": "def f(rows: list[int], device):\n    return [row for row in rows]\n",
    "a copy of what is not moved otherwise": """
        def f(batch, others, device):
            if isinstance(batch, dict):
                return {key: value.to(device) for key, value in others.items()}
            return [value for value in batch]
    """,
    "a copy on the host on the other path": """
        def f(batch):
            if isinstance(batch, dict):
                return {key: value.cpu() for key, value in batch.items()}
            return [value for value in batch]
    """,
    "a copy that is kept": """
        def f(batch, device):
            kept = [value for value in batch]
            return kept, batch.to(device)
    """,
}
MOVED = {
    "a mapping": (
        "def f(batch, device):\n    return {key: value for key, value in batch.items()}\n",
        "return {key: value.to(device) for key, value in batch.items()}",
    ),
    "a mapping of tensors": (
        "def f(batch: dict[str, torch.Tensor], device: torch.device):\n    return {k: v for k, v in batch.items()}\n",
        "return {k: v.to(device) for k, v in batch.items()}",
    ),
    "a list": (
        "def f(images, device):\n    images = [one for one in images]\n    return images\n",
        "images = [one.to(device) for one in images]",
    ),
    "one of two copies": (
        """
        def f(batch, device):
            if torch.is_tensor(batch):
                batch = [batch]
            if isinstance(batch, dict):
                return {key: value.to(device) for key, value in batch.items()}
            return [value for value in batch]
        """,
        "return [value.to(device) for value in batch]",
    ),
}


@pytest.mark.parametrize("program", FINE.values(), ids=FINE)
def test_copies_that_are_meant(repairs, program: str) -> None:
    assert repairs.findings(program) == ()


@pytest.mark.parametrize(("program", "line"), MOVED.values(), ids=MOVED)
def test_what_is_copied_is_moved(repairs, program: str, line: str) -> None:
    assert repairs.added(program) == [line]
