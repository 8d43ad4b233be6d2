"""Values of which every use ends in a move, on the host, or as an index: wherever they are, nothing fails."""

import pytest

SETTLED = {
    "a factory that its expression moves": """
        def main(n, device):
            a = torch.ones(n, n, device=device)
            b = torch.zeros(n, n, device=device)
            c = torch.eye(n).expand(3, n, n).to(device)
            return a + b + c
    """,
    "an index that picks where values are stored": """
        def forward(x: torch.Tensor, labels):
            mask = torch.zeros(3, 3, device=x.device)
            mask[torch.arange(3), labels] = 1
            return x * mask
    """,
    "an index of either branch": """
        def forward(x: torch.Tensor, weights):
            noise = torch.zeros(3, device=x.device)
            if weights is not None:
                picked = torch.multinomial(weights, 1)
            else:
                picked = torch.randint(0, 3, (3,))
            return (x + noise)[picked]
    """,
    "moved with others of its row": """
        def main(n, x, y):
            e = -2.0 * torch.ones(n)
            x = x.cuda()
            zero = torch.zeros(n).cuda()
            one = torch.ones(n).cuda()
            e, y = [each.double().cuda() for each in [e, y]]
            return e + y + zero + one
    """,
    "a label that is only counted": """
        def test(model, loader: torch.utils.data.DataLoader, device):
            model.to(device)
            right = []
            for x, y in loader:
                out = model(x.to(device)).argmax(1).cpu()
                right += y.tolist()
                total = float(y.sum())
            return right
    """,
    "moved by a function of the file": """
        def moved(value, device):
            return value.to(device)
        def main(n, device):
            a = torch.ones(n, device=device)
            b = torch.zeros(n, device=device)
            return a + b + moved(torch.arange(n), device)
    """,
}
UNSETTLED = {
    "a factory that another expression meets": """
        def main(n, device):
            a = torch.ones(n, n, device=device)
            b = torch.zeros(n, n, device=device)
            c = torch.eye(n).expand(3, n, n)
            return a + b + c
    """,
    "what is stored": """
        def forward(x: torch.Tensor, labels):
            mask = torch.zeros(3, 3, device=x.device)
            both = torch.stack([torch.arange(3), labels])
            return x * mask + both
    """,
    "joined, and not read any more": """
        def forward(x: torch.Tensor, deep):
            zeros = torch.zeros(3)
            both = torch.cat((x.cuda(), zeros))
            if deep:
                out = both
            else:
                out = x
            return x
    """,
    "moved after it met another": """
        def main(n, x, y):
            e = -2.0 * torch.ones(n)
            x = x.cuda() + e
            return x, e.cuda()
    """,
    "a table that is picked from": """
        def main(x: torch.Tensor):
            table = torch.eye(3)
            return table[x.cuda()].cpu().numpy()
    """,
    "exchanged between processes": """
        import torch.distributed as dist
        device = torch.device("cuda")
        def main():
            total = torch.zeros(3)
            dist.all_reduce(total)
            return total.tolist()
    """,
    "a label that is also compared": """
        def test(loader: torch.utils.data.DataLoader, device):
            model = nn.Linear(3, 3).to(device)
            right = []
            for x, y in loader:
                loss = F.cross_entropy(model(x.to(device)), y)
                right += y.tolist()
            return right
    """,
    "moved by one function of the file, and met by another": """
        def moved(value, other, device):
            return value.to(device) + (value + other)
        def main(n, device):
            a = torch.ones(n, device=device)
            b = torch.zeros(n, device=device)
            return a + b + moved(torch.arange(n), a, device)
    """,
}


@pytest.mark.parametrize("program", SETTLED.values(), ids=SETTLED)
def test_nothing_is_said_of_what_can_fail_nowhere(placed, program: str) -> None:
    assert placed(program).births == []


@pytest.mark.parametrize("program", UNSETTLED.values(), ids=UNSETTLED)
def test_one_use_that_can_fail_is_enough(placed, program: str) -> None:
    assert len(placed(program).births) == 1
