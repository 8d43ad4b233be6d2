"""Modules that are made, kept, taken apart, and left behind: which of them stay on the host."""

from textwrap import dedent, indent

import pytest
from devfix_codemods.ir import Op

FIT = """
    def fit(loader, device):
        net = {made}
        {between}
        for x, y in loader:
            print(net(x.to(device)))
"""


@pytest.mark.parametrize(
    "made",
    [
        "nn.Linear(3, 3)",
        "nn.Linear(3, 3).type(torch.float16)",
        "Zoo().eval().features[:3].eval()",
        "nn.Embedding.from_pretrained(torch.load(path))",
    ],
)
def test_modules_that_stay_on_the_host(placed, made: str) -> None:
    program = "from torchvision.models import vgg16 as Zoo\n" + dedent(FIT.format(made=made, between="pass"))
    assert len(placed(program).births) == 1


@pytest.mark.parametrize(
    ("made", "between"),
    [
        ("nn.Linear(3, 3).type(torch.cuda.FloatTensor)", "pass"),
        ("nn.Linear(3, 3).to(device)", "pass"),
        ("nn.Linear(3, 3)", "net.to(device)"),
        ("nn.ReLU()", "pass"),
    ],
)
def test_modules_that_are_moved_or_hold_nothing(placed, made: str, between: str) -> None:
    assert placed(FIT.format(made=made, between=between)).births == []


def test_a_module_that_was_given_away_may_have_been_moved(placed) -> None:
    sure, unsure = (
        placed("from lab import wrap\n" + dedent(FIT.format(made="nn.Linear(3, 3)", between=one))).analysis.conflicts[0]
        for one in ("pass", "net = wrap(net)")
    )
    assert unsure.confidence < 0.6 < sure.confidence


RESAMPLED = """
    import torchaudio
    def f({given}):
        change = torchaudio.transforms.{made}
        return change(x)
"""


def test_a_fresh_module_belongs_where_its_input_is(placed) -> None:
    assert placed(RESAMPLED.format(given="x", made="Resample(8000, 16000)")).births == [
        "torchaudio.transforms.Resample(8000, 16000)"
    ]


@pytest.mark.parametrize(
    ("given", "made"), [("x", "Resample(8000, 16000).to(x.device)"), ("x: list", "Resample(8000, 16000)")]
)
def test_a_fresh_module_that_is_moved_or_gets_no_tensor(placed, given: str, made: str) -> None:
    assert placed(RESAMPLED.format(given=given, made=made)).births == []


def test_a_runner_gives_tests_what_is_on_the_host(placed) -> None:
    program = "def {name}(x):\n    return nn.Linear(3, 3)(x)\n"
    assert placed(program.format(name="test_layer")).births == []
    assert placed(program.format(name="layer")).births == ["nn.Linear(3, 3)"]


def test_what_a_script_gives_its_own_tests_is_where_it_put_that(placed) -> None:
    program = """
        def test_model(model, x):
            return model(x) * torch.ones(3)
        def main(x, device):
            model = nn.Linear(3, 3).to(device)
            x = x.to(device)
            {call}
    """
    assert placed(program.format(call="print(test_model(model, x))")).births == ["torch.ones(3)"]
    assert placed(program.format(call="pytest.main()")).births == []


PLACED = "nn.Linear(3, 3, device=device)"
CONTAINERS = {
    "told a device": (f"net = nn.Sequential({PLACED}, nn.ReLU())", False),
    "in a container": (f"net = nn.Sequential(nn.Sequential({PLACED}), {PLACED})", False),
    "out of a comprehension": (f"net = nn.Sequential(*[{PLACED} for _ in range(3)])", False),
    "out of a list that is filled": (f"row = []\nfor _ in x: row.append({PLACED})\nnet = nn.Sequential(*row)", False),
    "of a caller": (f"net = nn.Sequential(given, {PLACED})", False),
    "told nothing": (f"net = nn.Sequential(nn.Linear(3, 3), {PLACED})", True),
    "told the host": ("net = nn.Sequential(nn.Linear(3, 3, device='cpu'))", True),
    "put into a list": (f"row = [{PLACED}]\nrow.append(nn.Linear(3, 3))\nnet = nn.Sequential(*row)", True),
    "put into an empty list": ("row = []\nfor _ in x: row.append(nn.Linear(3, 3))\nnet = nn.Sequential(*row)", True),
    "of what holds nothing": ("net = nn.Sequential(*[nn.ReLU(), nn.Tanh()])", False),
    "of itself": ("row = [nn.Linear(3, 3)]\nrow.append(nn.Sequential(*row))\nnet = nn.Sequential(*row)", True),
}


