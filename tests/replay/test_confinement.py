"""Scripts that want out of the sandbox. Each is run without one as well, where it has to succeed: so it could fail."""

import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from devfix.replay.backends import PlainCpu
from devfix.replay.confinement import Allowance, Bubblewrap, Reach, find_confinement, population
from devfix.replay.confinement.disk import Written
from devfix.replay.confinement.population import Population
from devfix.replay.options import ReplayOptions
from devfix.replay.outcomes import Ending, Outcome
from devfix.replay.programs import Program
from devfix.replay.replaying import run_alone

Run = Callable[..., Outcome]
SUCCESS = "I am out"


@pytest.fixture
def run(tree: Path) -> Run:
    """Run a script once on the plain CPU; extra arguments are `ReplayOptions`."""

    def run(script: str, **options: object) -> Outcome:
        path = tree / "train.py"
        path.write_text(textwrap.dedent(script))
        return run_alone(Program(path), PlainCpu(), ReplayOptions(**{"timeout": 60, **options})).outcome  # type: ignore[arg-type]

    return run


@pytest.fixture
def fails_confined(run: Run, bubblewrap: Bubblewrap) -> Run:
    """Run a script that says so when it succeeds: it does, but for the sandbox. Answers the confined outcome."""

    def check(script: str) -> Outcome:
        free = run(script)
        assert SUCCESS in free.stdout.head, free.stderr.tail
        outcome = run(script, confinement=bubblewrap)
        assert outcome.ending in (Ending.PASSED, Ending.FAILED), outcome
        assert SUCCESS not in outcome.stdout.head
        return outcome

    return check


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("the secret")
    return folder


def trying(code: str, **names: object) -> str:
    """A script that runs `code` with `names` and then says that it succeeded."""
    said = "".join(f"{name} = {value!r}\n" for name, value in names.items())
    return (
        f"import ctypes, os, shutil, socket, stat, subprocess, sys\n{said}{textwrap.dedent(code)}\nprint({SUCCESS!r})\n"
    )


WRITES = {
    "by its name": "open(OUT + '/mine', 'w')",
    "upwards": "open(os.path.relpath(OUT) + '/mine', 'w')",
    "through a link": "os.symlink(OUT, 'link'); open('link/mine', 'w')",
    "through the root of this process": "open('/proc/self/root' + OUT + '/mine', 'w')",
    "through the root of its parent": "open(f'/proc/{os.getppid()}/root' + OUT + '/mine', 'w')",
    "through the folder of its parent": "os.chdir(f'/proc/{os.getppid()}/cwd'); open(OUT + '/mine', 'w')",
    "from another process": "subprocess.run(['/bin/sh', '-c', 'echo > $0/mine', OUT], check=True)",
    "from C": "assert ctypes.CDLL(None).creat((OUT + '/mine').encode(), 0o600) >= 0",
    "by a hard link": "os.link(OUT + '/secret', 'mine'); open('mine', 'w')",
    "by removing": "shutil.rmtree(OUT); assert not os.path.exists(OUT)",
    "to its original": "assert ctypes.CDLL(None).creat((TREE + '/train.py').encode(), 0o600) >= 0",
    "to the system": "open('/usr/share/devfix-was-here', 'w'); os.remove('/usr/share/devfix-was-here')",
    "to devices": "open('/dev/devfix-was-here', 'w'); os.remove('/dev/devfix-was-here')",
}
AS_ROOT = {"to the system", "to devices"}


@pytest.mark.parametrize("how", WRITES)
def test_nothing_outside_is_written_to(fails_confined: Run, tree: Path, outside: Path, how: str) -> None:
    if how in AS_ROOT and os.geteuid():
        pytest.skip("only root can do that without a sandbox")
    (outside / "mine").unlink(missing_ok=True)
    original = trying(WRITES[how], OUT=str(outside), TREE=str(tree))
    if how == "by removing":
        original = original.replace("shutil.rmtree(OUT)", "os.listdir(OUT); shutil.rmtree(OUT); os.mkdir(OUT + '2')")
    try:
        fails_confined(original)
    finally:
        outside.mkdir(exist_ok=True)


