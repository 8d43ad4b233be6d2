"""What names say of what checkpoints hold, and of what takes it: conventions, and weak evidence."""

import re

RANDOM = re.compile(r"(?i)rng|random_state|cuda_state|torch_state")
"""States of random generators."""
PLAIN = re.compile(
    r"(?i)(?:.*_)?(?:epochs?|steps?|iters?|iterations?|args?|config|cfg|configs|hparams|hyper_?(?:parameters|params)"
    r"|model_args|model_config|model_kwargs|kwargs|options|version|names?|classes|labels?|class_names|vocab(?:ulary)?"
    r"|dictionary|itos|stoi|arch|size|dims?|layers?|seed|metrics?|best\w*|acc\w*|score\w*|time|timestamp|description"
    r"|settings?|meta(?:data)?)$"
)
"""Entries that hold no tensors."""
OPTIONS = re.compile(r"(?i)hyper_?param|hparams|config|cfg|args")
NUMBERS = re.compile(r"(?i)schedul|scaler|sampler|warmup|stopper|callback|timer|meter|loader|dataset")
"""What has a state of numbers."""
KEEPS = re.compile(
    r"(?i)ema|shadow|averag|swa|buffer|memory|queue|bank|replay|index|stats|storage|metric|tracker|normaliz"
)
"""What may keep the tensors of the state that it is given."""
STATE = re.compile(r"state_?dict|weights|checkpoint|ckpt|pretrained|params")
LOGS = re.compile(r"info|debug|warning|warn|error|print|critical|exception|echo|log")
TAKES_DATA = re.compile(r"(?:Dataset|DataLoader|Subset|Sampler|Iterator|random_split)$")
DATA = re.compile(r"(?i)(?:^|_)data_?sets?$")
CHECKPOINT = re.compile(r"(?i)state_?dict|checkpoint|ckpt|weights|pretrained|params$|snapshot")
MODEL = re.compile(
    r"(?i)model|net$|network|encoder|decoder|generator|critic|actor|policy|backbone|classifier|agent|module$"
)
GIVES_MODEL = re.compile(r"(?i)(?:model|net|network|encoder|decoder|backbone|classifier|module)$")
NETWORK = re.compile(
    r"(?i)(?:.*_)?(?:model|net|network|encoder|decoder|generator|discriminator|critic|actor|policy|backbone|classifier)"
)
"""Entries that may hold a whole network."""
MEMORY = re.compile(r"(?i)buf(?:fer|f)?$|bytes")
HARDWARE = re.compile(r"cuda|\.to\(|gpu|mps|xpu|npu|accelerat")
ASKS = re.compile(r"(?i)cuda|gpu|device|is_available|cpu|map_location|rank|distributed")
"""What tests speak of that ask for the machine."""
LOOKS = re.compile(
    r"len|print|isinstance|issubclass|type|str|repr|format|bool|int|float|set|vars|hasattr|any|all|id|dir|shape|size|ndim"
)
PASSES = re.compile(r"dict|OrderedDict|Namespace|deepcopy|copy|iter|next|zip|enumerate|reversed|sorted|list|tuple")
"""Functions that look at what they get, and those that give it back in another form."""
