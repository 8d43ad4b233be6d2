"""What is no tensor, by what else the program does with it: it has no `.cpu()`, and no `.to`."""

from textwrap import dedent

import pytest


def test_what_transposes_three_axes_is_an_array(placed) -> None:
    program = "def flat(scores: torch.Tensor):\n    return np.reshape({}, [3, -1])"
    assert placed(program.format("scores.transpose(1, 2, 0)")).births == []
    assert placed(program.format("scores.transpose(1, 2)")).births


def test_what_is_asked_for_its_items_is_no_tensor(placed) -> None:
    program = """
        import pandas as pd
        def tell(measure, x):
            found = measure(x)
            for name, value in found.items():
                print(name, value.cpu())
            return pd.DataFrame([found])
    """
    assert placed(program).births == []
    assert placed("def tell(measure, x: torch.Tensor):\n    x.cuda()\n    return np.asarray(x.cuda())").births


KINDS = """
    def read(net: nn.Module, x):
        given = net.cuda()(x)
        if isinstance(given, {kind}):
            return np.asarray(given)
        return given + 1
"""


@pytest.mark.parametrize("kind", ["str", "(str, bytes)", "np.ndarray"])
def test_in_a_branch_that_asks_for_another_type_nothing_is_copied(placed, kind: str) -> None:
    assert placed(KINDS.format(kind=kind)).births == []


@pytest.mark.parametrize("kind", ["torch.Tensor", "(torch.Tensor, np.ndarray)"])
def test_in_a_branch_that_asks_for_a_tensor_it_is(placed, kind: str) -> None:
    assert placed(KINDS.format(kind=kind)).births


LACKING = """
    def read(net: nn.Module, x):
        given = net.cuda()(x)
        if hasattr(given, "{name}"):
            return given
        return given.numpy()
"""


@pytest.mark.parametrize(("name", "births"), [("cpu", 0), ("detach", 0), ("pixel_values", 1)])
def test_what_lacks_what_all_tensors_have_is_none(placed, name: str, births: int) -> None:
    assert len(placed(LACKING.format(name=name)).births) == births


TWINS = """
    def train(model, loader, device):
        model.to(device)
        rows = {rows}
        forcing = get_forcing(3).to(device)
        for one in rows:
            model(forcing)
        return rows
"""


@pytest.mark.parametrize("rows", ["range(3)", "sample(loader)"])
def test_ranges_and_iterators_have_no_place(placed, rows: str) -> None:
    program = TWINS.format(rows=rows)
    if "sample" in rows:
        program += "    def sample(loader):\n        while True:\n            yield from loader\n"
    assert placed(program).births == []


def test_a_twin_that_may_be_a_tensor_has(placed) -> None:
    assert placed(TWINS.format(rows="get_rows(3)")).births == ["get_rows(3)"]


PAIRS = """
    class Pairs:
        def __init__(self, device, swap):
            self.device, self.swap = torch.device(device), swap
        def set_input(self, given):
            self.one = given["a" if self.swap else "b"].to(self.device)
            self.other = given["b" if self.swap else "a"].to(self.device)
            self.kept = given[{key}]
"""


def test_what_has_keys_of_texts_is_none(placed) -> None:
    assert placed(PAIRS.format(key='"a_paths" if self.swap else "b_paths"')).births == []
    assert placed(PAIRS.format(key='"a_mask" if self.swap else "b_mask"')).births


TYPED = """
    def add(model: nn.Module, delta, key, device):
        model.to(device)
        state = model.state_dict()
        if state[key].type() == "{type}":
            state[key] += delta.type(torch.LongTensor)
        return state
"""


def test_a_type_of_the_host_says_where_a_value_is(placed) -> None:
    assert placed(TYPED.format(type="torch.LongTensor")).births == []
    assert placed(TYPED.format(type="torch.cuda.LongTensor")).births


