"""What the interpreter knows of the torch API: who makes tensors, who moves them, who needs one place.

Names are the public qualified ones; `canonical` folds re-exports onto them. Source: the reference of torch 2.13.
"""

import ast
import re

FACTORIES = frozenset(
    f"torch.{name}"
    for name in (
        "arange bartlett_window blackman_window empty empty_strided eye full hamming_window hann_window kaiser_window "
        "linspace logspace ones rand randint randn randperm range scalar_tensor tensor tril_indices triu_indices zeros "
        "normal fft.fftfreq fft.rfftfreq as_tensor asarray"
    ).split()
)
"""Functions that make a tensor on the host unless `device=` says otherwise."""


def takes_size(normal: ast.Call) -> bool:
    """Whether a call of `torch.normal` makes a tensor: only the form with a size takes `device=`, the others follow."""
    return len(normal.args) > 2 or any(one.arg in {"size", None} for one in normal.keywords)


KEEPING = frozenset({"torch.as_tensor", "torch.asarray"})
"""Functions that hand a tensor back as it is, where that is."""

CONVERSIONS = frozenset({"torch.tensor", "torch.as_tensor", "torch.asarray", "torch.scalar_tensor"})
"""Factories that give a 0-dim tensor for a number, and leave a tensor where it is."""

PAD_SEQUENCE = "torch.nn.utils.rnn.pad_sequence"
HOST_FACTORIES = frozenset({"torch.from_numpy", "torch.frombuffer", "torch.Tensor", PAD_SEQUENCE})
"""Those that always make it on the host from host data."""

TENSOR_TYPES = ("Float", "Double", "Half", "Long", "Int", "Short", "Byte", "Bool", "BFloat16")
LEGACY_CONSTRUCTORS = frozenset(f"torch.{name}Tensor" for name in ("", *TENSOR_TYPES))

MAKERS = frozenset(name.rpartition(".")[2] for name in FACTORIES | HOST_FACTORIES | LEGACY_CONSTRUCTORS)
"""The last parts of their names."""

DISTRIBUTIONS = frozenset(
    "Bernoulli Beta Binomial Categorical Cauchy Chi2 Dirichlet Exponential FisherSnedecor Gamma Geometric Gumbel "
    "HalfCauchy HalfNormal Independent Kumaraswamy Laplace LogNormal MixtureSameFamily Multinomial MultivariateNormal "
    "Normal OneHotCategorical Pareto Poisson StudentT Uniform VonMises Weibull".split()
)
"""Classes of `torch.distributions`: they sample where their parameters are, and numbers become tensors of the host."""

SAMPLING = frozenset({"sample", "rsample", "sample_n"})
"""Their methods that make tensors."""


DENSITIES = frozenset({"log_prob", "cdf", "icdf"})
"""Those that compute with tensors and their parameters."""


def is_distribution(qualified: str) -> bool:
    """`torch.distributions.Normal`, `torch.distributions.normal.Normal`."""
    head, _, last = qualified.rpartition(".")
    return head.startswith("torch.distributions") and last in DISTRIBUTIONS


LIKE_FACTORIES = frozenset(
    f"torch.{name}_like" for name in ("zeros", "ones", "empty", "full", "rand", "randn", "randint")
)

NEW_METHODS = frozenset({"new_zeros", "new_ones", "new_empty", "new_full", "new_tensor", "new"})

ACCELERATOR_MOVES = frozenset({"hpu", "ipu", "mlu", "mps", "musa", "npu", "xpu"})
"""Methods of tensors that move like `.cuda()`, those of extensions among them."""

