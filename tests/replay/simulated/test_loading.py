"""`DataLoader` under the simulated accelerator: what it yields, where that is, and what its workers may do."""

from .conftest import Simulate

SETUP = """import collections
import dataclasses
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

def story(tensor):
    claim, found = tensor.untyped_storage().__dict__.get("_devfix_claim"), []
    while claim is not None:
        found.append((str(claim.place), claim.how, claim.line))
        claim = claim.before
    return found

images, labels = torch.randn(8, 3), torch.arange(8)
data = TensorDataset(images, labels)

"""
LINES = SETUP.count("\n")


def run(simulate: Simulate, code: str, **options: int) -> dict[str, object]:
    """The values that a snippet kept, which nothing ended early."""
    result = simulate(SETUP + code, **options)
    assert (result.message, result.status) == ("", 0), result.printed
    assert result.not_simulated == []
    return result.values


def test_every_kind_of_loader_yields_what_it_does_on_the_plain_cpu(simulate: Simulate) -> None:
    code = """
class Numbers(IterableDataset):
    def __iter__(self):
        info = torch.utils.data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        yield from (torch.tensor(float(number)) for number in range(start, 10, step))

class Words(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return {"word": "w" * index, "length": index, "score": index / 2, "image": images[index]}

def totals(loader):
    return [float(sum(part.sum() for part in batch) if isinstance(batch, list) else batch.sum()) for batch in loader]

for workers in (0, 2):
    for pin in (False, True):
        options = {"num_workers": workers, "pin_memory": pin}
        loader = DataLoader(data, batch_size=4, **options)
        assert torch.equal(torch.cat([batch[0] for batch in loader]), images), options
        assert torch.equal(torch.cat([batch[1] for batch in loader]), labels), options
        assert len(totals(DataLoader(data, batch_size=3, drop_last=True, shuffle=True, **options))) == 2
        assert sorted(totals(DataLoader(Numbers(), batch_size=None, **options))) == list(range(10))
        assert sum(totals(DataLoader(Numbers(), batch_size=5, **options))) == 45
        words = next(iter(DataLoader(Words(), batch_size=4, **options)))
        assert words["word"] == ["", "w", "ww", "www"]
        assert words["length"].tolist() == [0, 1, 2, 3] and words["score"].dtype is torch.float64
        assert words["image"].is_pinned() is pin
keep("done", True)
"""
    assert run(simulate, code, timeout=60) == {"done": True}


def test_samplers_persistent_workers_and_worker_hooks_work(simulate: Simulate) -> None:
    code = """
def number_of(worker):
    torch.manual_seed(worker)

generator = torch.Generator().manual_seed(3)
weighted = torch.utils.data.WeightedRandomSampler(torch.ones(8), 8, generator=generator)
subset = torch.utils.data.SubsetRandomSampler([1, 3], generator=generator)
batches = torch.utils.data.BatchSampler(torch.utils.data.SequentialSampler(data), 4, drop_last=False)
assert sum(len(batch[1]) for batch in DataLoader(data, sampler=weighted, batch_size=3)) == 8
assert sorted(int(label) for _, label in DataLoader(data, sampler=subset)) == [1, 3]
assert [batch[1].tolist() for batch in DataLoader(data, batch_sampler=batches)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
loader = DataLoader(data, num_workers=1, persistent_workers=True, worker_init_fn=number_of, timeout=100, batch_size=8)
keep("epochs", [[batch[1].tolist() for batch in loader] for _ in range(2)])
first, second = torch.utils.data.random_split(data, [6, 2], generator=torch.Generator().manual_seed(0))
keep("split", [len(first), len(second), len(next(iter(DataLoader(first, batch_size=6)))[0])])
"""
    values = run(simulate, code)
    assert values == {"epochs": [[list(range(8))], [list(range(8))]], "split": [6, 2, 6]}


def test_training_from_workers_with_pinned_memory_runs(simulate: Simulate) -> None:
    code = """
model = torch.nn.Linear(3, 8).cuda()
optimizer = torch.optim.Adam(model.parameters())
for batch, target in DataLoader(data, batch_size=4, num_workers=2, pin_memory=True):
    batch, target = batch.cuda(non_blocking=True), target.to("cuda", non_blocking=True)
    loss = torch.nn.functional.cross_entropy(model(batch), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
keep("places", [str(batch.device), str(target.device), str(loss.device), batch.is_pinned()])
"""
    assert run(simulate, code) == {"places": ["cuda:0", "cuda:0", "cuda:0", False]}