ROWS = """
    def boxes(prediction, n, least):
        shape = prediction.new(prediction.shape)
        for row in prediction:
            best = np.max(row[:, 5:n], 1{rest})
            row = row[np.squeeze(row[:, 4] * best[:, 0] >= least)]
            print(np.concatenate((row[:, :5], best), 1))
"""


def test_what_keeps_its_dimensions_in_numpy_is_an_array(placed) -> None:
    assert placed(ROWS.format(rest=", keepdims=True")).births == []
    assert placed(ROWS.format(rest="")).births


ACTIONS = """
    def act(envs, device):
        model = Model(4, envs.{asked}.n).to(device)
        actions = torch.zeros((4, 4) + envs.{asked}.shape).to(device)
        return np.random.randint(0, envs.{asked}.n), model(actions).detach().cpu().numpy(), actions.cpu().numpy()
    class Model(nn.Module):
        def __init__(self, size, out):
            super().__init__()
            self.head = nn.Linear(size, out)
        def forward(self, x):
            return self.head(x)
"""


def test_the_count_of_the_actions_is_a_number(placed) -> None:
    assert placed(ACTIONS.format(asked="single_action_space")).births == []


NAMED = """
    from torch.utils.data import DataLoader
    def run(data, device):
        net = {made}.to(device)
        for {name}, y in DataLoader(data):
            {used}
"""
OTHER_THINGS = {
    "a length": ("Net()", "text_lens", "net(y.to(device), text_lens)"),
    "a text": ("Net()", "captions", "net(y.to(device), captions)"),
    "what names rows": ("Net()", "sample_ids", "save(net(y.to(device)), sample_ids)"),
}
NUMBERS = {
    "for a module": ("Net()", "token_ids", "net(token_ids)"),
    "for a module of torch": ("nn.Embedding(9, 3)", "word_ids", "net(word_ids)"),
    "beside a moved value": ("Net()", "ids", "net(y.to(device), ids)"),
}


@pytest.mark.parametrize(("made", "name", "used"), OTHER_THINGS.values(), ids=OTHER_THINGS)
def test_what_has_the_name_of_another_thing(placed, made: str, name: str, used: str) -> None:
    assert placed(NAMED.format(made=made, name=name, used=used)).births == []


@pytest.mark.parametrize(("made", "name", "used"), NUMBERS.values(), ids=NUMBERS)
def test_numbers_that_a_module_gets_are_tensors(placed, made: str, name: str, used: str) -> None:
    assert placed(NAMED.format(made=made, name=name, used=used)).births


def test_what_a_method_gives_of_an_unknown_value_may_be_an_array(placed) -> None:
    program = """
        from torch.utils.data import DataLoader
        def run(data, device, score):
            for x, y in DataLoader(data):
                (score(x.to(device)).argmax(1) == y).sum()
    """
    assert placed(program).births == []


def test_what_a_method_gives_of_a_modules_result_is_a_tensor(placed) -> None:
    program = """
        from torch.utils.data import DataLoader
        def run(data, device):
            net = nn.Linear(3, 3).to(device)
            for x, y in DataLoader(data):
                (net(x.to(device)).{} == y).sum()
    """
    assert placed(program.format("argmax(1)")).births
    assert placed(program.format("max(1)[1]")).births


REDUCED = """
    class Dice(nn.Module):
        def __init__(self, weights):
            super().__init__()
            self.weights = torch.tensor(weights)
        def forward(self, p, t):
            shared = {shared}
            return (self.weights * shared).sum()
"""


@pytest.mark.parametrize("shared", ["score(p * t)", "(p * t).total(0)", "len(p) * 2"])
def test_what_a_module_computes_may_be_a_number(placed, shared: str) -> None:
    assert placed(REDUCED.format(shared=shared)).births == []


@pytest.mark.parametrize("shared", ["(p * t).sum(0)", "(p * t).flatten(1).sum(1)"])
def test_what_a_module_sums_up_is_a_tensor(placed, shared: str) -> None:
    assert placed(REDUCED.format(shared=shared)).births == ["torch.tensor(weights)"]


