"""Host values that meet a tensor which lives wherever its owner put it."""

from collections.abc import Callable

import pytest
from devfix_codemods.flow.facts import Facts


def test_a_factory_meets_a_parameter(facts: Callable[[str], Facts]) -> None:
    found = facts("""
        import torch
        def f(x: torch.Tensor):
            mask = torch.ones(x.size(0)).tril()
            return torch.where(mask, x, -x)
    """)
    (meeting,) = found.followings
    (source,) = meeting.misplaced.value.sources
    assert source.lineno == 4


def test_uses_say_that_a_parameter_is_a_tensor(facts: Callable[[str], Facts]) -> None:
    assert facts("import torch\ndef f(x):\n    return x.unsqueeze(0) + torch.ones(3)\n").followings
    assert not facts("import torch\ndef f(x):\n    return x.mean() + torch.ones(3)\n").followings


def test_a_default_on_the_host_meets_too(facts: Callable[[str], Facts]) -> None:
    assert facts("""
        import torch
        def f(x: torch.Tensor, mask=None):
            if mask is None:
                mask = torch.ones(3)
            return x * mask
    """).followings


def test_what_was_moved_meets_no_more(facts: Callable[[str], Facts]) -> None:
    assert not facts("""
        import torch
        def f(x: torch.Tensor):
            mask = torch.ones(3).to(x)
            return x * mask + torch.tensor(0.5) + torch.arange(3).type_as(x)
    """).followings


def test_one_following_does_not_hide_the_next(facts: Callable[[str], Facts]) -> None:
    assert (
        len(
            facts("""
        import torch
        def f(a: torch.Tensor, b: torch.Tensor):
            y = (a - b) * torch.ones(3)
            return y @ torch.eye(3)
    """).followings
        )
        == 2
    )


def test_what_is_made_beside_a_tensor_on_the_host_is_there_by_its_fault(facts: Callable[[str], Facts]) -> None:
    (meeting,) = facts("""
        import torch
        def f(x: torch.Tensor, n: int):
            rows = torch.zeros(n)
            ones = torch.ones(n, device=rows.device)
            return x @ ones
    """).followings
    assert [one.lineno for one in meeting.misplaced.value.sources] == [4]


def test_what_is_made_beside_a_tensor_that_was_moved_is_there(facts: Callable[[str], Facts]) -> None:
    assert not facts("""
        import torch
        def f(x: torch.Tensor, n: int):
            rows = torch.zeros(n).to(x.device)
            ones = torch.full((n,), 2.0, device=rows.device)
            return x @ ones
    """).followings


@pytest.mark.parametrize(
    "call",
    [
        "torch.index_select(x, dim=0, index=other)",
        "torch.masked_select(input=x, mask=other)",
        "torch.add(x, other=other)",
        "torch.scatter(x, 0, torch.zeros_like(x).long(), src=other)",
    ],
)
def test_tensors_given_by_keyword_meet(facts: Callable[[str], Facts], call: str) -> None:
    assert facts(f"import torch\ndef f(x: torch.Tensor):\n    other = torch.ones(3)\n    return {call}\n").followings


@pytest.mark.parametrize(
    "call",
    [
        "torch.add(x, other=torch.tensor(2))",
        "torch.index_select(x, dim=0, index=torch.ones(3, device=x.device))",
        "torch.sum(x, dim=0)",
        "torch.gather(x, dim=n, index=x)",
    ],
)
def test_numbers_and_what_is_beside_them_by_keyword_do_not(facts: Callable[[str], Facts], call: str) -> None:
    assert not facts(f"import torch\ndef f(x: torch.Tensor, n):\n    return {call}\n").followings


RETURNED = """
    import torch
    def criterion(weight):
        def loss(a, b):
            return (torch.mm(a, b.t()) * torch.eye(a.shape[0])).sum()
        return loss
"""
REGISTERED = """
    import torch
    class Watcher:
        def watch(self, layer):
            def hook(module, given, output: torch.Tensor):
                return output * torch.arange(output.shape[-1])
            layer.register_forward_hook(hook)
"""
DECORATED = """
    import functools
    def scaled(factor):
        def around(function):
            import torch
            @functools.wraps(function)
            def inner(x: torch.Tensor):
                return function(x @ torch.full((3, 3), factor))
            return inner
        return around
"""


@pytest.mark.parametrize("code", [RETURNED, REGISTERED, DECORATED], ids=["returned", "registered", "decorated"])
def test_a_function_that_another_one_hands_out_is_run(facts: Callable[[str], Facts], code: str) -> None:
    assert len(facts(code).followings) == 1


def test_of_the_functions_around_it_nothing_is_known(facts: Callable[[str], Facts]) -> None:
    assert not facts("""
        import torch
        table = torch.ones(3)
        def over(table, device):
            rows = torch.ones(3)
            def pick(x: torch.Tensor):
                return x * table + rows + torch.ones(3, device=device)
            return pick
    """).followings


def test_a_function_that_is_called_where_it_stands_gets_what_it_is_given_there(facts: Callable[[str], Facts]) -> None:
    assert not facts("""
        import torch
        def run():
            def shift(x: torch.Tensor):
                return x + torch.ones(3)
            return shift(torch.zeros(3))
    """).followings