ONE_PLACE = frozenset(
    f"torch.{name}"
    for name in (
        "add sub subtract mul multiply div divide true_divide pow maximum minimum fmax fmin atan2 remainder fmod "
        "matmul mm bmm mv dot inner outer addmm addbmm baddbmm einsum tensordot kron cross cdist dist lerp "
        "where masked_select gather scatter scatter_add scatter_reduce index_select index_add index_copy index_reduce "
        "take take_along_dim bucketize searchsorted isin "
        "eq ne lt le gt ge equal allclose isclose logical_and logical_or logical_xor bitwise_and bitwise_or "
        "cosine_similarity pairwise_distance addcmul addcdiv logaddexp logaddexp2 hypot copysign xlogy floor_divide "
        "complex polar vdot triangular_solve cholesky_solve linalg.solve linalg.solve_triangular linalg.lstsq "
        "linalg.lu_solve linalg.ldl_solve linalg.cross linalg.vecdot special.xlogy "
        "concat concatenate cat stack hstack vstack dstack column_stack row_stack block_diag cartesian_prod meshgrid"
    ).split()
)
"""Functions whose tensor arguments must be on one device."""

TENSOR_KEYWORDS = tuple(
    "input condition other index indices mask src source mat1 mat2 batch1 batch2 tensor1 tensor2 vec".split()
)
"""The names by which those take tensors, in the order of the parameters."""

SEQUENCE_FUNCTIONS = frozenset(
    f"torch.{name}"
    for name in "cat concat concatenate stack hstack vstack dstack column_stack row_stack block_diag meshgrid".split()
) | {PAD_SEQUENCE}
"""Those that take the tensors as one sequence, and where not even a 0-dim tensor may be elsewhere."""

NO_SCALARS = SEQUENCE_FUNCTIONS | {"torch.complex", "torch.polar"}
"""All where not even a 0-dim tensor may be elsewhere."""

SIZED = frozenset({"zeros", "ones", "empty", "rand", "randn"})
"""Factories of torch that take nothing but sizes, in one argument or in several."""

MATRIX_PRODUCTS = frozenset("matmul mm bmm mv dot outer addmm addmv baddbmm".split())
"""Functions and methods that take no 0-dim tensors."""

SAME_PLACE = frozenset(
    f"torch.{name}"
    for name in (
        "abs exp log log2 log10 log1p sqrt rsqrt square sign neg sin cos tan tanh sinh cosh erf floor ceil round trunc "
        "clamp clip sigmoid relu softmax log_softmax logsumexp tril triu flip roll unsqueeze squeeze reshape transpose "
        "permute movedim swapaxes flatten ravel cumsum cumprod repeat_interleave tile diag diagonal diag_embed sum "
        "mean std var prod norm max min amax amin argmax argmin argsort nonzero unique logical_not bitwise_not isnan "
        "isinf isfinite nan_to_num t rot90 atleast_1d atleast_2d broadcast_to expand_copy view_as_real "
        "view_as_complex any all conj real imag angle topk sort median quantile bincount "
        "bernoulli poisson multinomial unbind chunk split reciprocal erfinv expm1 special.logit logit "
        "digamma lgamma aminmax kthvalue mode cummax cummin std_mean var_mean histc diff trace "
        "count_nonzero cov corrcoef nansum nanmean nanmedian nanquantile sinc masked_fill "
        "linalg.norm linalg.inv linalg.pinv linalg.svd linalg.cholesky linalg.det fft.fft fft.ifft "
        "linalg.qr linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svdvals linalg.lu linalg.slogdet "
        "linalg.matrix_exp linalg.matrix_norm linalg.vector_norm linalg.matrix_power logdet inverse "
        "special.erfinv special.erf special.erfc special.expit special.digamma special.gammaln special.entr "
        "fft.rfft fft.irfft fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.fftshift fft.ifftshift"
    ).split()
)
"""Functions whose result lives where their tensors do."""

COLLECTIVES = frozenset(
    f"torch.distributed.{name}"
    for name in "all_reduce broadcast reduce all_gather_into_tensor reduce_scatter_tensor all_to_all_single".split()
)
"""Operations between processes on the tensor that comes first; the backend of NVIDIA refuses one on the host."""

BACKWARD = {"torch.autograd.grad": (2, "grad_outputs"), "torch.autograd.backward": (1, "grad_tensors")}
"""Functions that take tensors, and at a position or by keyword their gradients."""

