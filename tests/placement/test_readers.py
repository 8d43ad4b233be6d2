"""What numpy, plots and other readers of the host's memory are given."""

import pytest
from devfix_codemods.placement.graph import Birth

READ = {
    "what is detached": """
        def show(step, x, device):
            return step(x).detach().numpy()
    """,
    "the gradient of what was handed in": """
        import matplotlib.pyplot as plt
        def show(weight, device):
            plt.hist(weight.grad.flatten())
    """,
    "the parameters of a module on a device": """
        def show(device):
            net = nn.Linear(3, 3).to(device)
            return [one.numpy() for one in net.parameters()]
    """,
    "what is copied beside": """
        def show(x):
            y = x.cpu()
            return y, np.unique(x)
    """,
    "lengths on a device": """
        def pack(rnn, x, items, device):
            lengths = torch.tensor([len(one) for one in items], device=device)
            return rnn(nn.utils.rnn.pack_padded_sequence(x, lengths))
    """,
    "a list of what is moved": """
        def collect(loader, device):
            found = []
            for x in loader:
                found.append(torch.relu(x.to(device)))
            return np.median(found)
    """,
    "the data of what a model gives": """
        def show(net, x, device):
            return np.asarray(net.forward(x).data)
    """,
    "a plot of what is moved": """
        def show(axes, x, device):
            axes[0].imshow(x.to(device)[0])
    """,
    "beside what is detached, in one statement": """
        def show(model, x, y, device):
            return model(x).detach().numpy(), (y == 1).numpy()
    """,
    "written by a method that leaves the array as it is": """
        def show(model, x, device):
            return model(x.to(device)).numpy().sum()
    """,
    "given by one of two callers": """
        def _array(x: torch.Tensor):
            return x.numpy()
        def main(x, device):
            return _array(x.cpu()), _array(x.to(device))
    """,
    "a branch that says nothing of places": """
        def show(x: torch.Tensor, device):
            if x.dim() == 2:
                return x.to(device).numpy()
    """,
    "mapped over what is moved": """
        def show(x, y, device):
            return map(lambda t: t.float().numpy(), (x.to(device), y.to(device)))
    """,
    "what a library places": """
        from sentence_transformers import util
        def best(query, corpus):
            return np.argsort(util.cos_sim(query, corpus)[0])
    """,
    "a type of torch": """
        def show(model, x, device):
            return model(x.to(device)).to(torch.float32).numpy()
    """,
    "sums over what tensors call dimensions": """
        import matplotlib.pyplot as plt
        def show(net: nn.Module, x, device):
            plt.plot(net(x.to(device)).sum(dim=1))
    """,
    "entries of a mapping of tensors": """
        def pack(rnn, sample: dict[str, torch.Tensor]):
            return nn.utils.rnn.pack_padded_sequence(sample["x"], sample["lengths"])
    """,
    "a list of what a model gives": """
        def collect(net: nn.Module, loader, device):
            found = []
            for x in loader:
                found.append(net(x.to(device)))
            return np.concatenate(found)
    """,
    "a list of the rows of what is moved": """
        def collect(loader, device):
            found = []
            for x in loader:
                found.extend(torch.relu(x.to(device)))
            return np.array(found)
    """,
    "a part of such a list": """
        def collect(loader, device):
            found = []
            for x in loader:
                found.append(torch.relu(x.to(device)))
            return np.histogram(found[0])
    """,
    "arithmetic of what is moved": """
        def show(x, device):
            y = x.to(device) * 2
            return np.histogram(y)
    """,
}

