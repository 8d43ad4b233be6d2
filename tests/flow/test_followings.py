"""Host values that meet a tensor which lives wherever its owner put it, and what is at hand at their birth."""

from collections.abc import Callable

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
    assert [text for hand in found.births[source].values() for text, _ in hand.tensors] == ["x"]


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