PRIVILEGES = {
    "mounting": "assert not ctypes.CDLL(None).mount(b'none', b'/mnt', b'tmpfs', 0, None); "
    "ctypes.CDLL(None).umount(b'/mnt')",
    "mounting again": "assert not ctypes.CDLL(None).mount(None, b'/', None, 32 | 4096, None)",
    "device files": "os.mknod('disk', stat.S_IFBLK | 0o600, os.makedev(254, 0))",
    "settings of the kernel": "name = '/proc/sys/kernel/core_pattern'; text = open(name).read(); "
    "open(name, 'w').write(text)",
    "user namespaces": "assert not ctypes.CDLL(None).unshare(0x10000000)",
    "other roots": "os.mkdir('root'); os.chroot('root')",
    "capabilities": "assert any('CapEff' in line and int(line.split()[1], 16) for line in open('/proc/self/status'))",
    "other users' programs": "assert ['NoNewPrivs:', '0'] in [line.split() for line in open('/proc/self/status')]",
}


@pytest.mark.parametrize("what", PRIVILEGES)
def test_there_are_no_privileges(fails_confined: Run, what: str) -> None:
    if os.geteuid():
        pytest.skip("only root can do that without a sandbox")
    fails_confined(trying(PRIVILEGES[what]))


READS = {
    "another folder": "assert open(OUT + '/secret').read() == 'the secret'",
    "the folder of the copies": "assert len(os.listdir(os.path.join(os.environ['DEVFIX_REPLAY'], '..', '..'))) > 2",
    "the home": "assert open(HOME + '/.netrc').read() == 'the secret'",
    "its home": "assert open(os.path.expanduser('~/.netrc')).read() == 'the secret'",
    "variables": "assert 'the token' in os.environ.values()",
    "variables of others": "assert any(b'the token' in open(f'/proc/{name}/environ', 'rb').read()"
    " for name in (os.getpid(), os.getppid()))",
    "users": "assert 'root:x:0:0' in open('/etc/passwd').read()",
    "other processes": "assert os.path.exists(f'/proc/{TEST}/status') and TEST > 30",
    "the host's name": f"assert socket.gethostname() == {socket.gethostname()!r}",
}


@pytest.mark.parametrize("what", READS)
def test_nothing_of_the_user_s_is_read(
    fails_confined: Run, tree: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    (tree.parent / "copies" / "another").mkdir()
    (outside / ".netrc").write_text("the secret")
    monkeypatch.setenv("HOME", str(outside))
    for name in ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "HF_TOKEN", "TORCH_TOKEN", "SSH_AUTH_SOCK"):
        monkeypatch.setenv(name, "the token")
    fails_confined(trying(READS[what], OUT=str(outside), HOME=str(outside), TEST=os.getpid()))


def test_the_only_variables_are_those_that_are_allowed_and_the_user_s_own(
    run: Run, bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("UNHEARD_OF", "x")
    script = (
        "import os\nprint(os.environ.get('OMP_NUM_THREADS'), os.environ.get('UNHEARD_OF'), os.environ.get('MINE_KEY'))"
    )
    assert run(script, confinement=bubblewrap, env=(("MINE_KEY", "a=b"),)).stdout.head == "3 None a=b\n"


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[dict[str, object]]:
    tcp, udp, unix, abstract = (
        socket.socket(family, kind)
        for family, kind in (
            (socket.AF_INET, socket.SOCK_STREAM),
            (socket.AF_INET, socket.SOCK_DGRAM),
            (socket.AF_UNIX, socket.SOCK_STREAM),
            (socket.AF_UNIX, socket.SOCK_STREAM),
        )
    )
    names = {"PATH": str(tmp_path / "socket"), "NAME": f"\0devfix-{os.getpid()}"}
    tcp.bind(("127.0.0.1", 0))
    udp.bind(("127.0.0.1", 0))
    unix.bind(names["PATH"])
    abstract.bind(names["NAME"])
    with tcp, udp, unix, abstract:
        for each in (tcp, unix, abstract):
            each.listen()
        yield {**names, "TCP": tcp.getsockname()[1], "UDP": udp.getsockname()[1]}


SOCKETS = {
    "tcp": "socket.create_connection(('127.0.0.1', TCP), 5)",
    "udp": "us = socket.socket(type=socket.SOCK_DGRAM); us.connect(('127.0.0.1', UDP)); us.send(b'x'); us.send(b'x')",
    "unix": "socket.socket(socket.AF_UNIX).connect(PATH)",
    "abstract": "socket.socket(socket.AF_UNIX).connect(NAME)",
    "interfaces": "assert len(socket.if_nameindex()) > 1",
}


@pytest.mark.parametrize("kind", SOCKETS)
def test_nobody_is_reached(fails_confined: Run, listening: dict[str, object], kind: str) -> None:
    if kind == "interfaces" and len(socket.if_nameindex()) < 2:
        pytest.skip("there is no network here")
    fails_confined(trying(SOCKETS[kind], **listening))


def test_the_network_can_be_allowed(run: Run, bubblewrap: Bubblewrap, listening: dict[str, object]) -> None:
    script = trying(SOCKETS["tcp"], **listening)
    outcome = run(script, confinement=bubblewrap, allowance=Allowance(network=True))
    assert SUCCESS in outcome.stdout.head, outcome.stderr.tail


def test_programs_can_talk_to_themselves(run: Run, bubblewrap: Bubblewrap) -> None:
    script = "us = socket.create_server(('127.0.0.1', 0)); socket.create_connection(us.getsockname(), 5)"
    assert SUCCESS in run(trying(script), confinement=bubblewrap).stdout.head


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGSTOP])
def test_other_processes_are_safe(run: Run, bubblewrap: Bubblewrap, signal_number: int) -> None:
    script = trying("os.kill(VICTIM, SIGNAL)", SIGNAL=int(signal_number), VICTIM=0)
    for confinement, survives in ((bubblewrap, True), (None, False)):
        with subprocess.Popen(["sleep", "600"], start_new_session=True) as victim:
            try:
                run(script.replace("VICTIM = 0", f"VICTIM = {victim.pid}"), confinement=confinement)
                state = Path(f"/proc/{victim.pid}/stat").read_text().rpartition(")")[2].split()[0]
                assert (state == "S") == survives
            finally:
                victim.kill()