@pytest.mark.parametrize(("made", "is_left"), CONTAINERS.values(), ids=CONTAINERS)
def test_a_container_is_where_its_parts_were_placed(placed, made: str, is_left: bool) -> None:
    body = indent(f"{made}\nreturn net(x.to(device))", " " * 4)
    assert bool(placed(f"def f(x, device, given):\n{body}\n").births) == is_left


ENGINE = """
    from ignite.engine import create_supervised_trainer
    def main(device):
        net = {made}
        return create_supervised_trainer(net, optimizer, nn.MSELoss(){given})
"""


def test_an_engine_moves_batches_and_not_the_module(placed) -> None:
    assert placed(ENGINE.format(made="nn.Linear(3, 3)", given=", device=device")).births == ["nn.Linear(3, 3)"]


@pytest.mark.parametrize(
    ("made", "given"), [("nn.Linear(3, 3)", ""), ("nn.Linear(3, 3).to(device)", ", device=device")]
)
def test_an_engine_that_moves_nothing_or_gets_what_is_moved(placed, made: str, given: str) -> None:
    assert placed(ENGINE.format(made=made, given=given)).births == []


KEPT = """
    class Judge:
        def __init__(self, head, options):
            self.device = {device}
            self.head = head
        def run(self, loader):
            for x in loader:
                print(self.head(x.to(self.device)))
"""


def test_who_chooses_a_device_moves_what_it_is_given(placed) -> None:
    device = 'torch.device("cuda" if torch.cuda.is_available() else "cpu")'
    assert placed(KEPT.format(device=device)).births == ["head"]


@pytest.mark.parametrize("device", ["options.device", '"cpu" if options.cpu else "cuda"', "torch.device(options.gpu)"])
def test_who_is_told_a_device_leaves_that_to_its_caller(placed, device: str) -> None:
    assert placed(KEPT.format(device=device)).births == []


FAMILY = """
    from lab import Embeddings, device
    class Words(Embeddings):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.to(device)
    class Letters(Embeddings):
        def __init__(self):
            super().__init__()
            self.table = {made}
            self.eval()
        def embed(self, ids):
            return self.table(torch.tensor(ids).to({where}))
"""


def test_a_class_that_stays_behind_its_family(placed) -> None:
    found = placed(FAMILY.format(made="nn.Embedding(10, 4)", where="device")).conflicts
    assert [one.links[0] for one in found] == ["moved-in-family"]


@pytest.mark.parametrize(
    ("made", "where"), [("nn.Embedding(10, 4).to(device)", "device"), ("nn.Embedding(10, 4)", "self.device")]
)
def test_a_class_that_moves_its_parts_or_follows_itself(placed, made: str, where: str) -> None:
    assert placed(FAMILY.format(made=made, where=where)).conflicts == []


BUILT = """
    def build(n):
        return nn.Sequential(nn.Linear(n, n))
    def fit(loader, device):
        student = build(3)
        teacher = build(5)
        {between}
        for x, y in loader:
            x = x.to(device)
            print(F.mse_loss(student(x), teacher(x)))
"""


@pytest.mark.parametrize(
    ("moves", "birth"),
    [("student = student.to(device)", "build(5)"), ("place(student)", "nn.Sequential(nn.Linear(n, n))")],
)
def test_what_one_call_gives_is_not_what_another_does(placed, moves: str, birth: str) -> None:
    found = placed("from lab import place\n" + dedent(BUILT.format(between=moves)))
    assert found.births == [birth]
    assert found.of(birth).confidence > 0.75


