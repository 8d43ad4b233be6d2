"""What a call gives by position stops at a star: behind it parameters have names."""

import pytest

TIMED = """
    def main(device):
        net = nn.Linear(3, 3)
        x = torch.randn(3, device=device)
        def run(model, batch):
            return model(batch)
        def timed(function, {given}, model=None):
            for _ in range(3):
                function(*rest)
            return model
        return run(net, x), timed(run, net, x){asked}
"""


@pytest.mark.parametrize("given", ["*rest", "*rest, repeats=3"])
def test_what_stands_behind_a_star_is_given_by_its_name_alone(placed, given: str) -> None:
    found = placed(TIMED.format(given=given, asked=""))
    links = [one.link for one in found.analysis.graph.edges.get(_made(found), ())]
    assert links.count("call") == 1  # the parameter of `run`


def test_what_stands_before_a_star(placed) -> None:
    found = placed(TIMED.format(given="model2, *rest", asked=""))
    links = [one.link for one in found.analysis.graph.edges.get(_made(found), ())]
    assert links.count("call") == 2


def _made(found):
    return next(one for one in found.analysis.graph.sources if "nn.Linear(3, 3)" in str(one))
