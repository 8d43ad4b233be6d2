"""Checkpoints that PyTorch itself publishes: their tensors were saved from the host."""

from collections.abc import Iterator

from devfix_codemods.ir import Node, Op
from devfix_codemods.ir.keys import name
from devfix_codemods.placement.arguments import argument
from devfix_codemods.placement.origins import Origins

_HOME = "https://download.pytorch.org/"
_TABLES = "torchvision.models."
"""Where torchvision keeps tables of such addresses, up to 0.12: `torchvision.models.resnet.model_urls`."""


def is_published_on_host(origins: Origins, call: Node) -> bool:
    """Whether all that a call may load is published there, whatever of a table of addresses that is."""
    url = argument(call, 0, "url")
    found = list(_addresses(origins, url)) if url is not None else []
    return bool(found) and all(found)


def _addresses(origins: Origins, url: Node) -> Iterator[bool]:
    """Of each address that a value may be, whether it is PyTorch's."""
    for one in origins.of(url):
        if one.op is Op.CONST:
            yield str(one.extra).startswith(_HOME)
        elif one.op is Op.ITEM:
            for table in origins.of(one.args[0]):
                yield from _in_table(origins, table)
        else:
            yield False


def _in_table(origins: Origins, table: Node) -> Iterator[bool]:
    if table.op is Op.MAPPING:
        for entry in table.args:
            yield from _addresses(origins, entry)
    else:
        found = name(table) or ""
        yield found.startswith(_TABLES) and found.endswith(".model_urls")