LEFT = {
    "a list of numbers of what is moved": """
        def collect(loader, device):
            found = []
            for x in loader:
                found.extend(torch.relu(x.to(device)).tolist())
            return np.array(found)
    """,
    "a list of copies of what a model gives": """
        def collect(net: nn.Module, loader, device):
            found = []
            for x in loader:
                found.append(net(x.to(device)).cpu())
            return np.concatenate(found)
    """,
    "a part of a list of arrays": """
        def collect(net: nn.Module, loader, device):
            found = []
            for x in loader:
                found.append(net(x.to(device)).detach().cpu().numpy())
            return np.histogram(found[0])
    """,
    "what is made on the host, and detached": """
        def show(device):
            return torch.ones(3, requires_grad=True).detach().numpy()
    """,
    "gradients as numbers": """
        import matplotlib.pyplot as plt
        def show(weight, device):
            plt.plot([weight.grad.norm().item()])
    """,
    "the parameters of a module on the host": """
        def show(device):
            net = nn.Linear(3, 3)
            return [one.detach().numpy() for one in net.parameters()]
    """,
    "what a model on the host gives to a plot": """
        import matplotlib.pyplot as plt
        class Show:
            def __init__(self):
                self.net = nn.Linear(3, 3)
            def all(self, x, place):
                out, ax = self.net(x), plt.subplots()[1]
                ax.imshow(out)
    """,
    "what is copied in another branch": """
        def show(x, wanted):
            if wanted:
                print(x.cpu())
            return np.unique(x)
    """,
    "lengths of the host": """
        def pack(rnn, x, items, device):
            lengths = torch.tensor([len(one) for one in items])
            return rnn(nn.utils.rnn.pack_padded_sequence(x.to(device), lengths))
    """,
    "a list of numbers": """
        def collect(loader, device):
            found = []
            for x in loader:
                found.append(torch.relu(x.to(device)).sum().item())
            return np.median(found)
    """,
    "the data of an object": """
        def table(path, device):
            return np.asarray(open_table(path).data)
    """,
    "a plot of something else": """
        def show(story, x, device):
            story.plot(x.to(device)[0])
    """,
    "beside what is detached, on the host": """
        def show(model, x, device):
            return model(x).detach().cpu().numpy(), torch.arange(3).numpy()
    """,
    "an array that is written to": """
        def fill(model, x, rows, device):
            model(x.to(device)).numpy()[:] = rows
    """,
    "brought to the host by all callers": """
        def _array(x: torch.Tensor):
            return x.numpy()
        def main(x, device):
            return _array(x.cpu()), _array(x.to(device).cpu())
    """,
    "behind a branch that returns for a device": """
        def show(x: torch.Tensor, device):
            if x.device.type == "cuda":
                return x.cpu().numpy()
            return x.numpy()
    """,
    "mapped over what is copied": """
        def show(x, y, device):
            return map(lambda t: t.float().numpy(), (x.to(device).cpu(), y.to(device).cpu()))
    """,
    "what a library keeps on the host": """
        import torchio
        def bias(subject, device):
            subject = torchio.RandomBiasField()(subject)
            return subject["image"].data.numpy()
    """,
    "a type of another library": """
        def show(value, device):
            return value.to("float32").numpy()
    """,
    "a tensor or a list of numbers": """
        def pack(rnn, x, lengths: torch.Tensor | list[int]):
            return rnn(nn.utils.rnn.pack_padded_sequence(x, lengths))
    """,
    "entries of a mapping of lists": """
        def pack(rnn, x, sizes: dict[str, list[int]]):
            return nn.utils.rnn.pack_padded_sequence(x, sizes["x"])
    """,
    "told the host where it is loaded": """
        def show(path, x, load):
            net = load(path, device="cpu")
            return net(x).detach().numpy()
    """,
}


@pytest.mark.parametrize("program", READ.values(), ids=READ)
def test_what_is_read_off_the_host(placed, program: str) -> None:
    births = [one.birth.birth for one in placed(program).conflicts]
    assert births
    assert set(births) == {Birth.READER}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT)
def test_what_is_read_on_the_host(placed, program: str) -> None:
    assert not [one for one in placed(program).conflicts if one.birth.birth is Birth.READER]


FITTED = """
    def adjust(line, x: torch.Tensor, seen: torch.Tensor):
        {first}
        return line.predict(seen.numpy()) - line.predict(x.numpy()), x
"""


@pytest.mark.parametrize(("first", "births"), [("line.fit(x.numpy())", []), ("line.fit(3)", ["x", "seen"])])
def test_what_is_read_after_it_was_written_by_its_array(placed, first: str, births: list[str]) -> None:
    assert placed(FITTED.format(first=first)).births == births


