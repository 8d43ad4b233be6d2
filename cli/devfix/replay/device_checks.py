"""Which device checks the CUDA operators of a torch release make, derived from the release itself.

torchgen ships `native_functions.yaml` inside the torch wheel: for each operator its kernels, whether the generated CUDA
wrapper checks devices, and whether TensorIterator does so instead. The wrapper's name, which stands in the message,
follows from the schema as `torchgen/dest/register_dispatch_key.py` makes it. That module itself is not imported: the
release may be another one than that of this interpreter.
"""

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import platformdirs

_YAML = Path("packaged", "ATen", "native", "native_functions.yaml")
_MOST_BYTES = 16 << 20
_FORMAT = 1
"""Raise it whenever the derived table changes."""


class DeviceChecksError(Exception):
    """The checks cannot be derived; the message says why."""


def table_file(folder: Path, version: str) -> Path:
    """The file with the checks of the torch `version` whose package is in `folder`, made on first use and cached.

    It holds the JSON object that `derive` returns.

    Raises:
        DeviceChecksError: torch is too old or has no readable `native_functions.yaml`, or the cache cannot be used.
    """
    source = folder.parent / "torchgen" / _YAML
    try:
        if not source.is_file() or source.stat().st_size > _MOST_BYTES:
            raise DeviceChecksError(f"torch {version} has no readable {source}")
        text = source.read_bytes()
    except OSError as error:
        raise DeviceChecksError(f"torch {version} has no readable {source}: {error.strerror}") from error
    digest = hashlib.sha256(text).hexdigest()[:16]
    name = f"device-checks-{re.sub(r'[^0-9A-Za-z.]', '-', version)}-{_FORMAT}-{digest}.json"
    file = Path(platformdirs.user_cache_dir("devfix")) / name
    try:
        is_made = file.is_file()
    except OSError as error:
        raise DeviceChecksError(f"{file} cannot be read: {error.strerror}") from error
    if not is_made:
        try:
            yaml_text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            raise DeviceChecksError(f"native_functions.yaml cannot be read: {error}") from error
        _write(file, json.dumps(derive(yaml_text), separators=(",", ":")))
    return file


def derive(yaml_text: str) -> dict[str, Any]:
    """The checks of all operators with a CUDA kernel, from the text of a `native_functions.yaml`.

    Returns:
        `same`: by operator (`aten::addmm.out`) the name of the generated wrapper that wants all positional tensors on
        one device (`wrapper_CUDA_addmm_out_out`); `iterator`: those whose TensorIterator checks; `resizing`: those
        whose generated code compares the device of `out` with the inputs' when it resizes it; `own`: the others, which
        check for themselves or not at all. An operator that is absent has no CUDA kernel: it is made of other
        operators.

    Raises:
        DeviceChecksError: the text is not such a file.
    """
    functions = _load(yaml_text)
    by_name = {_Schema(entry["func"]).name: entry for entry in functions}
    iterating = _marked_as_iterating(yaml_text)
    table: dict[str, Any] = {"same": {}, "iterator": [], "resizing": [], "own": []}
    for name, entry in by_name.items():
        leader = by_name.get(entry.get("structured_delegate", name), entry)
        if "CUDA" not in _backends(leader) or entry.get("manual_kernel_registration"):
            continue
        iterates = leader.get("structured_inherits") == "TensorIteratorBase"
        if entry.get("device_check") != "NoCheck":
            table["same"][f"aten::{name}"] = _wrapper(_Schema(entry["func"]), bool(leader.get("structured")))
        elif entry.get("structured") and not iterates:
            table["resizing"].append(f"aten::{name}")
        elif iterates or name in iterating:
            table["iterator"].append(f"aten::{name}")
        else:
            table["own"].append(f"aten::{name}")
    return table


def _load(text: str) -> list[dict[str, Any]]:
    # A third of a second that only the first simulation on a torch release needs.
    try:
        import yaml
    except ModuleNotFoundError as error:
        raise DeviceChecksError("pyyaml is not installed; pip install 'devfix[replay]'") from error
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        functions = yaml.load(text, loader)
    except yaml.YAMLError as error:
        raise DeviceChecksError(f"native_functions.yaml cannot be read: {error}") from error
    if not isinstance(functions, list) or not all(map(_is_operator, functions)):
        raise DeviceChecksError("native_functions.yaml is not a list of operators")
    return functions


def _is_operator(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("func"), str):
        return False
    return isinstance(entry.get("dispatch", {}), dict)


class _Schema:
    """What a schema, `addmm.out(Tensor self, …) -> Tensor(a!)`, says that the wrapper's name depends on."""

    def __init__(self, text: str) -> None:
        self.name, _, rest = text.partition("(")
        self.base, _, self.overload = self.name.partition(".")
        arguments = rest.rpartition(" -> ")[0]
        keyword_only = re.split(r"(?<![\w\]])\*, ", arguments)[1:]
        # An operator is an `out` variant when a tensor that it writes to is keyword-only.
        self.writes_to_out = any(re.search(r"Tensor\(\w+!\)", part) for part in keyword_only)


def _wrapper(schema: _Schema, structured: bool) -> str:
    suffix = "_out" if schema.writes_to_out else ""
    if not structured:
        return f"wrapper_CUDA_{schema.overload}_{schema.base}{suffix}"
    overload = f"_{schema.overload}" if schema.overload else ""
    return f"wrapper_CUDA_{schema.base}{suffix}{overload}"


def _backends(entry: Mapping[str, Any]) -> Iterable[str]:
    if "ufunc_inner_loop" in entry:
        # The kernels of such an operator are generated, those for CUDA too.
        return {"CUDA"}
    return {key.strip() for keys in entry.get("dispatch", {}) for key in keys.split(",")}


def _marked_as_iterating(text: str) -> frozenset[str]:
    """The operators whose entry says in a comment that TensorIterator checks their devices."""
    return frozenset(_iterating(text.splitlines()))


def _iterating(lines: Iterable[str]) -> Iterator[str]:
    name = ""
    for line in lines:
        if line.startswith("- func: "):
            name = line.removeprefix("- func: ").partition("(")[0]
        elif re.match(r"\s*device_check: NoCheck\s+#.*TensorIterator", line):
            yield name


def _write(file: Path, text: str) -> None:
    """Write it whole or not at all: two replays may begin at once."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink()
            raise
    except OSError as error:
        raise DeviceChecksError(f"{file} cannot be written: {error.strerror}") from error
