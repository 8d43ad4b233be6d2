"""The table of device checks that is derived from a release's list of operators."""

import json
from pathlib import Path

import pytest
from devfix.replay.device_checks import DeviceChecksError, derive, table_file

OPERATORS = """
- func: addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor
  structured_delegate: addmm.out

- func: addmm.out(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: addmm_out_cpu
    CUDA: addmm_out_cuda

- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  device_check: NoCheck   # TensorIterator
  structured_delegate: add.out

- func: add.out(Tensor self, Tensor other, *, Scalar alpha=1, Tensor(a!) out) -> Tensor(a!)
  device_check: NoCheck   # TensorIterator
  structured: True
  structured_inherits: TensorIteratorBase
  ufunc_inner_loop:
    Generic: add (AllAndComplex, BFloat16, Half, ComplexHalf)

- func: sum.IntList_out(Tensor self, int[1]? dim, *, ScalarType? dtype=None, Tensor(a!) out) -> Tensor(a!)
  structured: True
  device_check: NoCheck   # TensorIterator
  dispatch:
    CPU, CUDA: sum_out

- func: masked_select(Tensor self, Tensor mask) -> Tensor
  dispatch:
    CPU: masked_select_cpu
    CUDA, MPS: masked_select_cuda

- func: cholesky.out(Tensor self, bool upper=False, *, Tensor(a!) out) -> Tensor(a!)
  dispatch:
    CPU, CUDA: cholesky_out

- func: _fused_sgd_.tensor_lr(Tensor(a!)[] self, Tensor(b!)[] grads, *, float momentum, Tensor lr) -> ()
  device_check: NoCheck
  dispatch:
    CUDA: _fused_sgd_kernel_cuda_

- func: _fused_sgd_(Tensor(a!)[] self, Tensor(b!)[] grads, *, float momentum, Tensor? grad_scale=None) -> ()
  dispatch:
    CUDA: _fused_sgd_kernel_cuda_

- func: embedding(Tensor weight, Tensor indices) -> Tensor
  dispatch:
    CompositeExplicitAutograd: embedding
    NestedTensorCUDA: NestedTensor_embedding

- func: linear(Tensor input, Tensor weight, Tensor? bias=None) -> Tensor
""".lstrip()


def release(folder: Path, text: str | None) -> Path:
    """The torch package of a release whose list of operators is `text`."""
    if text is not None:
        file = folder / "torchgen" / "packaged" / "ATen" / "native" / "native_functions.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text)
    return folder / "torch"


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_operators_without_a_cuda_kernel_are_absent() -> None:
    table = derive(OPERATORS)
    known = {*table["same"], *table["iterator"], *table["resizing"], *table["own"]}
    assert not known & {"aten::embedding", "aten::linear"}


def test_wrappers_are_named_as_torchgen_names_them() -> None:
    assert derive(OPERATORS)["same"] == {
        "aten::addmm": "wrapper_CUDA_addmm",
        "aten::addmm.out": "wrapper_CUDA_addmm_out_out",
        "aten::masked_select": "wrapper_CUDA__masked_select",
        "aten::cholesky.out": "wrapper_CUDA_out_cholesky_out",
        "aten::_fused_sgd_": "wrapper_CUDA___fused_sgd_",
    }


def test_each_operator_has_one_kind_of_check() -> None:
    table = derive(OPERATORS)
    assert table["iterator"] == ["aten::add.Tensor", "aten::add.out"]
    assert table["resizing"] == ["aten::sum.IntList_out"]
    assert table["own"] == ["aten::_fused_sgd_.tensor_lr"]


def test_a_release_without_the_list_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceChecksError, match=r"torch 2\.13\.0 has no readable .*native_functions\.yaml"):
        table_file(release(tmp_path, None), "2.13.0")


@pytest.mark.parametrize("text", ["- func: [", "func: add", "- operator: add", ""])
def test_what_is_no_list_of_operators_is_refused_and_not_kept(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeviceChecksError, match=r"native_functions\.yaml"):
        table_file(release(tmp_path, text), "2.13.0")
    assert not list((tmp_path / "cache").rglob("*.json"))


def test_a_folder_that_cannot_be_written_is_an_error_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("")
    with pytest.raises(DeviceChecksError, match="cannot be written"):
        table_file(release(tmp_path, OPERATORS), "2.13.0")


def test_the_table_is_derived_once_for_each_list(tmp_path: Path) -> None:
    torch = release(tmp_path / "a", OPERATORS)
    file = table_file(torch, "2.13.0+cpu")
    assert json.loads(file.read_text()) == derive(OPERATORS)
    file.write_text("kept")
    assert table_file(torch, "2.13.0+cpu").read_text() == "kept"
    other = table_file(release(tmp_path / "b", OPERATORS + "\n"), "2.13.0+cpu")
    assert other != file
    assert not list(file.parent.glob("*.tmp"))


@pytest.mark.parametrize(
    "text",
    [
        "- func: 1",
        "- func: f(Tensor a) -> Tensor\n  dispatch:\n",
        "- func: f(Tensor a) -> Tensor\n  dispatch: CUDA\n",
    ],
)
def test_what_is_no_list_of_operators_is_told(tmp_path: Path, text: str) -> None:
    with pytest.raises(DeviceChecksError, match=r"native_functions\.yaml"):
        table_file(release(tmp_path, text), "2.13.0")


def test_what_is_no_text_is_told(tmp_path: Path) -> None:
    torch = release(tmp_path, "")
    next(tmp_path.rglob("*.yaml")).write_bytes(b"- func: f\xe9(Tensor a) -> Tensor\n")
    with pytest.raises(DeviceChecksError, match=r"native_functions\.yaml"):
        table_file(torch, "2.13.0")


def test_a_cache_that_cannot_be_asked_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ("x" * 300)))
    with pytest.raises(DeviceChecksError, match="cannot be read"):
        table_file(release(tmp_path, OPERATORS), "2.13.0")