REDUCTIONS = frozenset("sum mean std var prod norm max min amax amin any all median numel argmax argmin".split())
"""Functions and methods that give a 0-dim tensor where they are told no dimension."""

FUNCTIONAL = "torch.nn.functional."

LOSS_FUNCTIONS = frozenset(
    f"torch.nn.functional.{name}"
    for name in (
        "binary_cross_entropy binary_cross_entropy_with_logits cosine_embedding_loss cross_entropy ctc_loss "
        "gaussian_nll_loss hinge_embedding_loss huber_loss kl_div l1_loss margin_ranking_loss mse_loss "
        "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss poisson_nll_loss smooth_l1_loss "
        "soft_margin_loss triplet_margin_loss triplet_margin_with_distance_loss"
    ).split()
)

_FUNCTIONAL_ON_TENSORS = frozenset(
    f"torch.nn.functional.{name}"
    for name in (
        "relu gelu silu elu leaky_relu softplus softmax log_softmax sigmoid tanh dropout layer_norm group_norm "
        "batch_norm normalize pad interpolate unfold fold grid_sample conv1d conv2d conv3d linear embedding one_hot "
        "max_pool2d avg_pool2d adaptive_avg_pool2d cosine_similarity scaled_dot_product_attention"
    ).split()
)
_ALSO_NUMBERS = frozenset(
    f"torch.{name}"
    for name in "pow einsum add sub subtract mul multiply div divide true_divide floor_divide remainder eq ne lt le gt "
    "ge lerp max min any all bucketize cartesian_prod broadcast_to tensordot isin".split()
)

TENSOR_METHODS_ONE_PLACE = frozenset(
    (
        "add sub mul div true_divide pow maximum minimum fmax fmin matmul mm bmm mv dot inner outer addmm baddbmm "
        "lerp where masked_select masked_fill gather scatter scatter_add scatter_reduce index_select index_add "
        "index_copy index_reduce index_fill take take_along_dim eq ne lt le gt ge equal allclose isclose logical_and "
        "logical_or logical_xor atan2 addcmul addcdiv cross dist kron"
    ).split()
)
"""Methods of a tensor whose tensor arguments must be where it is; their in-place twins end in an underscore."""

TENSOR_FUNCTIONS = (ONE_PLACE | SAME_PLACE | LOSS_FUNCTIONS | _FUNCTIONAL_ON_TENSORS) - _ALSO_NUMBERS
"""Functions whose first argument, or the elements of it, can be nothing but tensors."""

TENSOR_PAIRS = LOSS_FUNCTIONS | frozenset(
    f"torch.{name}"
    for name in "matmul mm bmm mv dot inner outer cdist cross kron dist allclose complex polar vdot triangular_solve "
    "cholesky_solve linalg.solve linalg.solve_triangular linalg.lstsq linalg.lu_solve linalg.cross".split()
)
"""Those whose second argument is a tensor as well."""

TENSOR_SHAPE_METHODS = frozenset(
    "size dim numel nelement tolist item is_floating_point is_complex element_size stride storage_offset get_device "
    "ndimension data_ptr is_contiguous __len__".split()
)
"""Methods of a tensor whose result is no tensor."""

TENSOR_EVIDENCE_METHODS = frozenset(
    "view reshape permute transpose squeeze unsqueeze float long half int bool double bfloat16 type_as contiguous "
    "flatten expand expand_as repeat_interleave argmax argmin softmax log_softmax sigmoid tanh relu detach clone "
    "requires_grad_ backward numel dim new_zeros new_ones new_tensor scatter_ masked_fill masked_fill_ unbind chunk "
    "narrow index_select gather mean std var norm clamp t".split()
)
"""Methods that, called on a value, say that it is a tensor. `size`, `sum`, `split`, `to` and `copy` say nothing."""

