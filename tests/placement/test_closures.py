"""Functions inside of others: they see what is bound where they are called, and may bind it anew."""

import pytest

PROGRAM = """
    def main(path):
        net = nn.Linear(3, 3).cuda()
        x = torch.zeros(3)
{body}
"""
RIGHT = {
    "called before it is bound anew": """
        x = x.cuda()
        def run():
            return net(x)
        run()
        x = torch.ones(3)
        print(x)
    """,
    "called twice": """
        def run(y):
            return net(x) + y
        x = x.cuda()
        print(run(1))
        x = x * 2
        print(run(2))
        x = torch.ones(3)
        print(x)
    """,
    "called where it stands": """
        x = x.cuda()
        print((lambda: net(x))())
        x = torch.ones(3)
        print(x)
    """,
    "a generator that is read later": """
        def run():
            yield net(x)
        outs = enumerate(run())
        x = x.cuda()
        print(*outs)
    """,
    "moved inside": """
        def move():
            nonlocal x
            x = x.cuda()
        move()
        net(x)
    """,
    "moved inside, under a condition that holds for both": """
        def move():
            nonlocal x
            if path:
                x = x.cuda()
        move()
        if path:
            net(x)
    """,
}
WRONG = {
    "called before it is moved": """
        def run():
            return net(x)
        run()
        x = x.cuda()
        print(x)
    """,
    "one of two calls": """
        def run(y):
            return net(x) + y
        run(1)
        x = x.cuda()
        print(run(2))
    """,
    "called where it stands": """
        print((lambda: net(x))())
        x = x.cuda()
        print(x)
    """,
    "a generator that is read at once": """
        def run():
            yield net(x)
        outs = list(run())
        for out in run():
            print(out, outs)
        x = x.cuda()
        print(x)
    """,
    "bound anew inside": """
        x = x.cuda()
        def reset():
            nonlocal x
            x = torch.zeros(3)
        reset()
        net(x)
    """,
    "given away, and called later": """
        y = x.cuda()
        def run():
            return net(x)
        run()
        return run
    """,
}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_is_seen_is_moved(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == []


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_is_seen_is_not_moved(placed, body: str) -> None:
    assert placed(PROGRAM.format(body=body)).births == ["torch.zeros(3)"]


ENDS = """
    def made(cuda):
        net = nn.Linear(3, 3)
        if cuda:
            {moved}
        def run(x):
            if cuda:
                x = x.cuda()
            return net(x)
        {end}
"""


@pytest.mark.parametrize("moved", ["net.cuda()", "net = net.cuda()"])
@pytest.mark.parametrize("end", ["return run", "keep(run)"])
def test_what_a_function_inside_sees_at_the_end(placed, moved: str, end: str) -> None:
    assert placed(ENDS.format(moved=moved, end=end)).births == []


@pytest.mark.parametrize("end", ["return run", "keep(run)"])
def test_what_is_not_moved_at_the_end(placed, end: str) -> None:
    assert placed(ENDS.format(moved="net.eval()", end=end)).births == ["nn.Linear(3, 3)"]
