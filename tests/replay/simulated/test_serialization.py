"""Checkpoints, copies and pickles under the simulated accelerator."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import Result, Simulate

SETUP = """import copy, io, pickle, warnings
import torch

warnings.simplefilter("ignore", UserWarning)  # TypedStorage is deprecated.

def story(tensor):
    claim, found = tensor.untyped_storage().__dict__.get("_devfix_claim"), []
    while claim is not None:
        found.append((str(claim.place), claim.how))
        claim = claim.before
    return found

def saved(value, **options):
    file = io.BytesIO()
    torch.save(value, file, **options)
    return file.getvalue()

def loaded(data, *args, **options):
    return torch.load(io.BytesIO(data), *args, **options)

here = torch.arange(4.0)
there = torch.arange(4.0).cuda()

"""
LINES = SETUP.count("\n")


def run(simulate: Simulate, code: str, **options: int) -> dict[str, object]:
    """The values that a snippet kept, which nothing ended early."""
    return clean(simulate(SETUP + code, **options))


def clean(result: Result) -> dict[str, object]:
    assert (result.message, result.status) == ("", 0), result.printed
    assert result.not_simulated == []
    return result.values


def test_checkpoints_come_back_where_they_were_and_with_their_values(simulate: Simulate) -> None:
    code = """
model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).cuda()
for zipped in (True, False):
    data = saved({"model": model.state_dict(), "here": here, "there": there, "step": 3},
                 _use_new_zipfile_serialization=zipped)
    for weights_only in (True, False):
        back = loaded(data, weights_only=weights_only)
        assert {str(value.device) for value in back["model"].values()} == {"cuda:0"}
        assert (str(back["here"].device), str(back["there"].device)) == ("cpu", "cuda:0")
        assert torch.equal(back["there"], there) and torch.equal(back["here"], here) and back["step"] == 3
        assert all(torch.equal(value, model.state_dict()[name]) for name, value in back["model"].items())
    back = loaded(saved(model, _use_new_zipfile_serialization=zipped), weights_only=False)
    assert {str(value.device) for value in back.state_dict().values()} == {"cuda:0"}
keep("stories", [story(loaded(saved(here))), story(loaded(saved(there)))])
"""
    assert run(simulate, code) == {"stories": [[["cpu", "loaded by torch.load"]], [["cuda:0", "loaded by torch.load"]]]}


def test_the_story_names_the_line_that_loads(simulate: Simulate) -> None:
    code = """
back = loaded(saved(here))
back = torch.load(io.BytesIO(saved(there)))
claim = back.untyped_storage().__dict__["_devfix_claim"]
keep("line", claim.line)
"""
    assert run(simulate, code) == {"line": LINES + 3}


@pytest.mark.parametrize("zipped", [True, False])
def test_map_location_in_all_of_its_forms(simulate: Simulate, zipped: bool) -> None:
    code = f"""
data = saved([here, there], _use_new_zipfile_serialization={zipped})
forms = {{
    "cpu": "cpu", "device": torch.device("cuda"), "text": "cuda:1", "dict": {{"cuda:0": "cuda:1"}},
    "to the host": {{"cuda:0": "cpu"}}, "keep": lambda storage, place: storage,
    "none": lambda storage, place: None, "move": lambda storage, place: storage.cuda(1), "default": None,
}}
for name, form in forms.items():
    keep(name, [str(tensor.device) for tensor in loaded(data, map_location=form)])
    assert all(torch.equal(tensor.cpu(), here) for tensor in loaded(data, form))
"""
    assert run(simulate, code, devices=2) == {
        "cpu": ["cpu", "cpu"],
        "device": ["cuda:0", "cuda:0"],
        "text": ["cuda:1", "cuda:1"],
        "dict": ["cpu", "cuda:1"],
        "to the host": ["cpu", "cpu"],
        "keep": ["cpu", "cpu"],
        "none": ["cpu", "cuda:0"],
        "move": ["cuda:1", "cuda:1"],
        "default": ["cpu", "cuda:0"],
    }


def test_files_paths_and_memory_maps(simulate: Simulate) -> None:
    code = """
import pathlib
torch.save({"here": here, "there": there}, "checkpoint.pt")
for file in ("checkpoint.pt", pathlib.Path("checkpoint.pt"), open("checkpoint.pt", "rb")):
    assert [str(tensor.device) for tensor in torch.load(file).values()] == ["cpu", "cuda:0"]
for place in (None, "cpu", "cuda"):
    back = torch.load("checkpoint.pt", mmap=True, map_location=place)
    keep(str(place), [[str(tensor.device), tensor.tolist()] for tensor in back.values()])