TENSOR_ONLY_METHODS = frozenset(
    "unsqueeze view view_as expand expand_as type_as contiguous detach detach_ softmax log_softmax sigmoid relu "
    "masked_fill masked_fill_ masked_select new_zeros new_ones new_tensor new_full new_empty numel dim permute unbind "
    "index_select index_add index_add_ index_reduce index_reduce_ scatter_ scatter_add scatter_add_ scatter_reduce "
    "scatter_reduce_ repeat_interleave mm bmm matmul logsumexp "
    "triu tril topk clamp clamp_ clamp_min narrow bool long addmm t logical_not logical_and zero_ fill_ add_ mul_ sub_ "
    "div_ size flip".split()
)
"""Methods that torch tensors have, and numbers, numpy arrays and modules have not."""

TENSOR_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "grad", "real", "imag"})
TENSOR_PLAIN_ATTRIBUTES = frozenset(
    {"shape", "ndim", "dtype", "layout", "requires_grad", "is_cuda", "is_leaf", "names"}
)


MODULE_METHODS_RETURNING_SELF = frozenset(
    "train eval requires_grad_ float double half bfloat16 type apply share_memory compile".split()
)
MODULE_EVIDENCE_METHODS = frozenset(
    "parameters named_parameters state_dict load_state_dict zero_grad train eval named_modules modules children "
    "named_children buffers named_buffers register_buffer add_module".split()
)
PLACES_ITS_INPUTS = re.compile(r"(?i)pipe")
"""Names of what is moved like a module, and moves what it is given: the pipelines of diffusers and transformers."""
PARAMETER_ITERATORS = frozenset({"parameters", "buffers"})
NAMED_PARAMETER_ITERATORS = frozenset({"named_parameters", "named_buffers"})

MODULE_BASES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.modules.Module"})
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
"""Libraries that place values themselves: devfix inserts no move inside classes derived from theirs."""

LIGHTNING_HOOKS = frozenset({"training_step", "validation_step", "test_step", "predict_step", "configure_optimizers"})
"""Methods by which a class derived from one in another file shows that Lightning runs it."""

MANAGING_PACKAGES = frozenset(
    {"accelerate", "deepspeed", "lightning", "pytorch_lightning", "lightning_fabric", "fairscale", "colossalai"}
)
"""Packages whose import says that they may place what the file builds."""

PREPARES_DATA = re.compile(
    r"(?i:collat)|(?:FeatureExtractor|ImageProcessor|VideoProcessor|Tokenizer)(?:Fast)?$"
    r"|^(?:FeatureExtractionMixin|ImageProcessingMixin|ProcessorMixin|BaseImageProcessor\w*|PreTrainedTokenizer\w*)$"
)
"""Names of classes, theirs or their bases', that make inputs of models on the host."""

DATASET_BASES = ("torch.utils.data.Dataset", "torch.utils.data.IterableDataset", "torch.utils.data.dataset.")
LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
TENSOR_DATASETS = frozenset({"torch.utils.data.TensorDataset"})
OPTIMIZER_PREFIX = "torch.optim."
SCALERS = frozenset({"torch.amp.GradScaler", "torch.GradScaler", "torch.cuda.amp.GradScaler"})

AVAILABILITY = frozenset(
    {
        "torch.cuda.is_available",
        "torch.accelerator.is_available",
        "torch.backends.mps.is_available",
        "torch.mps.is_available",
        "torch.xpu.is_available",
    }
)

NOT_MODULES = frozenset({"torch.nn.Parameter", "torch.nn.ParameterList", "torch.nn.ParameterDict", "torch.nn.Buffer"})
PARAMETER_CLASSES = frozenset({"torch.nn.Parameter", "torch.nn.parameter.Parameter", "torch.nn.Buffer"})
PASSED_ON = frozenset(
    {
        "torch.autograd.Variable",
        "torch.compile",
        "torch.jit.script",
        "torchvision.models.feature_extraction.create_feature_extractor",
        "torch.utils.data.Subset",
        "torch.utils.data.ConcatDataset",
        "tqdm.tqdm",
        "tqdm.auto.tqdm",
        "tqdm.notebook.tqdm",
        "rich.progress.track",
    }
)
"""Calls that give back their first argument in a new guise: wrapped, but where and what it was."""

