"""What comes beside what is moved: a part with which nothing is done that is done with tensors may be a text."""

import pytest

TAKEN = """
    def embed(loader, net, keep, device):
        named = []
        for batch in loader:
            image = batch["image"].to(device)
            {taken}
            {used}
            keep(net(image))
        return named
"""


LOOPS = """
    def test(loader, net):
        for x, y in loader:
            x, y = x.cuda(), y.cuda()
            net(x, y).backward()
        found, wanted = [], []
        for x, y in loader:
            x = x.cuda()
            found.append(net(x))
            {used}
        return found, wanted
"""


@pytest.mark.parametrize("used", ["named.extend(case)", "[named.extend(case) for _ in batch]"])
def test_what_is_spread_into_a_list(placed, used: str) -> None:
    assert placed(TAKEN.format(taken='case = batch["case"]', used=used)).births == []


@pytest.mark.parametrize("used", ["keep(case)", "named.append(case)"])
def test_what_is_used(placed, used: str) -> None:
    assert placed(TAKEN.format(taken='case = batch["case"]', used=used)).births == ["batch['case']"]


def test_what_one_loop_spreads_and_another_one_moves(placed) -> None:
    assert placed(LOOPS.format(used="wanted.extend(y)")).births == []


def test_what_one_loop_keeps_and_another_one_moves(placed) -> None:
    assert placed(LOOPS.format(used="wanted.append(y)")).births == ["y"]


GIVEN = """
    def step(batch, check, device):
        x, y = batch
        x = x.to(device)
        {used}
"""


@pytest.mark.parametrize("used", ["check(x, y)", "check(x, [y])"])
def test_what_nothing_shows_to_be_a_tensor(placed, used: str) -> None:
    assert placed(GIVEN.format(used=used)).births == []


@pytest.mark.parametrize(
    "used",
    ["check(x, y.float())", "check(x, y[:, 1:])", "check(x, y + 1)", "check(x, y).backward()", "check(x + y)"],
)
def test_what_something_does(placed, used: str) -> None:
    assert "y" in placed(GIVEN.format(used=used)).births


FIELDS = """
    class Model:
        def take(self, batch, device):
            self.low = batch["low"]
            self.high = batch["high"].to(device)
        def step(self):
            self.made = self.net(self.low)
            {last}
"""


def test_what_an_object_only_computes(placed) -> None:
    strong = placed(FIELDS.format(last="F.l1_loss(self.made, self.high).backward()")).of("batch['low']")
    weak = placed(FIELDS.format(last="F.l1_loss(self.made, self.high)")).of("batch['low']")
    assert weak.confidence < 0.6 <= strong.confidence


COPIED = """
    def evaluate(features, gallery, cameras: torch.Tensor = None, device="cpu"):
        features, gallery = features.to(device), gallery.to(device)
        if cameras is not None:
            cameras = {copied}
        return compare(features, gallery, cameras)
"""


def test_what_is_copied_to_the_host_under_a_test(placed) -> None:
    assert placed(COPIED.format(copied="cameras.cpu()")).births == []


def test_what_is_computed_under_a_test(placed) -> None:
    assert "cameras" in placed(COPIED.format(copied="cameras * 2")).births


CALLED = """
    from nets import build
    def main(loader, device):
        {name} = build(3)
        for x in loader:
            print({name}({given}))
"""


@pytest.mark.parametrize(("name", "given"), [("scale", "x.to(device)"), ("model", ""), ("decode", "x.to(device)")])
def test_what_an_unread_function_makes(placed, name: str, given: str) -> None:
    assert "build(3)" not in placed(CALLED.format(name=name, given=given)).births


@pytest.mark.parametrize("name", ["model", "net", "encoder_net"])
def test_a_model_that_it_makes(placed, name: str) -> None:
    assert "build(3)" in placed(CALLED.format(name=name, given="x.to(device)")).births


TOGETHER = """
    def evaluate(options, keep):
        net = nn.Linear(3, 3).cuda()
        rows, labels = read_first(options), read_second(options)
        one, other = match(rows, labels)
        x = rows.cuda()
        other = other.cuda()
        keep(relate(net, x=x, other=other, one=one{more}))
"""


@pytest.mark.parametrize("more", [", names=labels", ", count=options"])
def test_what_a_call_gets_beside_others_that_stay(placed, more: str) -> None:
    assert "one" not in placed(TOGETHER.format(more=more)).births


def test_what_a_call_gets_of_which_all_others_are_moved(placed) -> None:
    assert "one" in placed(TOGETHER.format(more="")).births
