"""Elements of batches and encodings: how they are moved, and where they are left."""

import pytest
from devfix_codemods.findings import Safety

LOOP = """
    from torch.utils.data import DataLoader
    def train(data, device):
        net = nn.Linear(3, 3).to(device)
        for {targets} in DataLoader(data):
            {body}
"""


def _loop(body: str, targets: str = "x, y") -> str:
    return LOOP.format(targets=targets, body=body.replace("\n", "\n            "))


REPAIRED = {
    "by the words of a sibling": (
        _loop("x = x.to(device, non_blocking=True)\nF.mse_loss(net(x), y).backward()"),
        "        y = y.to(device, non_blocking=True)\n",
    ),
    "for the one call, where numpy reads it as well": (
        _loop("x = x.to(device)\nF.mse_loss(net(x), y).backward()\nprint(y.numpy())"),
        "        F.mse_loss(net(x), y.to(device)).backward()\n",
    ),
    "for the one call, where numpy reads a view of it": (
        _loop("x = x.to(device)\nF.mse_loss(net(x), y).backward()\nprint(y.data.view(-1).numpy())"),
        "        F.mse_loss(net(x), y.to(device)).backward()\n",
    ),
    "entry by entry, as a mapping has no `.to`": (
        _loop('F.mse_loss(net(x["left"]), x["left"]).backward()', targets="x"),
        'F.mse_loss(net(x["left"].to(device, non_blocking=True)), x["left"].to(device, non_blocking=True)).backward()',
    ),
    "as the model, if its sibling follows it": (
        _loop("y = y.to(x.device)\nF.mse_loss(net(x), y).backward()"),
        "    x = x.to(device)\n        y = y.to(x.device)\n",
    ),
    "where it is read, if its sibling follows it": (
        _loop('x = b["x"]\ny = b["y"].to(x.device)\nF.mse_loss(net(x), y).backward()', targets="b"),
        '    x = b["x"].to(device)\n        y = b["y"].to(x.device)\n',
    ),
    "where it is unpacked, if the statement that moves a sibling compares it": (
        _loop("out = net(x.to(device).masked_fill(y == 0, 0.0))\nF.mse_loss(out, y).backward()"),
        "        y = y.to(device)\n        out = net(x.to(device)",
    ),
    "all entries of a mapping that is unpacked": (
        """
        from torch.utils.data import DataLoader
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.one = nn.Linear(3, 3)
            def forward(self, left, right):
                return self.one(left) + right
        def train(data, device):
            net = Net().to(device)
            for batch in DataLoader(data):
                net(**batch).sum().backward()
        """,
        "        batch = {k: v.to(device, non_blocking=True) for k, v in batch.items()}",
    ),
    "where the model is, if nothing else says where that is": (
        """
        from torch.utils.data import DataLoader
        def evaluate(net, data):
            for x in DataLoader(data):
                print(net(x))
        def main(data):
            net = nn.Linear(3, 3)
            net.to("cuda" if torch.cuda.is_available() else "cpu")
            evaluate(net, data)
        """,
        "x = x.to(next(net.parameters()).device, non_blocking=True)",
    ),
    "a parameter, before it is read": (
        """
        def step(net, x, y, gaps, device):
            mask = 1 - gaps.float()
            x, y = x.to(device), y.to(device)
            return F.mse_loss(net(x), y, reduction="none") * mask
        """,
        "    gaps = gaps.to(device)",
    ),
    "behind the choice that moves what was no tensor": (
        """
        def act(net, state, device):
            if not torch.is_tensor(state):
                state = torch.from_numpy(state).to(device)
            return net(state)
        """,
        "    state = state.to(device)",
    ),
    "an encoding as a whole": (
        """
        from transformers import AutoModel
        def run(tokenizer, text, device):
            net = AutoModel.from_pretrained("m").to(device)
            return net.generate(tokenizer(text, return_tensors="pt").input_ids)
        """,
        'tokenizer(text, return_tensors="pt").to(device).input_ids',
    ),
    "an encoding as another function moves it": (
        """
        from clip import tokenize
        def embed(net, text, device):
            return net.embed_text(tokenize(text).to(device))
        def judge(net, text, device):
            tokens = tokenize(text)
            return net.embed_text(tokens)
        """,
        "tokens = tokenize(text).to(device)",
    ),
    "a mask, or none, beside moved ids": (
        """
        def answer(model, inputs, device):
            ids, mask = inputs["ids"], inputs.get("mask")
            return model.generate(ids.to(device), attention_mask=mask)
        """,
        "attention_mask=mask.to(device) if mask is not None else None",
    ),
}


@pytest.mark.parametrize(("program", "text"), REPAIRED.values(), ids=REPAIRED.keys())
def test_what_is_written(repairs, program: str, text: str) -> None:
    assert text in repairs.written(program, Safety.UNSAFE)