def test_terminals_of_others_are_not_there(fails_confined: Run) -> None:
    ours, theirs = os.openpty()
    try:
        fails_confined(
            trying("os.write(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY), b'x')", TERMINAL=os.ttyname(theirs))
        )
    finally:
        os.close(ours)
        os.close(theirs)


DAEMON = """
import os, subprocess, sys, time
if os.fork():
    while not os.path.exists("ready"):
        time.sleep(0.01)
    sys.exit()
os.setsid()
if os.fork():
    os._exit(0)
subprocess.Popen(["sleep", NAME], env={}, start_new_session=True,
                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
open("ready", "w")
os._exit(0)
"""


def sleeping(name: str) -> list[int]:
    """The processes that are called with `name`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if arguments[:2] == [b"sleep", name.encode()]:
            found.append(int(folder.name))
    return found


def test_nothing_outlives_the_run(run: Run, bubblewrap: Bubblewrap) -> None:
    name = f"600.{os.getpid()}"
    script = DAEMON.replace("NAME", repr(name))
    assert run(script, confinement=bubblewrap).passed
    assert not sleeping(name)
    try:
        assert run(script).passed
        assert sleeping(name)
    finally:
        for process in sleeping(name):
            os.kill(process, signal.SIGKILL)


def test_a_script_that_hangs_and_ignores_signals_is_ended(run: Run, bubblewrap: Bubblewrap) -> None:
    script = """
    import os, signal, time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    for _ in range(5):
        os.fork()
    while True:
        time.sleep(1)
    """
    outcome = run(script, confinement=bubblewrap, timeout=2)
    assert outcome.ending is Ending.TIMED_OUT
    assert outcome.seconds < 60


BOMB = """
import os, time
deadline = time.monotonic() + 20
started = os.open("started", os.O_CREAT | os.O_APPEND | os.O_RDWR)
while time.monotonic() < deadline and os.fstat(started).st_size < COUNT:
    os.write(started, b"x")
    os.fork()
