"""What stands beside values that are moved, and has no `.to`: containers, and distributions."""

import pytest

TRAINER = """
    from collections import OrderedDict, defaultdict
    class Trainer:
        def __init__(self, model, device, loss_of):
            self.device = device
            self.model = model.to(self.device)
            self.loss_of = loss_of
        def run(self, loader, read):
            for _ in range(3):
                kept = {kept}
                for data, _ in loader:
                    self.step(data, kept)
        def step(self, data, kept):
            data = data.to(self.device)
            loss = self.loss_of(data, self.model(data), self.model.training, kept)
            loss.backward()
"""


@pytest.mark.parametrize("kept", ["defaultdict(list)", "OrderedDict()", "{}", "[]", "dict(read())"])
def test_a_container_that_the_caller_makes(repairs, kept: str) -> None:
    assert repairs.added(TRAINER.format(kept=kept)) == []


def test_what_may_be_a_tensor_is_moved(repairs) -> None:
    assert repairs.added(TRAINER.format(kept="read()")) == ["kept = kept.to(self.device)"]


BESIDE = """
    from torch.distributions import kl_divergence
    def loss(output, target, prior):
        wanted = target.float().cuda()
        return torch.pow(wanted - {used}, 2).sum()
"""


@pytest.mark.parametrize(
    "used",
    [
        "output.loc",
        "output.log_prob(wanted)",
        "output.rsample()",
        "kl_divergence(output, prior)",
        'output[0]["mean"]',
        "torch.stack(output[0])",
    ],
)
def test_what_no_tensor_can_be_asked_for(repairs, used: str) -> None:
    assert repairs.told(BESIDE.format(used=used)) == []


@pytest.mark.parametrize("used", ["output", "output.mean(0)", "output[0]", "torch.stack([output, output])"])
def test_what_tensors_are_asked_for(repairs, used: str) -> None:
    (told,) = repairs.told(BESIDE.format(used=used))
    assert told.startswith("Move `output`")


REBUILT = """
    class Sample:
        pass
    def rebuild(rows, keys):
        sample = Sample()
        for k in keys:
            {first}
            rows[k] = torch.from_numpy(rows[k])
        {last}
        return sample
"""


@pytest.mark.parametrize(
    ("first", "last", "is_container"),
    [
        ("pass", "sample.__dict__ = rows", True),
        ("rows[k].append(k)", "sample.x = rows", True),
        ("rows.shape", "sample.x = rows", False),
    ],
)
def test_a_container_by_its_use_has_no_device(repairs, first: str, last: str, is_container: bool) -> None:
    assert (
        any("rows.device" in one for one in repairs.added(REBUILT.format(first=first, last=last))) is not is_container
    )


CALLED = """
    from tqdm import tqdm
    def similarity(model: nn.Module, x, target{default}):
        x = x.cuda()
        out = model(x, target)
        loss = {used}
        return loss.backward()
"""


@pytest.mark.parametrize(
    ("default", "used", "is_moved"),
    [("", "target(out)", False), ("=tqdm", "out.sum()", False), ("", "out.sum()", True)],
)
def test_a_function_that_is_given_is_not_moved(repairs, default: str, used: str, is_moved: bool) -> None:
    added = repairs.added(CALLED.format(default=default, used=used))
    assert any("target" in one for one in added) is is_moved, added


TRIMMED = """
    def trim(front, wave, lengths, most):
        rows = front(wave.squeeze(-1))
        out = torch.zeros([rows.shape[0], most], dtype=rows.dtype, device=rows.device)
        for i in range(rows.shape[0]):
            n = lengths[i] // 4
            start = torch.rand([1]) * (n - most)
            start = torch.floor(start[0]).long()
            out[i] = {used}
        return out
"""


@pytest.mark.parametrize(
    ("used", "is_made_there"),
    [("rows[i, start : most + start]", False), ("rows[i, start:]", False), ("rows[i] + start[None]", True)],
)
def test_bounds_of_slices_belong_on_no_device(repairs, used: str, is_made_there: bool) -> None:
    added = repairs.added(TRIMMED.format(used=used))
    assert any("torch.rand([1], device=" in one for one in added) is is_made_there, added


