"""Flags under which the program moves values: where they do not hold, all is on the host, by whatever name they go."""

import pytest

AVAILABLE = "torch.cuda.is_available()"
ATTRIBUTE = """
    class Trainer:
        def __init__(self, wanted):
            self.device = torch.device("cuda")
            self.use_cuda = {flag}
            self.net = nn.Linear(3, 3)
            if self.use_cuda:
                self.net.to(self.device)
        def train(self, loader: torch.utils.data.DataLoader):
            for x, y in loader:
                if self.use_cuda:
                    x, y = x.to(self.device), y.to(self.device)
                F.cross_entropy(self.net(x), y)
"""
PARAMETER = """
    def place(x, device):
        return x.to(device)
    def train(net, loader: torch.utils.data.DataLoader, device, use_cuda):
        for x, y in loader:
            if use_cuda:
                x = place(x, device)
                y = place(y, device)
            F.cross_entropy(net(x), y)
    def main(loader):
        use_cuda = torch.cuda.is_available()
        device = torch.device("cuda")
        net = nn.Linear(3, 3)
        if use_cuda:
            net.to(device)
        train(net, loader, device, {flag})
"""
GLOBAL = """
    CUDA = torch.cuda.is_available()
    def build():
        net = nn.Linear(3, 3)
        return net.to("cuda") if torch.cuda.is_available() else net
    def train(loader: torch.utils.data.DataLoader):
        net = build()
        for x, y in loader:
            if CUDA:
                x, y = x.to("cuda"), y.to("cuda")
            F.cross_entropy(net(x), y)
"""
PARTS = """
    class Trainer:
        def __init__(self, opt):
            self.opt = opt
            self.net = nn.Linear(3, 3)
            if opt["cuda"]:
                self.net.to("cuda")
        def train(self, batch):
            if self.opt["{flag}"]:
                x, y = batch[0].to("cuda"), batch[1].to("cuda")
            else:
                x, y = batch[0], batch[1]
            F.cross_entropy(self.net(x), y)
        def load(self, path):
            self.opt = torch.load(path)["opt"]
"""


@pytest.mark.parametrize(
    "program",
    [
        PARTS.format(flag="cuda"),
        ATTRIBUTE.format(flag=AVAILABLE),
        ATTRIBUTE.format(flag=f"wanted and {AVAILABLE}"),
        PARAMETER.format(flag="use_cuda"),
        GLOBAL,
    ],
)
def test_nothing_is_misplaced(placed, program: str) -> None:
    assert placed(program).births == []


@pytest.mark.parametrize(
    "program",
    [
        PARAMETER.format(flag="len(loader) > 3"),
        PARAMETER.format(flag="use_cuda or len(loader) > 3"),
    ],
)
def test_another_flag_says_nothing_of_devices(placed, program: str) -> None:
    assert placed(program).births


ASKED = """
    def train(loader: torch.utils.data.DataLoader):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(3, 3).to(device)
        for x, y in loader:
            x = x.to(device)
            if {asked}:
                F.cross_entropy(net(x), y)
            else:
                F.cross_entropy(net(x), y.to(device))
"""
ON_HOST = [
    'device.type == "cpu"',
    '"cpu" == device.type',
    'torch.device("cpu") == x.device',
    'str(device) == "cpu"',
    '"cpu" in str(device)',
    'device.type in ("cpu",)',
]
ON_DEVICE = ['"cuda" in str(device)', 'device.type in ("cuda", "mps")', 'device.type.startswith("cuda")']


@pytest.mark.parametrize("asked", [*ON_HOST, *(f"not {one}" for one in ON_DEVICE)])
def test_nothing_is_misplaced_where_the_device_is_the_host(placed, asked: str) -> None:
    assert placed(ASKED.format(asked=asked)).births == []


@pytest.mark.parametrize("asked", [*(f"not {one}" for one in ON_HOST), *ON_DEVICE, 'device.type in ("cpu", "cuda")'])
def test_what_is_misplaced_where_the_device_may_be_another(placed, asked: str) -> None:
    assert placed(ASKED.format(asked=asked)).births == ["y"]


