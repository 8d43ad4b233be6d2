"""Where modules are moved that the program leaves on the host."""

import pytest
from devfix_codemods.findings import Safety

PLACES = {
    "beside the other one of a row": (
        """
        from nets import build
        def main(device, path):
            left, right = build(path)
            print(left)
            right = right.to(device)
            left = nn.DataParallel(left)
            right = nn.DataParallel(right)
            return left, right
        """,
        "    print(left)\n    left = left.to(device)\n    right = right.to(device)\n",
    ),
    "behind the device that is declared next": (
        """
        from transformers import AutoModel, AutoTokenizer
        tokenizer = AutoTokenizer.from_pretrained("m")
        net = AutoModel.from_pretrained("m")
        device = "cuda" if torch.cuda.is_available() else "cpu"
        ids = tokenizer.encode("a text", return_tensors="pt").to(device)
        print(net.generate(input_ids=ids))
        """,
        'else "cpu"\nnet.to(device)\n',
    ),
    "at the wrapper, which is for what has parameters": (
        """
        from nets import Net
        def main(path):
            net = Net(3)
            net = nn.DataParallel(net)
            net.load_state_dict(torch.load(path))
            return torch.optim.SGD(net.parameters())
        """,
        'nn.DataParallel(net).to("cuda" if torch.cuda.is_available() else "cpu")',
    ),
    "as parts of batches are, which are filled with moved values": (
        """
        from torch.utils.data import DataLoader
        from nets import Net
        def train(data, device):
            net = Net(3)
            optimizer = torch.optim.SGD(net.parameters())
            for i, batch in enumerate(DataLoader(data)):
                for key in batch:
                    batch[key] = batch[key].to(device)
                net(batch["x"]).sum().backward()
        """,
        "    net = Net(3).to(device)\n",
    ),
    "as two say that prove little alone": (
        """
        from diffusers import AutoencoderKL
        from sampling import sample
        def main(n, device):
            z = torch.randn(n, 4, device=device)
            vae = AutoencoderKL.from_pretrained("vae")
            rows = sample(z.shape, device=device)
            return vae.decode(rows).sample
        """,
        'vae = AutoencoderKL.from_pretrained("vae").to(device)\n',
    ),
    "behind the branches that make it, as soon as there is a device": (
        """
        from nets import Deep, Flat
        def main(options, batch):
            if options.deep:
                net = Deep(3)
            elif options.flat:
                net = Flat(3)
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            batch = batch.to(device)
            optimizer = torch.optim.SGD(net.parameters())
            net(batch).sum().backward()
        """,
        'else "cpu")\n    net.to(device)\n',
    ),
    "behind the cases that make it, as soon as there is a device": (
        """
        def main(kind, batch):
            match kind:
                case "deep":
                    net = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
                case _:
                    net = nn.Linear(3, 3)
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            return net(batch.to(device))
        """,
        'else "cpu")\n    net.to(device)\n',
    ),
    "behind the line that chooses it, as soon as there is a device": (
        """
        from nets import Deep
        def main(deep, batch):
            net = Deep(3) if deep else nn.Linear(3, 3)
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            optimizer = torch.optim.SGD(net.parameters())
            net(batch.to(device)).sum().backward()
        """,
        'else "cpu")\n    net.to(device)\n',
    ),
    "as it comes with other things": (
        """
        from nets import build
        def main(batch, device):
            net, history = build()
            net.eval()
            return net(batch.to(device))
        """,
        "    net, history = build()\n    net = net.to(device)\n",
    ),
    "as it is told to train": (
        """
        from nets import Net
        def main(x, device):
            net = Net(3)
            net.train()
            net(x.to(device)).backward()
        """,
        "net = Net(3).to(device)\n",
    ),
    "though a method that makes an optimizer is told a device": (
        """
        from nets import Net
        def main(batch, device):
            net = Net(3)
            optimizer = net.configure_optimizers(0.1, device_type=device)
            loss = net(batch.to(device))
            loss.backward()
            optimizer.step()
        """,
        "net = Net(3).to(device)\n",
    ),
}


@pytest.mark.parametrize(("program", "lines"), PLACES.values(), ids=PLACES.keys())
def test_where_it_is_moved(repairs, program: str, lines: str) -> None:
    assert lines in repairs.written(program, Safety.UNSAFE)