TOKENIZER_CLASSES = ("Tokenizer", "TokenizerFast", "Processor", "FeatureExtractor", "ImageProcessor")
TENSOR_TOKENIZER_METHODS = frozenset({"encode"})
"""Those that return a bare tensor, with `return_tensors="pt"`, and not a mapping."""

_REEXPORTS = {
    "torch.nn.modules.module.Module": "torch.nn.Module",
    "torch.nn.modules.Module": "torch.nn.Module",
    "torch.amp.autocast_mode.autocast": "torch.amp.autocast",
    "torch.autocast": "torch.amp.autocast",
    "torch.amp.grad_scaler.GradScaler": "torch.amp.GradScaler",
    "torch.GradScaler": "torch.amp.GradScaler",
    "torch.cuda.amp.autocast_mode.autocast": "torch.cuda.amp.autocast",
    "torch.cuda.amp.grad_scaler.GradScaler": "torch.cuda.amp.GradScaler",
    "torch.utils.data.dataloader.DataLoader": "torch.utils.data.DataLoader",
    "torch.utils.data.dataset.Dataset": "torch.utils.data.Dataset",
    "torch.utils.data.dataset.TensorDataset": "torch.utils.data.TensorDataset",
    "torch.nn.parameter.Parameter": "torch.nn.Parameter",
    "torch.types.Device": "torch.device",
}


def canonical(qualified: str) -> str:
    """The public name of a torch object that is exported in several places."""
    return _REEXPORTS.get(qualified, qualified)


RECURRENT_MODULES = frozenset(f"torch.nn.{name}" for name in ("RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"))
"""Modules that take a state, or a tuple of states, after their input."""

WEIGHTED_LOSSES = frozenset(
    f"torch.nn.{name}" for name in ("CrossEntropyLoss", "NLLLoss", "NLLLoss2d", "BCELoss", "BCEWithLogitsLoss")
)
"""Losses whose first argument is `weight`. Others know it by keyword."""

CONTAINER_MODULES = frozenset({"torch.nn.Sequential", "torch.nn.ModuleList", "torch.nn.ModuleDict"})

PARAMETERLESS_MODULES = frozenset(
    f"torch.nn.{name}"
    for name in (
        "ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softmax LogSoftmax Softmax2d Softmin Softplus "
        "Softsign Softshrink Hardshrink Hardsigmoid Hardswish Hardtanh Threshold Tanhshrink LogSigmoid GLU Identity "
        "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Flatten Unflatten Upsample "
        "UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle MaxPool1d MaxPool2d MaxPool3d AvgPool1d "
        "AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d "
        "AdaptiveMaxPool3d LPPool1d LPPool2d ZeroPad1d ZeroPad2d ZeroPad3d ReflectionPad1d ReflectionPad2d "
        "ReplicationPad1d ReplicationPad2d ConstantPad1d ConstantPad2d CosineSimilarity PairwiseDistance Fold Unfold "
        "LocalResponseNorm CrossMapLRN2d ChannelShuffle Module"
    ).split()
)
"""Modules that hold no tensor and so live nowhere."""

GENERATORS = frozenset({"torch.Generator", "torch._C.Generator", "torch.manual_seed"})
_LENGTH_WORDS = frozenset("length lengths len lens seqlen seqlens size sizes count counts num".split())


def sounds_like_length(name: str) -> bool:
    """Whether a name speaks of sequence lengths, which packing needs on the host."""
    return any(part in _LENGTH_WORDS or part.endswith("lens") for part in name.lower().strip("_").split("_"))


METRICS_OF_LISTS = (
    "Retrieval",
    "CatMetric",
    "SpearmanCorrCoef",
    "KendallRankCorrCoef",
    "AUROC",
    "ROC",
    "AveragePrecision",
    "PrecisionRecallCurve",
    "BERTScore",
)
"""Metrics of torchmetrics that keep what they get in lists, wherever it is. Source: torchmetrics 1.9."""

SHAPES_AS_TENSORS = frozenset({"torch.onnx.operators.shape_as_tensor", "torch._shape_as_tensor"})
"""Functions that give the shape of a tensor as one on the host, wherever that is."""
