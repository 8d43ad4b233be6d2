"""Confinement by bubblewrap: https://github.com/containers/bubblewrap, its man page, and what flatpak does with it.

The command gets namespaces of its own and an empty file system, into which only what is named is bound. Everything
but what may be written to is read-only, /proc and the root too: whoever is root outside is the owner of
/proc/sys inside, capabilities or not.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from devfix.replay.confinement import environment, system
from devfix.replay.confinement.interpreters import InterpreterError, folders_of, is_narrow, user_base
from devfix.replay.confinement.launch import Launch
from devfix.replay.confinement.protocol import Reach

OLDEST = (0, 8, 0)
"""The first with `--disable-userns`; `--size` came with 0.7.0."""
NAME = "devfix"
HOME = "/home/devfix"
_ID = "1000"
_SCRATCH = {"/tmp": "1777", "/var/tmp": "1777", "/run": "0755", HOME: "0700"}
_SCRATCH_SIZE = 512 << 20
_SHARED_MEMORY = 4 << 30
"""Workers of a DataLoader pass their tensors through /dev/shm. It is half of the memory at most, as with the kernel."""
_INSTALL = "install bubblewrap (https://github.com/containers/bubblewrap)"
_ALLOW = "user namespaces have to be allowed, see the README of bubblewrap"
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_DATA = {
    "/etc/passwd": f"{NAME}:x:{_ID}:{_ID}::{HOME}:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n",
    "/etc/group": f"{NAME}:x:{_ID}:\nnogroup:x:65534:\n",
    "/etc/hosts": f"127.0.0.1 localhost {NAME}\n::1 localhost\n",
}


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """The program, what is seen of the interpreters in use, and whether further user namespaces can be forbidden."""

    program: str
    readable: tuple[Path, ...] = ()
    can_disable_namespaces: bool = True

    def seeing(self, *folders: Path) -> "Bubblewrap":
        """The same, with these folders to be read as well."""
        return replace(self, readable=(*self.readable, *folders))

    def environment(self, network: bool = False) -> dict[str, str]:
        return {
            **environment.inherited(os.environ, network),
            "PATH": _PATH,
            "HOME": HOME,
            "USER": NAME,
            "LOGNAME": NAME,
            "PYTHONUSERBASE": str(user_base()),
        }

    @contextmanager
    def confine(self, command: Sequence[str], reach: Reach) -> Iterator[Launch]:
        with Launch(self.program, command, tuple(_SCRATCH)) as launch:
            data = [word for path, text in _DATA.items() for word in ("--ro-bind-data", launch.data(text), path)]
            launch.options([*self._namespaces(reach), *_system(reach), *data, *self._folders(reach), *_sealed(reach)])
            yield launch

    def _namespaces(self, reach: Reach) -> list[str]:
        names = ["user", "pid", "ipc", "uts", *([] if reach.allowance.network else ["net"])]
        return [
            *(f"--unshare-{name}" for name in names),
            *("--unshare-cgroup-try", "--hostname", NAME, "--uid", _ID, "--gid", _ID),
            *(["--disable-userns"] if self.can_disable_namespaces else []),
            *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
        ]

    def _folders(self, reach: Reach) -> list[str]:
        """What is bound, outer folders first."""
        libraries = [Path(name) for name in environment.library_folders() if is_narrow(Path(name))]
        certificates = [path for path in environment.certificates() if path.is_file() or is_narrow(path)]
        readable = [*self.readable, *reach.readable, *libraries, *(certificates if reach.allowance.network else ())]
        bound = dict.fromkeys(readable, "--ro-bind-try") | dict.fromkeys(reach.writable, "--bind")
        ordered = sorted(bound, key=lambda path: len(path.parts))
        return [word for path in ordered for word in (bound[path], str(path), str(path))]


def _system(reach: Reach) -> list[str]:
    """The system and the private folders."""
    options = [word for name in system.FOLDERS for word in _folder(name)]
    names = [*system.FILES, *(system.NETWORK if reach.allowance.network else ())]
    options += [word for name in names for word in ("--ro-bind-try", name, name)]
    options += ["--proc", "/proc", "--dev", "/dev", *_scratch("/dev/shm", "1777", _shared_memory(reach))]
    if reach.devices:
        options += [word for name in system.runtimes() for word in ("--ro-bind-try", name, name)]
        options += [word for name in system.devices() for word in ("--dev-bind-try", name, name)]
    return options + [word for name, mode in _SCRATCH.items() for word in _scratch(name, mode, _SCRATCH_SIZE)]


def _shared_memory(reach: Reach) -> int:
    memory = reach.allowance.memory
    return _SHARED_MEMORY if memory is None else min(_SHARED_MEMORY, memory // 2)


def _folder(name: str) -> list[str]:
    """A folder of the system, or the link that stands there where /bin is /usr/bin."""
    path = Path(name)
    return ["--symlink", str(path.readlink()), name] if path.is_symlink() else ["--ro-bind-try", name, name]


def _scratch(name: str, mode: str, size: int) -> list[str]:
    return ["--perms", mode, "--size", str(size), "--tmpfs", name]


def _sealed(reach: Reach) -> list[str]:
    """What bubblewrap made writable for itself is so no more."""
    return ["--remount-ro", "/dev", "--remount-ro", "/proc", "--remount-ro", "/", "--chdir", str(reach.folder)]


def find_confinement(*pythons: str) -> Bubblewrap | str:
    """Bubblewrap, where it is installed and works, with the interpreters `pythons` to be seen; else why not.

    The interpreters are run, so they have to be the user's own.
    """
    program = shutil.which("bwrap")
    if program is None:
        return f"bubblewrap is not installed: {_INSTALL}"
    try:
        version = _version(program)
        readable = tuple(dict.fromkeys(folder for python in pythons for folder in folders_of(python)))
    except (OSError, subprocess.SubprocessError, InterpreterError) as error:
        return f"bubblewrap cannot be used: {error}"
    if version < OLDEST:
        found, wanted = (".".join(map(str, each)) for each in (version, OLDEST))
        return f"bubblewrap {found} is too old, it has to be {wanted} or later: {_INSTALL}"
    return _working(Bubblewrap(program, readable))


def _version(program: str) -> tuple[int, ...]:
    told = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
    return tuple(int(part) for part in re.findall(r"\d+", told)[:3])


def _working(found: Bubblewrap) -> Bubblewrap | str:
    """`found`, or what of it works here: in containers, limits on namespaces cannot always be set."""
    trouble = ""
    for candidate in (found, replace(found, can_disable_namespaces=False)):
        trouble = _trouble(candidate)
        if not trouble:
            return candidate
    return f"bubblewrap does not work here ({trouble}): {_ALLOW}"


def _trouble(candidate: Bubblewrap) -> str:
    """Why nothing can be confined; "" where it can."""
    with candidate.confine(["/bin/sh", "-c", "exit 0"], Reach(Path("/"))) as launch:
        try:
            done = subprocess.run(
                launch.arguments,
                env=candidate.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                pass_fds=launch.descriptors,
                timeout=30,
                check=False,
            )
        except (OSError, subprocess.SubprocessError) as error:
            return str(error)
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2] or f"status {done.returncode}"
