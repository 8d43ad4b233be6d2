"""The manifest: what it may not say, told with its lines, and what it comes to."""

import io
import subprocess
from pathlib import Path

import pytest
from devfix.batch import manifest
from devfix.batch.choices import Commits, Existing, Publish
from devfix.batch.git.sources import shown
from devfix.batch.manifest import Manifest
from devfix.batch.manifest.lines import lines_of
from devfix.batch.records import Replay, Repository, Rules
from devfix.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a checkout `one`, a bare repository `two.git` and a folder `plain`; it is the working directory."""
    for arguments in (["one"], ["--bare", "two.git"]):
        subprocess.run(["git", "init", "-q", *arguments], cwd=tmp_path, check=True)
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read(text: str, name: str = "repos.toml") -> Manifest:
    Path(name).write_text(text, encoding="utf-8")
    return manifest.read(name)


def mistakes(text: str) -> list[str]:
    """What is told about the manifest, without the name of its file."""
    with pytest.raises(UsageError) as caught:
        read(text)
    assert all(line.startswith("repos.toml") for line in caught.value.details)
    return [line.removeprefix("repos.toml:") for line in caught.value.details]


def repo(line: str) -> str:
    return f'[[repo]]\nname = "x"\nurl = "https://host/x"\n{line}\n'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("revison = 'main'", "unknown key 'revison'; did you mean 'revision'?"),
        ("revision = '-x'", "revision '-x' begins with '-'; name a branch, tag or commit"),
        ("revision = 'a..b'", "revision 'a..b' holds '..', which no branch, tag or commit can; "),
        ("revision = 'a b'", "revision 'a b' holds ' ', "),
        ("revision = 'HEAD~1'", "revision 'HEAD~1' holds '~', "),
        ("revision = 'a/'", "revision 'a/' has a '/' at an end, or two in a row; "),
        ("revision = 'a/.b'", "revision 'a/.b' has a part that begins with '.'; "),
        ("revision = 'a.lock'", "revision 'a.lock' ends a part with '.lock', or as a whole with '.'; "),
        ("revision = ''", "revision is empty"),
        ("revision = 3", "revision must be a string, not a whole number"),
        ("subfolder = '/etc'", "subfolder '/etc' is absolute; name a folder in the repository"),
        ("subfolder = '~/x'", "subfolder '~/x' is absolute; "),
        ("subfolder = 'C:/x'", "subfolder 'C:/x' is absolute; "),
        ("subfolder = 'a/../../b'", "subfolder 'a/../../b' leads out of the repository"),
        ("subfolder = 'a\\b'", "subfolder 'a\\\\b' holds a '\\'; write forward slashes"),
        ("subfolder = '.GIT/hooks'", "subfolder '.GIT/hooks' is git's own"),
        ("select = 'DVF1'", "select must be an array of strings, not a string"),
        ("select = ['DVF1O1']", "select names no rule 'DVF1O1'; `devfix rules` lists them"),
        ("ignore = ['batch-not-move']", "ignore names no rule 'batch-not-move'; did you mean 'batch-not-moved'?"),
        ("unsafe = 1", "unsafe must be true or false, not a whole number"),
        ("suggestions = 1", "suggestions must be true or false, not a whole number"),
        ("min-confidence = 'much'", "min-confidence must be a number, not a string"),
        ("min-confidence = true", "min-confidence must be a number, not true or false"),
        ("min-confidence = 1.5", "min-confidence must be a number from 0 to 1, not 1.5"),
        ("min-confidence = 2" + "0" * 400, "min-confidence must be a number from 0 to 1, not a number of 1330 bits"),
        ("min-confidence = nan", "min-confidence must be a number from 0 to 1, not nan"),
        ("target-torch = 2.4", 'target-torch must be a string such as "2.4", not a number'),
        ("target-torch = '2'", "target-torch '2' is no torch version; write it like \"2.4\""),
        ("setup = \"a\\u001b[2Jb\"", "setup holds the control character U+001B"),
        ("setup = '''a\n'''", "setup holds the control character U+000A"),
        ("checks = true", "checks must be a string, not true or false"),
        ("checks = ['']", "checks is empty"),
        ("labels = {a = 1}", "labels must be an array of strings, not a table or a date"),
        ("timeout = 0", "timeout must be a number of seconds from 1 on, not 0"),
        ("timeout = -1.5", "timeout must be a number of seconds from 1 on, not -1.5"),
        ("timeout = nan", "timeout must be a number of seconds from 1 on, not nan"),
        ("timeout = inf", "timeout must be at most 1000000000 seconds, not inf"),
        ("timeout = 2" + "0" * 400, "timeout must be at most 1000000000 seconds, not a number of 1330 bits"),
        ("timeout = -2" + "0" * 400, "timeout must be a number of seconds from 1 on, not a number of 1330 bits"),
        ("timeout = true", "timeout must be a number of seconds, not true or false"),
        ("replay = 1", "replay must be a table, not a whole number"),
        ("replay.commnad = 'x'", "unknown key 'replay.commnad'; did you mean 'command'?"),
        ("replay.command = 'python \"x'", "replay.command cannot be replayed: the command"),
        ("replay.command = 'torchrun x.py'", "replay.command cannot be replayed: torchrun starts a program on several"),
        ("replay.command = 'A=1 python x.py'", "replay.command cannot be replayed: 'A=1' is no program"),
        ("replay.command = 'make train'", "replay.command cannot be replayed: 'make' cannot be replayed"),
        ("replay.on = 'cdua'", "replay.on is 'cdua', which is not one of auto, cuda, "),
        ("replay.devices = 0", "replay.devices must be at least 1, not 0"),
        ("replay.devices = 65", "replay.devices must be at most 64, not 65"),
        ("replay.steps = 1.0", "replay.steps must be a whole number, not a number"),
        ("replay.seed = -1", "replay.seed must be at least 0, not -1"),
        ("replay.steps = 0x1" + "0" * 5000, "replay.steps must be at most 2147483648, not a number of 20001 bits"),
        ("replay.timeout = 0", "replay.timeout must be a number of seconds from 0.1 on, not 0"),
        ("replay.memory = '8 gigs'", "replay.memory '8 gigs' is no size; "),
        ("replay.memory = '64MiB'", "replay.memory '64MiB' is too little to import torch; at least 128MiB are needed"),
        ("replay.memory = -1", "replay.memory -1 is no size; "),
        ("replay.memory = 99999999999999999999", "replay.memory 99999999999999999999 is no size; "),
        ("replay.memory = 0x1" + "0" * 5000, "replay.memory a number of 20001 bits is no size; "),
        ("replay.memory = '1" + "0" * 5000 + "'", "replay.memory '10000"),
        ("replay.disk = 0", "replay.disk 0 is too little; "),
        ("replay.processes = 0", "replay.processes must be at least 1, not 0"),
        ("replay.network = 'no'", "replay.network must be true or false, not a string"),
        ("replay.env = ['A=1']", "replay.env must be a table, not an array"),
        ("replay.env = {'A-B' = 'x'}", "letters, digits and '_' make the name of a variable, not 'replay.env.A-B'"),
        ("replay.env.A = 1", "replay.env.A must be a string, not a whole number"),
        ("replay.python = '/no/python'", "replay.python '/no/python' is no program on this machine"),
        ("path = 'one'", "names both url and path; which one?"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_repository_and_line(folder: Path, line: str, told: str) -> None:
    found = mistakes("\n" + repo(line))
    assert len(found) == 1, found
    number = 2 if told.startswith("names both") else 5
    assert found[0].startswith(f'{number}: repo "x": {told}')


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ext::sh -c touch% /tmp/x", "uses the transport 'ext'; only https, http, ssh, git, file and user@host:path"),
        ("fd::17", "uses the transport 'fd'"),
        ("https::https://host/x", "uses the transport 'https'"),
        ("HTTPS://host/x", "uses the transport 'HTTPS'"),
        ("ftp://host/x", "uses the transport 'ftp'"),
        ("--upload-pack=x", "begins with '-'"),
        ("ssh://-oProxyCommand=x/y", "has a host or user that begins with '-'"),
        ("ssh://-l@host/y", "has a host or user that begins with '-'"),
        ("git@host:-x", "has a path that begins with '-'"),
        ("-x@host:y", "begins with '-'"),
        ("https://host", "names no repository"),
        ("https:///x", "names no host"),
        ("https://host:port/x", "has a host or port that cannot be read"),
        ("https://host/a b", "holds a blank; write %20"),
    ],
)
def test_no_other_transport_and_no_option_reaches_git(folder: Path, url: str, told: str) -> None:
    [found] = mistakes(f'[[repo]]\nname = "x"\nurl = "{url}"\n')
    assert found.startswith(f'3: repo "x": url {url!r} {told}')


@pytest.mark.parametrize("url", ["one", "./one/", "../manifests/one", "two.git", "absolute"])
def test_a_path_for_a_url_is_taken_as_a_path(folder: Path, url: str) -> None:
    written = url.replace("../manifests", f"../{folder.name}").replace("absolute", str(folder / "one"))
    [as_url] = read(f'[[repo]]\nname = "x"\nurl = "{written}"\n').repositories
    [as_path] = read(f'[[repo]]\nname = "x"\npath = "{written}"\n').repositories
    assert as_url == as_path
    assert as_url.source == str(folder / ("two.git" if url == "two.git" else "one"))


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("owner/name", "is no URL, and as a path is not there"),
        ("host:owner/name", "is no URL, and as a path is not there"),
        ("repos.toml", "is no URL, and as a path is no folder"),
        ("plain", "is no URL, and as a path is no git repository"),
    ],
)
def test_a_url_that_is_neither(folder: Path, url: str, told: str) -> None:
    [found] = mistakes(f'[[repo]]\nname = "x"\nurl = "{url}"\n')
    assert found.startswith(f'3: repo "x": url {url!r} {told}')


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("none", "is not there"),
        ("repos.toml", "is no folder"),
        ("plain", "is no git repository"),
        ("one/inner", "is no git repository; it lies in one: name "),
        ("loop", "cannot be read: "),
        ("https://host/x", "is the address of a repository; write url"),
        ("ext::sh", "is the address of a repository; write url"),
    ],
)
def test_a_path_that_is_no_repository_is_refused(folder: Path, path: str, told: str) -> None:
    (folder / "one/inner").mkdir()
    (folder / "loop").symlink_to("loop")
    [found] = mistakes(f'[[repo]]\nname = "x"\npath = "{path}"\n')
    assert found.startswith((f'3: repo "x": path {path!r} {told}', "3: repo \"x\": path 'loop' is not there"))


def test_credentials_are_never_told(folder: Path) -> None:
    urls = (
        "https://user:sesame@host/a b", "https://sesame@host", "https://user:p/sesame@host/x", "ftp://u:sesame@host/x",
        "https://host/?private_token=sesame",
    )  # fmt: skip
    found = mistakes("".join(f'[[repo]]\nurl = "{url}"\n' for url in urls))
    assert len(found) == len(urls)
    assert "sesame" not in "".join(found)
    assert read(repo("").replace("https://", "https://user:sesame@")).repositories[0].name == "x"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("https://user:token@host/x", "https://***@host/x"),
        ("fatal: https://token@host/x: no", "fatal: https://***@host/x: no"),
        ("https://u:a@b@host:443/x", "https://***@host:443/x"),
        ("https://host:443/x@v1", "https://host:443/x@v1"),
        ("https://host/x?private_token=abc", "https://host/x?***"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("ssh://git:secret@host/x", "ssh://git:***@host/x"),
        ("git@host:a/b", "git@host:a/b"),
        ("/a/b@c:d", "/a/b@c:d"),
    ],
)
def test_a_source_is_shown_without_its_credentials(text: str, said: str) -> None:
    assert shown(text) == shown(said) == said


def test_every_mistake_is_told_at_once_in_the_order_of_the_lines(folder: Path) -> None:
    found = mistakes(
        """\