OF_A_LIST = """
    def joined(rows):
        labels, splits = [], [0]
        for row in rows:
            labels.append(row)
            splits.append(splits[-1] + row.size(0))
        return torch.cat(labels), {splits}
    def run(rows, names, give, device):
        label, splits = joined(rows)
        label = label.to(device)
        return give(label, splits)
"""


@pytest.mark.parametrize(
    ("splits", "is_moved"),
    [("splits[1:-1]", False), ("splits", False), ("torch.tensor(splits)[1:]", True), ("torch.cat(rows)", True)],
)
def test_a_slice_of_a_list_is_a_list(repairs, splits: str, is_moved: bool) -> None:
    told = repairs.told(OF_A_LIST.format(splits=splits))
    assert any("`splits`" in one for one in told) is is_moved, told


GIVEN_ON = """
    def fit(model, features, {name}, data):
        rows = torch.Tensor(np.array(data))
        return step(model, features, rows, {name})
    def step(model, features, rows, fit_by):
        return (features + rows), fit_by
"""


@pytest.mark.parametrize("name", ["fit_function", "on_end_callback", "loss_fn"])
def test_a_function_by_its_name_has_no_device(repairs, name: str) -> None:
    assert not any(f"{name}.device" in one for one in repairs.added(GIVEN_ON.format(name=name)))
    assert any("features.device" in one for one in repairs.added(GIVEN_ON.format(name=name)))


COLLATED = """
    class Collator:
        def __call__(self, rows):
            x = torch.tensor([row["x"] for row in rows])
            domains = {domains}
            return {{"x": x, "labels": torch.tensor([row["y"] for row in rows]), "domains": domains}}
    def train(model: nn.Module, data, device):
        model.to(device)
        for batch in data.loaders(collate_fn=data.collator):
            x = batch["x"].to(device)
            labels = batch["labels"].to(device)
            domains = batch["domains"]
            F.cross_entropy(model(x, domains), labels).backward()
"""


@pytest.mark.parametrize(
    ("domains", "is_moved"),
    [('[row["domain"] for row in rows]', False), ('torch.tensor([row["d"] for row in rows])', True)],
)
def test_what_a_collate_function_gives_as_a_list_by_its_keys(repairs, domains: str, is_moved: bool) -> None:
    added = repairs.added(COLLATED.format(domains=domains))
    assert any("domains" in one for one in added) is is_moved, added


CONVERTED = """
    def start(n):
        net = nn.Linear(3, 3)
        ids = [torch.tensor([0]).to({kind}), torch.tensor([1]).to({kind}), torch.tensor([2]).to({kind})]
        more = [torch.tensor([3]).to({kind}), torch.tensor([4]).to({kind}), torch.tensor([5]).to({kind})]
        return net(torch.zeros(n).to({kind}) + torch.tensor([0.5])), ids, more
"""


@pytest.mark.parametrize(
    ("kind", "is_device"), [("torch.long", False), ("int", False), ("torch.float32", False), ('"cuda"', True)]
)
def test_a_type_is_no_device_however_often_it_is_named(repairs, kind: str, is_device: bool) -> None:
    assert bool(repairs.added(CONVERTED.format(kind=kind))) is is_device


SEEDS = """
    def run(run_one, device):
        for seed in {seeds}:
            print(run_one("name", seed, device=device))
        x = torch.zeros(3, device=device)
        for each in rows():
            x = x + run_one(each, {given}, device=device)
        return x
"""


@pytest.mark.parametrize("seeds", ["[1, 2, 3]", '["a", "b"]', "(0.5, 1.5)"])
def test_numbers_and_words_of_a_display_are_nowhere(repairs, seeds: str) -> None:
    assert not any("seed" in one for one in repairs.added(SEEDS.format(seeds=seeds, given="seed")))


OF_A_STAR = """
    from layers import *
    class Convolution(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.weight = {made}
        def forward(self, x, adjacency):
            return torch.matmul(adjacency, torch.matmul(x, self.weight))
"""


@pytest.mark.parametrize(("made", "is_kept"), [("Parameter(torch.ones(n, n))", False), ("torch.ones(n, n)", True)])
def test_a_parameter_by_a_name_that_is_not_read(repairs, made: str, is_kept: bool) -> None:
    assert any("register_buffer" in one for one in repairs.added(OF_A_STAR.format(made=made))) is is_kept


