"""DataLoader: collation, pinning, workers."""

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from expectations import misplaced, passes, raises, recorded
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

DOCUMENTED = "https://docs.pytorch.org/docs/stable/data.html"
FORKED = (
    "Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the 'spawn' start "
    "method"
)


def pairs(place="cpu"):
    return TensorDataset(torch.arange(8.0, device=place).reshape(4, 2), torch.tensor([0, 1, 0, 1], device=place))


class OnTheDevice(Dataset):
    """Moves each element in `__getitem__`."""

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return torch.full((2,), float(index)).to("cuda")


@passes(DOCUMENTED)
def batches_are_on_the_host():
    x, y = next(iter(DataLoader(pairs(), batch_size=2)))
    assert x.device.type == y.device.type == "cpu"


@raises("RuntimeError", misplaced("target", "nll_loss_forward"), recorded("nll_loss_forward"))
def only_the_inputs_of_a_batch_are_moved():
    for x, y in DataLoader(pairs(), batch_size=2):
        F.cross_entropy(x.to("cuda"), y)


@passes(DOCUMENTED + "#memory-pinning")
def pinned_batches():
    x, y = next(iter(DataLoader(pairs(), batch_size=2, pin_memory=True)))
    assert x.is_pinned()
    assert y.is_pinned()
    assert x.to("cuda", non_blocking=True).is_cuda


@passes(DOCUMENTED + "#memory-pinning: containers are pinned too")
def pinned_dictionaries():
    data = [{"x": torch.ones(2), "name": "a"}] * 2
    batch = next(iter(DataLoader(data, batch_size=2, pin_memory=True)))
    assert batch["x"].is_pinned()
    assert batch["name"] == ["a", "a"]


@passes("default_collate stacks where the elements are")
def dataset_on_the_device_without_workers():
    x, _ = next(iter(DataLoader(pairs("cuda"), batch_size=2)))
    assert x.is_cuda
    assert next(iter(DataLoader(OnTheDevice(), batch_size=2))).is_cuda


@raises(
    "RuntimeError",
    "cannot pin 'torch.cuda.FloatTensor' only dense CPU tensors can be pinned",
    "at::native::_pin_memory; utils/data/_utils/pin_memory.py",
)
def pinning_a_dataset_on_the_device():
    next(iter(DataLoader(pairs("cuda"), batch_size=2, pin_memory=True)))


@raises("RuntimeError", misplaced("tensors", "cat"), "default_collate stacks: torch.stack, at::native::stack calls cat")
def collating_elements_of_both_places():
    next(iter(DataLoader([torch.ones(2, device="cuda"), torch.ones(2)], batch_size=2)))


@passes(DOCUMENTED + ": collate_fn runs in this process without workers")
def collate_function_moves():
    def collate(elements):
        return torch.stack(elements).to("cuda")

    assert next(iter(DataLoader([torch.ones(2)] * 2, batch_size=2, collate_fn=collate))).is_cuda


@passes(DOCUMENTED + "#multi-process-data-loading", alone=True)
def workers_with_host_data():
    torch.ones(1, device="cuda")
    batches = [x.to("cuda") for x, _ in DataLoader(pairs(), batch_size=2, num_workers=2)]
    assert torch.cat(batches).sum().item() == 28


@passes(DOCUMENTED + "#memory-pinning", alone=True)
def workers_and_pinning():
    batches = [x for x, _ in DataLoader(pairs(), batch_size=2, num_workers=2, pin_memory=True)]
    assert all(x.is_pinned() for x in batches)
    assert batches[0].to("cuda", non_blocking=True).is_cuda


@raises(
    "RuntimeError",
    "Caught RuntimeError in DataLoader worker process 0.",
    "ExceptionWrapper, torch/_utils.py; " + FORKED,
    alone=True,
)
def dataset_moves_in_a_forked_worker():
    torch.ones(1, device="cuda")
    next(iter(DataLoader(OnTheDevice(), batch_size=2, num_workers=1)))


@raises(
    "RuntimeError",
    "Caught RuntimeError in DataLoader worker process 0.",
    "ExceptionWrapper, torch/_utils.py; " + FORKED,
    alone=True,
)
def collate_function_moves_in_a_forked_worker():
    torch.ones(1, device="cuda")
    loader = DataLoader(
        [torch.ones(2)] * 4, batch_size=2, num_workers=1, collate_fn=lambda elements: torch.stack(elements).cuda()
    )
    next(iter(loader))


@raises("RuntimeError", FORKED, "torch.cuda._lazy_init, torch/cuda/__init__.py", alone=True)
def device_in_a_forked_process():
    import os
    import pickle

    torch.ones(1, device="cuda")
    reader, writer = os.pipe()
    if os.fork() == 0:
        try:
            torch.ones(1, device="cuda")
            os.write(writer, pickle.dumps(None))
        except RuntimeError as error:
            os.write(writer, pickle.dumps(str(error)))
        os._exit(0)
    os.wait()
    message = pickle.loads(os.read(reader, 10_000))
    if message is not None:
        raise RuntimeError(message)


@passes("a process may use the host after a fork", alone=True)
def host_in_a_forked_process():
    import os

    torch.ones(1, device="cuda")
    if os.fork() == 0:
        os._exit(0 if torch.ones(2).sum().item() == 2 else 1)
    assert os.wait()[1] == 0


@passes(DOCUMENTED + "#iterable-style-datasets")
def iterable_dataset_on_the_device():
    class Stream(IterableDataset):
        def __iter__(self):
            return iter([torch.ones(2, device="cuda")] * 2)

    assert next(iter(DataLoader(Stream(), batch_size=2))).is_cuda


@passes("torch.utils.data.WeightedRandomSampler draws on the host")
def weighted_sampler_with_device_weights():
    sampler = torch.utils.data.WeightedRandomSampler([0.5, 0.5], 2)
    assert sampler.weights.device.type == "cpu"
    assert len(list(sampler)) == 2


@passes("Subset and random_split index on the host")
def random_split_of_a_device_dataset():
    first, second = torch.utils.data.random_split(pairs("cuda"), [2, 2])
    assert first[0][0].is_cuda
    assert len(second) == 2
