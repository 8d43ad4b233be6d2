"""Progress bars and their like: what they give is what they are given, one by one."""

import pytest

LOOP = """
    from torch.utils.data import DataLoader
{made}
    def run(data, device):
        net = nn.Linear(3, 3).to(device)
        for x in {called}:
            net(x)
"""
PASSING = {
    "a class": (
        """
        class bar:
            def __init__(self, items, title=""):
                self.items = items
            def __iter__(self):
                yield from self.items
        """,
        "bar(DataLoader(data))",
    ),
    "a class with a loop": (
        """
        class bar:
            def __init__(self, items):
                self.count = 0
                self.items = items
            def __iter__(self):
                for one in self.items:
                    self.count += 1
                    yield one
        """,
        "bar(DataLoader(data))",
    ),
    "a class that asks for an iterator": (
        """
        class bar:
            def __init__(self, items):
                self.items = items
            def __iter__(self):
                return iter(self.items)
        """,
        "bar(DataLoader(data))",
    ),
    "a function": (
        """
        def bar(items, **options):
            return items
        """,
        "bar(DataLoader(data), leave=False)",
    ),
    "a generator": (
        """
        def bar(items):
            for one in items:
                print(".")
                yield one
        """,
        "bar(DataLoader(data))",
    ),
    "of a library, or of the file": (
        """
        try:
            from tqdm import tqdm as bar
        except ImportError:
            def bar(items, **options):
                return items
        """,
        "bar(DataLoader(data))",
    ),
}
CHANGING = {
    "a class that moves": (
        """
        class bar:
            def __init__(self, items, device):
                self.items, self.device = items, device
            def __iter__(self):
                for one in self.items:
                    yield one.to(self.device)
        """,
        "bar(DataLoader(data), device)",
    ),
    "a generator that moves": (
        """
        def bar(items, device):
            for one in items:
                yield one.to(device)
        """,
        "bar(DataLoader(data), device)",
    ),
    "a class that goes through another thing": (
        """
        class bar:
            def __init__(self, items):
                self.items = items
                self.others = prepared(items)
            def __iter__(self):
                yield from self.others
        """,
        "bar(DataLoader(data))",
    ),
    "one of two that changes it": (
        """
        try:
            from lib import bar
        except ImportError:
            def bar(items, **options):
                return items
        """,
        "bar(DataLoader(data))",
    ),
}


def _program(made: str, called: str) -> str:
    return LOOP.format(made="\n".join(line[4:] for line in made.splitlines()), called=called)


@pytest.mark.parametrize(("made", "called"), PASSING.values(), ids=PASSING)
def test_what_is_passed_comes_from_the_loader(placed, made: str, called: str) -> None:
    assert placed(_program(made, called)).of("x").birth.links == ("loader-item",)


@pytest.mark.parametrize(("made", "called"), CHANGING.values(), ids=CHANGING)
def test_what_is_changed_does_not(placed, made: str, called: str) -> None:
    assert placed(_program(made, called)).births == []


@pytest.mark.parametrize(("made", "called"), PASSING.values(), ids=PASSING)
def test_what_is_called_a_loader_is_one_behind_it(placed, made: str, called: str) -> None:
    program = _program(made, called.replace("DataLoader(data)", "data")).replace("data", "loader")
    assert placed(program).of("x").birth.links == ("named-loader",)


ENTERED = """
    from tqdm import tqdm
    from torch.utils.data import DataLoader
{made}
    def run(data, device):
        net = nn.Linear(3, 3).to(device)
        with {manager} as bar:
            for x in bar:
                net(x)
"""
ENTER = """
    class Bar:
        def __init__(self, items):
            self.items = items
        def __enter__(self):
            {gives}
        def __exit__(self, *error):
            pass
        def __iter__(self):
            yield from self.items
"""
OTHERS = {
    "what gives something else": (ENTER.format(gives="return [1, 2]"), "Bar(DataLoader(data))"),
    "what gives moved batches": (
        ENTER.format(gives="return (x.cuda() for x in self.items)"),
        "Bar(DataLoader(data))",
    ),
    "a file": ("", "open(data)"),
}
BARS = {
    "a progress bar": ("", "tqdm(DataLoader(data), unit='batch')"),
    "of what is counted": ("", "tqdm(enumerate(DataLoader(data)))"),
    "another library's": ("    from alive_progress import alive_it\n", "alive_it(DataLoader(data))"),
    "a class that gives itself": (ENTER.format(gives="return self"), "Bar(DataLoader(data))"),
}


