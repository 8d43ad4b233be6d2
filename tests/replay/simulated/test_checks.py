"""Which mixes of places the simulated accelerator refuses, and in which words."""

from .conftest import Simulate


def test_plain_code_runs(simulate: Simulate) -> None:
    result = simulate(
        """
        import torch
        keep("sum", (torch.ones(2, 2) @ torch.ones(2, 2)).sum().item())
        print("hello")
        """
    )
    assert result.values == {"sum": 8.0}
    assert result.printed == "hello\n"
    assert result.status == 0


def test_the_line_and_the_type_of_an_error_are_the_snippets(simulate: Simulate) -> None:
    result = simulate("import torch\n\ntorch.ones(2, 3) @ torch.ones(2, 3)\n")
    assert (result.error_type, result.line, result.status) == ("RuntimeError", 3, 1)
    assert result.first_line.startswith("mat1 and mat2 shapes cannot be multiplied")
