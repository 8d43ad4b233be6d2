"""Other libraries: who makes modules, loaders and tensors, and who wants arrays of the host."""

from devfix_codemods.catalogue.effects import Effect, Kind

_BARE_OPS = "RoIAlign RoIPool PSRoIAlign PSRoIPool MultiScaleRoIAlign StochasticDepth DropBlock Permute"
"""Modules among the operators of torchvision that have no parameters: https://docs.pytorch.org/vision/stable/ops.html."""
_WITH_BUFFERS = (
    "GriffinLim InverseMelScale InverseSpectrogram LFCC MelScale MelSpectrogram MFCC PitchShift Resample Speed "
    "SpectralCentroid Spectrogram TimeStretch"
)
"""Transforms of torchaudio that hold buffers."""
_KEEPING_LISTS = (
    "AUROC AveragePrecision PrecisionRecallCurve ROC CatMetric CosineSimilarity SpearmanCorrCoef "
    "KendallRankCorrCoef CalibrationError"
)
"""Metrics that keep what they are given in lists, wherever it is: they need no move."""

_TOGETHER = {
    "einops.": "einsum",
    "opt_einsum.": "contract",
    "torch_scatter.": (
        "scatter scatter_add scatter_sum scatter_mean scatter_mul scatter_max scatter_min scatter_std scatter_softmax "
        "scatter_log_softmax scatter_logsumexp segment_coo segment_csr gather_coo gather_csr"
    ),
    "torch_sparse.": "spmm spspmm coalesce transpose",
    "torch_cluster.": "fps grid_cluster knn knn_graph nearest radius radius_graph",
    "torch_geometric.utils.": (
        "add_self_loops coalesce degree remove_self_loops scatter softmax to_dense_adj to_dense_batch to_undirected"
    ),
    "xformers.ops.": "memory_efficient_attention",
    "flash_attn.": "flash_attn_func flash_attn_kvpacked_func flash_attn_qkvpacked_func flash_attn_varlen_func",
}
"""Functions of all of whose tensors one kernel computes, by their packages: https://einops.rocks/api/einsum,
https://pytorch-scatter.readthedocs.io, https://pytorch-geometric.readthedocs.io/en/latest/modules/utils.html,
https://facebookresearch.github.io/xformers/components/ops.html, https://github.com/Dao-AILab/flash-attention."""

FUNCTIONS: dict[str, Effect] = {
    **{home + one: Effect.MEET for home, named in _TOGETHER.items() for one in named.split()},
    **{f"einops.{one}": Effect.PASS for one in ("rearrange", "reduce", "repeat")},  # of arrays as well
    "einops.parse_shape": Effect.READ,
    "tqdm.tqdm": Effect.PASS,
    "tqdm.auto.tqdm": Effect.PASS,
    "tqdm.notebook.tqdm": Effect.PASS,
    "rich.progress.track": Effect.PASS,
    "copy.deepcopy": Effect.PASS,
    "copy.copy": Effect.PASS,
    **{f"torchmetrics.{one}": Effect.BARE for one in _KEEPING_LISTS.split()},
    "torchaudio.load": Effect.READ,
    **{f"torchvision.io.{one}": Effect.HOST for one in ("read_image", "decode_image", "decode_png", "read_file")},
    "torchvision.transforms.functional.to_tensor": Effect.HOST,
    "torchvision.transforms.functional.pil_to_tensor": Effect.HOST,
    "ignite.engine.create_supervised_trainer": Effect.ENGINE,
    "ignite.engine.create_supervised_evaluator": Effect.ENGINE,
}

COLLATING_ON_HOST = ("builtins.", "numpy.", "torch.", "torch_geometric.", "torchvision.", "transformers.")
"""Packages whose collate functions leave batches on the host."""

MODULE_CLASSES = ("PreTrainedModel", "LightningModule", "ModelMixin", "MessagePassing")
"""Names of classes of modules, wherever they are imported from."""