publish = "pushh"
checks = "x"

[git]
cofnig = 1
[git.config]
color = "x"
"http.proxy" = 1

[defaults]
url = "https://host/x"
select = [
    "DVF1",  # the first
    "DVF999",
]

[defaults.replay]
memory = "8 gigs"

[[repo]]
# nothing

[[repo]]
path = "one"
name = "a/b"
replay.env = { A = "1", B = 2 }

[[repo]]
url = "https://host/x.git"
name = "Same"

[[repo]]
url = "https://token@host/x/"

[[repo]]
path = "two.git"
name = "same"
"""
    )
    lines = [1, 2, 5, 7, 8, 11, 14, 18, 20, 25, 26, 32, 37]
    assert [int(line.split(":")[0]) for line in found] == lines
    assert found[0] == "1: publish is 'pushh', which is not one of none, patch, push, pr; did you mean 'push'?"
    assert found[2] == "5: unknown key 'git.cofnig'; did you mean 'config'?"
    assert found[3] == "7: git.config.color is no setting of git; write it like credential.helper"
    assert found[5] == "11: [defaults]: url is for one repository; write it under [[repo]]"
    assert found[8] == "20: repo 1: names neither url nor path"
    assert found[11] == '32: repo "x": the same repository, revision and subfolder as repo "Same", on line 28'
    assert found[12] == "37: repo \"same\": name 'same' is taken already; capitals do not tell names apart"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[repo]]\nurl =\n", "2: not valid TOML: Invalid value"),
        ("[[repo]]\nurl = 'x'\nurl = 'y'\n", "3: not valid TOML: Cannot overwrite a value"),
        ("[[repo]]\nchecks = [\n'x'\n", "3: not valid TOML: Unclosed array"),
        ("repo = " + "[" * 100_000, " not valid TOML: nested too deeply"),
        ("a = " + "9" * 5000, " not valid TOML: Exceeds the limit"),
        ("[repo]\nurl = 'https://host/x'\n", "1: repo must be tables; write [[repo]], with two brackets"),
        ("repo = [1]\n", "1: repo 1: must be a table, not a whole number"),
    ],
)
def test_what_is_no_manifest_is_told_with_its_line(folder: Path, text: str, told: str) -> None:
    assert mistakes(text)[0].startswith(told)


def test_what_cannot_be_read_is_one_line(folder: Path) -> None:
    Path("latin.toml").write_bytes(b'[[repo]]\nname = "\xe9"\n')
    with pytest.raises(UsageError) as caught:
        manifest.read("latin.toml")
    assert caught.value.details == ("latin.toml:2: not UTF-8, as TOML must be",)
    with pytest.raises(UsageError, match=r"the manifest none\.toml cannot be read: No such file or directory"):
        manifest.read("none.toml")
    with pytest.raises(UsageError, match=r"the manifest a\.toml names no repository; it needs a \[\[repo\]\] table"):
        read("publish = 'none'\n", "a.toml")
    with pytest.raises(UsageError, match=r"the manifest b\.toml names no repository; it needs a \[\[repo\]\] table"):
        read("repo = []\n", "b.toml")
    with pytest.raises(UsageError, match="the manifest plain names no repository; it needs git repositories directly"):
        manifest.read("plain")
    with pytest.raises(UsageError, match="the manifest standard input names no repository; it needs one URL or path"):
        manifest.read("-", stdin=io.BytesIO(b"# nothing\n\n"))


def test_a_name_never_moves_the_cursor(folder: Path) -> None:
    found = mistakes('[[repo]]\nname = "\\u001b[2J"\nurl = "https://host/\\u202ex"\n"\\u0007" = 1\n')
    assert len(found) == 2
    assert all(line.isprintable() for line in found)


def test_all_that_a_manifest_can_say(folder: Path) -> None:
    found = read(
        """\