LEFT = {
    "what a test says is no tensor": _loop(
        "x = x.to(device)\ny = y if not isinstance(y, torch.Tensor) else y.to(device)\nprint(F.mse_loss(net(x), y))"
    ),
    "texts, as an annotation calls them elsewhere": """
        from torch.utils.data import DataLoader
        def show(notes: list[str]):
            print(notes)
        def train(net, data, device):
            net.to(device)
            for x, notes in DataLoader(data):
                x = x.to(device)
                net(x).sum().backward()
                net(notes)
    """,
    "a list of mappings": _loop("x = x.to(device)\nloss = judge(net(x), [one['boxes'] for one in y])"),
    "what is computed of it, and moved": """
        def step(net, x, y, gaps, device):
            mask = (1 - gaps.float()).to(device)
            x, y = x.to(device), y.to(device)
            return F.mse_loss(net(x), y, reduction="none") * mask
    """,
    "a pipeline, which places what it is given": """
        from torch.utils.data import DataLoader
        def caption(pipe, data, device):
            pipe.to(device)
            for image in DataLoader(data):
                print(pipe(image))
    """,
    "what either branch moves to a device of its own": _loop(
        "if len(x):\n    x, y = x.cuda(0), y.cuda(0)\nelse:\n    x, y = x.cuda(1), y.cuda(1)\nprint(x + y)"
    ),
    "what another function replaces in the batches that a function made": """
        from transformers import AutoModel
        def encode(tok, texts):
            found = []
            for text in texts:
                found.append({"ids": tok(text, return_tensors="pt")["input_ids"]})
            return found
        def place(batches, device):
            for batch in batches:
                for key in batch:
                    batch[key] = batch[key].to(device)
        def main(tok, texts, device):
            net = AutoModel.from_pretrained("m").to(device)
            batches = encode(tok, texts)
            place(batches, device)
            return [net(batch["ids"]) for batch in batches]
    """,
    "an encoding that goes to another function than the moved one": """
        from clip import tokenize
        def embed(net, text, device):
            return net.embed_text(tokenize(text).to(device))
        def count(net, text, device):
            return net.count(tokenize(text))
    """,
}


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_what_is_left(repairs, program: str) -> None:
    assert repairs.findings(program, suggestions=False) == ()


LOADERS = """
    def score(model: nn.Module, test_loaders, device, total):
        model = model.to(device)
        for task, test_loader in enumerate(test_loaders):
            for step, (x, y) in enumerate(test_loader):
                x = x.to(device)
                total += F.cross_entropy(model(x), y)
        return total
"""


def test_a_loader_of_several_is_not_moved_for_what_it_gives(repairs) -> None:
    assert repairs.added(LOADERS) == ["y = y.to(device)"]


FIELDS = """
    def train(model: nn.Module, data, device, loss):
        model.to(device)
        rays, pixels = next(data)
        out = model(rays)
        pixels = pixels.to(device)
        return loss(out, pixels, {read})
"""


@pytest.mark.parametrize(
    ("read", "tier"),
    [
        ("rays.mask", Safety.SUGGESTION),
        ("rays.directions.to(device)", Safety.SUGGESTION),
        ("rays.shape[0]", Safety.UNSAFE),
        ("rays.float()", Safety.UNSAFE),
    ],
)
def test_what_has_fields_of_its_own_may_have_no_to(repairs, read: str, tier: Safety) -> None:
    found = next(one for one in repairs.findings(FIELDS.format(read=read)) if "`rays`" in one.message)
    assert found.fix is not None
    assert found.fix.safety is tier


PLOTTED = """
    import matplotlib.pyplot as plt
    def train(encoder: nn.Module, loader: torch.utils.data.DataLoader, device):
        encoder.to(device)
        losses = []
        for data, target in loader:
            seen, wanted = data, target.to(device)
            loss = F.mse_loss(encoder(seen), wanted)
            loss.backward()
            losses.append({kept})
        plt.plot(losses)
"""


@pytest.mark.parametrize("kept", ["loss", "loss.item()", "loss.detach()"])
def test_what_is_read_of_a_result_does_not_want_the_value_on_the_host(repairs, kept: str) -> None:
    assert "seen, wanted = data.to(device), target.to(device)" in repairs.added(PLOTTED.format(kept=kept), Safety.SAFE)


@pytest.mark.parametrize("kept", ["seen.numpy()", "seen.numpy() + loss.item()", "np.mean(seen.numpy())"])
def test_what_is_read_of_the_value_does(repairs, kept: str) -> None:
    assert "seen, wanted = data.to(device), target.to(device)" not in repairs.added(
        PLOTTED.format(kept=kept), Safety.UNSAFE
    )


GIVEN = """
    from torch.utils.data import DataLoader
    def first(batch, device):
        {body}
    def train(data, device):
        net = nn.Linear(3, 3).to(device)
        for batch in DataLoader(data):
            x = first(batch, device)
            net(x).sum().backward()
"""


@pytest.mark.parametrize("body", ["return batch[0].to(device)", "x, y = batch\n        return x.to(device)"])
def test_what_a_function_moves_that_gets_the_batch(repairs, body: str) -> None:
    assert repairs.findings(GIVEN.format(body=body)) == ()