def test_what_each_call_gives_may_be_moved(placed) -> None:
    between = "student, teacher = place(student), place(teacher)"
    found = placed("from lab import place\n" + dedent(BUILT.format(between=between)))
    assert all(one.confidence < 0.6 for one in found.conflicts)


PARTS = """
    class Net(nn.Module):
        def __init__(self, sizes):
            super().__init__()
            self.parts = nn.ModuleList(nn.Linear(n, n) for n in sizes)
        def forward(self, x, index):
            return {result}
"""


@pytest.mark.parametrize("result", ["[part(x) for part in self.parts]", "self.parts[index](x)"])
def test_what_a_container_of_modules_holds_is_called(placed, result: str) -> None:
    analysis = placed(PARTS.format(result=result)).analysis
    given = [one for one in analysis.module.nodes() if one.op is Op.CALL and one.args[-1].extra == "x"]
    (part,) = [one.args[0] for one in given]
    assert analysis.kinds.is_module(part)


LISTED = """
    def test(net: nn.Module, batches):
        for x, y in batches:
            print(F.mse_loss(net(x), y))
    def main(data, device):
        loader = torch.utils.data.DataLoader(data)
        test(nn.Linear(3, 3).to(device), {given})
"""


@pytest.mark.parametrize(
    ("given", "births"), [("[(x.to(device), y.to(device)) for x, y in loader]", []), ("loader", ["x", "y"])]
)
def test_a_loop_over_what_a_caller_lists(placed, given: str, births: list[str]) -> None:
    assert placed(LISTED.format(given=given)).births == births


METRIC = """
    import torchmetrics
    def evaluate(net, loader, device):
        metric = {made}
        for x, y in loader:
            {update}
"""


@pytest.mark.parametrize(
    ("made", "update"),
    [
        ("torchmetrics.MeanSquaredError()", "metric.update(x.to(device), y.to(device))"),
        ("torchmetrics.MeanSquaredError().clone()", "metric(x.to(device), y.to(device))"),
        ("torchmetrics.MetricCollection([torchmetrics.MeanMetric()])", "metric.update(x.to(device))"),
    ],
)
def test_metrics_that_stay_on_the_host(placed, made: str, update: str) -> None:
    (found,) = placed(METRIC.format(made=made, update=update)).conflicts
    assert found.confidence > 0.86


@pytest.mark.parametrize(
    ("made", "update"),
    [
        ("torchmetrics.RetrievalMRR()", "metric.update(x.to(device), y.to(device))"),
        ("torchmetrics.MeanSquaredError()", "metric.update(x.cpu(), y.cpu())"),
        ("torchmetrics.MetricCollection([torchmetrics.MeanMetric().to(device)])", "metric.update(x.to(device))"),
    ],
)
def test_metrics_that_keep_lists_or_are_where_they_should_be(placed, made: str, update: str) -> None:
    assert placed(METRIC.format(made=made, update=update)).births == []


CONSTRUCTED = """
    from lab import device
    from torch.optim import SGD
    class Base(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 3)
            {ends}
        def place(self):
            return super().to(device)
    class Net(Base):
        {body}
        def forward(self, x):
            return self.fc(x)
    def fit(loader):
        net = Net()
        for x, y in loader:
            print(net(x.to(device)))
"""
HANDED_ON = """def __init__(self):
            super().__init__()
            self.{part}"""


@pytest.mark.parametrize("ends", ["self.to(device)", "self.place()"])
@pytest.mark.parametrize(
    "body", ["size = 3", HANDED_ON.format(part="loss = nn.MSELoss()"), HANDED_ON.format(part="lr = SGD(self.fc)")]
)
def test_a_constructor_of_a_base_moves_the_object(placed, ends: str, body: str) -> None:
    assert placed(CONSTRUCTED.format(ends=ends, body=body)).analysis.conflicts == []


@pytest.mark.parametrize(
    ("ends", "body"),
    [
        ("pass", "size = 3"),
        ("self.size = 3", HANDED_ON.format(part="loss = nn.MSELoss()")),
        ("self.to(device)", HANDED_ON.format(part="head = nn.Linear(3, 3)")),
    ],
)
def test_a_constructor_of_a_base_that_moves_nothing_or_not_all(placed, ends: str, body: str) -> None:
    assert placed(CONSTRUCTED.format(ends=ends, body=body)).births == ["Net()"]