publish = "pr"
existing = "replace"
commits = "all"

[git.config]
"credential.helper" = "store"
http = { proxy = "", "https://host".proxy = "p" }

[defaults]
select = ["DVF1", "batch-not-moved"]
timeout = 60
checks = "make"
replay.memory = "8GiB"
replay.env = { A = "1", B = "2" }

[[repo]]
url = "git@host:owner/first.git"
revision = "v1.0"

[repo.replay]
command = "python train.py --epochs 1"
on = "cpu"
devices = 2
steps = 3
seed = 4
timeout = 5
disk = 1_000_000_000
processes = 6
network = true
env = { B = "3" }
python = "bin/python"

[[repo]]
path = "./one/"
name = "second"
subfolder = "./a//b/"
select = []
ignore = ["dvf102"]
unsafe = true
suggestions = true
min-confidence = 0.8
target-torch = "2.4"
setup = "make venv"
setup-network = true
checks = ["make test", "make lint"]
labels = ["vision"]
replay.tests = true
""".replace("bin/python", "/bin/sh")
    )
    assert (found.publish, found.existing, found.commits) == (Publish.PR, Existing.REPLACE, Commits.ALL)
    assert found.git_config == (("credential.helper", "store"), ("http.proxy", ""), ("http.https://host.proxy", "p"))
    first, second = found.repositories
    replay = Replay("python train.py --epochs 1", "cpu", 2, 3, 4, 5.0, 8 << 30, 6, 10**9, True, (), "/bin/sh")
    assert first.replay.env == (("A", "1"), ("B", "3"))
    assert first == Repository(
        "first", "git@host:owner/first.git", "v1.0", "", Rules(("DVF1", "batch-not-moved")),
        Replay(**{name: getattr(replay, name) for name in replay.__struct_fields__} | {"env": first.replay.env}),
        checks=("make",), timeout=60.0,
    )  # fmt: skip
    assert second == Repository(
        "second", str(folder / "one"), None, "a/b", Rules((), ("dvf102",), True, (2, 4), True, 0.8),
        Replay(memory=8 << 30, env=(("A", "1"), ("B", "2")), tests=True), "make venv", True, ("make test", "make lint"),
        ("vision",), 60.0,
    )  # fmt: skip


def test_an_interpreter_in_a_relative_folder_of_the_search_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "bin").mkdir()
    (folder / "bin" / "python-of-mine").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", "bin")
    [found] = read(repo("replay.python = 'python-of-mine'")).repositories
    assert found.replay.python == str(folder / "bin" / "python-of-mine")


def test_the_manifest_goes_over_what_the_caller_gives(folder: Path) -> None:
    Path("repos.toml").write_text(repo("select = ['DVF2']\nreplay.steps = 2"))
    given = Repository("", "", rules=Rules(("DVF1",), ("DVF3",)), replay=Replay(on="cpu", steps=1), timeout=5.0)
    [found] = manifest.read("repos.toml", given).repositories
    assert found == Repository(
        "x", "https://host/x", rules=Rules(("DVF2",), ("DVF3",)), replay=Replay(on="cpu", steps=2), timeout=5.0
    )


def test_names_come_from_the_sources_and_are_unique(folder: Path) -> None:
    found = read(
        """\
