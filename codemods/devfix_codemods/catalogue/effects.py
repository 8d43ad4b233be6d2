"""The vocabulary of the catalogue: what a call does to places, and what sort of thing it gives."""

from devfix_codemods.members import Enum, auto


class Effect(Enum):
    """What a function or a method does to the places of what it gets and gives."""

    __hash__ = object.__hash__

    FACTORY = auto()
    """Makes a tensor on the host unless `device=` says otherwise."""
    CONVERSION = auto()
    """As a factory, but what is a tensor already stays where it is (`torch.tensor`, `as_tensor`)."""
    HOST = auto()
    """Makes a tensor on the host, whatever it gets (`torch.from_numpy`)."""
    LIKE = auto()
    """Its result is where its first argument is unless `device=` says otherwise; others may be anywhere."""
    MEET = auto()
    """All tensors that it gets must be in one place, 0-dim ones as well; its result is there."""
    ARITHMETIC = auto()
    """As `MEET`, but a 0-dim tensor of the host may meet a device."""
    SEQUENCE = auto()
    """As `MEET`, of the elements of its first argument."""
    FIRST = auto()
    """Its result is where the first element of its first argument is: the others are copied there."""
    SAME = auto()
    """Its result is where its first argument is, and so are other tensors that it gets."""
    DRAW = auto()
    """As `MEET`; of numbers alone it makes something on the host (`normal`, a distribution)."""
    READ = auto()
    """Its result has no place: a number, a size, text."""
    SYNC = auto()
    """As `READ`, of a tensor anywhere (`item`, `tolist`)."""
    TO_HOST = auto()
    """A copy on the host, on purpose (`cpu`)."""
    NEEDS_HOST = auto()
    """Fails for a tensor on a device (`numpy`)."""
    ARRAY = auto()
    """A function of numpy and its relatives: what it gets must be on the host."""
    MOVE = auto()
    """A tensor where the argument says, or its argument's module moved there (`to`)."""
    CUDA = auto()
    """As `MOVE`, to CUDA (`cuda`)."""
    COPY_INTO = auto()
    """Writes into its receiver from anywhere (`copy_`)."""
    PASS = auto()
    """Gives back what it got first (`Variable`)."""
    LOAD = auto()
    """What a file holds, where `map_location` says, or where it was saved."""
    BACKWARD = auto()
    """Takes what was computed with parameters (`backward`)."""
    MODULE = auto()
    """Makes a module, on the host unless `device=` says otherwise."""
    WRAP = auto()
    """Gives a module in a new guise (`DataParallel`)."""
    BARE = auto()
    """Makes a module that holds no tensors."""
    ENGINE = auto()
    """Makes a loop that moves batches to `device=`, and gives them to the module that it gets first."""
    OTHER = auto()
    """Known, and of no concern to places."""


class Kind(Enum):
    """What sort of thing a value is, as far as placement cares."""

    __hash__ = object.__hash__

    TENSOR = auto()
    MODULE = auto()
    DEVICE = auto()
    DTYPE = auto()
    LOADER = auto()
    DATASET = auto()
    OPTIMIZER = auto()
    ARRAY = auto()
    NUMBER = auto()
    TEXT = auto()
    NONE = auto()
    ENCODING = auto()
    """A mapping of tensors, or a graph, with `.to`, which moves it where it is."""
    TOKENIZER = auto()
    SEQUENCE = auto()
    MAPPING = auto()
    FUNCTION = auto()
    OTHER = auto()
    """Something that is none of these."""


MAKES = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.LIKE})
"""What gives a new tensor, by a factory, of other data, or like another one."""
MAKES_ON_HOST = frozenset({Effect.FACTORY, Effect.CONVERSION, Effect.HOST})
"""What makes a tensor on the host, if it is told no device."""
TO_DEVICE = frozenset({Effect.MOVE, Effect.CUDA})
"""What takes a value to where it is told, or to CUDA."""
MOVES = TO_DEVICE | {Effect.TO_HOST}
"""What takes a value to a place that it names."""
