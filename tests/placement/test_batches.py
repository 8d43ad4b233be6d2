"""Where the batches of loaders are: what loaders are told, and what their collate functions do."""

import pytest

LOOP = """
    from torch.utils.data import DataLoader
    from pets import make_loader
    def collate(rows):
        return torch.stack(rows){moved}
    class Collator:
        def __call__(self, rows):
            return torch.stack(rows){moved}
    class Trainer:
        def collate(self, rows):
            return torch.stack(rows){moved}
        def fit(self, data, loader, device):
            net = nn.Linear(3, 3).to(device)
            {made}
            for x in loader:
                net(x).sum().backward()
"""

MADE = {
    "a function": "loader = DataLoader(data, collate_fn=collate)",
    "a bound method": "loader = DataLoader(data, collate_fn=self.collate)",
    "an object": "loader = DataLoader(data, collate_fn=Collator())",
    "a partial": "import functools; loader = DataLoader(data, collate_fn=functools.partial(collate))",
    "assigned to a loader": "loader = DataLoader(data); loader.collate_fn = self.collate",
    "assigned to what is given": "loader.collate_fn = collate",
}


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_collate_function_places_the_batch(placed, made: str) -> None:
    assert "x" not in placed(LOOP.format(made=made, moved=".cuda()")).births


@pytest.mark.parametrize("made", MADE.values(), ids=MADE)
def test_a_collate_function_leaves_the_batch(placed, made: str) -> None:
    assert "x" in placed(LOOP.format(made=made, moved="")).births


@pytest.mark.parametrize("told", ["device=device", "device='cuda'"])
def test_a_loader_that_is_told_a_device_gives_batches_there(placed, told: str) -> None:
    assert "x" not in placed(LOOP.format(made=f"loader = make_loader(data, {told})", moved="")).births


@pytest.mark.parametrize("told", ["shuffle=True", "device='cpu'"])
def test_a_loader_that_is_told_none(placed, told: str) -> None:
    assert "x" in placed(LOOP.format(made=f"loader = make_loader(data, {told})", moved="")).births


FILLED = """
    def main(batch, device):
        features = batch["features"]
        for name in features:
            {filled}
        labels = batch["labels"].to(device)
        return features, labels
"""


def test_a_part_of_a_batch_whose_parts_are_moved(placed) -> None:
    assert placed(FILLED.format(filled="features[name] = features[name].to(device)")).births == []


TWINS = """
    def train(loader, net, device):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            nn.functional.mse_loss(net(x), y).backward()
    def test(loader, net, device):
        known = []
        for x, y in loader:
            x = x.to(device)
            known.append({used})
"""


@pytest.mark.parametrize("used", ["y.view(-1).cpu()", "y.numpy()", "y.float().cpu().tolist()"])
def test_a_twin_that_is_wanted_on_the_host(placed, used: str) -> None:
    assert "y" not in placed(TWINS.format(used=used)).births


@pytest.mark.parametrize("used", ["y.view(-1)", "net(x) - y"])
def test_a_twin_that_is_left(placed, used: str) -> None:
    assert "y" in placed(TWINS.format(used=used)).births


READ_LATER = TWINS.format(used="y") + "        return {}\n"


@pytest.mark.parametrize(
    "read", ["torch.cat(known, dim=0).numpy()", "np.concatenate(known)", "torch.cat(known).to(device)"]
)
def test_a_twin_that_is_collected_for_the_host_or_moved_then(placed, read: str) -> None:
    assert "y" not in placed(READ_LATER.format(read)).births


def test_so_it_is_where_two_lists_are_made_at_once(placed) -> None:
    program = READ_LATER.replace("known = []", "known, others = [], []")
    assert "y" not in placed(program.format("torch.cat(known).numpy()")).births


@pytest.mark.parametrize("read", ["known", "torch.cat(known)", "net(torch.cat(known))"])
def test_a_twin_that_is_collected_for_the_device(placed, read: str) -> None:
    assert "y" in placed(READ_LATER.format(read)).births


MEASURED = """
    def main(pair, device):
        x, y = pair
        x = x.to(device)
        return {used}
"""