time.sleep(WAIT)
"""


def test_forking_without_end_is_ended(run: Run, bubblewrap: Bubblewrap) -> None:
    allowed = Allowance(processes=50)
    outcome = run(BOMB.replace("COUNT", "2000").replace("WAIT", "30"), confinement=bubblewrap, allowance=allowed)
    assert outcome.ending is Ending.OVERRAN
    assert outcome.reason == "had more than 50 processes"
    assert run(BOMB.replace("COUNT", "10").replace("WAIT", "0"), confinement=bubblewrap, allowance=allowed).passed


def test_threads_without_end_are_ended(run: Run, bubblewrap: Bubblewrap) -> None:
    script = """
    import threading, time
    threading.stack_size(64 << 10)
    for _ in range(400):
        threading.Thread(target=time.sleep, args=(30,), daemon=True).start()
    time.sleep(WAIT)
    """
    outcome = run(script.replace("WAIT", "30"), confinement=bubblewrap, allowance=Allowance(processes=4))
    assert outcome.reason == "had more than 256 threads"
    assert run(script.replace("WAIT", "0")).passed


def test_memory_counts_over_all_processes(run: Run, bubblewrap: Bubblewrap) -> None:
    script = """
    import os, time
    for _ in range(5):
        if not os.fork():
            held = bytearray(os.urandom(1 << 20)) * 60
            time.sleep(WAIT)
            os._exit(0)
    time.sleep(WAIT)
    """
    outcome = run(script.replace("WAIT", "30"), confinement=bubblewrap, memory=200 << 20)
    assert outcome.reason == "used more than 200 MiB of memory"
    assert run(script.replace("WAIT", "0"), memory=200 << 20).passed


@pytest.mark.slow
def test_memory_that_processes_share_counts_once(run: Run, bubblewrap: Bubblewrap) -> None:
    script = """
    import os, time
    held = bytearray(os.urandom(1 << 20)) * 100
    for _ in range(5):
        if not os.fork():
            time.sleep(2)
            os._exit(0)
    time.sleep(2)
    """
    assert run(script, confinement=bubblewrap, memory=200 << 20).passed


def test_memory_is_read_again_before_a_run_is_ended_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that end while others are read leave these their parts of what they shared."""
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        together = Population(os.getpid())
        until = time.monotonic() + 60
        while not together.uses_more_memory_than(1 << 20) and time.monotonic() < until:
            together.look()
        for told, expected in (((100, 0), False), ((100, 100), True)):
            parts = (part << 20 for part in told for _ in range(together.processes))
            monkeypatch.setattr(
                "devfix.replay.confinement.population._proportional", lambda *_, parts=parts: next(parts)
            )
            assert together.uses_more_memory_than(1 << 20) is expected
        child.communicate(b"\n")


WITH_CHILD = """
import subprocess, sys
with subprocess.Popen([sys.executable, "-c", "input()"]) as child:
    print(child.pid, flush=True)
"""


def test_a_process_whose_parent_ends_during_a_look_is_counted_at_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", WITH_CHILD], **pipes) as run:  # type: ignore[call-overload]
        child, honest = int(run.stdout.readline()), population._stat
        told = honest(child)
        assert told is not None
        orphan = replace(told, parent=1 << 30)  # no process has such a number
        with monkeypatch.context() as meanwhile:
            meanwhile.setattr(population, "_stat", lambda one: orphan if one == child else honest(one))
            together = Population(run.pid)
            together.look()
        assert together.processes == 0
        until = time.monotonic() + 60
        while not together.processes and time.monotonic() < until:
            together.look()
        assert together.processes == 1
        run.communicate(b"\n")


LARGE, MANY = (f"/tmp/devfix-{name}-{os.getpid()}" for name in ("large", "many"))
"""Outside of a sandbox these are on the machine, where another run of the tests may be."""
FILLING = {
    "its copy": "open('large', 'wb').write(os.urandom(64 << 20))",
    "its temporary folder": "open(os.environ['TMPDIR'] + '/large', 'wb').write(os.urandom(64 << 20))",
    "/tmp": f"large = {LARGE!r}; open(large, 'wb').write(os.urandom(64 << 20))",
    "the home": "large = os.path.expanduser('~/devfix-large'); open(large, 'wb').write(os.urandom(64 << 20))",
    "what it deletes": "file = open('large', 'wb'); os.remove('large'); file.write(os.urandom(64 << 20)); file.flush()",
    "what was there": "open('data', 'ab').write(os.urandom(64 << 20))",
}


@pytest.mark.parametrize("what", FILLING)
def test_filling_the_disk_is_ended(
    run: Run, bubblewrap: Bubblewrap, tree: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tree / "data").write_bytes(bytes(16 << 20))
    script = f"import os, time\nlarge = ''\n{FILLING[what]}\ntime.sleep(WAIT)\nif large: os.remove(large)\n"
    outcome = run(script.replace("WAIT", "30"), confinement=bubblewrap, allowance=Allowance(disk=32 << 20))
    assert outcome.ending is Ending.OVERRAN, outcome
    assert outcome.reason == "wrote more than 32 MiB"
    assert run(script.replace("WAIT", "0")).passed