CONTAINED = """
    from torchvision.models import resnet18
    def fit(loader, device, given):
        part = {part}
        {between}
        net = nn.Sequential({parts})
        for x, y in loader:
            print(net(x.to(device)))
"""


@pytest.mark.parametrize(
    ("part", "between", "parts"),
    [
        ("nn.Linear(3, 3).to(device)", "pass", "part, nn.ReLU()"),
        ("nn.Linear(3, 3)", "part.to(device)", "part, nn.ReLU()"),
        ("nn.Linear(3, 3, device=device)", "pass", "part"),
        ("given", "pass", "part.encoder, nn.ReLU()"),
        ("resnet18().to(device)", "pass", "part.conv1, part.bn1"),
        ("resnet18().to(device)", "pass", "*list(part.children())[:-1]"),
        ("torch.load(given, map_location=device)", "pass", "part.features"),
    ],
)
def test_a_container_of_what_is_elsewhere(placed, part: str, between: str, parts: str) -> None:
    assert placed(CONTAINED.format(part=part, between=between, parts=parts)).births == []


@pytest.mark.parametrize(
    ("part", "parts"),
    [
        ("nn.Linear(3, 3).to(device)", "part, nn.Linear(3, 3)"),
        ("nn.Linear(3, 3)", "part, nn.ReLU()"),
        ("resnet18()", "part.conv1, part.bn1"),
        ("resnet18()", "*list(part.children())[:-1]"),
    ],
)
def test_a_container_with_a_part_that_is_made_here(placed, part: str, parts: str) -> None:
    births = placed(CONTAINED.format(part=part, between="pass", parts=parts)).births
    assert f"nn.Sequential({parts})" in births


NAMED = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            for i in range(3):
                {sets}
        def forward(self, x):
            return getattr(self, "fc0")(x)
    def fit(loader, device):
        net = Net(){moved}
        head = nn.Linear(3, 3).to(device)
        for x, y in loader:
            print(net(head(x.to(device))))
"""


@pytest.mark.parametrize(
    "sets", ['setattr(self, f"fc{i}", nn.Linear(3, 3))', 'self.__setattr__("fc" + str(i), nn.Linear(3, 3))']
)
def test_a_part_that_gets_its_name_as_a_text(placed, sets: str) -> None:
    assert placed(NAMED.replace("{sets}", sets).replace("{moved}", ".to(device)")).births == []
    assert placed(NAMED.replace("{sets}", sets).replace("{moved}", "")).births == ["Net()"]


REBUILT = """
    from zoo import build, other
    def fit(args, loader):
        net = {first}
        for x in loader:
            net(x.cuda()).mean().backward()
    def check(args, loader):
        for x in loader:
            net = build(args)
            net.eval()
            print(net(x.cuda()))
"""


@pytest.mark.parametrize(
    ("first", "link"),
    [
        ("other(args).cuda()", "built-by-unknown"),
        ("build(args, device='cuda')", "built-by-unknown"),
        ("build(args).cuda()", "built-as-moved"),
        ("build('small').cuda()", "built-as-moved"),
    ],
)
def test_what_makes_a_module_that_is_moved_places_none(placed, first: str, link: str) -> None:
    assert placed(REBUILT.format(first=first)).of("build(args)").links[0] == link


TWINS = """
    from zoo import Net
    class Actor:
        def __init__(self, rank):
            self.device = torch.device("cuda", rank)
            self.net = Net(3)
            self.target = Net(4).to(self.device)
        def load(self, path):
            {loads}
        def act(self, x):
            return self.net(x.to(self.device)), self.target(x.to(self.device))
"""
OWN = "self.net.load(path, device=self.device)"


def test_a_method_of_its_own_may_move_a_module_beside_its_twin(placed) -> None:
    assert not placed(TWINS.format(loads=OWN)).conflicts


def test_a_method_that_the_moved_twin_has_as_well_excuses_no_module(placed) -> None:
    both = f"{OWN}; self.target.load(path, device=self.device)"
    assert placed(TWINS.format(loads=both)).of("Net(3)").links[-1] == "twin-made"