@pytest.mark.parametrize("used", ["x.sum() * y.shape[0]", "x.view(y.size(0), -1)"])
def test_what_is_asked_for_its_shape_alone_need_not_move(placed, used: str) -> None:
    assert placed(MEASURED.format(used=used)).births == []


@pytest.mark.parametrize("used", ["x * y", "x * y.shape[0] + y"])
def test_what_is_asked_for_more(placed, used: str) -> None:
    assert placed(MEASURED.format(used=used)).births == ["y"]


COMPREHENSIONS = """
    def main(rows, graph, device):
        rows = [i.to(device) for i in rows]
        names = [{used} for i in {others}]
        return rows, names
"""


@pytest.mark.parametrize(("used", "others"), [("i.name", "graph.inputs"), ("i.view(3)", "graph.outputs")])
def test_comprehensions_that_use_one_letter(placed, used: str, others: str) -> None:
    assert placed(COMPREHENSIONS.format(used=used, others=others)).births == []


BY_PARTS = """
    def train(loader, net, device):
        for data in loader:
            data = data.to(device)
            net(data.x).sum().backward()
    def test(loader, net, device):
        known = []
        for data in loader:
            known.append({kept})
            net({given})
"""


def test_a_batch_that_is_moved_by_its_parts(placed) -> None:
    found = placed(BY_PARTS.format(kept="data.y", given="data.x.to(device), data.edges.to(device)"))
    assert "data" not in found.births


def test_a_batch_that_is_not(placed) -> None:
    assert placed(BY_PARTS.format(kept="data.y", given="data.x, data.edges")).births != []


GIVEN = """
    def main(embeds, options, pipe, device):
        return pipe(embeds.texts.to(device), {given})
"""


def test_attributes_of_another_object(placed) -> None:
    assert placed(GIVEN.format(given="options.height, options.width")).births == []


def test_attributes_of_the_same_object(placed) -> None:
    assert placed(GIVEN.format(given="embeds.masks")).births == ["embeds.masks"]


ADDED_FIRST = """
    from torch.utils.data import DataLoader
    def main(data, other, device):
        net = nn.Linear(3, 3).to(device)
        for x in DataLoader(data):
            {both}
            net(both).sum().backward()
"""


@pytest.mark.parametrize(
    "both", ["both = torch.cat((x, other)).to(device)", "both = x + other; both = both.to(device)"]
)
def test_what_is_moved_as_a_whole(placed, both: str) -> None:
    assert placed(ADDED_FIRST.format(both=both)).births == []


def test_what_is_not_moved_as_a_whole(placed) -> None:
    assert "x" in placed(ADDED_FIRST.format(both="both = torch.cat((x, other))")).births


PARTS = """
    from torch.utils.data import DataLoader
    def collate(rows):
        {made}
        return torch.stack([one[0] for one in rows]), part
    def fit(data, criterion, device):
        net = nn.Linear(3, 3).to(device)
        for x, y in DataLoader(data, collate_fn=collate):
            x = x.to(device)
            criterion(net(x), y).backward()
"""

LISTS = {
    "a display": "part = [one[1] for one in rows]",
    "extended in a loop": """part = []
        for one in rows:
            part = part + [one[1]]""",
    "extended in a loop of a loop": """part = []
        for one in rows:
            for word in one[1]:
                part = part + [word]""",
    "of either branch": "part = [one[1] for one in rows] if rows else []",
}

TENSORS = {
    "stacked": "part = torch.stack([one[1] for one in rows])",
    "computed in either branch": """part = torch.stack([one[1] for one in rows])
        part = part + 1 if len(rows) > 3 else part - 1""",
    "computed in a loop of a loop": """part = torch.zeros(3)
        for one in rows:
            for word in one[1]:
                part = part + word""",
}


@pytest.mark.parametrize("made", LISTS.values(), ids=LISTS)
def test_a_list_in_a_batch_is_no_tensor(placed, made: str) -> None:
    assert "y" not in placed(PARTS.format(made=made)).births


@pytest.mark.parametrize("made", TENSORS.values(), ids=TENSORS)
def test_a_tensor_in_a_batch_is_on_the_host(placed, made: str) -> None:
    assert "y" in placed(PARTS.format(made=made)).births