RETURNS = """
    def encode(x, latent=False, kept=None):
        y = x.cuda() * 2
        if latent:
            return y.detach().cpu().numpy()
        if kept is not None:
            return y.tolist()
        return y
    def joined(rows):
        return np.concatenate([encode(row{given}) for row in rows])
"""


@pytest.mark.parametrize("given", [", latent=True", ", True", ", kept=3"])
def test_what_constant_arguments_rule_out_is_not_given(placed, given: str) -> None:
    assert placed(RETURNS.format(given=given)).births == []


@pytest.mark.parametrize("given", ["", ", latent=False", ", kept=None", ", latent=row > 0"])
def test_what_they_leave_is(placed, given: str) -> None:
    assert len(placed(RETURNS.format(given=given)).births) == 1


CARDS = """
    def run(path, batches, {name}: int):
        net = Encoder(path)
        if {test}:
            net = net.cuda({name})
        else:
            net = net.float()
        for batch in batches:
            x = torch.from_numpy(batch)
            if {test}:
                x = x.cuda({name})
            else:
                x = torch.cat([x, torch.zeros(3)])
            print(net(x))
"""


@pytest.mark.parametrize("test", ["device != -1", "device > -1", "device >= 0", "not device == -1", "not device < 0"])
def test_the_number_of_a_card_says_that_there_is_none(placed, test: str) -> None:
    assert placed(CARDS.format(name="device", test=test)).births == []


NUMBERED = """
    def reach(x: torch.Tensor, {name}: int):
        if {name} != -1:
            return torch.arange(3, device=x.device) + x
        return torch.arange(4) + x
"""


@pytest.mark.parametrize(("name", "births"), [("device", []), ("gpu_id", []), ("offset", ["torch.arange(4)"])])
def test_another_number_says_nothing_of_cards(placed, name: str, births: list[str]) -> None:
    assert placed(NUMBERED.format(name=name)).births == births


DETECT = """
    from {home} import Function
    class Detect(Function):
        def __init__(self, classes):
            self.classes = classes
        def forward(self, boxes, scores):
            found = torch.zeros(boxes.size(0), self.classes)
            for i in range(3):
                found[i] = torch.cat((scores[i], boxes[i]))
            return found
    if __name__ == "__main__":
        detect = Detect(3)
        print(detect.forward(torch.rand(4, 2), torch.rand(4, 2)).shape)
"""


@pytest.mark.parametrize(("home", "is_module"), [("torch.autograd", False), ("layers", True)])
def test_a_function_of_autograd_is_no_module(placed, home: str, is_module: bool) -> None:
    found = placed(DETECT.format(home=home)).conflicts
    assert any("module-place" in one.links for one in found) == is_module


SAMPLED = """
    from torch.autograd import Function
    import sampling
    class Sampled(Function):
        @staticmethod
        def forward(ctx, points, count):
            found = torch.zeros(points.shape[0], count, dtype=torch.int32).contiguous()
            sampling.sample({given}, count, found)
            return found
        @staticmethod
        def backward(ctx, gradient):
            return None, None
"""


@pytest.mark.parametrize(("given", "births"), [("points", 1), ("points.cpu()", 0)])
def test_what_a_function_of_autograd_gets_is_where_its_caller_put_it(placed, given: str, births: int) -> None:
    found = [one.confidence for one in placed(SAMPLED.format(given=given)).conflicts]
    assert len([one for one in found if one > 0.5]) == births


LEFT_OFF = """
    def safe(states, scale, unnormalize{default}):
        if unnormalize:
            states = states * scale.cuda()
        return states.norm() + states[0]
    def main(scale):
        state = torch.zeros(4)
        return safe(state, scale{given})
"""


@pytest.mark.parametrize(
    ("default", "given", "meets"),
    [
        ("=False", "", False),
        ("", ", False", False),
        ("=None", "", False),
        ("=True", "", True),
        ("=False", ", True", True),
        ("", ", len(scale)", True),
    ],
)
def test_what_a_call_gives_meets_nothing_that_its_constants_rule_out(
    placed, default: str, given: str, meets: bool
) -> None:
    births = placed(LEFT_OFF.format(default=default, given=given)).births
    assert ("torch.zeros(4)" in births) is meets
