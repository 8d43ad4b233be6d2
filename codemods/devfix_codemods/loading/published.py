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
    pending = [url]
    for value in pending:  # grows
        for one in origins.of(value):
            if one.op is Op.CONST:
                yield str(one.extra).startswith(_HOME)
            elif one.op is Op.ITEM:
                for table in origins.of(one.args[0]):
                    if table.op is Op.MAPPING:  # which may hold what is taken out of it
                        pending += [each for each in dict.fromkeys(table.args) if each not in pending]
                    else:
                        yield _is_table(table)
            else:
                yield False


def _is_table(table: Node) -> bool:
    found = name(table) or ""
    return found.startswith(_TABLES) and found.endswith(".model_urls")