KEPT = """
    import itertools
    import random
    class Prefetched:
        def __init__(self, loader):
            self.loader = loader
        def __iter__(self):
            self.rest = iter(self.loader)
            return self
        def __next__(self):
            x, y = next(self.rest)
            return x{moved}, y{moved}
    class Cache:
        def __init__(self):
            self.batches = []
        def fill(self, loader):
            for x, y in loader:
                self.batches.append((x{moved}, y{moved}))
        def fit(self, net):
            for x, y in self.batches:
                net(x).sum().backward()
    class Again(Cache):
        def __iter__(self):
            yield from self.batches
    class Mapped:
        def __init__(self, loader):
            self.loader = loader
        def __iter__(self):
            return map(put, self.loader)
    def put(batch):
        return [each{moved} for each in batch]
    def moved(loader):
        return [(x{moved}, y{moved}) for x, y in loader]
    def filled(loader):
        batches = []
        for x, y in loader:
            batches.append((x{moved}, y{moved}))
        return batches
    def main(loader, device):
        net = nn.Linear(3, 3).to(device)
        Cache().fit(net)
        batches = []
        for x, y in loader:
            batches.append((x{moved}, y{moved}))
        for x, y in {batches}:
            net(x).sum().backward()
"""
BATCHES = [
    *("batches", "filled(loader)", "moved(loader)", "Prefetched(loader)", "Cache().batches"),
    *("Again()", "Mapped(loader)", "map(put, loader)", "batches + moved(loader)"),
    *("list(filled(loader))", "itertools.islice(filled(loader), 3)", "random.sample(batches, 3)"),
]


@pytest.mark.parametrize("batches", BATCHES)
def test_batches_that_are_kept_on_the_device(placed, batches: str) -> None:
    assert placed(KEPT.format(batches=batches, moved=".cuda()")).births == []


@pytest.mark.parametrize("batches", BATCHES)
def test_batches_that_are_kept_on_the_host(placed, batches: str) -> None:
    assert "x" in placed(KEPT.format(batches=batches, moved="")).births


ROWS_OF_MAPPINGS = """
    def main(net, data, collate, device: torch.device):
        net = net.to(device)
        for images, names in torch.utils.data.DataLoader(data, collate_fn=collate):
            for image in images:
                {done}
            net(images).sum().backward()
"""


@pytest.mark.parametrize(
    "done",
    [
        "for k, v in image.items(): image[k] = v.to(device)",
        "image['pixels'] = image['pixels'].to(device)",
        "print(image.keys())",
    ],
)
def test_a_list_of_mappings_is_no_tensor(placed, done: str) -> None:
    assert placed(ROWS_OF_MAPPINGS.format(done=done)).births == []


@pytest.mark.parametrize("done", ["print(image)", "names.append(image.shape)"])
def test_what_a_loop_goes_through_may_be_a_tensor(placed, done: str) -> None:
    assert placed(ROWS_OF_MAPPINGS.format(done=done)).births == ["images"]


FOLDS = """
    def validate(net, folds, device: torch.device):
        net = net.to(device)
        for held_out, rows in torch.utils.data.DataLoader(folds):
            {first}
            for x, _ in rows:
                x = {moved}
                net(x)
"""


@pytest.mark.parametrize("moved", ["x.to(device)", "x.pin_memory().to(device)"])
def test_what_gives_tensors_that_are_moved_is_none(placed, moved: str) -> None:
    assert placed(FOLDS.format(first="print(held_out)", moved=moved)).births == []


def test_what_is_used_as_a_whole_besides_is_one(placed) -> None:
    assert placed(FOLDS.format(first="net(rows)", moved="x.to(device)")).births == ["rows"]


@pytest.mark.parametrize(("kept", "found"), [("loader.dataset.imgs", False), ("loader.dataset.rows.float()", True)])
def test_what_the_data_set_of_a_loader_keeps(placed, kept: str, found: bool) -> None:
    program = f"""
        def f(loader, net, tune):
            for x, y in loader:
                net(x.cuda()).sum().backward()
            return tune(net, {kept} + torch.ones(3).cuda())
    """
    assert any(one.startswith("loader.dataset") for one in placed(program).births) is found
