"""Copies of modules and of their weights stay where they were taken."""

import pytest

PROGRAM = """
    import copy
    def train(loader, device):
        model = nn.Linear(4, 2)
        {before}
        model.to(device)
        {after}
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            with torch.no_grad():
                for kept, live in zip({kept}, model.parameters()):
                    kept.mul_(0.9).add_(live, alpha=0.1)
"""
MODULE = "teacher = copy.deepcopy(model)"
WEIGHTS = "weights = [one.detach().clone() for one in model.parameters()]"


@pytest.mark.parametrize(
    ("taken", "kept", "birth"),
    [
        (MODULE, "teacher.parameters()", "copy.deepcopy(model)"),
        (WEIGHTS, "weights", "one.detach().clone()"),
    ],
)
def test_what_is_copied_before_the_move_stays_behind(placed, taken: str, kept: str, birth: str) -> None:
    assert placed(PROGRAM.format(before=taken, after="", kept=kept)).births == [birth]
    assert placed(PROGRAM.format(before="", after=taken, kept=kept)).births == []


def test_a_copy_that_is_moved_by_itself(placed) -> None:
    moved = placed(PROGRAM.format(before=MODULE, after="teacher.to(device)", kept="teacher.parameters()"))
    assert moved.births == []


def test_a_copy_of_a_model_that_stays(placed) -> None:
    program = PROGRAM.format(before=MODULE, after="", kept="teacher.parameters()")
    assert placed(program.replace("model.to(device)", "").replace("x.to(device)", "x")).births == []


CLASS = """
    import copy
    class EMA:
        def __init__(self, {given}):
            self.kept = {kept}
        def update(self, {given}):
            for kept, live in zip({averages}, {weights}):
                kept.mul_(0.9).add_(live, alpha=0.1)
    def train(loader, device):
        model = nn.Linear(4, 2)
        {before}
        model.to(device)
        {after}
        for x in loader:
            loss = model(x.to(device)).mean()
            loss.backward()
            with torch.no_grad():
                ema.update({argument})
"""
CLASSES = {
    "a copy of the module": ("model", "copy.deepcopy(model)", "self.kept.parameters()"),
    "copies of its weights": ("model", "[p.detach().clone() for p in model.parameters()]", "self.kept"),
    "a dict of them": (
        "model",
        "{k: v.clone() for k, v in model.named_parameters()}",
        "self.kept.values()",
    ),
    "of what it is given of the module": ("weights", "[p.clone() for p in weights]", "self.kept"),
}


def _of_class(given: str, kept: str, averages: str, *, early: bool, more: str = "") -> str:
    argument, weights = ("model", "model.parameters()") if given == "model" else ("model.parameters()", "weights")
    made = f"ema = EMA({argument})"
    before, after = (made, more) if early else (more, made)
    return CLASS.format(
        given=given, kept=kept, averages=averages, weights=weights, argument=argument, before=before, after=after
    )


@pytest.mark.parametrize("taken", CLASSES.values(), ids=CLASSES)
def test_a_class_that_copies_the_module_after_the_move(placed, taken: tuple[str, str, str]) -> None:
    assert placed(_of_class(*taken, early=False)).births == []


@pytest.mark.parametrize("taken", CLASSES.values(), ids=CLASSES)
def test_a_class_that_copies_the_module_before_the_move(placed, taken: tuple[str, str, str]) -> None:
    (birth,) = placed(_of_class(*taken, early=True)).births
    assert birth in taken[1]


@pytest.mark.parametrize("more", ["other = EMA(model.to(device))", "make = EMA", "other = EMA(load())"])
def test_a_class_that_gets_others_too(placed, more: str) -> None:
    taken = CLASSES["copies of its weights"]
    assert placed(_of_class(*taken, early=True, more=f"{more}; keep(make)")).births == []


MADE = """
    import copy
    def build(device):
        {built}
    def train(loader, device):
        model = {made}
        ema = copy.deepcopy(model)
        model.to(device)
        for x in loader:
            model(x.to(device)).mean().backward()
            with torch.no_grad():
                for kept, live in zip(ema.parameters(), model.parameters()):
                    kept.mul_(0.9).add_(live, alpha=0.1)
"""


@pytest.mark.parametrize(
    "built", ["return nn.Linear(4, 2).to(device)", "net = nn.Linear(4, 2)\n        return net.to(device)"]
)
def test_what_a_function_makes_on_the_device(placed, built: str) -> None:
    assert placed(MADE.format(built=built, made="build(device)")).births == []


@pytest.mark.parametrize(
    ("built", "made"),
    [
        ("return nn.Linear(4, 2)", "build(device)"),
        ("layers = [nn.Linear(4, 4), nn.Linear(4, 2)]\n        return nn.Sequential(*layers)", "build(device)"),
        ("pass", "nn.Linear(4, 2) if loader.deep else nn.Linear(4, 4)"),
    ],
)
def test_what_a_function_or_a_choice_makes_on_the_host(placed, built: str, made: str) -> None:
    assert "copy.deepcopy(model)" in placed(MADE.format(built=built, made=made)).births


GIVEN_AWAY = """
    import copy
    from nets import Net
    from tools import load, update
    def main(options, loader):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = Net(options)
        average = copy.deepcopy({copied})
        print(sum(p.numel() for p in net.parameters()))
        net = net.to(device)
        net, average = load(options, net, average)
        for x in loader:
            net(x.to(device)).sum().backward()
            update(net, average)
"""


def test_a_copy_of_something_else(placed) -> None:
    assert placed(GIVEN_AWAY.format(copied="options")).births == []


def test_a_copy_is_a_twin_of_what_the_program_moves(placed) -> None:
    assert "twin-made" in placed(GIVEN_AWAY.format(copied="net")).of("copy.deepcopy(net)").links