PREFIXES: tuple[tuple[str, Effect], ...] = (
    ("numpy.iterable", Effect.READ),
    ("numpy.", Effect.ARRAY),
    ("scipy.sparse.is", Effect.READ),  # `issparse`, which asks for a type
    ("scipy.", Effect.ARRAY),
    ("sklearn.", Effect.ARRAY),
    ("matplotlib.", Effect.ARRAY),
    ("seaborn.", Effect.ARRAY),
    ("skimage.", Effect.ARRAY),
    ("cv2.", Effect.ARRAY),
    ("PIL.", Effect.ARRAY),
    ("imageio.", Effect.ARRAY),
    ("librosa.", Effect.ARRAY),
    ("soundfile.", Effect.ARRAY),
    ("pandas.api.types.", Effect.READ),
    ("pandas.", Effect.ARRAY),
    ("h5py.File", Effect.ARRAY),  # what is stored in it, and parts of that, are arrays
    ("xarray.", Effect.ARRAY),
    ("zarr.", Effect.ARRAY),
    ("wandb.Histogram", Effect.ARRAY),
    ("wandb.plot.", Effect.ARRAY),
    ("math.", Effect.READ),
    ("random.", Effect.READ),
    ("os.", Effect.READ),
    ("json.", Effect.READ),
    ("time.", Effect.READ),
    ("builtins.", Effect.READ),
    ("torch.distributions.", Effect.DRAW),
    ("torch.optim.", Effect.READ),
    ("torch.cuda.", Effect.READ),
    ("torch.backends.", Effect.READ),
    ("torchvision.models.feature_extraction.create_feature_extractor", Effect.WRAP),
    ("torchvision.models.feature_extraction.", Effect.READ),
    ("torchvision.models.", Effect.MODULE),
    *((f"torchvision.ops.{one}", Effect.BARE) for one in _BARE_OPS.split()),
    ("torchvision.ops.", Effect.MEET),
    ("torchvision.transforms.", Effect.OTHER),
    ("torchvision.utils.draw_", Effect.MEET),
    ("torchvision.utils.make_grid", Effect.SAME),
    ("torchvision.utils.", Effect.OTHER),
    ("torchvision.datasets.", Effect.OTHER),
    ("timm.create_model", Effect.MODULE),
    *((f"torchaudio.transforms.{one}", Effect.MODULE) for one in _WITH_BUFFERS.split()),
    ("torchaudio.transforms.", Effect.BARE),
    ("torchmetrics.functional.", Effect.MEET),
    ("torchmetrics.retrieval.", Effect.BARE),
    ("torchmetrics.Retrieval", Effect.BARE),
    ("torchmetrics.", Effect.MODULE),
    ("torch_geometric.nn.", Effect.MODULE),
    ("einops.layers.torch.", Effect.BARE),
    ("segmentation_models_pytorch.create_model", Effect.MODULE),
    ("segmentation_models_pytorch.losses.", Effect.BARE),
    ("segmentation_models_pytorch.", Effect.MODULE),
    ("torchsummary.", Effect.OTHER),
    ("logging.", Effect.READ),
    ("wandb.", Effect.OTHER),
)
"""Whole packages, the first that fits; what is not listed is unknown."""

FUNCTIONS_BESIDE_CLASSES: dict[str, Effect | None] = {
    "torchmetrics.": None,
    "torch_geometric.nn.": Effect.MEET,
    "segmentation_models_pytorch.": None,
}
"""Packages of modules, and what their functions do: names in lower case, as `torch_geometric.nn.global_mean_pool`."""

GRAPH_LOADERS = frozenset(
    f"torch_geometric.{home}.{one}"
    for home in ("loader", "data")
    for one in (
        "DataLoader DenseDataLoader NeighborLoader LinkNeighborLoader HGTLoader ClusterLoader RandomNodeLoader "
        "GraphSAINTNodeSampler GraphSAINTEdgeSampler GraphSAINTRandomWalkSampler ShaDowKHopSampler TemporalDataLoader"
    ).split()
)
"""Loaders that give graphs, which have `.to`. (`NeighborSampler` gives rows, `DataListLoader` lists.)
https://pytorch-geometric.readthedocs.io/en/latest/modules/loader.html"""

_CONSTANTS = {
    "math": "e inf nan pi tau",
    "numpy": "e euler_gamma inf nan pi Inf NaN NAN NINF PINF",
    "torch": "e inf nan pi",
}
CONSTANTS = frozenset(f"{home}.{one}" for home, words in _CONSTANTS.items() for one in words.split())
"""Numbers by their names."""

KINDS: dict[str, Kind] = {
    **{f"builtins.{one}": Kind.SEQUENCE for one in ("list", "sorted", "tuple", "range")},
    **dict.fromkeys(CONSTANTS, Kind.NUMBER),
    **dict.fromkeys(GRAPH_LOADERS, Kind.LOADER),
    "dgl.dataloading.GraphDataLoader": Kind.LOADER,
}

MAPPINGS = frozenset({"builtins.dict"}) | frozenset(
    f"collections.{one}" for one in ("OrderedDict", "defaultdict", "Counter")
)
"""What makes dictionaries."""

PARTIAL = frozenset({"functools.partial", "functools.partialmethod"})
"""What gives a function, whatever it gets."""

