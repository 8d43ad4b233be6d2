"""What is known of other libraries."""

import pytest
from devfix_codemods.catalogue import Kind
from devfix_codemods.catalogue.libraries import kind_of_loaded


@pytest.mark.parametrize(
    ("made", "kind"),
    [
        ("transformers.AutoTokenizer", Kind.TOKENIZER),
        ("transformers.CLIPProcessor", Kind.TOKENIZER),
        ("transformers.AutoModelForTokenClassification", Kind.MODULE),
        ("transformers.AutoConfig", Kind.OTHER),
    ],
)
def test_what_from_pretrained_makes(made: str, kind: Kind) -> None:
    assert kind_of_loaded(made) is kind
