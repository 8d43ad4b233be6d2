"""What an error says of the arguments of the call that raised it: other arguments, the likeliest first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from .cases import Case, Failure
from .proposals import About
from .values import Arguments


@dataclass(frozen=True)
class Mender:
    """Mends arguments. `abouts` are all parameters, by `call` or `init` and name, those that have defaults, too."""

    abouts: Mapping[tuple[str, str], About]

    def mended(self, given: Arguments, failure: Failure) -> Iterator[Arguments]:
        """Other arguments to try."""
        for pattern, mend in _MENDS:
            found = re.search(pattern, f"{failure.type}: {failure.message}")
            if found is not None:
                yield from mend(Case(given, failure, found, self.abouts))
        yield from Case(given, failure, None, self.abouts).anything()

    def varied(self, given: Arguments) -> Iterator[Arguments]:
        """Other ways through a function that ran: flags turned, options given, other strings."""
        yield from Case(given, Failure("", ""), None, self.abouts).options()


_MENDS: tuple[tuple[str, Callable[[Case], Iterator[Arguments]]], ...] = (
    (r"'(?:NoneType|Tensor|function|int)' object has no attribute '(\w+)'", Case.maker),
    (r"NoneType", Case.not_none),
    (r"URLError|ConnectionError|HTTPError|FileNotFoundError|No such file", Case.other_ways),
    (r"size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\)", Case.sizes_agree),
    (r"mat1 and mat2 shapes cannot be multiplied \((\d+)x(\d+) and (\d+)x(\d+)\)", Case.products),
    (r"size mismatch, got input \(\d+\), mat \((\d+)x(\d+)\), vec \((\d+)()\)", Case.like_others),
    (r"to have (\d+) channels, but got (\d+) channels", Case.channels),
    (r"input\.size\(-1\) must be equal to input_size\. Expected (\d+), got (\d+)", Case.channels),
    (r"[Ee]xpected (\d+)D (?:\(unbatched\) or (\d+)D|or (\d+)D)", Case.wanted_rank),
    (r"[Ee]xpected (?:a )?(\d+)-?D", Case.wanted_rank),
    (r"[Ee]xpected (?:input )?(?:to be |batched )?(\d+)-?[Dd]", Case.wanted_rank),
    (r"must have (?:at least )?(\d+) dimensions", Case.wanted_rank),
    (r"number of dims don't match|the number of sizes provided|must be greater or equal", Case.more_dimensions),
    (r"Dimension out of range \(expected to be in range of \[-?\d+, -?\d+\], but got (-?\d+)\)", Case.dimension),
    (r"too many indices for tensor of dimension|IndexError: tuple index out of range", Case.more_dimensions),
    (r"(?:not enough|too many) values to unpack \(expected (?:at least )?(\d+)", Case.unpacks),
    (
        r"Expected size for first two dimensions of batch2 tensor to be: \[\d+, (\d+)\] but got: \[\d+, (\d+)\]",
        Case.sizes_agree,
    ),
    (
        r"Sizes of tensors must match except in dimension \d+\. Expected size (\d+) but got size (\d+)",
        Case.sizes_agree,
    ),
    (r"batch_size \((\d+)\) to match target batch_size \((\d+)\)", Case.sizes_agree),
    (r"The expanded size of the tensor \((\d+)\) must match the existing size \((\d+)\)", Case.sizes_agree),
    (
        r"shape '\[.*\]' is invalid for input of size|must match|same (?:shape|size|number)|broadcast|mismatch",
        Case.like_others,
    ),
    (
        r"[Kk]ernel size can't be greater|Output size is too small|[Pp]adding size should be less|too small",
        Case.larger,
    ),
    (
        r"scalar types?:? (?:Long|Int)|must be long|int64|[Ee]xpected.*(?:Int|Long)|integral|integer tensor",
        Case.whole,
    ),
    (
        r"[Ee]xpected .*Float|not implemented for '(?:Long|Int|Bool)'|floating.?point|must be float|dtype Float",
        Case.fractions,
    ),
    (r"mask.*bool|Bool|boolean", Case.booleans),
    (r"same dtype|dtype|not implemented for '", Case.other_kinds),
    (r"index out of range in self|out of bounds|index \d+ is out of|Target \d+ is out|Class values", Case.lower),
    (r"IndexError: list index out of range", Case.no_items),
    (r"'(?:\w+\.)*(\w+)' object has no attribute '(\w+)'", Case.attribute),
    (r"KeyError: '?([^']+)'?", Case.key),
    (r"indices must be integers or slices, not str", Case.keyed),
    (r"can only concatenate list", Case.numbers_listed),
    (r"object is not callable", Case.no_call),
    (r"'Namespace' object is not subscriptable|argument of type 'Namespace' is not iterable", Case.entries),
    (r"not iterable|not subscriptable|has no len|not an iterator", Case.no_items),
    (
        (
            r"cannot be interpreted as an integer|only integer tensors|to an index|must be (?:real|int)|not int"
            r"|of ints,? ?but"
        ),
        Case.no_number,
    ),
    (r"must be Tensor|must be a? ?[Tt]ensor|not Tensor|expected Tensor|to be a (?:torch\.)?[Tt]ensor", Case.no_tensor),
    (r"expected str|must be str|PathLike|a string", Case.strings),
    (r"unsupported operand|not supported between|argument '\w+' \(position \d+\)", Case.no_tensor),
    (r"divisible|divide|must be multiple|ZeroDivision", Case.divides),
    (r"AssertionError", Case.divides),
)