def test_private_folders_are_small(fails_confined: Run) -> None:
    fails_confined(
        trying(
            f"with open({LARGE!r}, 'wb') as file:\n    os.posix_fallocate(file.fileno(), 0, 600 << 20)\n"
            f"os.remove({LARGE!r})"
        )
    )


@pytest.mark.slow
@pytest.mark.parametrize("folder", [".", MANY], ids=["its copy", "/tmp"])
def test_files_without_end_are_ended(run: Run, bubblewrap: Bubblewrap, folder: str) -> None:
    script = f"""
    import os, shutil, time
    os.makedirs({folder!r}, exist_ok=True)
    for number in range(6_000):
        os.close(os.open({folder!r} + f"/{{number}}", os.O_CREAT))
    time.sleep(WAIT)
    if {folder!r} != ".":
        shutil.rmtree({folder!r})
    """
    outcome = run(script.replace("WAIT", "30"), confinement=bubblewrap, allowance=Allowance(files=2_000))
    assert outcome.reason == "made more than 2000 files"
    assert run(script.replace("WAIT", "0")).passed


@pytest.mark.slow
def test_a_large_file_of_holes_is_nothing(run: Run, bubblewrap: Bubblewrap, copies: Callable[[], list[Path]]) -> None:
    script = "import time\nopen('large', 'wb').truncate(4 << 30)\ntime.sleep(2.5)\n"
    assert run(script, confinement=bubblewrap, allowance=Allowance(disk=1 << 20)).passed
    assert not copies()


def test_printing_without_end_is_ended(run: Run, bubblewrap: Bubblewrap) -> None:
    outcome = run("while True: print('x' * 1000)\n", confinement=bubblewrap, output_limit=4 << 20)
    assert outcome.reason == "printed more than 4.0 MiB"


LEFT = {
    "closed folders": "os.makedirs('a/b'); open('a/b/c', 'w'); os.chmod('a/b', 0); os.chmod('a', 0)",
    "a deep tree": "os.makedirs('d'); os.system(\"mkdir -p $(printf 'd/%.0s' $(seq 1500))\")",
    "odd names": "open(b'\\xff\\n\\x1b[31m', 'w'); os.symlink('/', 'root'); os.mkfifo('pipe')",
}


@pytest.mark.parametrize("what", LEFT)
@pytest.mark.parametrize("confined", [True, False])
def test_what_a_script_leaves_is_removed(
    run: Run, bubblewrap: Bubblewrap, copies: Callable[[], list[Path]], what: str, confined: bool
) -> None:
    assert run(f"import os\n{LEFT[what]}\n", confinement=bubblewrap if confined else None).passed
    assert not copies()


JOURNAL = "import os\njournal = os.path.join(os.environ['DEVFIX_REPLAY'], 'journal')\n"
FORGERIES = {
    "no objects": "print('[]\\n5\\nnull\\n\"x\"\\n{}', file=open(journal, 'a'))",
    "other types": "import json; print(json.dumps({'event': 'loss', 'value': 'x'}), file=open(journal, 'a'))",
    "deep nesting": "print('[' * 100_000, file=open(journal, 'a'))",
    "bytes": "open(journal, 'ab').write(os.urandom(1 << 20))",
    "holes": "os.truncate(journal, 1 << 32)",
    "no journal": "os.path.ismount(journal) or os.remove(journal)",
    "a pipe": "os.path.ismount(journal) or (os.remove(journal), os.mkfifo(journal))",
    "a link": "os.path.ismount(journal) or (os.remove(journal), os.symlink('/dev/zero', journal))",
}


@pytest.mark.parametrize("what", FORGERIES)
@pytest.mark.parametrize("confined", [True, False])
def test_a_journal_that_a_script_wrote_to_does_no_harm(
    run: Run, bubblewrap: Bubblewrap, what: str, confined: bool
) -> None:
    outcome = run(f"{JOURNAL}{FORGERIES[what]}\nos._exit(0)\n", confinement=bubblewrap if confined else None)
    assert outcome.passed
    assert outcome.losses == ()
    assert outcome.seconds < 30


