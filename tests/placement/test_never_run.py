"""What never runs: constant tests."""

import pytest

PROGRAM = """
    def run(net, x):
        net = nn.Linear(3, 3).cuda()
        x = torch.zeros(3)
        {body}
"""
NEVER = {
    "if": "if False: net(x)",
    "zero": "if 0: net(x)",
    "else": """
        if True:
            print(x)
        else:
            net(x)
    """,
    "conjunction": "if False and x.any(): net(x)",
    "loop": "while False: net(x)",
    "choice": "net(x) if False else None",
    "behind": """
        assert False, "unreachable"
        net(x)
    """,
    "function": """
        if False:
            def step():
                net(x)
    """,
    "replaced": """
        if True:
            x = x.cuda()
        net(x)
    """,
}
RUN = {
    "if": "if True: net(x)",
    "one": "if 1: net(x)",
    "else": """
        if False:
            print(x)
        else:
            net(x)
    """,
    "conjunction": "if True and len(x): net(x)",
    "loop": "while True: net(x)",
    "behind a loop": """
        while True:
            break
        net(x)
    """,
    "choice": "net(x) if True else None",
    "flag": """
        fast = False
        for epoch in range(3):
            if fast:
                net(x)
            fast = True
    """,
    "not replaced": """
        if False:
            x = x.cuda()
        net(x)
    """,
}


@pytest.mark.parametrize("body", NEVER.values(), ids=NEVER)
def test_nothing_meets_where_nothing_runs(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == []


@pytest.mark.parametrize("body", RUN.values(), ids=RUN)
def test_what_runs_meets(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == ["torch.zeros(3)"]
