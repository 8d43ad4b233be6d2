"""Averages that stay on the host: their copy is moved, or what enters them is taken there."""

from devfix_codemods.findings import Safety

from tests.repairs.conftest import Repairs

PROGRAM = """
import copy
def train(loader):
    model = nn.Linear(4, 2)
    {taken}
    {test}model.to("cuda")
    for x in loader:
        model(x.to(next(model.parameters()).device)).mean().backward()
        for kept, live in zip({kept}, model.parameters()):
            kept.data.mul_(0.9).add_(live.data, alpha=0.1)
"""


def test_a_copy_is_moved_beside_its_model(repairs: Repairs) -> None:
    program = PROGRAM.format(taken="teacher = copy.deepcopy(model)", test="", kept="teacher.parameters()")
    assert repairs.added(program, Safety.UNSAFE) == ['teacher.to("cuda")']


def test_copies_are_moved_as_they_are_taken(repairs: Repairs) -> None:
    taken = "weights = [one.detach().clone() for one in model.parameters()]"
    (added,) = repairs.added(PROGRAM.format(taken=taken, test="", kept="weights"), Safety.UNSAFE)
    assert added == 'weights = [one.detach().clone().to("cuda") for one in model.parameters()]'


def test_where_no_device_can_be_named_the_weight_goes_to_its_average(repairs: Repairs) -> None:
    taken = "weights = [one.detach().clone() for one in model.parameters()]"
    test = "if torch.cuda.is_available():\n        "
    (added,) = repairs.added(PROGRAM.format(taken=taken, test=test, kept="weights"), Safety.UNSAFE)
    assert added == "kept.data.mul_(0.9).add_(live.data.to(kept.data.device), alpha=0.1)"
