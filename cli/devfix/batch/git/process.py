"""git for the repositories of strangers: without their hooks, filters, helpers and settings, and without the user's.

What git reads and runs: https://git-scm.com/docs/git-config, https://git-scm.com/docs/git#_security.
"""

import contextlib
import functools
import os
import re
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import IO

from devfix.batch.errors import RepositoryError
from devfix.batch.git.sources import TRANSPORTS, shown
from devfix.errors import UsageError
from devfix.reporting.terminal import one_line

OLDEST = (2, 32)
"""The first git that takes the place of the user's settings from the environment."""
SECONDS = 600.0
"""How long one call may take."""
MOST = 256 << 20
"""How many bytes of answer are read."""
_TOLD = 64 << 10
_CHUNK = 1 << 20
_LONGEST_LINE = 400
_DRAIN_SECONDS = 2.0

_SETTINGS = (
    ("core.hooksPath", os.devnull),
    ("core.fsmonitor", "false"),
    ("core.attributesFile", os.devnull),
    ("core.excludesFile", os.devnull),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("core.autocrlf", "false"),
    ("commit.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("push.recurseSubmodules", "no"),
    ("fetch.recurseSubmodules", "false"),
    ("submodule.recurse", "false"),
    # Not fetch.fsckObjects: many old histories have small faults, and a checkout refuses dangerous paths by itself.
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.allow", "never"),
    *((f"protocol.{transport}.allow", "always") for transport in TRANSPORTS),
)

_RELIED_ON = (("core.symlinks", "false"),)
"""What the user's settings do not change: links are made afterwards, where they stay inside the tree."""

_THEIR_SIDE = (
    *("core.hooksPath=/dev/null", "core.fsmonitor=false", "core.alternateRefsCommand=:", "gc.auto=0"),
    *("maintenance.auto=false", "receive.autogc=false", "safe.directory=*"),
)
"""The settings of the git that serves a source on this machine, in which the source's own ones count."""

_KEPT = (
    *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "SSH_AGENT_PID"),
    *("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
)
_KEPT_FOR_HELPERS = (
    *("XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "GH_CONFIG_DIR", "GH_HOST", "GH_TOKEN"),
    *("GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITLAB_HOST", "GITLAB_TOKEN"),
)
"""What a credential helper may need, where the user's settings name one."""

_KINDS = (
    ("branch moved", r"\(stale info\)|\(fetch first\)|\(non-fast-forward\)"),
    ("push refused", r"! \[(remote )?rejected\]"),
    ("disk full", r"no space left on device|disk quota exceeded"),
    ("transport refused", r"transport '.*' not allowed"),
    ("authentication failed", r"authentication failed|could not read (username|password)|permission denied \("),
    ("authentication failed", r"access denied|returned error: 40[13]|host key verification failed"),
    ("revision not found", r"couldn't find remote ref|not our ref|unadvertised object|no such remote ref"),
    ("repository not found", r"repository .*not found|project .*not found|does not exist|returned error: 404"),
    ("not a git repository", r"not appear to be a git repository|not a git repository|not valid: is this a git"),
    (
        "no network",
        r"could ?n[o']t (resolve|connect)|failed to connect|connection (timed out|refused|reset)|network is",
    ),
    ("no network", r"temporary failure in name|no route to host|hung up|early eof|\bssl|\btls|gnutls|recv fail"),
)
_SAYS_WHY = re.compile(r"\s*((remote: )?(fatal|error|ssh): |! \[)", re.IGNORECASE)


class Git:
    """Runs git. `config` are the user's settings: they win over ours. `timeout` is for each call, in seconds."""

    def __init__(self, config: Sequence[tuple[str, str]] = (), timeout: float = SECONDS) -> None:
        self.config = tuple(config)
        self._timeout = timeout
        self._environment = _environment(self.config)

    def run(
        self,
        *arguments: str,
        folder: Path,
        data: bytes = b"",
        environment: Mapping[str, str] | None = None,
        inherit: Collection[int] = (),
    ) -> bytes:
        """What `git` with these arguments prints in `folder`, above which no repository is looked for.

        `inherit` are files that stay open in git and all that it starts, whatever becomes of this process.

        Raises:
            RepositoryError: git failed, took too long, or printed more than `MOST` bytes.
        """
        around = {"GIT_CEILING_DIRECTORIES": str(folder.parent), **(environment or {})}
        try:
            process = subprocess.Popen(
                [*_leash(), _program(), *arguments],
                cwd=folder,
                env={**self._environment, **around},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=tuple(inherit),
            )
        except OSError as error:
            raise RepositoryError("git failed", f"git could not be started: {error.strerror}") from error
        return self._ended(process, _name_of(arguments), data)

    def _ended(self, process: subprocess.Popen[bytes], name: str, data: bytes) -> bytes:
        clock = _Clock(process, self._timeout)
        streams = _Streams(process, data)
        try:
            answer = streams.answer()
            if answer is not None:
                process.wait()
        finally:
            clock.stop()
            _kill(process)
            process.wait()
            told = streams.close()
        if clock.has_rung:
            raise RepositoryError("time limit", f"git {name} took longer than {self._timeout:g} s")
        if answer is None:
            raise RepositoryError("too large", f"git {name} printed more than {MOST >> 20} MiB")
        if process.returncode:
            raise _error(name, process.returncode, told)
        return answer


def upload_pack(source: str) -> list[str]:
    """The option with which `fetch` and `ls-remote` do not obey the settings of a source on this machine.

    Nothing that it could start may use a transport or fetch what the source lacks:
    https://git-scm.com/docs/git-upload-pack#_security.
    """
    return [f"--upload-pack={_their_git('upload-pack')}"] if is_local(source) else []


def receive_pack(source: str) -> list[str]:
    """The same for `push`."""
    return [f"--receive-pack={_their_git('receive-pack')}"] if is_local(source) else []


def is_local(source: str) -> bool:
    """Whether a source is a folder of this machine."""
    return source.startswith(("/", "file://"))


def require_git() -> None:
    """See that there is a git, and a new enough one.

    Raises:
        UsageError: there is none.
    """
    wanted = ".".join(map(str, OLDEST))
    if shutil.which("git") is None:
        raise UsageError(f"git is not installed; a batch needs git {wanted} or newer")
    told = subprocess.run(["git", "version"], capture_output=True, text=True, errors="replace", check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", told)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        raise UsageError(f"{one_line(told) or 'git does not say its version'}; a batch needs git {wanted} or newer")


def _their_git(command: str) -> str:
    settings = " ".join(f"-c {shlex.quote(setting)}" for setting in _THEIR_SIDE)
    return f"GIT_ALLOW_PROTOCOL=none GIT_NO_LAZY_FETCH=1 git {settings} {command}"


def _environment(config: Sequence[tuple[str, str]]) -> dict[str, str]:
    names = {name.lower() for name, _ in config}
    kept = [*_KEPT, *(_KEPT_FOR_HELPERS if any(name.startswith("credential.") for name in names) else ())]
    settings = [*_SETTINGS, *config, *_RELIED_ON]
    environment = {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(Path(__file__).with_name("gitconfig")),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (name, value) in enumerate(settings):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    if "core.sshcommand" not in names:
        environment["GIT_SSH_COMMAND"] = "ssh -oBatchMode=yes"
    return environment


@functools.cache
def _program() -> str:
    return shutil.which("git") or "git"


@functools.cache
def _leash() -> tuple[str, ...]:
    """What a command begins with so that it ends when we do, were we killed. Only Linux can."""
    program = shutil.which("setpriv")
    if program is None:
        return ()
    leash = (program, "--pdeathsig", "KILL", "--")
    return leash if subprocess.run([*leash, "true"], capture_output=True, check=False).returncode == 0 else ()


class _Clock:
    """Ends a process when its time is over."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        self.has_rung = False
        self._process = process
        self._timer = threading.Timer(seconds, self._ring)
        self._timer.daemon = True
        self._timer.start()

    def _ring(self) -> None:
        self.has_rung = True
        _kill(self._process)

    def stop(self) -> None:
        self._timer.cancel()


class _Streams:
    """What a process is given and what it says, read at the same time so that it never waits for us."""

    def __init__(self, process: subprocess.Popen[bytes], data: bytes) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._pipes = (process.stdin, process.stdout, process.stderr)
        self._told = bytearray()
        self._threads = [
            threading.Thread(target=_give, args=(process.stdin, data), daemon=True),
            threading.Thread(target=self._listen, args=(process.stderr,), daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def answer(self) -> bytes | None:
        """All of the standard output; None where it is more than `MOST`."""
        answer = bytearray()
        while chunk := os.read(self._pipes[1].fileno(), _CHUNK):
            answer += chunk
            if len(answer) > MOST:
                return None
        return bytes(answer)

    def close(self) -> str:
        """The end of what was said on standard error."""
        for thread, pipe in zip(self._threads, (self._pipes[0], self._pipes[2]), strict=True):
            thread.join(_DRAIN_SECONDS)  # longer only where a program of the user's lives on, such as a shared ssh
            if not thread.is_alive():
                with contextlib.suppress(OSError):
                    pipe.close()
        self._pipes[1].close()
        return bytes(self._told).decode("utf-8", "replace")

    def _listen(self, pipe: IO[bytes]) -> None:
        while chunk := os.read(pipe.fileno(), _CHUNK):
            self._told += chunk
            del self._told[:-_TOLD]


def _give(pipe: IO[bytes], data: bytes) -> None:
    with contextlib.suppress(OSError):  # git need not read all
        pipe.write(data)
    with contextlib.suppress(OSError):
        pipe.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _name_of(arguments: Sequence[str]) -> str:
    """The command among the arguments, after options with values such as `-c name=value`."""
    rest = iter(arguments)
    for argument in rest:
        if argument == "-c":
            next(rest, None)
        elif not argument.startswith("-"):
            return argument
    return ""


def _error(name: str, status: int, told: str) -> RepositoryError:
    lines = [line for line in told.splitlines() if line.strip()]
    why = next((line for line in lines if _SAYS_WHY.match(line)), lines[-1] if lines else f"exit code {status}")
    kind = next((kind for kind, words in _KINDS if re.search(words, told, re.IGNORECASE)), "git failed")
    return RepositoryError(kind, f"git {name}: {one_line(shown(why))[:_LONGEST_LINE]}")