"""
    values = [0, 1, 2, 3]
    assert run(simulate, code) == {
        "None": [["cpu", values], ["cuda:0", values]],
        "cpu": [["cpu", values], ["cpu", values]],
        "cuda": [["cuda:0", values], ["cuda:0", values]],
    }


def test_views_and_tied_weights_stay_tied(simulate: Simulate) -> None:
    code = """
whole, part = loaded(saved([there, there[1:3]]))
part.zero_()
keep("whole", [whole.tolist(), str(part.device)])
model = torch.nn.ModuleList([torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)]).cuda()
model[1].weight = model[0].weight
copied = copy.deepcopy(model)
keep("tied", [copied[0].weight is copied[1].weight, str(copied[0].weight.device)])
"""
    assert run(simulate, code) == {"whole": [[0, 0, 0, 3], "cuda:0"], "tied": [True, "cuda:0"]}


def test_copies_and_pickles_stay_where_they_are(simulate: Simulate) -> None:
    code = """
there.grad = torch.ones(4, device="cuda")
there.tag = "mine"
parameter = torch.nn.Parameter(there.clone())
buffer = torch.ones(2, dtype=torch.int8, device="cuda")
for name, work in {
    "deepcopy": copy.deepcopy, "copy": copy.copy, "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "saved": lambda value: loaded(saved(value), weights_only=False), "clone": torch.clone,
}.items():
    results = [work(value) for value in (there, parameter, buffer, here)]
    keep(name, [str(result.device) for result in results])
    assert all(torch.equal(a, b) for a, b in zip(results, (there, parameter, buffer, here)))
deep = copy.deepcopy(there)
keep("deep", [deep.grad.tolist(), str(deep.grad.device), deep.tag, deep.data_ptr() != there.data_ptr()])
storage = there.untyped_storage()
keep("storage", [str(work(storage).device) for work in (copy.copy, copy.deepcopy)])
keep("typed", str(pickle.loads(pickle.dumps(there.storage())).device))
"""
    places = ["cuda:0", "cuda:0", "cuda:0", "cpu"]
    assert run(simulate, code) == {
        **dict.fromkeys(("deepcopy", "copy", "pickle", "saved", "clone"), places),
        "deep": [[1, 1, 1, 1], "cuda:0", "mine", True],
        "storage": ["cuda:0", "cuda:0"],
        "typed": "cuda:0",
    }


def test_state_dicts_are_loaded_across_places(simulate: Simulate) -> None:
    code = """
source, target = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2).cuda()
target.load_state_dict(source.state_dict())
keep("copied", [str(target.weight.device), torch.equal(target.weight.cpu(), source.weight)])
target.load_state_dict(source.state_dict(), assign=True)
keep("assigned", [str(target.weight.device), type(target.weight).__name__])
source.load_state_dict(torch.nn.Linear(2, 2).cuda().state_dict())
keep("back", str(source.weight.device))

model = torch.nn.Linear(2, 2).cuda()
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 2, device="cuda")).sum().backward()
optimizer.step()
state = loaded(saved(optimizer.state_dict()), map_location="cpu")
keep("state", sorted({str(v.device) for entry in state["state"].values() for v in entry.values()}))
again = torch.optim.Adam(model.parameters())
again.load_state_dict(state)
keep("restored", sorted({f"{name} {v.device}" for entry in again.state.values() for name, v in entry.items()}))
again.step()
average = torch.optim.swa_utils.AveragedModel(model)
average.update_parameters(model)
keep("average", str(next(average.parameters()).device))
"""
    assert run(simulate, code) == {
        "copied": ["cuda:0", True],
        "assigned": ["cpu", "Parameter"],
        "back": "cpu",
        "state": ["cpu"],
        "restored": ["exp_avg cuda:0", "exp_avg_sq cuda:0", "step cpu"],
        "average": "cuda:0",
    }


def test_other_values_survive(simulate: Simulate) -> None:
    code = """
values = {
    "bool": torch.tensor([True]).cuda(), "half": torch.ones(2, dtype=torch.float16).cuda(),
    "complex": torch.ones(2, dtype=torch.complex64).cuda(), "empty": torch.empty(0, device="cuda"),
    "scalar": torch.tensor(3).cuda(), "bfloat": torch.ones(2, dtype=torch.bfloat16).cuda(),
    "turned": torch.arange(6.0).view(2, 3).cuda().t(), "meta": torch.empty(2, device="meta"),
}
for name, value in loaded(saved(values)).items():
    assert value.dtype is values[name].dtype and value.shape == values[name].shape, name
    assert value.is_meta or torch.equal(value, values[name]), name
    keep(name, str(value.device))