LEFT = {
    "branches of which one gives what may be anywhere": """
        from nets import Flat
        def main(net, batch):
            if net is None:
                net = Flat(3)
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            optimizer = torch.optim.SGD(net.parameters())
            net(batch.to(device)).sum().backward()
    """,
    "one that is restored, under its name, by what is not read": """
        from nets import Net, restore
        def main(path, batch, device):
            net, epoch = restore(path, Net)
            net, epoch = restore(path, net)
            net.eval()
            return net(batch.to(device))
    """,
    "one that scales what a model computes": """
        from nets import Rescale
        def main(x, y, device):
            net = nn.Linear(3, 3).to(device)
            rescale = Rescale(3)
            loss = nn.functional.mse_loss(rescale(net(x.to(device))), y.to(device))
            loss.backward()
    """,
    "one beside a device alone": """
        from diffusers import AutoencoderKL
        def main(n, device):
            z = torch.randn(n, 4, device=device)
            vae = AutoencoderKL.from_pretrained("vae")
            return vae, z
    """,
    "one that gets a part of a batch that is filled with copies on the host": """
        from torch.utils.data import DataLoader
        from nets import Net
        def train(data):
            net = Net(3)
            optimizer = torch.optim.SGD(net.parameters())
            for i, batch in enumerate(DataLoader(data)):
                for key in batch:
                    batch[key] = batch[key].cpu()
                net(batch["x"]).sum().backward()
    """,
    "one that is used before its sibling is moved": """
        from nets import build
        def main(device, path, x):
            left, right = build(path)
            right = right.to(device)
            print(left(x.cpu()), right(x.to(device)))
    """,
    "one that a method which is told a device may have moved": """
        from nets import Net
        def main(batch, device):
            net = Net(3)
            net.prepare(device=device)
            loss = net(batch.to(device))
            loss.backward()
    """,
    "one that only holds what is wrapped after its move": """
        from nets import Net
        def main(path):
            net = Net(3).cuda()
            net = nn.DataParallel(net)
            return torch.optim.SGD(net.parameters())
    """,
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_what_is_left(repairs, program: str) -> None:
    assert repairs.added(program, Safety.UNSAFE) == []


RESTORED = """
    from zoo import place
    def build({given}, path):
        model = nn.Linear(3, 3)
        if {test}:
            device = torch.device(place())
            model.load_state_dict(torch.load(path, map_location=device))
        {behind}
        return model
"""


@pytest.mark.parametrize(
    ("given", "test", "behind", "moved"),
    [
        ("restore", "restore", "pass", False),
        ("restore", "restore", "model.eval()", False),
        ("device", "device is None", "x = torch.zeros(3, 3).to(device)\n        model(x)", True),
    ],
)
def test_a_device_is_bound_on_every_path_to_the_move(repairs, given: str, test: str, behind: str, moved: bool) -> None:
    added = repairs.added(RESTORED.format(given=given, test=test, behind=behind))
    assert any(".to(device)" in line for line in added) is moved


MOVED_BEHIND = """
    import os
    def main(path, img):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        net = nn.Linear(3, 3)
        {test}
        net.to(device)
        print(net(img.to(device)))
"""


@pytest.mark.parametrize(
    ("test", "is_missed"),
    [
        ("assert os.path.exists(path), path", False),
        ("if not os.path.exists(path): raise OSError(path)", False),
        ("if not os.path.exists(path): return net", True),
    ],
)
def test_a_move_behind_an_assertion_is_never_missed(repairs, test: str, is_missed: bool) -> None:
    assert bool(repairs.findings(MOVED_BEHIND.format(test=test))) is is_missed


BUILT = """
    from models import Net
    from training import train
    def build(sizes{told}):
        model = Net(sizes, 3)
        model.kind = "small"
        {moved}return model
    def main(sizes):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = build(sizes{given})
        train(model, torch.optim.Adam(model.parameters()), device)
"""


@pytest.mark.parametrize(
    ("told", "given", "moved"),
    [
        ("", "", ""),
        (", device", ", device", "model.to(device)\n        "),
        (", device", ", device", "place(model, device)\n        "),
    ],
)
def test_what_a_function_gives_away_may_be_moved_there(repairs, told: str, given: str, moved: str) -> None:
    assert repairs.added(BUILT.format(told=told, given=given, moved=moved), Safety.UNSAFE) == []


def test_what_makes_a_module_and_forgets_the_device_that_it_is_told(repairs) -> None:
    program = BUILT.format(told=", device", given=", device", moved="")
    assert repairs.added(program, Safety.UNSAFE) == ["model = Net(sizes, 3).to(device)"]


def test_what_a_loss_gets_is_told_with_a_suggestion(repairs) -> None:
    program = """
        from nets import Net
        def main(x, y, device):
            net = Net(3)
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
    """
    assert repairs.added(program, Safety.SUGGESTION) == ["net = Net(3).to(device)"]
    assert repairs.added(program, Safety.UNSAFE) == []


PREDICTING = """
    from nets import Net
    class Predictor:
        def __init__(self, path, use_cuda):
            self.use_cuda = use_cuda
            self.net = Net(8)
            self.net.load_state_dict(torch.load(path, map_location="cpu"))
        def run(self, loader: torch.utils.data.DataLoader, search):
            self.net.eval()
            for x, lengths in loader:
                {given}
                found = torch.log(self.net(x))
                if self.use_cuda:
                    found = found.cpu()
                print(search(found))
"""


def test_a_module_that_gets_what_is_on_the_host_stays_there(repairs) -> None:
    assert repairs.added(PREDICTING.format(given="pass"), Safety.UNSAFE) == []


def test_copies_of_what_a_module_gives_do_not_say_that_it_belongs_on_the_host(repairs) -> None:
    program = PREDICTING.format(given="if self.use_cuda: x = x.cuda()")
    assert "self.net = self.net.cuda()" in repairs.added(program, Safety.UNSAFE)