TRANSFERRED = """
    def evaluate(model, data):
        model = model.cuda()
        model.eval()
        for rows, names in torch.utils.data.DataLoader(data):
            rows = model.{call}
            print(model.encode(rows), names)
"""


@pytest.mark.parametrize(
    ("call", "is_moved"), [("transfer_batch_to_device(rows, model.device)", False), ("prepare(rows)", True)]
)
def test_what_a_method_brings_to_a_device_is_not_moved_for_it(repairs, call: str, is_moved: bool) -> None:
    assert any("rows.cuda()" in one for one in repairs.added(TRANSFERRED.format(call=call))) is is_moved


OF_A_SCRIPT = """
    class Extractor:
        def __init__(self, name, device):
            self.device = device
            self.model = Extractor.create(name).to(device)
        @staticmethod
        def create(name):
            model = torch.hub.load("owner/name", name)
            model.eval()
            return model
    {last}
        device = "cuda" if torch.cuda.is_available() else "cpu"
        print(Extractor("small", device))
"""


def test_a_class_reads_no_name_of_its_file_as_a_script(repairs) -> None:
    program = OF_A_SCRIPT.format(last='if __name__ == "__main__":')
    assert not any("model.to(device)" in one for one in repairs.added(program))


ASKED = """
    def epoch(net, rows, loss, device):
        {test}
            net.train()
        for x, y in rows:
            loss(net(x), y).backward()
    def main(rows):
        net = nn.Linear(3, 4).cuda()
        epoch(net, torch.utils.data.DataLoader(rows), nn.MSELoss(), None)
"""


@pytest.mark.parametrize("test", ["if isinstance(net, torch.nn.Module):", "if isinstance(net, nn.Module):"])
def test_what_may_be_a_function_has_no_parameters(repairs, test: str) -> None:
    assert not any("net.parameters" in one for one in repairs.added(ASKED.format(test=test)))


def test_what_is_a_module_shows_the_device(repairs) -> None:
    assert repairs.added(ASKED.format(test="if len(rows) > 1:"))


BATCHES_OF_LISTS = """
    def fit(model: nn.Module, loader: torch.utils.data.DataLoader, device):
        model.to(device)
        for rows, labels in loader:
            rows = {joined}
            labels = labels.to(device)
            loss = F.cross_entropy(model(rows), labels)
            loss.backward()
"""


@pytest.mark.parametrize(
    ("joined", "added"),
    [
        ("torch.cat(rows, dim=0).float()", "rows = torch.cat(rows, dim=0).to(device).float()"),
        ("torch.stack(rows)", "rows = torch.stack(rows).to(device)"),
        ("rows.float()", "rows = rows.to(device)"),
    ],
)
def test_a_list_of_tensors_is_joined_and_then_moved(repairs, joined: str, added: str) -> None:
    found = [one.replace(", non_blocking=True", "") for one in repairs.added(BATCHES_OF_LISTS.format(joined=joined))]
    assert added in found, found


STEP = """
    def step(net, latent, config, on_cuda):
        width = {first}
        if on_cuda:
            latent = latent.cuda()
        loss = F.mse_loss(net(latent), latent)
        return loss * {weight} + width
"""


@pytest.mark.parametrize(
    ("first", "weight", "is_moved"),
    [
        ("config.width", "config.weight", False),
        ("config.named()", "config.weight", False),
        ("config.mean()", "config[0]", True),
    ],
)
def test_settings_beside_what_is_moved_stay(repairs, first: str, weight: str, is_moved: bool) -> None:
    told = repairs.told(STEP.format(first=first, weight=weight))
    assert any("`config`" in one for one in told) is is_moved, told


BEHIND = """
    class Pipe:
        def encode(self, x: torch.Tensor, pooled: torch.Tensor, crops: torch.Tensor, mask: torch.Tensor):
            device = self._execution_device
            info = None
            if self.is_ready:
                info = torch.tensor([3.0, *crops]).to(device)
                x = x.to(device)
                pooled = pooled.to(device)
                mask = mask.to(device)
            return self.net(x, pooled, mask, {given})
"""