repo = [
  { url = "https://host/a/lib.git" },
  { url = "https://host/b/Lib", subfolder = "src/x y" },
  { url = "git@host:lib" }, { url = "ssh://host/~c/Lib/" },
  { url = "file:///x/.hidden" }, { url = "https://host/%C3%A9" }, { url = "https://host/z", name = "lib-2" },
]
"""
    )
    names = [one.name for one in found.repositories]
    assert names == ["lib", "Lib-src-x-y", "lib-3", "Lib-4", "hidden", "C3-A9", "lib-2"]


def test_a_folder_of_checkouts(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "Zed"], check=True)
    found = manifest.read(".").repositories
    assert [(one.name, one.source) for one in found] == [
        ("Zed", str(folder / "Zed")), ("one", str(folder / "one")), ("two", str(folder / "two.git")),
    ]  # fmt: skip
    assert [one.name for one in manifest.read("one").repositories] == ["one"]


def test_a_checkout_beside_the_bare_repository_of_the_same_name(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "one.git"], check=True)
    sources = [str(folder / "one"), str(folder / "one.git"), str(folder / "two.git")]
    assert [one.source for one in manifest.read(".").repositories] == sources
    found = read('[[repo]]\npath = "one"\n[[repo]]\nurl = "one.git"\n').repositories
    assert [(one.name, one.source) for one in found] == [("one", sources[0]), ("one-2", sources[1])]
    assert len(mistakes('[[repo]]\npath = "one"\n[[repo]]\nurl = "./one/"\n')) == 1


def test_a_list_on_standard_input(folder: Path) -> None:
    text = b"# all of them\r\n\r\nhttps://host/a  v1 # the old one\r\n\tone\r\ngit@host:c/d.git\tmain"
    found = manifest.read("-", stdin=io.BytesIO(text)).repositories
    assert [(one.name, one.source, one.revision) for one in found] == [
        ("a", "https://host/a", "v1"), ("one", str(folder / "one"), None), ("d", "git@host:c/d.git", "main"),
    ]  # fmt: skip


def test_a_list_may_begin_with_a_byte_order_mark(folder: Path) -> None:
    found = manifest.read("-", stdin=io.BytesIO(b"\xef\xbb\xbfhttps://host/a\none\n")).repositories
    assert [one.source for one in found] == ["https://host/a", str(folder / "one")]
    with pytest.raises(UsageError) as caught:
        manifest.read("-", stdin=io.BytesIO(b"one\n\xef\xbb\xbfhttps://host/a"))
    assert caught.value.details[0].startswith("standard input:2: '\\ufeffhttps://host/a' ")


def test_the_mistakes_in_a_list_have_lines(folder: Path) -> None:
    lines = [
        b"one",
        b"ext::sh",
        b"-x",
        b"none",
        b"https://u:t@h/x a..b",
        b"a b c",
        b"\xff",
        b"https://h/\x1bx",
        b"./one",
    ]
    with pytest.raises(UsageError) as caught:
        manifest.read("-", stdin=io.BytesIO(b"\n".join(lines)))
    assert [line.removeprefix("standard input:")[:14] for line in caught.value.details] == [
        "2: 'ext::sh' u", "3: '-x' begins", "4: 'none' is n", "5: 'a..b' hold", "6: more than a", "7: not UTF-8",
        "8: holds the c", "9: the same re",
    ]  # fmt: skip


TOML = '''\
# [[repo]]
"a b".c = 1   # line 2
d = """
[[repo]]
x = 1 \\"""
""""
[ "e" . f ]
g = [ 1, # ]
  2.5, [
    3 ], { h = "}", i.j = [
 4] } ]
