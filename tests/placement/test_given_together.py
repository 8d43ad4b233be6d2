"""What calls that are not read say of what they are given: of models and tensors, of pictures, and of lengths."""

import pytest

TOGETHER = """
    from PIL import Image
    def main(path, preprocess, infer, device):
        net = nn.Linear(3, 3){moved}
        image = {made}
        return infer(image, {given})
"""


def test_a_tensor_of_a_picture_belongs_where_the_model_is(placed) -> None:
    made = "preprocess(Image.open(path).convert('RGB')).unsqueeze(0)"
    found = placed(TOGETHER.format(moved=".to(device)", made=made, given="net"))
    assert found.of(made.removesuffix(".unsqueeze(0)")).links == ("made-of-picture", "called-together")


@pytest.mark.parametrize(
    ("moved", "made", "given"),
    [
        ("", "preprocess(Image.open(path)).unsqueeze(0)", "net"),
        (".to(device)", "preprocess(Image.open(path)).unsqueeze(0).to(device)", "net"),
        (".to(device)", "preprocess(Image.open(path)).unsqueeze(0)", "path"),
        (".to(device)", "preprocess(Image.open(path), device).unsqueeze(0)", "net"),
        (".to(device)", "preprocess(path).unsqueeze(0)", "net"),
    ],
)
def test_pictures_that_are_moved_or_meet_nothing(placed, moved: str, made: str, given: str) -> None:
    found = placed(TOGETHER.format(moved=moved, made=made, given=given))
    assert all("made-of-picture" not in one.birth.links for one in found.conflicts)


FILLED = """
    from bank import Bank, fill
    def main(rows, device):
        one, other = Bank(3), Bank(4)
        one.to(device)
        fill(rows, {first})
        fill(rows, {second})
"""


def test_who_gets_one_that_is_moved_moves_none(placed) -> None:
    assert placed(FILLED.format(first="one", second="other")).of("Bank(4)").links == ("used-as-module", "twin-made")


OF_ITS_OWN = """
    from bank import Bank, fill
    def test_first(rows):
        one = Bank(1)
        {first}
        fill(rows, one)
    def test_second(rows):
        one = Bank(2)
        {second}
        fill(rows, one)
    def test_third(rows, device):
        one = Bank(3)
        one.to(device)
        fill(rows, one)
"""


@pytest.mark.parametrize(("second", "supported"), [("pass", False), ("one.cuda()", True)])
def test_one_that_is_moved_elsewhere_is_no_rule_for_many(placed, second: str, supported: bool) -> None:
    found = placed(OF_ITS_OWN.format(first="pass", second=second))
    assert ["Bank(1)"] * supported == [each for each in found.births if each == "Bank(1)"]


def test_who_gets_none_that_is_moved_may_move_it(placed) -> None:
    assert "given-away" in placed(FILLED.format(first="3", second="other")).of("Bank(4)").links


LENGTHS = """
    from models import Net
    def main(loader, device):
        net = Net().to(device)
        for x, share in loader:
            {named} = share.mul(x.shape[1]).int()
            net(x.to(device), {named}).sum().backward()
"""


@pytest.mark.parametrize(("named", "weak"), [("masks", False), ("input_sizes", True), ("lens", True)])
def test_lengths_may_stay_on_the_host(placed, named: str, weak: bool) -> None:
    links = placed(LENGTHS.format(named=named)).of("share").links
    assert ("given-as-length" in links) == weak


SCALED = """
    from torchvision import transforms
    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = {scale}
        def load(self, rows, device):
            return self.scale(torch.from_numpy(rows)).to(device)
"""


@pytest.mark.parametrize(
    ("scale", "births"),
    [("transforms.Normalize(0, 1)", []), ("nn.Linear(3, 3)", ["torch.from_numpy(rows)"])],
)
def test_transforms_have_no_place(placed, scale: str, births: list[str]) -> None:
    assert placed(SCALED.format(scale=scale)).births == births


OF_GIVEN = """
    from models import Encoder
    class Both(nn.Module):
        def __init__(self, encoder):
            super().__init__()
            self.encoder = encoder
    def train(net, loader):
        for x in loader:
            net.encoder(x{moved}).sum().backward()
    def main(loader, device):
        net = Both(Encoder()).to(device)
        train(net, loader)
"""


@pytest.mark.parametrize(("moved", "births"), [("", ["x"]), (".cuda()", [])])
def test_a_part_of_what_callers_give_is_a_module(placed, moved: str, births: list[str]) -> None:
    assert placed(OF_GIVEN.format(moved=moved)).births == births


CONVERTED = """
    class Trainer:
        def fit(self, loader):
            self.net = Net().to(self.device)
            for x in loader:
                x = x.{converted}()
                loss = self.net(x)
                loss.backward()
"""