_ASKED_OF_CARDS = ("is_available", "device_count")
_OF_MATH = (
    "acos acosh asin asinh atan atan2 atanh cbrt ceil comb copysign cos cosh degrees dist erf erfc exp exp2 expm1 "
    "fabs factorial floor fmod fsum gamma gcd hypot isclose isfinite isinf isnan isqrt lcm ldexp lgamma log log10 "
    "log1p log2 perm pow prod radians remainder sin sinh sqrt tan tanh trunc ulp"
)
NUMBERS = (
    frozenset(f"builtins.{one}" for one in "float int len ord".split())
    | frozenset(f"random.{one}" for one in "random randint randrange uniform gauss normalvariate getrandbits".split())
    | frozenset(f"math.{one}" for one in _OF_MATH.split())
    | frozenset({"time.time", "time.perf_counter"})
    | frozenset(f"torch.{one}.{each}" for one in ("cuda", "xpu", "accelerator") for each in _ASKED_OF_CARDS)
)
"""Functions that give numbers of Python, whatever they get."""

MANAGING = frozenset(
    {
        "accelerate",
        "deepspeed",
        "lightning",
        "pytorch_lightning",
        "lightning_fabric",
        "fairscale",
        "colossalai",
        "fastai",
    }
)
"""Packages whose import says that they may place what the file builds."""

MANAGING_METHODS = frozenset({"pytorch_lightning"})
"""Those that place only what they give to methods of classes that derive from theirs."""

LIGHTNING = frozenset({"lightning", "pytorch_lightning", "lightning_fabric"})
"""Lightning by all of its names, Fabric included."""

MANAGED_BASES = (
    "lightning.",
    "pytorch_lightning.",
    "lightning_fabric.",
    "fastai.",
    "composer.",
    "catalyst.",
    "ignite.",
    "transformers.Trainer",
    "transformers.Seq2SeqTrainer",
    "trl.",
    "sentence_transformers.SentenceTransformerTrainer",
)
"""Classes that place values themselves: devfix inserts no move inside those derived from them."""

LIGHTNING_HOOKS = frozenset({"training_step", "validation_step", "test_step", "predict_step", "configure_optimizers"})
"""Methods by which a class derived from one that is not read shows that Lightning runs it."""

LAZY = frozenset({"gguf"})
"""Packages for converters, whose tensors are on the host, or stand for those of files and have no place yet."""

MODULE_MAKERS = frozenset({"from_pretrained", "load_from_checkpoint"})
"""Class methods, of whatever class, that make a module."""

STAND_INS = ("unittest.mock.", "mock.")
"""Packages whose objects stand for any other, and are moved by nothing: https://docs.python.org/3/library/unittest.mock.html"""

_NO_MODULES = ("Config", "Retriever", "FeatureExtractor", "Scheduler", "Index", "Compose")
"""How the names of classes end of which `from_pretrained` makes no module."""


def kind_of_loaded(made: str) -> Kind:
    """What `from_pretrained` of a class makes: `AutoTokenizer`, `AutoConfig`, `AutoModel`."""
    if "okenizer" in made or "Processor" in made:
        return Kind.TOKENIZER
    return Kind.OTHER if made.endswith(_NO_MODULES) else Kind.MODULE


LOADING = {"load_from_checkpoint": 1}
"""Those that take `map_location`, and its position: without it the module is where it was saved, if it can."""

COMPUTING = frozenset("forward generate get_image_features get_text_features encode_image encode_text".split())
"""Methods of modules of many libraries that compute with their parameters, and move nothing that they get."""

OPENMMLAB = frozenset({"mmcv", "mmengine"})
PLACING_STEPS = frozenset({"train_step", "val_step", "test_step", "data_preprocessor"})
"""What OpenMMLab's models place the batch by that they get (mmengine.model.BaseModel)."""

ENCODERS = frozenset({"clip.tokenize", "clip.clip.tokenize", "open_clip.tokenize"})
"""Functions that make tensors of texts, on the host. (Tokenizers are told so, by `return_tensors="pt"`.)"""

LISTS_IN_ROWS = {"dgl": 2}
"""Packages whose loaders give rows with a list: (input nodes, output nodes, blocks)."""

METHODS_OF_TENSORS = frozenset(
    f"numpy.{one}"
    for one in (
        "mean sum std var max min amax amin prod any all ndim shape size ptp copy round nonzero squeeze isscalar "
        "take_along_axis"
    ).split()
)
"""Functions of numpy that ask a tensor for its method, its attribute of the same name, or its type, or pick from it: a
copy changes nothing. Of a list they make an array."""

VIEWS_OF_ARRAYS = frozenset(
    "flatten ravel reshape squeeze transpose swapaxes astype copy repeat clip round cumsum cumprod take view".split()
)
"""Methods of arrays that give arrays, whatever they are given."""

