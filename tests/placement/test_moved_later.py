"""Values that are moved only after something was computed of them: what stands beside them says nothing of them."""

import pytest

MOVED_LATER = {
    "typed on the way": """
        from helpers import convert
        class Agent:
            def __init__(self, net, device):
                self.device = device
                self.net = net.to(device)
            def learn(self, batch):
                rewards = convert(batch["reward"]).type(torch.float32).to(self.device)
                ended = convert(batch["ended"]).type(torch.int).to(self.device)
                rows = convert(batch["rows"]).to(self.device)
                actions = convert(batch["action"]).to(self.device)
                return self.net(rows) + rewards + ended + actions
    """,
    "given another shape on the way": """
        from helpers import convert
        class Agent:
            def __init__(self, net, device):
                self.device = device
                self.net = net.to(device)
            def learn(self, batch):
                rewards = convert(batch["reward"]).reshape(-1, 1).to(self.device)
                ended = convert(batch["ended"]).permute(1, 0).to(self.device)
                rows = convert(batch["rows"]).to(self.device)
                actions = convert(batch["action"]).to(self.device)
                return self.net(rows) + rewards + ended + actions
    """,
    "computed of two that are made": """
        def project(x, n):
            weight = torch.full([n], 1 / n, device=x.device, requires_grad=True)
            centred = (torch.eye(n) - torch.ones(n, n) / n).to(x.device)
            return centred @ weight
    """,
    "filled by what was copied to the host": """
        def pick(logits, labels):
            scale = torch.ones(3, device=logits.device)
            chosen = torch.zeros(logits.size()).scatter_(1, labels.unsqueeze(1).cpu(), 1).to(logits.device)
            return logits * chosen * scale
    """,
    "compared, then moved": """
        def draw(count, n, device):
            yield torch.zeros(1, n, device=device)
            yield torch.ones(1, n, device=device)
            while True:
                values = torch.randn(1, n)
                threshold = torch.kthvalue(values, n - count).values.item()
                yield (values > threshold).to(device=device).long()
    """,
    "moved by a helper that is not read": """
        def search(states, beam):
            scores = to_device(states, torch.zeros(3, beam))
            best = to_device(states, torch.zeros(3, beam))
            starts = to_device(states, torch.arange(3) * beam).view(-1, 1)
            return states + scores + best + starts
    """,
    "what a distribution of them gives is moved": """
        def sample(m, k, count, device):
            noise = torch.distributions.Beta(
                torch.tensor([m, 0.5]).type(torch.float), torch.tensor([m, 0.5]).type(torch.float)
            ).sample((count, 1)).to(k.device)
            return noise * k
    """,
    "what a method makes of them is moved": """
        class Kernels(nn.Module):
            def __init__(self, count, device):
                super().__init__()
                self.weights = [self.normal(torch.randn(2, count, 1, 9)).to(device=device) for _ in range(3)]
                self.picks = [torch.randint(0, 3, (2, 2, 2), device=device) for _ in range(3)]
            def normal(self, rows):
                rows -= rows.mean(-1, keepdims=True)
                return rows / rows.abs().sum(-1, keepdims=True)
    """,
    "moved after arithmetic with what a caller gives": """
        def schedule(n, low, high, rho=7.0, device="cpu"):
            ramp = torch.linspace(0, 1, n)
            steps = (high + ramp * (low - high)) ** rho
            return torch.cat([steps, steps.new_zeros([1])]).to(device)
    """,
}
STAYS_BEHIND = {
    "one of several is never moved": """
        from helpers import convert
        class Agent:
            def __init__(self, net, device):
                self.device = device
                self.net = net.to(device)
            def learn(self, batch):
                rewards = convert(batch["reward"])
                ended = convert(batch["ended"]).type(torch.int).to(self.device)
                rows = convert(batch["rows"]).to(self.device)
                actions = convert(batch["action"]).to(self.device)
                return self.net(rows) + rewards + ended + actions
    """,
    "used before it is moved": """
        def project(x, n):
            weight = torch.full([n], 1 / n, device=x.device, requires_grad=True)
            centred = torch.eye(n)
            early = centred @ weight
            return centred.to(x.device) @ weight + early
    """,
    "meets what is on the device, before the sum is moved": """
        def add(net, x, device):
            net.to(device)
            out = net(x.to(device))
            noise = torch.randn(3)
            return (out + noise).to(device)
    """,
    "meets what a module gets": """
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = nn.Linear(3, 3)
                self.device = "cuda"
            def forward(self, x):
                noise = torch.randn(3)
                return self.layer((x + noise).to(self.device))
    """,
    "another use of it is not moved": """
        def draw(count, n, device):
            first = torch.zeros(1, n, device=device)
            second = torch.ones(1, n, device=device)
            values = torch.randn(1, n)
            return (values > 0).to(device=device).long() + first + second, values
    """,
}


