"""Keys: what a mapping is asked for, and what picks a module or an optimizer, is no tensor."""

import pytest

HEAD = """
        def train(model, rows: torch.utils.data.DataLoader, device):
            model.to(device)
            for x, length, third in rows:
                x, length = x.to(device), length.to(device)
                loss = model(x, length, third)
                loss.backward()
"""
KEYS = {
    "of a dictionary that counts": """
                seen = {}
                seen[third] = seen[third] + 1
    """,
    "of a dictionary that is filled": """
                found = dict()
                found[third] = 3
    """,
    "of the optimizer of a language": """
                optimizers[third].step()
    """,
    "of a head": """
                heads[third].train()
    """,
}
INDICES = {
    "of a tensor": """
                table = torch.zeros(8, device=device)
                table[third] += 1
    """,
    "of nothing": """
                print(loss)
    """,
}


def program(uses: str) -> str:
    return HEAD.rstrip() + uses.rstrip() + "\n"


@pytest.mark.parametrize("uses", KEYS.values(), ids=KEYS)
def test_a_key_is_no_tensor(placed, uses):
    assert "third" not in placed(program(uses)).births


@pytest.mark.parametrize("uses", INDICES.values(), ids=INDICES)
def test_an_index_may_be_a_tensor(placed, uses):
    assert "third" in placed(program(uses)).births


def test_a_key_of_another_loop_over_the_same_rows(placed):
    """What one loop takes for a key, the other one does not move."""
    found = placed("""
        def train(model, rows, device):
            model.to(device)
            for x, c, g in rows:
                x, c, g = x.to(device), c.to(device), g.to(device)
                model(x, c, g).sum().backward()
        def count(examples):
            ids = {}
            for index, (x, c, g) in enumerate(examples):
                if g is not None:
                    try:
                        ids[g] += 1
                    except KeyError:
                        ids[g] = 1
            return ids
    """)
    assert found.births == []


def test_a_part_of_an_attribute_is_of_another_sort_than_a_part_of_a_batch(placed):
    found = placed("""
        def start(model, tokenizer, lang, batch, device):
            model.to(device)
            return model.generate(input_ids=batch["input_ids"].to(device), start=tokenizer.codes[lang.code])
    """)
    assert found.births == []


def test_parts_of_one_batch_are_of_one_sort(placed):
    found = placed("""
        def start(model, batch, device):
            model.to(device)
            return model.generate(input_ids=batch["input_ids"].to(device), mask=batch["attention_mask"])
    """)
    assert "batch['attention_mask']" in found.births


OBJECTS = """
    def fill(first, last, store, device):
        first = first.to(device)
        last = last.to(device)
        store.{asked}(name="rows", dtype=torch.float32)
        return first, last
"""


def test_a_dtype_alone_makes_no_tensor_of_what_gets_it(placed):
    """`create` is no method of tensors, though it is told a type of theirs."""
    assert placed(OBJECTS.format(asked="create")).births == []


def test_a_method_of_tensors_that_gets_a_dtype_makes_one(placed):
    assert placed(OBJECTS.format(asked="sum")).births == ["store"]