ASKED = """
    {bound}
    def validate(rows, size, device: torch.device):
        counts = shapes.zeros(size=(1, size)).squeeze(0).numpy()
        labels = torch.tensor([]).to(device)
        for row in rows:
            found = shapes.argmax(row, dim=1)
            print((found != labels).sum(), counts)
    shapes.seed(0)
"""


def test_a_package_that_a_star_import_brings_has_no_place(placed) -> None:
    assert placed(ASKED.format(bound="from tools import *")).births == []


def test_an_object_may_have_one(placed) -> None:
    assert placed(ASKED.format(bound="shapes = make()")).births == ["shapes.zeros(size=(1, size)).squeeze(0)"]


UNPACKED = """
    def main(file, loader, device: torch.device):
        options, rows = torch.load(file)
        rows = rows.to(device)
        {done}
        net = nn.Linear(3, 3).to(device)
        for x in loader:
            print(net(x.to(device) + rows, options).sum())
"""


def test_what_gets_attributes_of_its_own_is_no_tensor(placed) -> None:
    assert placed(UNPACKED.format(done="options.rate = 0.1")).births == []


@pytest.mark.parametrize("done", ["options.requires_grad = True", "print(options.rate)"])
def test_what_gets_those_of_tensors_may_be_one(placed, done: str) -> None:
    assert placed(UNPACKED.format(done=done)).births == ["options"]


DATA = """
    from torch.utils.data import DataLoader
    def train(net, rows, device):
        loader = DataLoader(rows)
        meter = Meter({})
        for x, y in loader:
            loss = F.cross_entropy(net(x.to(device)), meter.update(y.to(device)))
            loss.backward()
"""


@pytest.mark.parametrize("given", ["loader.dataset.get_names()", "loader.dataset", "loader.sampler"])
def test_what_a_loader_keeps_is_no_batch(placed, given: str) -> None:
    assert placed(DATA.format(given)).births == []


@pytest.mark.parametrize("given", ["loader.dataset[0]", "loader.dataset.rows"])
def test_parts_of_its_data_set_are(placed, given: str) -> None:
    program = f"""
        from torch.utils.data import DataLoader
        def train(rows, device):
            loader = DataLoader(rows)
            net = nn.Linear(3, 3).to(device)
            return net({given})
    """
    assert placed(program).births == [given]


MATCHING = """
    from extension import load
    emd = load("emd")
    class Matching(torch.autograd.Function):
        @staticmethod
        def forward(ctx, first, second, {third}):
            first = first.float().cuda()
            second = second.float().cuda()
            prices = torch.zeros(9, device="cuda")
            emd.forward(ctx, first, second, prices, {third})
            return prices
        @staticmethod
        def backward(ctx, grad):
            return grad, grad, {gradient}
"""


def test_what_gets_no_gradient_is_no_input(placed) -> None:
    assert placed(MATCHING.format(third="eps", gradient="None")).births == []


def test_what_gets_one_is_an_input(placed) -> None:
    assert placed(MATCHING.format(third="eps", gradient="grad")).births == ["eps"]


SETTINGS = """
    class Layer(nn.Module):
        def __init__(self, size, scale{annotation}):
            super().__init__()
            self.gamma = nn.Parameter(scale * torch.ones(size))
"""


def test_what_a_constructor_gets_may_be_a_number_of_its_settings(placed) -> None:
    assert placed(SETTINGS.format(annotation="")).births == []
    assert placed(SETTINGS.format(annotation=": torch.Tensor")).births == ["torch.ones(size)"]


@pytest.mark.parametrize(("name", "births"), [("i_batch", []), ("beam_size", []), ("offset", ["torch.arange(8)"])])
def test_what_is_called_a_number(placed, name: str, births: list[str]) -> None:
    assert placed(f"def picked({name}):\n    return torch.arange(8) + {name}").births == births