@pytest.mark.parametrize("program", MOVED_LATER.values(), ids=MOVED_LATER)
def test_what_is_computed_of_a_value_is_moved_in_its_stead(placed, program):
    """Whatever stands beside it is where the result goes, and the value is joined with others of the host before."""
    assert placed(program).births == []


@pytest.mark.parametrize("program", STAYS_BEHIND.values(), ids=STAYS_BEHIND)
def test_what_meets_a_device_before_the_move_is_told(placed, program):
    assert len(placed(program).births) == 1


CHOSEN = """
    def activations(files, net, cuda, device):
        rows = np.stack(files)
        batch = torch.from_numpy(rows){converted}
        if cuda:
            batch = batch.to(device)
        return net(batch)
    def main(files, cuda, device):
        net = nn.Linear(3, 3)
        net.to(device)
        return activations(files, net, cuda, device)
"""


@pytest.mark.parametrize("converted", ["", ".float()", ".type(torch.float64)", ".reshape(-1, 3).float()"])
def test_what_is_moved_on_a_condition_is_in_doubt_however_it_is_converted(placed, converted):
    """A move behind a condition shows that its author thinks of the other case."""
    for one in placed(CHOSEN.format(converted=converted)).conflicts:
        assert "moved-on-condition" in one.links


TAKEN = """
    from metric import to_device
    def scaled(x, scales, width):
        {moves}
        if width is None:
            width = torch.median(x)
        return -scales / width
"""


@pytest.mark.parametrize("moves", ["scales = to_device(scales, x)", "scales = to_device(scales, x, dtype=x.dtype)"])
def test_what_a_call_is_given_beside_what_it_replaces_is_not_moved(placed, moves: str) -> None:
    """One parameter that is moved says less of the others than two do."""
    assert all(one.confidence < 0.5 for one in placed(TAKEN.format(moves=moves)).conflicts)


@pytest.mark.parametrize(
    "moves", ["x, scales = to_device(x, scales, 'cuda')", "x = x.cuda(); scales = to_device(scales, x)"]
)
def test_all_that_a_call_replaces_is_moved(placed, moves: str) -> None:
    assert placed(TAKEN.format(moves=moves)).of("width").confidence > 0.5


ON_ONE_PATH = """
    def train(loader, net, device, everywhere, loss_of):
        net = net.to(device)
        for batch in loader:
            x, y = batch
            {moves}
            loss_of(net(x), y).backward()
"""
DELIBERATE = {
    "moved": "if not everywhere: y = y.to(device)",
    "moved, and converted then": "if not everywhere: y = y.to(device).float()",
    "converted alike on both paths": "y = y.view(-1).float() if everywhere else y.view(-1).to(device).float()",
}
FORGOTTEN = {
    "moved on no path": "y = y.float() if everywhere else y.double()",
    "made anew on one path, and moved there": "y = y[:, 0].float() if everywhere else y[:, 1].long().to(device)",
}


@pytest.mark.parametrize("moves", DELIBERATE.values(), ids=DELIBERATE)
def test_what_is_moved_on_one_path_alone_is_in_doubt_on_the_other(placed, moves: str) -> None:
    program = ON_ONE_PATH.format(moves=f"x = x.to(device); {moves}" if "else" in moves else moves)
    links = [one.links for one in placed(program).conflicts if one.birth.node.syntax.id == "y"]
    assert all("moved-on-condition" in one for one in links)
    assert links


@pytest.mark.parametrize("moves", FORGOTTEN.values(), ids=FORGOTTEN)
def test_what_is_another_value_on_the_other_path_is_not_in_doubt(placed, moves: str) -> None:
    program = ON_ONE_PATH.format(moves=f"x = x.to(device); {moves}")
    links = [one.links for one in placed(program).conflicts if one.birth.node.syntax.id == "y"]
    assert links
    assert not any("moved-on-condition" in one for one in links)
