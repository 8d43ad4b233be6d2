"""What is asked for its device is a tensor, and not what holds tensors under keys."""

import pytest

KEYED = {
    "a state with keys of a library": """
        import states
        def shuffle(state):
            state[states.ORDER] = torch.randperm(state[states.X].size(0))
            state[states.X] = state[states.X][state[states.ORDER], :]
    """,
    "one key": """
        import states
        def draw(writer):
            def graph(state):
                dummy = torch.rand(state[states.X].size(), requires_grad=False)
                writer.add_graph(state[states.MODEL], (dummy,))
            return graph
    """,
    "a text": """
        def draw(batch):
            noise = torch.randn(batch["x"].shape)
            return batch["x"] + noise
    """,
}


@pytest.mark.parametrize("program", KEYED.values(), ids=KEYED)
def test_what_holds_others_under_keys_is_not_asked(repairs, program):
    assert not [one for one in repairs.added(program) if "state.device" in one or "batch.device" in one]


def test_a_tensor_is_asked(repairs):
    added = repairs.added("""
        def shuffle(x, width):
            x = F.relu(x)
            noise = torch.randn(x[width].shape)
            return x[width] + noise
    """)
    assert added == ["noise = torch.randn(x[width].shape, device=x.device)"]


MADE_PARTS = {
    "chosen beside a module": """
        from functools import partial
        def run(frame, batch, plain, device, net: nn.Module):
            net.to(device)
            chosen = net if plain else partial(frame.logits, count=3)
            return chosen(batch.to(device))
    """,
    "made beside modules": """
        import functools
        def build(frame, mode, device):
            first = nn.Linear(3, 3).to(device)
            last = nn.Linear(3, 3).to(device)
            if mode == 1:
                chosen = first
            elif mode == 2:
                chosen = functools.partial(frame.logits, count=3)
            else:
                chosen = last
            return chosen(torch.zeros(3, device=device))
    """,
    "called in a loop": """
        from functools import partial
        def run(frame, loader, device):
            head = partial(frame.logits, count=3)
            for x, y in loader:
                loss = F.cross_entropy(head(x.to(device)), y.to(device))
                loss.backward()
    """,
}


@pytest.mark.parametrize("program", MADE_PARTS.values(), ids=MADE_PARTS)
def test_a_function_with_some_arguments_is_no_module(repairs, program):
    assert [one for one in repairs.added(program) if "partial" in one] == []


def test_a_module_beside_another_one_is_moved(repairs):
    added = repairs.added("""
        def run(batch, plain, device):
            net = nn.Linear(3, 3).to(device)
            chosen = net if plain else nn.Linear(3, 3)
            return chosen(batch.to(device))
    """)
    assert added == ["chosen = net if plain else nn.Linear(3, 3).to(device)"]