REDUCTIONS = frozenset(
    f"numpy.{one}"
    for one in (
        "mean sum std var max min amax amin prod any all median average ptp argmax argmin count_nonzero trace "
        "nanmean nansum nanstd nanvar nanmax nanmin nanmedian linalg.norm linalg.det random.choice"
    ).split()
)
"""Functions of numpy that give a number where they are told no axis."""
ELEMENTWISE = frozenset(
    f"numpy.{one}"
    for one in (
        "sqrt exp log log2 log10 log1p sin cos tan abs floor ceil round sign square power float16 float32 float64 "
        "int8 int16 int32 int64 float_ int_ bool_"
    ).split()
)
"""Functions of numpy that give a number for numbers."""
QUANTILES = frozenset(f"numpy.{one}" for one in "quantile percentile nanquantile nanpercentile".split())
"""Functions of numpy that give as many numbers as they are asked for."""

IN_PLACE = frozenset({"numpy.random.shuffle", "numpy.fill_diagonal", "numpy.put", "numpy.copyto"})
"""Functions of numpy that change the array, or the list, that they get: a copy would be changed instead."""

SIZED = frozenset(f"numpy.{one}" for one in "zeros ones empty full eye arange linspace".split()) | frozenset(
    f"numpy.{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)
)
"""Functions of numpy that take numbers, and tensors that can tell theirs."""

PLOTS = frozenset(
    "imshow matshow plot scatter hist hist2d bar barh boxplot violinplot stackplot errorbar semilogx semilogy loglog "
    "quiver contour contourf pcolormesh fill_between".split()
)
"""Methods of the axes of matplotlib, which read what they are given as arrays."""

OTHER_FRAMEWORKS = frozenset(
    {"tensorflow", "paddle", "jax", "mindspore", "mxnet", "oneflow", "flax", "tinygrad", "keras"}
)
"""Packages whose tensors have `.numpy()` as well."""

AROUND_TORCH = frozenset(
    "torch torchvision torchaudio torch_geometric pytorch_lightning lightning ignite accelerate transformers diffusers "
    "sentence_transformers timm monai kornia fastai dgl pyro gpytorch botorch".split()
)
"""Packages whose import says that the tensors of a file are those of torch."""

PICTURES = frozenset({"PIL.Image.open", "PIL.Image.fromarray", "cv2.imread", "imageio.imread", "skimage.io.imread"})
"""What gives pictures, of which tensors are made on the host."""

PLACING_LABELS = ("pytorch_metric_learning.losses.", "pytorch_metric_learning.miners.")
"""Packages whose modules bring labels, what they get behind embeddings, to where the embeddings are."""

DETECTION = "torchvision.models.detection."
"""How the names of the models begin that get a list of pictures, and a list of mappings."""

OF_GRAPHS = ("torch_geometric.", "dgl.", "ogb.")
PARTS_OF_GRAPHS = frozenset(
    "edge_index edge_attr edge_weight train_mask val_mask test_mask edge_label edge_label_index".split()
)
"""Attributes of the graphs of PyTorch Geometric, which are tensors."""

FIELDS_OF_GRAPHS = frozenset({"ndata", "edata", "srcdata", "dstdata"})
"""Attributes of the graphs of DGL, which hold tensors. Source: dgl.DGLGraph, since 0.4; `.to` gives a moved copy."""

COUNTS_OF_GRAPHS = "num_"
"""How the names of the attributes of graphs begin, and of sets of them, that are numbers."""
DATASETS_OF_GRAPHS = (
    "torch_geometric.datasets.",
    "dgl.data.",
    "ogb.nodeproppred.Pyg",
    "ogb.linkproppred.Pyg",
    "ogb.graphproppred.Pyg",
)
"""How the names of data sets begin whose items are graphs."""
MOVES_GRAPHS = "transforms.ToDevice"
"""How the name ends of the transform that moves each graph that a data set gives."""

OF_PATHS = frozenset(
    f"os.path.{one}" for one in ("join", "basename", "dirname", "exists", "isfile", "isdir", "splitext")
)
"""Functions that take paths, which are texts."""
READ_FROM_FILES = {"torchaudio.load": 0}
"""Which element of what a function gives is a tensor that it reads from a file, on the host; others are numbers."""

TO_TENSORS = frozenset(f"torchvision.transforms.{one}" for one in ("ToTensor", "PILToTensor"))
"""What makes tensors of pictures, on the host, also as a step of several."""

ON_DEVICE = ("sentence_transformers.util.",)
"""Functions that work where their models are, which choose CUDA by themselves."""

ON_HOST = ("torchio.",)
"""Packages whose objects keep, and change, their tensors on the host."""
