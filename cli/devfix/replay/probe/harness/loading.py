"""Imports of the driven module: packages that are not there get stand-ins, one after the other."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

from .. import errors
from . import standins
from .calling import DRIVER, Attempt, Caller, TooSlow
from .driver import Target, head, packages, script
from .partly import Partly

_MOST = 40
_BUILDING = ("setup.py", "setup.cfg", "pyproject.toml", ".gitignore", "MANIFEST.in", "CMakeLists.txt", "Makefile")
_NO_NAME = re.compile(r"cannot import name '(\w+)' from '([\w.]+)' \(")
_OLD_NAME = re.compile(r"(?:module 'numpy' has no attribute '|`np\.)(\w+)")


@dataclass(frozen=True)
class Loaded:
    """The driver's names once its imports ran, and the packages that have stand-ins; or why they do not run.

    In `absent` stand also the statements of the project that are left out. It grows where more is missing later.
    """

    names: dict[str, Any]
    absent: list[str]
    attempt: Attempt


class Finding(Partly):
    """Finds out which statements cannot run here.

    None is left out that the patch changes, that is a `raise`, or whose error is one of devices.
    """

    def __init__(self, target: Target, root: Path, absent: list[str]) -> None:
        super().__init__(root, absent)
        self._target, self._own = target, own_packages(target, root)

    def do(self, statement: Any, file: str, flags: int, names: dict[str, Any]) -> None:
        """Run a statement of a file, or leave it out from now on where it cannot run."""
        try:
            super().do(statement, file, flags, names)
        except (Exception, SystemExit) as error:
            missing = _missing(error, self._own, self.root)
            if (missing is not None and missing not in self.left_out) or not self.leave_out(statement, file, error):
                raise
            self.stands_for(statement, file, names)

    def leave_out(self, statement: Any, file: str, error: BaseException) -> bool:
        """Leave a statement out from now on, if the error with which it ends allows that."""
        is_own = file == str(self.root / self._target.file)
        is_patched = is_own and self._target.is_patched(statement.lineno, statement.end_lineno)
        if isinstance(statement, ast.Raise) or is_patched or errors.device_error(error) is not None:
            return False
        self.left_out.append(self.told(statement, file))
        return True


def load(target: Target, root: Path, caller: Caller) -> Loaded:
    """Run the driver's imports, or the file itself where that is the target."""
    sys.path[:0] = [str(root / path) for path in target.paths]
    own = own_packages(target, root)
    absent: list[str] = []
    finder: Finding | None = None
    while True:
        finders = list(sys.meta_path)
        names: dict[str, Any] = {"__name__": "__main__", "__file__": str(root / "devfix_driver.py")}
        text = head(target, absent, is_run=True) if target.name else script(target, absent, is_run=True)
        attempt = caller.run(compile(text, DRIVER, "exec"), names)
        missing = _missing(attempt.error, own, root) or _broken(attempt, root)
        if missing is not None and missing not in absent and missing not in own and len(packages(absent)) < _MOST:
            absent.append(missing)
        elif finder is None and _failed_in_import(attempt, target, root):
            finder = Finding(target, root, absent)
            finders.insert(0, finder)
        else:
            return Loaded(names, absent, attempt)
        sys.meta_path[:] = finders
        _forget(root, absent)


def _failed_in_import(attempt: Attempt, target: Target, root: Path) -> bool:
    """Whether an error arose while a file of the project was imported."""
    if attempt.error is None or isinstance(attempt.error, TooSlow) or target.name:
        return isinstance(attempt.error, (Exception, SystemExit))
    frames = [trace.tb_frame.f_code for trace in attempt.trace]
    own = [one.co_filename for one in frames if one.co_name == "<module>" and one.co_filename.startswith(str(root))]
    return isinstance(attempt.error, ImportError) or any(file != str(root / target.file) for file in own)


def stand_in_for(error: BaseException, absent: list[str], target: Target, root: Path) -> str | None:
    """Have one more package stand in, and added to those that are absent, where an error says that it is missing."""
    own = own_packages(target, root)
    missing = _missing(error, own, root)
    if missing is None or missing in absent or missing in own or len(packages(absent)) >= _MOST:
        return None
    absent.append(missing)
    standins.stand_in(missing)
    return missing


