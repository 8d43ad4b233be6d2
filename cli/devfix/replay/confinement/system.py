"""What of the system a confined command sees: programs, libraries, a few files of /etc; and the accelerators' own.

Everything is named: what is not here is not there. Keys (/etc/ssl/private, /etc/pki/tls/private) are not.
"""

from collections.abc import Iterator
from pathlib import Path

FOLDERS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store")
FILES = (
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/nsswitch.conf"),
    *("/etc/localtime", "/etc/timezone", "/etc/os-release", "/etc/mime.types", "/etc/fonts", "/etc/magic"),
    *("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ca-certificates"),
    *("/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/ca-trust", "/etc/crypto-policies"),
    # How many processors there are, and how they are connected: libraries of torch complain without.
    *("/sys/devices/system/cpu", "/sys/devices/system/node"),
)
NETWORK = ("/etc/resolv.conf", "/etc/services", "/etc/protocols", "/etc/gai.conf")
_DEVICES = ("nvidia*", "dri", "kfd", "accel", "dxg", "davinci*", "devmm_svm", "hisi_hdc")
_RUNTIMES = ("/sys", "/opt/rocm*", "/opt/intel", "/etc/OpenCL", "/etc/ascend_install.info", "/usr/local/Ascend")


def devices() -> Iterator[str]:
    """The device files of accelerators."""
    yield from (str(path) for pattern in _DEVICES for path in sorted(Path("/dev").glob(pattern)))


def runtimes() -> Iterator[str]:
    """What the libraries of accelerators read."""
    yield from (str(path) for name in _RUNTIMES for path in sorted(Path("/").glob(name.lstrip("/"))))