SHAPES = """
    def run(net, loader, device):
        net.to(device)
        x, y = next(iter(loader))
        padder = Padder(x[0]{part})
        for x, y in loader:
            x, y = padder.pad(x.to(device), y.to(device))
            net(x, y)
"""


def test_a_shape_is_nowhere(placed) -> None:
    assert placed(SHAPES.format(part=".shape")).births == []
    assert placed(SHAPES.format(part="")).births == ["x[0]"]


CAMEL = """
    def predict(net, data, device: torch.device):
        for sample in torch.utils.data.DataLoader(data):
            tokens = sample["question"]["tokens"].to(device)
            graph = sample["scene"]["graph"].to(device)
            rest = sample["question"]["{key}"]
            shown = net(tokens, graph)
            print([(one, other) for one, other in zip(rest, shown)])
"""


@pytest.mark.parametrize(("key", "births"), [("questionId", 0), ("imagePaths", 0), ("answerTokens", 1)])
def test_words_begin_with_capitals_as_well(placed, key: str, births: int) -> None:
    assert len(placed(CAMEL.format(key=key)).births) == births


SHIFT = """
    class MeanShift(nn.Conv2d):
        def __init__(self, rgb_range, rgb_mean, rgb_std, sign=-1):
            super().__init__(3, 3, kernel_size=1)
            std = torch.Tensor(rgb_std)
            self.weight.data = torch.eye(3).view(3, 3, 1, 1) / std.view(3, 1, 1, 1)
            self.bias.data = sign * rgb_range * torch.Tensor(rgb_mean) / std
"""


def test_what_is_computed_of_settings_may_be_a_number(placed) -> None:
    assert placed(SHIFT).births == []


COUNTS = """
    def tune(opt, models, device: torch.device):
        dataset = get_dataset(opt)
        data = dataset.data.to(device)
        for split in range(opt["splits"]):
            opt["found"] = dataset.{name}
            models[split](data)
"""


@pytest.mark.parametrize(("name", "births"), [("num_classes", 0), ("num_node_features", 0), ("weights", 1)])
def test_an_attribute_that_is_called_a_count_is_a_number(placed, name: str, births: int) -> None:
    assert len(placed(COUNTS.format(name=name)).births) == births


TEXTS = """
    def infer(net, data, keys, out):
        for batch in torch.utils.data.DataLoader(data):
            x = batch[keys.x].cuda()
            mask = batch[keys.mask].cuda()
            shown = batch[keys.shown]
            for i, one in enumerate(net(x, mask)):
                torch.save(one, {used})
"""


@pytest.mark.parametrize(
    ("used", "births"),
    [
        ("os.path.join(out, shown[i])", 0),
        ("out + shown[i].lower()", 0),
        ("out[shown[i]]", 1),
    ],
)
def test_a_row_of_texts_by_what_is_done_with_them(placed, used: str, births: int) -> None:
    assert len(placed("import os\n" + dedent(TEXTS.format(used=used))).births) == births


def test_a_key_that_is_an_attribute_has_a_name(placed) -> None:
    text = TEXTS.replace("keys.shown", "keys.image_path")
    assert placed(text.format(used="out[shown[i]]")).births == []


STATES = """
    from tools import build
    def run(options, path):
        device = torch.device("cuda")
        net, data = Net(options).to(device), options.data.to(device)
        {name} = build(options, net.parameters())
        {name}.load_state_dict(torch.load(path))
        return fit(net, {name}, data)
"""


@pytest.mark.parametrize(("name", "births"), [("optimizer", 0), ("lr_sched", 0), ("critic", 1)])
def test_what_steps_a_model_has_a_state_and_is_no_module(placed, name: str, births: int) -> None:
    assert len([one for one in placed(STATES.format(name=name)).births if one.startswith("build")]) == births