@pytest.mark.parametrize("name", ["journal", "config.json"])
def test_the_probe_s_folder_is_not_rearranged(fails_confined: Run, name: str) -> None:
    code = "name = os.path.join(os.environ['DEVFIX_REPLAY'], NAME); open(name, 'a'); os.remove(name)"
    fails_confined(trying(code, NAME=name))


ENDINGS = {
    "passes": "print('done')",
    "fails": "raise ValueError('no')",
    "exits": "import sys; sys.exit(3)",
    "exits like a signal": "import sys; sys.exit(139)",
    "is killed": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "crashes": "import ctypes; ctypes.string_at(0)",
    "hangs": "import time; time.sleep(60)",
    "leaves at once": "import os; os._exit(5)",
}


@pytest.mark.parametrize("how", ENDINGS)
def test_outcomes_are_those_without_a_sandbox(run: Run, bubblewrap: Bubblewrap, how: str) -> None:
    script = f"import os\nopen('written', 'w').write('x')\n{ENDINGS[how]}\n"
    timeout = 2 if how == "hangs" else 60
    free, confined = (run(script, confinement=each, timeout=timeout) for each in (None, bubblewrap))
    assert confined.peak_memory or how == "hangs"
    measured = {"seconds": 0.0, "processor_seconds": 0.0, "peak_memory": None}
    same = {**measured, "stdout": free.stdout, "stderr": free.stderr}
    assert replace(confined, **same) == replace(free, **same)
    assert confined.stdout == free.stdout


def test_an_interpreter_that_is_not_there_is_told(run: Run, bubblewrap: Bubblewrap) -> None:
    outcome = run("", confinement=bubblewrap, python="/nowhere/python")
    assert outcome.ending is Ending.NOT_STARTED
    assert outcome.reason == "/nowhere/python could not be started: No such file or directory"


@pytest.mark.parametrize("how", ["path", "finder"])
def test_packages_of_the_user_that_are_linked_to_are_seen(
    tmp_path: Path, tree: Path, bubblewrap: Bubblewrap, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """`pip install --user -e .` of a project that is a single module."""
    python = str(Path(sys.base_prefix, "bin", "python3"))  # a virtual environment has no packages of the user
    packages = tmp_path / "user" / f"lib/python3.{sys.version_info[1]}/site-packages"
    packages.mkdir(parents=True)
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "single.py").write_text("")
    (packages / "single.pth").write_text(f"{linked}\n" if how == "path" else "import __editable___single_finder\n")
    mapped = f"MAPPING: dict[str, str] = {{'single': {str(linked / 'single')!r}}}"
    finder = f"{mapped}\nimport os, sys\nsys.path.append(os.path.dirname(MAPPING['single']))\n"
    (packages / "__editable___single_finder.py").write_text(finder if how == "finder" else "")
    monkeypatch.setenv("PYTHONUSERBASE", str(tmp_path / "user"))
    found = find_confinement(python)
    assert isinstance(found, Bubblewrap)
    with found.confine([python, "-c", "import single"], Reach(tree, writable=(tree,))) as launch:
        done = subprocess.run(
            launch.arguments, env=found.environment(), pass_fds=launch.descriptors, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 0, done.stderr


def test_without_bubblewrap_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_confinement() == (
        "bubblewrap is not installed: install bubblewrap (https://github.com/containers/bubblewrap)"
    )
    program = tmp_path / "bwrap"
    for script, told in (
        ("echo bubblewrap 0.6.1", "bubblewrap 0.6.1 is too old, it has to be 0.8.0 or later: "),
        (
            "[ $1 = --version ] && echo bubblewrap 0.9.0 || { echo No permission >&2; exit 1; }",
            "bubblewrap does not work here (No permission): ",
        ),
        ("exit 3", "bubblewrap cannot be used: "),
    ):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        found = find_confinement()
        assert isinstance(found, str)
        assert found.startswith(told)


def test_a_sandbox_that_is_still_being_made_has_written_nothing(tmp_path: Path) -> None:
    """Until then its folders are those of the machine, and what these hold is nobody's."""
    written = Written([tmp_path], size_limit=1 << 50, files_limit=1 << 50)
    time.sleep(0.2)  # it looks no more often
    written.look(Population(os.getpid()), ["/tmp", "/"])
    assert (written.size, written.files) == (0, 0)
