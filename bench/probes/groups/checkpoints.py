"""torch.save, torch.load and pickling."""

import io
import pickle

import torch
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices
from torch import nn

DOCUMENTED = "https://docs.pytorch.org/docs/stable/generated/torch.load.html"


def saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


@passes(DOCUMENTED + ": storages go back to the device they were saved from")
def tensors_return_to_their_device():
    loaded = torch.load(saved({"x": torch.ones(2, device="cuda"), "y": torch.ones(2)}))
    assert loaded["x"].is_cuda
    assert loaded["y"].device.type == "cpu"


@passes(DOCUMENTED + ": map_location")
def map_location_to_the_host():
    assert torch.load(saved(torch.ones(2, device="cuda")), map_location="cpu").device.type == "cpu"
    assert torch.load(saved(torch.ones(2, device="cuda")), map_location=torch.device("cpu")).device.type == "cpu"


@passes(DOCUMENTED + ": map_location")
def map_location_to_the_device():
    assert torch.load(saved(torch.ones(2)), map_location="cuda").is_cuda
    assert torch.load(saved(torch.ones(2)), map_location=torch.device("cuda:0")).get_device() == 0


@passes(DOCUMENTED + ": map_location as a dictionary or a function")
def map_location_in_other_forms():
    x = saved(torch.ones(2, device="cuda"))
    assert torch.load(x, map_location={"cuda:0": "cpu"}).device.type == "cpu"
    x.seek(0)
    assert torch.load(x, map_location=lambda storage, location: storage).device.type == "cpu"
    x.seek(0)
    assert torch.load(x, map_location=lambda storage, location: storage.cuda()).is_cuda


@passes(DOCUMENTED + ": map_location", devices=2)
def map_location_to_the_other_device():
    x = saved(torch.ones(2, device="cuda:0"))
    assert torch.load(x, map_location="cuda:1").get_device() == 1
    x.seek(0)
    assert torch.load(x, map_location={"cuda:0": "cuda:1"}).get_device() == 1


@raises(
    "RuntimeError",
    f"Attempting to deserialize object on CUDA device 9 but torch.cuda.device_count() is {torch.cuda.device_count()}. "
    "Please use torch.load with map_location to map your storages to an existing device.",
    "_validate_device, torch/serialization.py",
)
def map_location_to_a_device_that_is_not_there():
    torch.load(saved(torch.ones(2)), map_location="cuda:9")


@raises("RuntimeError", two_devices(), ITERATOR + "; map_location='cpu' leaves the loaded tensor on the host")
def loaded_host_tensor_plus_device():
    torch.load(saved(torch.ones(2, device="cuda")), map_location="cpu") + torch.ones(2, device="cuda")


@passes("torch.nn.Module.load_state_dict copies")
def host_checkpoint_into_a_device_module():
    model = nn.Linear(2, 2).to("cuda")
    model.load_state_dict(torch.load(saved(model.state_dict()), map_location="cpu"))
    assert model(torch.ones(1, 2, device="cuda")).is_cuda


@raises("RuntimeError", misplaced("mat1", "addmm", "cuda:0", "cpu"), recorded("addmm"))
def device_checkpoint_into_a_host_module():
    model = nn.Linear(2, 2)
    model.load_state_dict(torch.load(saved(nn.Linear(2, 2).to("cuda").state_dict())))
    model(torch.ones(1, 2, device="cuda"))


@passes(DOCUMENTED + ": weights_only=False")
def whole_module():
    model = torch.load(saved(nn.Linear(2, 2).to("cuda")), weights_only=False)
    assert model.weight.is_cuda
    assert isinstance(model.weight, nn.Parameter)


@passes("torch.Tensor.__reduce_ex__ keeps the device")
def pickled_tensors_return_to_their_device():
    x = pickle.loads(pickle.dumps(torch.ones(2, device="cuda")))
    assert x.is_cuda
    assert x.tolist() == [1, 1]


@passes("torch.Tensor.__reduce_ex__ keeps the device and requires_grad")
def pickled_parameters():
    weight = pickle.loads(pickle.dumps(nn.Parameter(torch.ones(2, device="cuda"))))
    assert weight.is_cuda
    assert weight.requires_grad


@passes("views that share a storage share it after loading")
def shared_storage():
    x = torch.zeros(4, device="cuda")
    loaded = torch.load(saved([x, x[:2]]))
    loaded[1].fill_(1.0)
    assert loaded[0].sum().item() == 2


@passes("torch.optim.Optimizer.state_dict holds device tensors")
def optimizer_checkpoint_returns():
    model = nn.Linear(2, 2).to("cuda")
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    state = torch.load(saved(optimizer.state_dict()))
    assert state["state"][0]["exp_avg"].is_cuda
    optimizer.load_state_dict(state)


@passes("torch.serialization: the legacy format keeps locations too")
def legacy_format():
    buffer = io.BytesIO()
    torch.save(torch.ones(2, device="cuda"), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert torch.load(buffer).is_cuda
    buffer.seek(0)
    assert torch.load(buffer, map_location="cpu").device.type == "cpu"


@passes("torch.device pickles")
def pickled_device():
    assert pickle.loads(pickle.dumps(torch.device("cuda:0"))) == torch.device("cuda:0")
    assert torch.load(saved({"device": torch.device("cuda")}))["device"].type == "cuda"