def test_tensors_know_that_they_come_from_the_loader_and_where_from_before(simulate: Simulate) -> None:
    code = """
for workers in (0, 1):
    loader = DataLoader(data, batch_size=4, num_workers=workers)
    for batch in loader:
        pass
    keep(str(workers), [story(part) for part in batch])
"""
    loop = ["cpu", "it comes from the loader", LINES + 4]
    assert run(simulate, code) == {
        "0": [
            [loop, ["cpu", "made by torch.randn", LINES - 2]],
            [loop, ["cpu", "made by torch.arange", LINES - 2]],
        ],
        # A worker collates into memory that it made itself.
        "1": [[loop], [loop]],
    }


def test_every_container_of_a_batch_is_searched(simulate: Simulate) -> None:
    code = """
Pair = collections.namedtuple("Pair", "first second")

@dataclasses.dataclass
class Record:
    image: torch.Tensor

class Slotted:
    __slots__ = ("image",)

class Batch:
    def __init__(self, **values):
        self._store = Store(values)

class Store:
    def __init__(self, values):
        self._mapping = values

class Encoding(collections.UserDict):
    pass

def collate(samples):
    image = torch.stack([sample[0] for sample in samples])
    return {
        "pair": Pair(image.clone(), (image.clone(),)),
        "record": Record(image.clone()),
        "graph": Batch(x=image.clone()),
        "encoding": Encoding(ids=image.clone()),
        "list": [image.clone(), "text", None, 3],
    }

batch = next(iter(DataLoader(data, batch_size=4, collate_fn=collate)))
found = [batch["pair"].first, batch["pair"].second[0], batch["record"].image, batch["graph"]._store._mapping["x"],
         batch["encoding"]["ids"], batch["list"][0]]
keep("stories", [story(tensor)[0][1] for tensor in found])

class Endless:
    def __init__(self):
        self.myself = self
    @property
    def __dict__(self):
        raise ValueError("no")

loop = []
loop.append(loop)
for odd in (loop, Endless(), list(range(100_000)), {"a": torch.nn.Linear(2, 2)}, Slotted(), iter([1]), None):
    assert next(iter(DataLoader([1], collate_fn=lambda samples: odd))) is odd
sparse = torch.eye(3).to_sparse()
assert next(iter(DataLoader([1], collate_fn=lambda samples: sparse))) is sparse
"""
    assert run(simulate, code) == {"stories": ["it comes from the loader"] * 6}


def test_a_tensor_that_is_yielded_again_and_again_keeps_a_short_story(simulate: Simulate) -> None:
    code = """
for _ in range(5):
    for batch in DataLoader(data, batch_size=None):
        pass
keep("length", len(story(batch[0])))
"""
    assert run(simulate, code) == {"length": 2}


def test_a_dataset_on_the_device_needs_no_move(simulate: Simulate) -> None:
    code = """
inside = TensorDataset(images.cuda(), labels.cuda())
for batch, target in DataLoader(inside, batch_size=4):
    assert (str(batch.device), str(target.device)) == ("cuda:0", "cuda:0")
keep("sum", [float((batch * 2).sum() - images[4:].cuda().sum() * 2), story(batch)[0][0]])

def collate(samples):
    return torch.stack([sample[0] for sample in samples]).cuda()

keep("collated", str(next(iter(DataLoader(data, collate_fn=collate, batch_size=2))).device))
"""
    assert run(simulate, code) == {"sum": [0.0, "cuda:0"], "collated": "cuda:0"}


def test_workers_may_use_the_device_where_the_parent_never_did(simulate: Simulate) -> None:
    code = """
def collate(samples):
    return torch.stack([sample[0] for sample in samples]).to("cuda")

batch = next(iter(DataLoader(data, collate_fn=collate, num_workers=1, batch_size=4)))
keep("batch", [str(batch.device), torch.equal(batch.cpu(), images[:4])])
keep("made", [part[1] for part in story(batch)])
"""
    values = run(simulate, code)
    assert values["batch"] == ["cuda:0", True]
    assert values["made"] == ["it comes from the loader", "moved by .to", "made by torch.randn"]


def test_a_fixed_generator_shuffles_as_on_the_plain_cpu(simulate: Simulate) -> None:
    code = """
loader = DataLoader(data, shuffle=True, generator=torch.Generator().manual_seed(5))
keep("order", [int(label) for _, label in loader])
keep("plain", torch.randperm(8, generator=torch.Generator().manual_seed(5)).tolist())
"""
    values = run(simulate, code)
    assert sorted(values["order"]) == list(range(8))  # type: ignore[call-overload]
    assert values["order"] != list(range(8))


