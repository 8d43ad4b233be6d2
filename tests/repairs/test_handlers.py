"""Names of a `try` in what handles its errors: they may not be bound there."""

import pytest
from devfix_codemods.findings import Safety

UNBOUND = {
    "the first parameter": """
        def describe(net, width, length):
            try:
                first = list(net.parameters())[0]
                rows = torch.rand(1, width, length, device=first.device, dtype=first.dtype)
            except:
                rows = torch.rand(1, width, length)
            return net.to(rows.device)(rows)
    """,
    "a device": """
        def start(net, width):
            try:
                device = next(net.parameters()).device
                rows = torch.zeros(width, device=device)
            except StopIteration:
                rows = torch.zeros(width)
            return net(rows)
    """,
    "what is made of a batch": """
        def step(net: nn.Module, loader, target: torch.Tensor):
            try:
                batch = next(loader)
                noise = torch.randn(3, device=batch.device)
            except (StopIteration, AttributeError):
                noise = torch.randn(3)
            return noise
    """,
}


@pytest.mark.parametrize("program", UNBOUND.values(), ids=UNBOUND)
def test_a_handler_knows_no_name_of_what_has_failed(repairs, program):
    assert repairs.added(program) == []


def test_a_handler_knows_what_was_bound_before(repairs):
    added = repairs.added("""
        def start(net, x, width):
            device = x.device
            try:
                rows = torch.zeros(width, device=device, dtype=net.dtype)
            except AttributeError:
                rows = torch.zeros(width)
            return rows + x
    """)
    assert added == ["rows = torch.zeros(width, device=device)"]


def test_what_is_bound_below_in_a_loop_is_not_bound_in_its_first_turn(repairs):
    added = repairs.added(
        """
        def sample(depth: torch.Tensor, t):
            found = []
            for i in range(depth.shape[0]):
                same = torch.nonzero(depth[i] == 3)
                try:
                    one = same[torch.randint(same.size(0), (1,))]
                except IndexError:
                    one = torch.Tensor([0.0, 0.0])
                one = (one.float() + 0.5) / torch.tensor([t, t], dtype=torch.float32, device=one.device)
                found.append(one)
            return torch.stack(found)
    """,
        Safety.SUGGESTION,
    )
    assert added == ["one = torch.Tensor([0.0, 0.0]).to(depth.device)"]
