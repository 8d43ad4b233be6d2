"""Bases of classes that may be classes of modules, for all that is known of them."""

from devfix_codemods.ir import Class, Node, Op
from devfix_codemods.ir.keys import names
from devfix_codemods.placement.imported_definitions import ImportedDefinitions


def has_module_base(imported: ImportedDefinitions, owner: Class | None) -> bool:
    """Whether a class may have the methods of modules by one of its bases, in whatever file these stand, or nobody
    knows of it."""
    bases = [base for one in owner.lineage() for base in one.bases] if owner is not None else []
    return owner is None or any(may_be_module(imported, base) for base in bases)


def may_be_module(imported: ImportedDefinitions, base: Node, seen: frozenset[Class] = frozenset()) -> bool:
    """Whether a base is not read, nor one of those that it has in other files: it may be a class of modules."""
    inside = imported.class_of(base)
    if inside is None:
        return is_unread(base)
    known = seen | {inside}
    return inside not in seen and any(may_be_module(imported, one, known) for one in inside.bases)


def is_unread(base: Node) -> bool:
    """Whether a base of a class may be one of modules, for all that is known of it."""
    known = (one.rpartition(".")[2] in PLAIN_BASES or one.startswith(_NO_MODULES) for one in names(base))
    return base.op is not Op.CLASS and not any(known)


_NO_MODULES = ("torch.autograd.", "torch.utils.data.", "torch.optim.")
"""Where torch has classes that are no modules, though some have a `forward`."""

PLAIN_BASES = frozenset({"object", "ABC", "Protocol", "Generic", "Enum", "dict", "list", "NamedTuple", "Exception"})
"""What classes are derived from that are no modules."""