def _missing(error: BaseException | None, own: set[str], root: Path) -> str | None:
    """The package that is not installed, the module of the project itself that only its build makes, the name that
    numpy had once, `numpy.float`, or one that another package has in other versions alone: `scipy.signal:gaussian`."""
    if isinstance(error, AttributeError) and (found := _OLD_NAME.match(str(error))) and found[1] in standins.OF_NUMPY:
        return f"numpy.{found[1]}"
    if isinstance(error, ImportError) and (name := _lacking(error, own)) is not None:
        return name
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return None
    if isinstance(error, PackageNotFoundError):  # a project that is not installed asks for its own version
        return f"{error.name}==0"
    top, _, rest = error.name.partition(".")
    if rest and top in own:
        return error.name if _is_built(error.name, root) else None
    return None if top in sys.modules or top in sys.stdlib_module_names else top


def _lacking(error: ImportError, own: set[str]) -> str | None:
    """What an installed package lacks, and is asked for by name; torch is taken as it is."""
    found = _NO_NAME.match(str(error))
    if found is None or found[2].partition(".")[0] in {*own, *sys.stdlib_module_names, "torch"}:
        return None
    if found[2] == "numpy" and found[1] in standins.OF_NUMPY:
        return f"numpy.{found[1]}"
    return f"{found[2]}:{found[1]}"


def _is_built(module: str, root: Path) -> bool:
    """Whether the files that tell how a project is built, or what is not kept of it, speak of one of its modules."""
    last = module.rpartition(".")[2]
    words = {module, module.replace(".", "/"), f"{last}.py", *(() if last == "version" else (f"'{last}'", f'"{last}"'))}
    files = (root / name for name in _BUILDING)
    return any(word in path.read_text("utf-8", "replace") for path in files if path.is_file() for word in words)


def _broken(attempt: Attempt, root: Path) -> str | None:
    """What the project imports from outside that is there, but cannot be imported: for want of something else, or since
    it does not fit to what is installed beside it, as a `torchvision` that was built for another torch."""
    frames = [trace.tb_frame for trace in attempt.trace]
    ours = [(index, frame) for index, frame in enumerate(frames) if frame.f_code.co_filename.startswith(str(root))]
    error = attempt.error
    if not isinstance(error, Exception) or errors.device_error(error) is not None:
        return None
    if not ours or ours[-1][0] == len(frames) - 1:
        return None
    frame = ours[-1][1]
    line = attempt.trace[ours[-1][0]].tb_lineno
    tree = ast.parse(Path(frame.f_code.co_filename).read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and node.lineno <= line <= (node.end_lineno or 0):
            return _from_outside(node, is_missing=isinstance(error, ImportError))
    return None


def _from_outside(node: ast.Import | ast.ImportFrom, *, is_missing: bool) -> str | None:
    """What an import names that is not of the project: the module that is missing, else the whole package. The driver
    needs torch and numpy itself: only modules of these have stand-ins."""
    if isinstance(node, ast.ImportFrom):
        named = node.module if node.level == 0 else None
    else:
        named = node.names[0].name
    if named is None or named in _NEEDED:
        return None
    top = named.partition(".")[0]
    return named if is_missing or top in _NEEDED else top


_NEEDED = frozenset({"torch", "numpy"})


def own_packages(target: Target, root: Path) -> set[str]:
    """What the folders of the module path hold: if that cannot be imported, the project is at fault."""
    folders = [root / path for path in target.paths]
    return {entry.stem for folder in folders for entry in folder.iterdir() if entry.suffix in ("", ".py")} - {""}


def _forget(root: Path, absent: list[str]) -> None:
    """Have the project's modules imported anew."""
    gone = [name for name, module in sys.modules.items() if _is_of_project(module, root) or _is_below(name, absent)]
    for name in gone:
        if name != "__main__":
            del sys.modules[name]


def _is_of_project(module: Any, root: Path) -> bool:
    """Whether a module is of the tree; a namespace package has no file, but folders."""
    names: dict[str, Any] = getattr(module, "__dict__", {})  # some modules answer to any name
    try:
        files = [names.get("__file__"), *(names.get("__path__") or ())]
    except KeyError:  # the folders of a namespace package in one that could not be imported
        return True
    return any(isinstance(file, str) and file.startswith(str(root)) and "site-packages" not in file for file in files)


def _is_below(name: str, packages: list[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in packages)
