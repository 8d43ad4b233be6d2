"""What names say of values and classes: weak evidence."""

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from devfix_codemods.ir import Function, Node, Op

_RUNNER = re.compile(r"(Agent|Trainer|Runner|Engine|Manager|Pipeline|Solver|Learner|Estimator|Predictor)$")
_LOSS = re.compile(r"(?i)_?(criterion|crit|loss(_?(fn|func|function))?)|\w+_(criterion|loss_?(fn|func|function))")
_OTHERWISE = re.compile(
    r"(?i)(^|_)(len|lens|length|lengths|size|sizes|num|text|texts|caption|captions|path|paths|name|names|file|files|"
    r"filename|filenames|dict|extra|extras|id|ids|idx|key|keys|meta|info|word|words|sentence|sentences|title|titles|url|urls|label_names|seed|seeds|epoch|epochs|fold|folds|list|text_input|text_prompt"
    r"|\w+2(?:id|ix|idx|index|int))s?$"
)
_CLASS = re.compile(r"^[A-Z]|\w_class$")
_NUMBERS = re.compile(r"(?i)(^|_)(id|idx|key|word)s?$")
_COUNTS = re.compile(r"(?i)^(i|n|nb|num|number_of)_|_(size|count|idx)$")
_FACTORS = re.compile(
    r"(?i)(^|_)(temp|temperature|ratio|scale|factor|bound|lr|rate|alpha|beta|gamma|eps|epsilon|momentum|decay|coef|tau)$"
)
_FUNCTIONS = re.compile(r"(?i)(^|_)(fn|func|function|callback|hook)s?$")
_TEXTS = re.compile(
    r"(?i)(^|_)(text|caption|path|file|filename|sentence|title|url)(?:s|_(?:type|key|name|field|col|column)s?)?$"
)
_CAPITALS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where words begin in `questionId`."""
_LENGTHS = frozenset(
    ["length", "lengths", "len", "lens", "seqlen", "seqlens", "size", "sizes", "count", "counts", "num"]
)

_DATA = re.compile(
    r"(?i)dataset|transform|augment|collat|datamodule|preprocess|sampler|tokeniz|(?:^|_)(?:load|read|save|write)"
)
_FILES = re.compile(
    r"(?i)(?:^|/)(?:tests?|testing|data|datasets|loaders?|transforms)/[^/]*$|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$"
    r"|(?:process(?:ing|or)|transforms?(?!er)|dataset|loader|seriali[sz])[^/]*$"
    r"|(?:image|audio|video)s?(?:_?(?:utils?|io|tools?|helpers?|readers?|writers?))?\.pyi?$"
)
_KEPT_OUT = re.compile(
    r"(?i:teacher|frozen|momentum|shadow|loss|criteri)|(?<![A-Za-z])emas?(?![a-z])|Emas?(?![a-z])|(?<![A-Z])EMA(?![a-z])"
)
"""`ema` is a word of its own in `net_ema`, and none in `semantic_heads`."""
_OF_HOST = re.compile(r"(?i)(^|_)(cpu|host)(_|$)")
_MODEL = re.compile(
    r"(?i)(?:^|_)(?:model|net|network|encoder|decoder|classifier|generator|discriminator|backbone|policy|critic|actor)\d*$"
)
_OPTIMIZER = re.compile(r"(?i)optim|sched|scaler|(?:^|_)opt(?:$|_)")
_NAMED = frozenset({Op.PARAM, Op.ATTR, Op.GLOBAL})
_OPTIONS = re.compile(r"(?i)pars|arg|opt|cfg|conf|param|setting|flag")


def sounds_kept_out(attribute: str) -> bool:
    """Whether modules are kept under a name that says they are no part of the one that has them."""
    return _KEPT_OUT.search(attribute) is not None


def sounds_otherwise(node: Node) -> bool:
    """Whether a value is called what texts, sizes and other things are called that stay on the host."""
    return all(_OTHERWISE.search(one) is not None and not re.search(r"(?i)input_?ids?$", one) for one in _called(node))


def sounds_like_text(node: Node) -> bool:
    """Whether a value is called what texts are called, which have no place, or is read by such: `batch[text_key]`."""
    key = node.args[1] if node.op is Op.ITEM and len(node.args) > 1 else None
    read_by = key.extra if key is not None and key.op in {Op.PARAM, Op.GLOBAL} else None
    if key is not None and key.op is Op.ITER and isinstance(key.syntax, ast.Name):
        read_by = key.syntax.id
    words = (read_by,) if isinstance(read_by, str) else _called(node)
    return all(_TEXTS.search(one) is not None for one in words)


def sounds_like_number(node: Node) -> bool:
    """Whether a value is called what numbers are called that stand for something: as batches they are tensors."""
    return all(_NUMBERS.search(one) is not None for one in _called(node))


def sounds_like_function(node: Node) -> bool:
    """`loss_fn`, `on_end_callback`"""
    return isinstance(node.extra, str) and _FUNCTIONS.search(node.extra) is not None


def sounds_like_count(node: Node) -> bool:
    """`n_samples`, `num_classes`, `i_batch`, `beam_size`"""
    return isinstance(node.extra, str) and _COUNTS.search(node.extra) is not None


def sounds_like_factor(word: str) -> bool:
    """`temperature`, `io_ratio`, `lr`: what scales others, mostly a number."""
    return _FACTORS.search(word) is not None


def _called(node: Node) -> Iterator[str]:
    """The name of a value, or the keys of one of several: `batch["x_path" if swap else "y_path"]`, `batch[keys.x]`."""
    key = node.args[1] if node.op is Op.ITEM and len(node.args) > 1 else None
    keys = key.args if key is not None and key.op is Op.PHI else (key,) if key is not None and key.op is Op.ATTR else ()
    words = [one.extra for one in keys] or [node.syntax.id if isinstance(node.syntax, ast.Name) else node.extra]
    return (_CAPITALS.sub("_", one) if isinstance(one, str) else "" for one in words)


def says_host(node: Node) -> bool:
    """`counts_cpu`, `sizes.host`: a value that is called after its place."""
    named = node.op in _NAMED or (node.op is Op.ITEM and isinstance(node.extra, str))
    return named and _has_word_of_host(str(node.extra))


@lru_cache(maxsize=1 << 12)
def _has_word_of_host(word: str) -> bool:
    words = word.lower().split("_")
    return len(words) > 1 and not {"cpu", "host"}.isdisjoint(words)


def is_bound_to_host(node: Node) -> bool:
    """Whether a value gets a name that speaks of its place: `part_cpu = torch.zeros(3)`."""
    match node.statement:
        case ast.Assign(targets=[ast.Name(id=word)], value=value) if value is node.syntax:
            return _has_word_of_host(word)
    return False


def sounds_like_length(node: Node) -> bool:
    """Whether a value is called what lengths are called, which packing needs on the host."""
    match node.statement:
        case ast.Assign(targets=[ast.Name(id=word)]):
            return speaks_of_lengths(word)
    return False


def bound_name(node: Node) -> str:
    """The name that a statement gives a value: `x` of `x = f()`, and of `x, y = f()`; empty where it gives none."""
    if isinstance(node.syntax, ast.Name):
        return node.syntax.id if isinstance(node.syntax.ctx, ast.Store) else ""
    match node.statement:
        case ast.Assign(targets=[ast.Name(id=word)], value=value) if value is node.syntax:
            return word
    return ""


def is_called_length(node: Node) -> bool:
    """`input_sizes = shares.mul(n).int()`: whether the very value of a statement gets such a name, or a tensor is made
    of what has one: `torch.tensor(lengths[0])`."""
    value = node.statement.value if isinstance(node.statement, ast.Assign) else None
    if value is not None and value is node.syntax and sounds_like_length(node):
        return True
    return node.op is Op.CALL and len(node.args) == 2 and speaks_of_lengths(_word(node.args[1]))


def _word(node: Node) -> str:
    """What a value, or the whole that it is taken out of, is called."""
    while node.op is Op.ITEM and not bound_name(node):
        node = node.args[0]
    return bound_name(node) or (str(node.extra) if node.op in {Op.PARAM, Op.GLOBAL, Op.ATTR} else "")


def speaks_of_lengths(word: str) -> bool:
    """`feats_lengths`"""
    return any(one in _LENGTHS or one.endswith("lens") for one in word.lower().strip("_").split("_"))


def sounds_like_pipeline(node: Node) -> bool:
    """Whether what is called has the name of what places its inputs itself."""
    return isinstance(node.extra, str) and re.search(r"(?i)(^|_)pipe(line)?$", node.extra) is not None


def sounds_like_loss(attribute: str) -> bool:
    """Whether an attribute is called as a loss that an object holds, rather than as a method that computes one."""
    return _LOSS.fullmatch(attribute) is not None


def sounds_like_runner(qualified: str) -> bool:
    """Whether a class is called as those whose objects have modules, and often place them, rather than are modules."""
    return _RUNNER.search(qualified.rpartition(".")[2]) is not None


def _last(node: Node) -> str:
    return node.extra.rpartition(".")[2] if isinstance(node.extra, str) else ""


def sounds_like_data(function: Function) -> bool:
    """Whether a function, or its class, is called as what makes and reads data, which is on the host."""
    called = [function.name]
    for one in function.owner.lineage() if function.owner is not None else ():
        called += [one.name, *(_last(base) for base in one.bases)]
    return function.name == "__getitem__" or any(map(_DATA.search, called))


def sounds_like_host(node: Node) -> bool:
    """Whether a value is called as what is on the host: `groups_cpu`."""
    word = node.syntax.id if isinstance(node.syntax, ast.Name) else node.extra
    return isinstance(word, str) and speaks_of_host(word)


def speaks_of_host(word: str) -> bool:
    """`sample_cpu`"""
    return _OF_HOST.search(word) is not None


def is_for_tests_or_data(path: str) -> bool:
    """Whether a file is one of tests, whose machine is known, or one that makes and reads data on the host."""
    return _FILES.search(path.replace("\\", "/")) is not None


def sounds_like_options(node: Node) -> bool:
    """Whether what makes a value speaks of options: `parser.parse_args()`, `load_config(path)`."""
    callee = node.args[0].syntax if node.op is Op.CALL else None
    return isinstance(callee, ast.expr) and _OPTIONS.search(ast.unparse(callee)) is not None


def sounds_like_class(callee: Node) -> bool:
    """Whether what is called is named as classes are: `Net`, `self.net_class`, or each of several, as in `a.Big if big
    else a.Small`."""
    return all(
        isinstance(one.extra, str) and _CLASS.search(one.extra.rpartition(".")[2]) is not None
        for one in (callee.args if callee.op is Op.PHI else (callee,))
    )


def sounds_like_optimizer(node: Node) -> bool:
    """Whether a value is called what steps a model: that has a state as well, and none of a module."""
    syntax = node.syntax
    words = (bound_name(node), syntax.id if isinstance(syntax, ast.Name) else node.extra)
    return any(isinstance(one, str) and _OPTIMIZER.search(one) is not None for one in words)


def sounds_like_model(word: str) -> bool:
    """Whether a value has a name that models have."""
    return _MODEL.search(word) is not None


def is_device_text(value: object) -> bool:
    """`cuda:0`, `cpu`, `mps`."""
    return isinstance(value, str) and value.partition(":")[0] in {"cuda", "cpu", "mps", "xpu", "npu", "hpu", "gpu"}
