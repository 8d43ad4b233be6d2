"""The file that a replay starts.

    python main.py CONFIG SCRIPT [ARGUMENTS]

runs a script that is watched, `python main.py --alone SCRIPT` one that is not, and `python main.py --serve DESCRIPTOR`
forks for each run that is asked for at that socket.
"""

import importlib
import importlib.util
import runpy
import sys
from pathlib import Path

PACKAGE = "_devfix_probe"


def load_package(folder: Path) -> None:
    """Import the probe under a name of its own, so that the script's `errors` or `losses` are not shadowed by ours."""
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the probe in {folder} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    here = Path(__file__).resolve().parent
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    load_package(here)
    arguments, shelf = sys.argv[1:], None
    if arguments[0] == "--serve":
        importlib.import_module(f"{PACKAGE}.leaving").install()
        arguments, shelf = importlib.import_module(f"{PACKAGE}.forkserver").serve(int(arguments[1]))
    if arguments[0] == "--alone":
        runpy.run_path(arguments[1], run_name="__main__")
    else:
        importlib.import_module(f"{PACKAGE}.session").run(arguments[0], arguments[1:], shelf)
