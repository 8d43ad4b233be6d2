"""What one function of the file gives at several calls, and what one callee gets as the same argument at several."""

import pytest

GIVEN = """
    def pad(rows):
        return torch.tensor(rows)[:, -3:]
    def sample(self, states, following):
        a = {made}
        b = pad(following)
        b = b.to(self.device)
        {then}
        return a, b
"""


@pytest.mark.parametrize(
    ("made", "then"),
    [
        ("pad(states)", "a = a.to(self.device)"),
        ("read(states)", "pass"),
        ("pad(states)", "a = a.numpy()"),
        ("pad(states).to(self.device)", "pass"),
    ],
)
def test_what_is_moved_is_another_or_ends_on_the_host(placed, made: str, then: str) -> None:
    assert placed(GIVEN.format(made=made, then=then)).births == []


def test_a_function_that_places_what_it_gives(placed) -> None:
    program = """
        def pad(rows, device):
            return torch.tensor(rows).to(device)
        def sample(states, following, device):
            a, b = pad(states, device), pad(following, device)
            return a, b.to(device)
    """
    assert placed(program).births == []


def test_two_calls_of_one_function(placed) -> None:
    found = placed(GIVEN.format(made="pad(states)", then="pass"))
    assert found.births == ["pad(states)"]
    assert found.of("pad(states)").links[:2] == ("given-beside-moved", "twin-one")


GOT = """
    def infer(self, net, batch, names, device):
        a = torch.cat([batch[one] for one in names], dim=1)
        a = a[..., None].repeat(1, 2).to(device).float()
        mean, scale = net.encode(batch, parents=a)
        for one in names:
            b = torch.cat([{taken}[one] for one in names], dim=1)
            b = b[..., None].{then}.float()
            {use}
"""


@pytest.mark.parametrize(
    ("taken", "then", "use"),
    [
        ("batch", "repeat(1, 2).to(device)", "net.encode(batch, parents=b)"),
        ("batch", "expand(1, 2)", "net.encode(batch, parents=b)"),
        ("batch", "repeat(1, 2)", "net.encode(b, parents=a)"),
        ("batch", "repeat(1, 2)", "net.decode(batch, parents=b)"),
        ("[a.to(device)]", "repeat(1, 2)", "net.encode(batch, parents=b)"),
        ("self.padded(a.to(device))", "repeat(1, 2)", "net.encode(batch, parents=b)"),
    ],
)
def test_another_expression_another_argument_or_what_is_there(placed, taken: str, then: str, use: str) -> None:
    assert "b[..., None].repeat(1, 2).float()" not in placed(GOT.format(taken=taken, then=then, use=use)).births


def test_one_argument_of_one_callee(placed) -> None:
    found = placed(GOT.format(taken="batch", then="repeat(1, 2)", use="net.encode(batch, parents=b)"))
    assert found.births == ["b[..., None].repeat(1, 2).float()"]