grown = loaded(saved(torch.ones(2, device="cuda", requires_grad=True)))
keep("grown", [grown.requires_grad, grown.is_leaf])
keep("device", str(loaded(saved({"device": torch.device("cuda", 0)}))["device"]))
"""
    names = ("bool", "half", "complex", "empty", "scalar", "bfloat", "turned")
    assert run(simulate, code) == {
        **dict.fromkeys(names, "cuda:0"),
        "meta": "meta",
        "grown": [True, True],
        "device": "cuda:0",
    }


def test_arrays_of_numpy_are_saved_and_loaded(simulate: Simulate) -> None:
    code = """
import numpy
numpy.save("array.npy", here.numpy())
keep("array", [str(torch.from_numpy(numpy.load("array.npy")).device), numpy.load("array.npy").tolist()])
numpy.savez("arrays.npz", there=there.cpu().numpy())
keep("arrays", str(torch.as_tensor(numpy.load("arrays.npz")["there"], device="cuda").device))
"""
    assert run(simulate, code) == {"array": ["cpu", [0, 1, 2, 3]], "arrays": "cuda:0"}


def test_a_checkpoint_of_the_simulation_has_the_tags_of_the_device(simulate: Simulate, tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    run(simulate, f"torch.save({{'here': here, 'there': there}}, {str(path)!r})\n")
    plain = f"""
import json, torch
back = torch.load({str(path)!r}, map_location="cpu")
print(json.dumps([back["there"].tolist(), str(back["here"].device)]))
try:
    torch.load({str(path)!r})
except RuntimeError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", plain], capture_output=True, text=True, check=True)
    values, message = done.stdout.split("\n", 1)
    assert json.loads(values) == [[0, 1, 2, 3], "cpu"]
    assert message.startswith("Attempting to deserialize object on a CUDA device but torch.cuda.is_available() is Fal")


@pytest.mark.slow
def test_a_checkpoint_made_elsewhere_is_loaded_onto_the_device(simulate: Simulate, tmp_path: Path) -> None:
    path = tmp_path / "elsewhere.pt"
    make = f"""
import torch
torch.serialization.location_tag = lambda storage: "cuda:0"
torch.save({{"weight": torch.arange(3.0)}}, {str(path)!r})
"""
    subprocess.run([sys.executable, "-c", make], check=True)
    code = f"""
keep("there", str(torch.load({str(path)!r})["weight"].device))
keep("mapped", str(torch.load({str(path)!r}, map_location="cpu")["weight"].device))
"""
    assert run(simulate, code) == {"there": "cuda:0", "mapped": "cpu"}


def test_a_device_that_there_is_not_is_refused_in_the_words_of_torch(simulate: Simulate, tmp_path: Path) -> None:
    path = tmp_path / "second.pt"
    run(simulate, f"torch.save(here.to('cuda:1'), {str(path)!r})\n", devices=2)
    result = simulate(SETUP + f"torch.load({str(path)!r})\n")
    assert result.message == (
        "Attempting to deserialize object on CUDA device 1 but torch.cuda.device_count() is 1. Please use torch.load "
        "with map_location to map your storages to an existing device."
    )
    assert result.line == LINES + 1


def test_a_loaded_state_meets_the_other_place(simulate: Simulate) -> None:
    code = """
model = torch.nn.Linear(4, 2).cuda()
model.load_state_dict(loaded(saved(torch.nn.Linear(4, 2).state_dict())), assign=True)
model(there)
"""
    result = simulate(SETUP + code)
    assert "Expected all tensors to be on the same device" in result.first_line
    assert result.line == LINES + 4
    result = simulate(SETUP + "\nloaded(saved(here)) + loaded(saved(there))\n")
    assert "Expected all tensors to be on the same device" in result.first_line


def test_numpy_cannot_save_what_is_on_the_device(simulate: Simulate) -> None:
    result = simulate(SETUP + "import numpy\nnumpy.save('array.npy', here)\nnumpy.save('array.npy', there)\n")
    assert result.first_line.startswith("can't convert cuda:0 device type tensor to numpy.")
    assert result.line == LINES + 3


def test_pickles_of_the_simulation_name_nothing_of_it(simulate: Simulate) -> None:
    values = run(simulate, "keep('pickled', pickle.dumps([there, torch.nn.Linear(1, 1).cuda()]).hex())\n")
    pickled = bytes.fromhex(str(values["pickled"]))
    assert b"devfix" not in pickled
    with pytest.raises(RuntimeError, match="Attempting to deserialize object on a CUDA device"):
        pickle.loads(pickled)