@pytest.mark.parametrize(("given", "is_moved"), [("info", False), ("info, crops", True)])
def test_nothing_is_moved_behind_its_last_use(repairs, given: str, is_moved: bool) -> None:
    added = repairs.added(BEHIND.format(given=given))
    assert any(one.startswith("crops =") for one in added) is is_moved, added


PICKED = """
    class Memory:
        def sampled(self, count, width, device):
            step = torch.randint(0, 3, (width,))
            rows = torch.randint(0, count, (width,))
            before = torch.clip(rows - step * 2, 0, count - 1)
            now = torch.zeros(width, 3, device=device)
            found = torch.zeros(width, 3, device=device)
            other = torch.ones(width, 3, device=device)
            for i in range(3):
                now[i] = {now}
                found[i] = {found}
            return now, found, other
"""


@pytest.mark.parametrize(
    ("now", "found", "is_made_there"),
    [
        ("self.states[rows].to(device)", "self.states[before].to(device)", False),
        ("self.net(rows)", "self.net(before)", True),
    ],
)
def test_what_picks_rows_on_the_host_is_made_there(repairs, now: str, found: str, is_made_there: bool) -> None:
    found_at = [one.origin.line for one in repairs.findings(PICKED.format(now=now, found=found)) if one.origin]
    assert bool(found_at) is is_made_there, found_at


SUBSAMPLED = """
    class Encoder(nn.Module):
        def encode(self, x{annotation}):
            x = x[:: self.step, :]
            n = [x.shape[0]]
            h = {made}
            h.contiguous()
            return h, n
"""


@pytest.mark.parametrize(
    ("annotation", "made", "is_copied"),
    [
        ("", "torch.from_numpy(np.array(x, dtype=np.float32)).to(self.device)", False),
        (": torch.Tensor", "torch.from_numpy(np.array(x, dtype=np.float32)).to(self.device)", True),
        (": torch.Tensor", "np.array(x, dtype=np.float32)", True),
    ],
)
def test_what_becomes_an_array_to_become_a_tensor_was_none(
    repairs, annotation: str, made: str, is_copied: bool
) -> None:
    added = repairs.added(SUBSAMPLED.format(annotation=annotation, made=made))
    assert any("x.cpu()" in one for one in added) is is_copied, added


DECODED = """
    class Speech(nn.Module):
        def __init__(self, decoder):
            super().__init__()
            self.net, self.decoder = nn.Linear(3, 3), decoder
        def forward(self, xs: torch.Tensor, ilens):
            hs, ({name}, _) = self.net(xs), self.decoder.counted(ilens)
            return self.decoder.beam(hs, torch.tensor({name}[0]))
"""


@pytest.mark.parametrize(("name", "is_made_there"), [("hlens", False), ("tokens", True)])
def test_a_tensor_of_lengths_stays(repairs, name: str, is_made_there: bool) -> None:
    added = repairs.added(DECODED.format(name=name))
    assert any("device=" in one for one in added) is is_made_there, added


MOCKED = """
    {imported}
    def test_it(device, run):
        net = {made}
        net.return_value = 3
        return run(net, torch.zeros(3).to(device))
"""


@pytest.mark.parametrize("made", ["Mock(spec=nn.Linear)", "MagicMock()"])
def test_a_mock_is_not_moved(repairs, made: str) -> None:
    program = MOCKED.format(imported="from unittest.mock import MagicMock, Mock", made=made)
    assert not any("Mock" in one for one in repairs.added(program))


KEYED = """
    class Score(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("mixing", torch.rand(n, n))
        def forward(self, batch: {annotation}):
            x = batch[FIRST]
            noise = torch.zeros(x.shape[0], 3)
            return torch.einsum("ij,bj->bi", self.mixing, noise), x
"""


@pytest.mark.parametrize("annotation", ["dict[str, torch.Tensor]", "typing.Mapping[str, torch.Tensor]"])
def test_a_mapping_of_tensors_has_no_device(repairs, annotation: str) -> None:
    assert not any("batch.device" in one for one in repairs.added(KEYED.format(annotation=annotation)))
