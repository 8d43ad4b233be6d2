"""Values that are moved on one path: what the other path does, or that there is none."""

import pytest

PROGRAM = """
    def run(mode, values, batches):
        net = nn.Linear(3, 3).cuda()
        x = torch.zeros(3)
{body}
"""
MOVED = {
    "try that ends": """
        try:
            x = x.cuda()
        except RuntimeError:
            raise SystemExit("no card")
        net(x)
    """,
    "try that gives up": """
        try:
            x = x.cuda()
        except RuntimeError:
            print("no card")
            return
        net(x)
    """,
    "try that goes on without a card": """
        net = nn.Linear(3, 3)
        try:
            net = net.cuda()
            x = x.cuda()
        except RuntimeError:
            print("no card")
        net(x)
    """,
    "try with an else": """
        try:
            import apex
        except ImportError:
            x = x.cuda()
        else:
            x = apex.cast(x).cuda()
        net(x)
    """,
    "loop that runs": """
        for attempt in range(3):
            x = x.cuda()
        net(x)
    """,
    "loop over a display": """
        for layer in (1, 2):
            x = x.cuda()
        net(x)
    """,
    "loop that breaks": """
        while True:
            x = x.cuda()
            if mode:
                break
        net(x)
    """,
    "choice that may be one of a device": """
        if mode == "GPU":
            x = x.cuda()
        if values.use_cuda == "always":
            x = x.cuda()
        net(x)
    """,
    "match with a default": """
        match mode:
            case "a":
                x = x.cuda()
            case _:
                x = x.to("cuda")
        net(x)
    """,
    "match with a default that ends": """
        match mode:
            case "a":
                x = x.cuda()
            case "b" | "c":
                x = x.to("cuda")
            case other:
                raise ValueError(other)
        net(x)
    """,
}
LEFT = {
    "try that goes on": """
        try:
            values.append(3)
            x = x.cuda()
        except ValueError:
            x = torch.zeros(3)
        net(x)
    """,
    "loop that breaks before": """
        while True:
            if mode:
                break
            x = x.cuda()
        net(x)
    """,
    "loop that may not run": """
        for one in batches:
            x = x.cuda()
        net(x)
    """,
    "choice of what is done": """
        if mode == "a":
            x = x.cuda()
        net(x)
    """,
    "match without a default": """
        match mode:
            case "a":
                x = x.cuda()
            case "b":
                x = x.to("cuda")
        net(x)
    """,
    "match with a condition": """
        match mode:
            case "a":
                x = x.cuda()
            case other if other in values:
                raise ValueError(other)
        net(x)
    """,
    "match with a default that goes on": """
        match mode:
            case "a":
                x = x.cuda()
            case _:
                print(mode)
        net(x)
    """,
}


@pytest.mark.parametrize("body", MOVED.values(), ids=MOVED)
def test_no_other_path_leads_there(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == []


@pytest.mark.parametrize("body", LEFT.values(), ids=LEFT)
def test_another_path_leads_there(placed, body: str) -> None:
    assert "torch.zeros(3)" in placed(PROGRAM.format(body=body)).births


TURNS = """
    def train(net: nn.Module, loader):
        net.cuda()
        y = torch.zeros(3)
        show(y)
        for x, y in loader:
            x, y = x.cuda(){moved}
        F.mse_loss(net(x), y).backward()
"""


def test_who_reads_a_target_behind_its_loop_counts_on_a_turn(placed) -> None:
    assert placed(TURNS.format(moved=", y.cuda()")).births == []


def test_what_the_last_turn_leaves_is_met(placed) -> None:
    assert placed(TURNS.format(moved=", y + 1")).births == ["y"]


BY_KIND = """
    def encoded(pos, kind="np"):
        if kind == "np":
            return rows_of(pos)
        return torch.relu(pos)
    def rows_of(pos):
        return np.sin(pos)
    def run(device):
        return encoded(torch.arange(4, device=device){given})
"""


@pytest.mark.parametrize(("given", "found"), [(', kind="pt"', []), (', kind="np"', ["pos"]), ("", ["pos"])])
def test_a_constant_that_is_compared_decides(placed, given: str, found: list[str]) -> None:
    assert placed(BY_KIND.format(given=given)).births == found


AGAIN = """
    def halved(x, n):
        return x if n == 0 else halved(x, n - 1)
    def run(y):
        return halved(torch.zeros(3), {n}) * y.cuda()
"""


@pytest.mark.parametrize("n", ["0", "9"])
def test_a_constant_decides_nothing_of_a_function_that_calls_itself(placed, n: str) -> None:
    assert placed(AGAIN.format(n=n)).births == ["torch.zeros(3)"]