LEFT_BEHIND = """
    import matplotlib.pyplot as plt
    from core import DEVICE
    class Show:
        def __init__(self, model: nn.Module):
            self.model = model
        def run(self, loader):
            for x, label in loader:
                x, label = x.to(DEVICE), label.to(DEVICE)
                self.show(label, self.model(x))
        def show(self, label: torch.Tensor, out: torch.Tensor):
            axes = plt.subplots(1, 2)[1]
            for at in range(2):
                axes[at].imshow({shown})
"""


@pytest.mark.parametrize(("shown", "read"), [("out if at else label", True), ("(out if at else label).cpu()", False)])
def test_a_model_that_is_left_behind_settles_nothing(placed, shown: str, read: bool) -> None:
    births = [one.birth.birth for one in placed(LEFT_BEHIND.format(shown=shown)).conflicts]
    assert (Birth.READER in births) is read


KEPT = """
    def collect(model, batches, device):
        rows = []
        for x in batches:
            x = x.to(device)
            {kept}
            model(x).sum().backward()
        return rows
"""


@pytest.mark.parametrize(
    ("kept", "surely"),
    [
        ("rows.append(x.detach().numpy())", True),
        ("rows.extend([x.detach().numpy()])", True),
        ("fill(x.detach().numpy())", False),
        ("np.add(x, 1, out=x.detach().numpy())", False),
    ],
)
def test_an_array_that_is_kept_is_not_written_to(placed, kept: str, surely: bool) -> None:
    found = [one for one in placed(KEPT.format(kept=kept)).conflicts if one.birth.birth is Birth.READER]
    assert any(one.confidence > 0.9 for one in found) is surely


BRANCHES = """
    from torch.utils.data import DataLoader
    def evaluate(device, use_cuda, loader, model, criterion):
        for inputs, targets in loader:
            if use_cuda:
                inputs = inputs.to(device)
                targets = targets.to(inputs.device)
            outputs = model(inputs){to_host}
            loss = criterion(outputs, targets{to_host})
        return outputs.detach().numpy()
    def main(data, device):
        use_cuda = torch.cuda.is_available()
        model = nn.Linear(4, 2)
        if use_cuda:
            model = model.to(device)
        evaluate(device, use_cuda, DataLoader(data), model, nn.CrossEntropyLoss())
"""


def test_what_one_branch_leaves_on_a_device_is_read_there(placed) -> None:
    assert "outputs.detach()" in placed(BRANCHES.format(to_host="")).births
    assert "outputs.detach()" not in placed(BRANCHES.format(to_host=".cpu()")).births


EITHER = {
    "a flag says which it is": """
        def returns(reward: torch.Tensor, done, n):
            is_torch = isinstance(done, torch.Tensor)
            if is_torch:
                done = done.type(reward.dtype)
            for step in range(1, n):
                done[step:] = np.maximum(done[:-step], done[step:])
            return done
    """,
    "a test takes care of tensors": """
        def show(x):
            if torch.is_tensor(x):
                x = x.detach()
            return np.unique(x.view(-1))
    """,
    "one of two that meet": """
        def merge(x: torch.Tensor, y):
            if not isinstance(y, torch.Tensor):
                y = y.copy()
            return np.maximum(x.relu(), y)
    """,
    "a number that is asked whether it is one": """
        def add(grads, op: torch.Tensor):
            if np.isscalar(op):
                return [grad.mul(op) for grad in grads]
            return [grad.add(op) for grad in grads]
    """,
}
TENSORS = {
    "read where the test holds": """
        def show(x):
            if torch.is_tensor(x):
                return np.unique(x.view(-1))
            return x
    """,
    "nothing is tested": """
        def show(x):
            return np.unique(x.view(-1))
    """,
    "another value is tested": """
        def show(x, y):
            if torch.is_tensor(y):
                y = y.detach()
            return np.unique(x.view(-1)), y
    """,
}


def readers(placed, program: str) -> list[object]:
    found = placed(program).analysis.graph.sources.values()
    return [one for each in found for one in each if one.birth is Birth.READER]


@pytest.mark.parametrize("program", EITHER.values(), ids=EITHER)
def test_what_may_be_an_array_is_not_copied(placed, program):
    """`.cpu()` would fail for arrays, of which the program thinks."""
    assert readers(placed, program) == []


@pytest.mark.parametrize("program", TENSORS.values(), ids=TENSORS)
def test_what_is_a_tensor_where_it_is_read(placed, program):
    assert readers(placed, program) != []
