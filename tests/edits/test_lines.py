"""How one text becomes another, line by line."""

import time
from random import Random

import pytest
from devfix_codemods.edits.lines import opcodes

CHANGES = {
    "nothing": ("", ""),
    "all": ("ab", "cd"),
    "a line between lines that are alike": ("aaxaaya", "aaxazaya"),
    "lines alike at both ends": ("aba", "aaabaaa"),
    "what stands once, in another order": ("abcd", "cdab"),
    "what stands once here and twice there": ("abc", "abbc"),
    "several": ("abxcdyefz", "bxacdyyeffz"),
}


@pytest.mark.parametrize(("old", "new"), CHANGES.values(), ids=CHANGES)
def test_the_parts_follow_each_other_and_make_the_new_text(old, new):
    at, new_at = 0, 0
    for tag, start, end, new_start, new_end in opcodes(old, new):
        assert (start, new_start) == (at, new_at)
        assert (old[start:end] == new[new_start:new_end]) == (tag == "equal")
        at, new_at = end, new_end
    assert (at, new_at) == (len(old), len(new))


def test_many_changes_among_lines_that_are_alike_take_no_time():
    old = [f"x{index}\n" if index % 4 < 2 else ["\n", "return x\n"][index % 2] for index in range(20_000)]
    new = list(old)
    for index in sorted(Random(0).sample(range(len(old)), 100), reverse=True):
        new.insert(index, f"new{index}\n")
    start = time.process_time()
    inserted = [new[first:last] for tag, _, _, first, last in opcodes(old, new) if tag == "insert"]
    assert time.process_time() - start < 5  # it took thirty
    assert [len(one) for one in inserted] == [1] * 100