def test_collate_and_convert_by_hand_work(simulate: Simulate) -> None:
    code = """
import numpy
from torch.utils.data import default_collate, default_convert
batch = default_collate([{"x": numpy.ones(2), "y": 1}, {"x": numpy.zeros(2), "y": 2}])
keep("host", [str(batch["x"].device), batch["x"].tolist(), batch["y"].tolist()])
keep("device", str(default_collate([torch.ones(2, device="cuda"), torch.ones(2, device="cuda")]).device))
keep("converted", [str(default_convert(numpy.ones(2)).device), str(default_convert(torch.ones(1).cuda()).device)])
"""
    assert run(simulate, code) == {
        "host": ["cpu", [[1, 1], [0, 0]], [1, 2]],
        "device": "cuda:0",
        "converted": ["cpu", "cuda:0"],
    }


def test_a_batch_that_was_not_moved_is_refused_where_it_meets_the_model(simulate: Simulate) -> None:
    for workers in (0, 1):
        result = simulate(
            SETUP
            + f"""
model = torch.nn.Linear(3, 8).cuda()
for batch, target in DataLoader(data, batch_size=4, num_workers={workers}, pin_memory=True):
    model(batch)
"""
        )
        assert "Expected all tensors to be on the same device" in result.first_line, result.printed
        assert result.line == LINES + 4


def test_collating_two_places_is_refused(simulate: Simulate) -> None:
    result = simulate(
        SETUP + "next(iter(DataLoader([torch.ones(2), torch.ones(2).cuda()], batch_size=2)))\n",
    )
    assert "Expected all tensors to be on the same device" in result.first_line


def test_pinning_what_is_on_the_device_is_refused_in_the_words_of_the_pin_thread(simulate: Simulate) -> None:
    code = """
inside = TensorDataset(images.cuda(), labels.cuda())
next(iter(DataLoader(inside, pin_memory=True)))
"""
    result = simulate(SETUP + code)
    assert result.first_line == "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned"
    code = """
import os
os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # Or the loader's question for an accelerator spoils its workers.

def collate(samples):
    return torch.stack([sample[0] for sample in samples]).cuda()

next(iter(DataLoader(data, pin_memory=True, collate_fn=collate, num_workers=1)))
"""
    result = simulate(SETUP + code)
    assert result.first_line == "Caught RuntimeError in pin memory thread for device 0."
    assert "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned" in result.message


def test_a_forked_worker_cannot_use_the_device_that_its_parent_used(simulate: Simulate) -> None:
    code = """
class Moved(Dataset):
    def __len__(self):
        return 8
    def __getitem__(self, index):
        return images[index].to("cuda")

model = torch.nn.Linear(3, 8).cuda()
for batch in DataLoader(Moved(), num_workers=1):
    pass
"""
    result = simulate(SETUP + code)
    assert result.error_type == "RuntimeError"
    assert result.first_line == "Caught RuntimeError in DataLoader worker process 0."
    assert result.message.rstrip().endswith(
        "RuntimeError: Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use "
        "the 'spawn' start method"
    )
    assert result.line == LINES + 9


def test_a_forked_worker_cannot_collate_what_its_parent_put_on_the_device(simulate: Simulate) -> None:
    code = """
inside = TensorDataset(images.cuda(), labels.cuda())
for batch in DataLoader(inside, num_workers=1, batch_size=4):
    pass
"""
    result = simulate(SETUP + code)
    assert "DataLoader worker process 0." in result.first_line
    assert "CUDA error: initialization error" in result.message
    assert result.line == LINES + 3


def test_tensors_of_one_batch_in_two_places_stay_where_they_are(simulate: Simulate) -> None:
    code = """
for moved, left in DataLoader(images, 2, collate_fn=lambda s: (torch.stack(s).cuda(), torch.stack(s))):
    keep("places", [str(moved.device), str(left.device)])
"""
    assert run(simulate, code) == {"places": ["cuda:0", "cpu"]}


def test_an_error_of_a_worker_stays_what_it_is(simulate: Simulate) -> None:
    code = """
class Broken(Dataset):
    def __len__(self):
        return 1
    def __getitem__(self, index):
        raise KeyError("missing")

next(iter(DataLoader(Broken(), num_workers=1)))
"""
    result = simulate(SETUP + code)
    assert result.error_type == "KeyError"
    assert "missing" in result.message
