"""Many expressions in one snippet: what each gives, as text."""

from textwrap import dedent

from .conftest import Simulate


def evaluate(simulate: Simulate, setup: str, rows: dict[str, object], devices: int = 1) -> dict[str, str]:
    """The `str` of each expression that is a key of `rows`, or its error as "Type: first line of the message".

    The expressions run in order, after `setup`, in which `torch` is imported and `c` is a device tensor of three ones,
    `h` the same on the host.
    """
    code = (
        "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
        "h = torch.ones(3)\nc = torch.ones(3, device='cuda')\n"
        + dedent(setup)
        + f"\nfor code in {list(rows)!r}:\n"
        + "    try:\n        keep(code, str(eval(code)))\n"
        + "    except Exception as error:\n"
        + "        keep(code, f'{type(error).__name__}: {str(error).splitlines()[0]}')\n"
    )
    result = simulate(code, devices=devices)
    assert result.error_type == "", result.printed
    return {**result.values}
