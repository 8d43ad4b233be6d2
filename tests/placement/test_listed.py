"""Comprehensions over values that they list: each value has its own way through them."""

import pytest

UNTOUCHED = {
    "moved under the flag, as the model is": """
        use_cuda = torch.cuda.is_available()
        model = nn.Linear(3, 3)
        if use_cuda:
            model.cuda()
        for x, y in torch.utils.data.DataLoader(data):
            if use_cuda:
                x, y = [one.cuda() for one in (x, y)]
            loss = F.cross_entropy(model(x), y)
    """,
    "by a generator": """
        model = nn.Linear(3, 3).cuda()
        for x, y in torch.utils.data.DataLoader(data):
            x, y = (one.cuda() for one in [x, y])
            loss = F.cross_entropy(model(x), y)
    """,
    "a mapping that is made anew under the flag": """
        model = nn.Linear(3, 3)
        if torch.cuda.is_available():
            model.cuda()
        for step, batch in enumerate(torch.utils.data.DataLoader(data)):
            if torch.cuda.is_available():
                batch = {key: one.cuda() for key, one in batch.items()}
            loss = F.cross_entropy(model(batch["x"]), batch["y"])
    """,
    "two modules": """
        one, two = [net.to("cuda") for net in (nn.Linear(3, 3), nn.Linear(3, 3))]
        two(one(torch.rand(3).to("cuda")))
    """,
    "modules in place": """
        one, two = nn.Linear(3, 3), nn.Linear(3, 3)
        one, two = [net.to("cuda") for net in (one, two)]
        two(one(torch.rand(3).to("cuda")))
    """,
}
MISPLACED = {
    "the one that is not listed": (
        """
        model = nn.Linear(3, 3).cuda()
        for x, y, z in torch.utils.data.DataLoader(data):
            x, y = [one.cuda() for one in (x, y)]
            loss = F.cross_entropy(model(x) * z, y)
        """,
        ["z"],
    ),
    "made otherwise of each": (
        """
        model = nn.Linear(3, 3).cuda()
        x, y = [one.float() for one in (torch.rand(3).cuda(), torch.rand(3))]
        model(x) + y
        """,
        ["torch.rand(3)"],
    ),
}


@pytest.mark.parametrize("program", UNTOUCHED.values(), ids=UNTOUCHED)
def test_nothing_is_misplaced(placed, program: str) -> None:
    assert placed(program).births == []


@pytest.mark.parametrize(("program", "births"), MISPLACED.values(), ids=MISPLACED)
def test_what_is_misplaced(placed, program: str, births: list[str]) -> None:
    assert placed(program).births == births