@pytest.mark.parametrize(
    ("body", "moved"),
    [
        ("return batch[0]", "return batch[0].to(device, non_blocking=True)"),
        ("x = batch[0]\n        return x", "x = batch[0].to(device, non_blocking=True)"),
        (
            "x = batch[0] if isinstance(batch, (list, tuple)) else batch\n        return x",
            "x = (batch[0] if isinstance(batch, (list, tuple)) else batch).to(device, non_blocking=True)",
        ),
    ],
)
def test_a_batch_that_a_function_takes_apart_is_moved_part_by_part(repairs, body: str, moved: str) -> None:
    assert repairs.added(GIVEN.format(body=body), Safety.UNSAFE) == [moved]


COMPREHENSION = """
    from torch.utils.data import DataLoader
    def fit(net, data, device):
        net = net.to(device)
        {before}
        return {made}
"""


@pytest.mark.parametrize("before", ["pass", "y = None"])
@pytest.mark.parametrize(
    ("made", "moved"),
    [
        (
            "[F.cross_entropy(net(x.to(device)), y) for x, y in DataLoader(data)]",
            "[F.cross_entropy(net(x.to(device)), y.to(device)) for x, y in DataLoader(data)]",
        ),
        (
            "sum((net(x) == y.long()).sum() for x, y in DataLoader(data))",
            "sum((net(x.to(device)) == y.to(device).long()).sum() for x, y in DataLoader(data))",
        ),
        (
            "{i: net(x) for i, (x, y) in enumerate(DataLoader(data))}",
            "{i: net(x.to(device)) for i, (x, y) in enumerate(DataLoader(data))}",
        ),
    ],
)
def test_what_a_comprehension_names_is_moved_where_it_is_read(repairs, before: str, made: str, moved: str) -> None:
    program = COMPREHENSION.format(before=before, made=made)
    (line,) = repairs.added(program, Safety.UNSAFE)
    assert line.replace(", non_blocking=True", "") == f"return {moved}"


def test_what_a_comprehension_moves_is_left_alone(repairs) -> None:
    made = "[F.mse_loss(net(x.to(device)), y.to(device)) for x, y in DataLoader(data)]"
    assert repairs.findings(COMPREHENSION.format(before="pass", made=made)) == ()


UNPACKED = """
    from torch.utils.data import DataLoader
    class Fitter:
        def __init__(self, device):
            self.device = device
            self.net = nn.Linear(3, 3).to(device)
        def loss(self, batch):
            {unpacked}
            return F.cross_entropy(self.net(x), y)
        def fit(self, data):
            for batch in DataLoader(data):
                self.loss({given}).backward()
"""
PLACED = "x, y = x.to(self.device), y.to(self.device)"


@pytest.mark.parametrize(
    ("unpacked", "given"),
    [(f"x, y = batch\n            {PLACED}", "batch"), ("x, y = batch", "[one.to(self.device) for one in batch]")],
)
def test_what_a_method_unpacks_that_is_moved(repairs, unpacked: str, given: str) -> None:
    assert repairs.added(UNPACKED.format(unpacked=unpacked, given=given)) == []


@pytest.mark.parametrize("unpacked", ["x, y = batch", "(x, y) = batch", "x, y, *_ = batch"])
def test_what_a_method_unpacks_is_moved_behind_that(repairs, unpacked: str) -> None:
    added = repairs.added(UNPACKED.format(unpacked=unpacked, given="batch"), Safety.UNSAFE)
    assert added == [f"{name} = {name}.to(self.device, non_blocking=True)" for name in "xy"]


def test_parts_with_a_type_are_moved_where_they_get_their_names(repairs) -> None:
    unpacked = "x: torch.Tensor = batch[0]\n            y: torch.Tensor = batch[1]"
    assert repairs.added(UNPACKED.format(unpacked=unpacked, given="batch"), Safety.UNSAFE) == [
        "x: torch.Tensor = batch[0].to(self.device, non_blocking=True)",
        "y: torch.Tensor = batch[1].to(self.device, non_blocking=True)",
    ]


PASSED = """
    def step(net, crit, optimizer, rows, on_cuda):
        noise = torch.randn(4, 3)
        if on_cuda:
            noise = noise.cuda()
        loss = crit(net(noise), rows)
        loss.backward()
        optimizer.step()
    def main(net: nn.Module, crit: nn.Module, optimizer, data_loader):
        on_cuda = torch.cuda.is_available()
        if on_cuda:
            net = net.cuda()
            crit = crit.cuda()
        for batch in data_loader:
            step(net, crit, optimizer, {given}, {told})
"""


@pytest.mark.parametrize("given", ["batch[0]", "batch['rows']"])
def test_what_a_function_gets_is_moved_beside_what_it_moves_itself(repairs, given: str) -> None:
    added = repairs.added(PASSED.format(given=given, told="on_cuda"))
    assert added == ["rows = rows.cuda()"]


@pytest.mark.parametrize("given", ["batch[0].cuda()", "torch.ones(4, 3).cuda()"])
def test_what_is_moved_for_a_function_is_not_moved_there(repairs, given: str) -> None:
    added = repairs.added(PASSED.format(given=given, told="True"))
    assert not any(one.startswith("rows =") for one in added), added