@pytest.mark.parametrize(("converted", "sure"), [("float", True), ("normalized", False)])
def test_what_is_converted_is_a_tensor(placed, converted: str, sure: bool) -> None:
    found = placed(CONVERTED.format(converted=converted)).conflicts
    assert any(one.confidence > 0.75 for one in found) == sure


STATEMENTS = """
    class Agent(Base):
        def sample(self, rows):
            {before}
            {other}
            {left}
            return {given}
"""
ONE = "x = torch.from_numpy(np.vstack([one.x for one in rows])).float().to(self.device)"
OTHER = "y = torch.from_numpy(np.vstack([one.y for one in rows])).float().to(self.device)"
LEFT = "z = torch.from_numpy(np.stack([int(one.z) for one in rows])).float()"


def _statements(left: str, before: str = ONE, other: str = OTHER, given: str = "x, y, z") -> str:
    return STATEMENTS.format(before=before, other=other, left=left, given=given)


@pytest.mark.parametrize(
    ("left", "links"),
    [
        (LEFT, ("array-made", "family-two")),
        (OTHER.replace("y = ", "z = ").removesuffix(".to(self.device)"), ("array-made", "twin-two")),
    ],
)
def test_arrays_that_a_row_of_statements_moves(placed, left: str, links: tuple[str, ...]) -> None:
    assert [one.links for one in placed(_statements(left)).conflicts] == [links]


@pytest.mark.parametrize(
    ("left", "before", "other"),
    [
        (LEFT.replace(".float()", ".float().to(self.device)"), ONE, OTHER),
        (LEFT, ONE.removesuffix(".to(self.device)"), OTHER.removesuffix(".to(self.device)")),
        (LEFT, ONE.replace("self.device", "'cpu'"), OTHER.replace("self.device", "'cpu'")),
        (LEFT.replace(".float()", ".float().unsqueeze(0)"), ONE, OTHER),
        (LEFT.replace("torch.from_numpy", "len"), ONE, OTHER),
    ],
)
def test_arrays_that_are_moved_or_made_otherwise(placed, left: str, before: str, other: str) -> None:
    assert placed(_statements(left, before, other)).births == []


ENTRIES = """
    from lib import wanted

    def main(loader, device):
        net = nn.Linear(3, 3).to(device)
        _, sample = loader.next()
        x = wanted(sample["x"]{first})
        y = wanted(sample["y"]{second}){third}
        return net(x) + net(y)
"""


def test_entries_that_calls_get_and_one_of_which_is_moved(placed) -> None:
    found = placed(ENTRIES.format(first="", second=".to(device)", third=""))
    assert found.births == ["sample['x']"]


@pytest.mark.parametrize(
    ("first", "second", "third"), [("", "", ""), (".to(device)", ".to(device)", ""), ("", ".cpu()", "")]
)
def test_entries_that_are_moved_all_or_not_at_all(placed, first: str, second: str, third: str) -> None:
    assert placed(ENTRIES.format(first=first, second=second, third=third)).births == []


ATTRIBUTES = """
    def evaluate(model, rows, criterion, options, device):
        for batch in rows:
            text = {moved}.text.to(device)
            label = {given}
            print(criterion(model(text), label).item())
"""


def test_attributes_of_a_batch_one_of_which_is_moved(placed) -> None:
    assert placed(ATTRIBUTES.format(moved="batch", given="batch.label")).births == ["batch.label"]


@pytest.mark.parametrize(
    ("moved", "given"),
    [
        ("batch", "batch.label.to(device)"),
        ("batch", "model.label"),
        ("batch", "len(batch.label)"),
        ("options", "options.label"),
    ],
)
def test_attributes_of_others_and_of_options(placed, moved: str, given: str) -> None:
    assert placed(ATTRIBUTES.format(moved=moved, given=given)).births == []


COLUMNS = """
    from data import load
    def train(model, criterion, device):
        data = load()
        for count, rows, several in data.batches:
            x = data.x[rows].to(device)
            {given}
            print(criterion(model(x), y).item())
"""


@pytest.mark.parametrize(
    "given",
    [
        "y = data.y[rows[:count]].to(device)",
        "y = data.y[rows[:count]]\n            y = y.to(device)",
        "y = len(data.y[rows[:count]])",
        "y = model.y[rows[:count]]",
        "y = data.rows",
    ],
)
def test_rows_that_are_moved_of_others_or_none(placed, given: str) -> None:
    assert placed(COLUMNS.format(given=given)).births == []


@pytest.mark.parametrize(
    "given",
    [
        "y = data.y[rows[:count]]",
        "y = data.y[rows[:count], 0]",
        "if several:\n                y = data.y[rows[:count], :]\n            else:\n                y = model(rows)",
    ],
)
def test_rows_of_parts_of_one_thing_one_of_which_is_moved(placed, given: str) -> None:
    (birth,) = placed(COLUMNS.format(given=given)).births
    assert birth.startswith("data.y[rows[:count]")