@pytest.mark.parametrize(("made", "manager"), OTHERS.values(), ids=OTHERS)
def test_what_with_gives_may_be_something_else(placed, made: str, manager: str) -> None:
    assert placed(ENTERED.format(made=made, manager=manager)).births == []


@pytest.mark.parametrize(("made", "manager"), BARS.values(), ids=BARS)
def test_what_with_gives_is_gone_through(placed, made: str, manager: str) -> None:
    program = ENTERED.format(made=made, manager=manager)
    assert placed(program.replace("for x in bar", "for i, x in bar") if "enumerate" in manager else program).births


DISPLAYS = {
    "of a mapping": ('{"train": DataLoader(data), "test": DataLoader(data)}', "loaders[phase]"),
    "of a comprehension": ('{one: DataLoader(data) for one in ("train", "test")}', "loaders[phase]"),
    "of a list": ("[DataLoader(data), DataLoader(data)]", "loaders[phase]"),
}
DISPLAY = """
    from torch.utils.data import DataLoader
    def run(data, device, phase):
        net = nn.Linear(3, 3).to(device)
        loaders = {made}
        for x in {part}:
            net(x)
"""


def test_what_is_no_loader_in_a_display(placed) -> None:
    made = '{"train": DataLoader(data), "test": [torch.zeros(3, device=device)]}'
    assert placed(DISPLAY.format(made=made, part="loaders[phase]")).births == []
    loaders = '{"train": DataLoader(data), "test": DataLoader(data)}'
    assert placed(DISPLAY.format(made=loaders, part="loaders")).births == []  # its keys


@pytest.mark.parametrize(("made", "part"), DISPLAYS.values(), ids=DISPLAYS)
def test_any_part_of_a_display_of_loaders_is_one(placed, made: str, part: str) -> None:
    assert placed(DISPLAY.format(made=made, part=part)).births


BUILT = """
    from utils import build_loader
    def run(phases, phase, device):
        net = nn.Linear(3, 3).to(device)
        loaders = {made}
        for i, (x, y) in enumerate(loaders[phase]):
            {moved} = {moved}.to(device)
            F.mse_loss(net(x), y)
"""
BUILDERS = {
    "of a comprehension": "{one: build_loader(one) for one in phases}",
    "of a mapping": '{"train": build_loader(1), "test": build_loader(2)}',
}


@pytest.mark.parametrize("made", ["{one: [(net(one), net(one))] for one in phases}", "batches_of(net)"])
def test_what_is_computed_here_is_no_batch_of_the_host(placed, made: str) -> None:
    assert placed(BUILT.format(made=made, moved="x")).births == []


@pytest.mark.parametrize("made", BUILDERS.values(), ids=BUILDERS)
@pytest.mark.parametrize(("moved", "left"), ["xy", "yx"])
def test_parts_of_what_is_built_elsewhere_are_of_one_place(placed, made: str, moved: str, left: str) -> None:
    assert placed(BUILT.format(made=made, moved=moved)).births == [left]


NETS = """
    class Pair:
        def __init__(self, device):
            self.device = device
            self.nets = {made}
        def step(self, n):
            return self.nets["a"](torch.randn(n, 3))
"""


def test_what_is_no_module_in_a_display(placed) -> None:
    made = '{"a": print, "b": nn.Linear(3, 3).to(device)}'
    assert placed(NETS.format(made=made)).births == []


def test_any_part_of_a_display_of_modules_is_one(placed) -> None:
    made = '{"a": nn.Linear(3, 3).to(device), "b": nn.Linear(3, 3).to(device)}'
    assert placed(NETS.format(made=made)).births == ["torch.randn(n, 3)"]