k = \'\'\'
]\'\'\'\'
[[l]]
m = 1979-05-27 07:32:00
[[l]]
[[l.n]]
[l.n.o]
p = "#"
[[l.n]]
q.r = '"'
'''


def test_lines_survive_whatever_toml_allows() -> None:
    assert lines_of(TOML) == {
        ("a b",): 2, ("a b", "c"): 2, ("d",): 3, ("e",): 7, ("e", "f"): 7, ("e", "f", "g"): 8, ("e", "f", "g", 0): 8,
        ("e", "f", "g", 1): 9, ("e", "f", "g", 2): 9, ("e", "f", "g", 2, 0): 10, ("e", "f", "g", 3): 10,
        ("e", "f", "g", 3, "h"): 10, ("e", "f", "g", 3, "i"): 10, ("e", "f", "g", 3, "i", "j"): 10,
        ("e", "f", "g", 3, "i", "j", 0): 11, ("e", "f", "k"): 12, ("l",): 14, ("l", 0): 14, ("l", 0, "m"): 15,
        ("l", 1): 16, ("l", 1, "n"): 17, ("l", 1, "n", 0): 17, ("l", 1, "n", 0, "o"): 18,
        ("l", 1, "n", 0, "o", "p"): 19, ("l", 1, "n", 1): 20, ("l", 1, "n", 1, "q"): 21,
        ("l", 1, "n", 1, "q", "r"): 21,
    }  # fmt: skip
