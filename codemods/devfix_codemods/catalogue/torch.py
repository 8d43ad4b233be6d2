"""torch and torch.nn. Source: the reference of torch 2.13; each row is run by tests/catalogue."""

from devfix_codemods.catalogue.effects import Effect, Kind


def _named(prefix: str, words: str) -> list[str]:
    return [prefix + word for word in words.split()]


FUNCTIONS: dict[str, Effect] = {}
"""Effects of functions by their public qualified names."""

for _effect, _prefix, _words in (
    (
        Effect.FACTORY,
        "torch.",
        (
            "arange bartlett_window blackman_window empty empty_strided eye full hamming_window hann_window "
            "kaiser_window linspace logspace ones rand randint randn randperm range tril_indices triu_indices zeros "
            "fft.fftfreq fft.rfftfreq scalar_tensor empty_permuted nn.Transformer.generate_square_subsequent_mask"
        ),
    ),
    (Effect.CONVERSION, "torch.", "tensor as_tensor asarray"),
    (
        Effect.HOST,
        "torch.",
        (
            "from_numpy frombuffer Tensor FloatTensor DoubleTensor HalfTensor LongTensor IntTensor ShortTensor "
            "ByteTensor BoolTensor BFloat16Tensor _shape_as_tensor onnx.operators.shape_as_tensor"
        ),
    ),
    (Effect.LIKE, "torch.", "zeros_like ones_like empty_like full_like rand_like randn_like randint_like tensor_split"),
    (
        Effect.ARITHMETIC,
        "torch.",
        (
            "add sub subtract mul multiply div divide true_divide pow maximum minimum fmax fmin atan2 remainder fmod "
            "floor_divide eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or where lerp "
            "addcmul hypot copysign xlogy special.xlogy isclose allclose float_power masked_fill index_fill inner "
            "linalg.vecdot dist pairwise_distance heaviside"
        ),
    ),
    (
        Effect.MEET,
        "torch.",
        (
            "matmul mm bmm mv dot outer ger addmm addbmm baddbmm einsum tensordot kron cross cdist masked_select "
            "gather scatter scatter_add scatter_reduce index_select index_add index_copy index_reduce take "
            "take_along_dim bucketize searchsorted isin equal complex polar vdot triangular_solve cholesky_solve "
            "linalg.solve linalg.solve_triangular linalg.lstsq linalg.lu_solve linalg.ldl_solve linalg.cross "
            "cosine_similarity chain_matmul stft istft addcdiv logaddexp logaddexp2 block_diag cartesian_prod meshgrid"
        ),
    ),
    (
        Effect.SEQUENCE,
        "torch.",
        (
            "cat concatenate stack hstack vstack dstack column_stack row_stack linalg.multi_dot "
            "nn.utils.parameters_to_vector"
        ),
    ),
    (Effect.FIRST, "torch.nn.utils.", "rnn.pad_sequence rnn.pack_sequence clip_grad_norm_"),
    (Effect.OTHER, "torch.", "broadcast_tensors"),
    (
        Effect.SAME,
        "torch.",
        (
            "abs exp log log2 log10 log1p sqrt rsqrt square sign neg sin cos tan tanh sinh cosh erf floor ceil round "
            "trunc clamp clip sigmoid relu softmax log_softmax logsumexp tril triu flip roll unsqueeze squeeze reshape "
            "transpose permute movedim swapaxes flatten ravel cumsum cumprod repeat_interleave tile diag diagonal "
            "diag_embed sum mean std var prod norm max min amax amin argmax argmin argsort nonzero unique "
            "unique_consecutive logical_not bitwise_not isnan isinf isfinite nan_to_num t rot90 atleast_1d atleast_2d "
            "atleast_3d broadcast_to view_as_real view_as_complex any all conj real imag angle topk sort median "
            "quantile bincount bernoulli poisson multinomial unbind chunk split reciprocal erfinv expm1 logit digamma "
            "lgamma aminmax kthvalue mode cummax cummin std_mean var_mean histc diff trace count_nonzero cov corrcoef "
            "nansum nanmean nanmedian sinc clone detach linalg.norm linalg.inv linalg.pinv linalg.svd linalg.cholesky "
            "linalg.det linalg.qr linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svdvals linalg.lu "
            "linalg.slogdet linalg.matrix_exp linalg.matrix_norm linalg.vector_norm linalg.matrix_power logdet inverse "
            "special.expit special.erf special.erfinv special.entr special.gammaln fft.fft fft.ifft fft.rfft fft.irfft "
            "fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn fft.fftshift "
            "fft.ifftshift nn.utils.rnn.pad_packed_sequence arctan acos asin atan cosh moveaxis narrow select vander "
            "pinverse cholesky svd qr det slogdet"
        ),
    ),
    (
        Effect.SAME,
        "torch.nn.functional.",
        (
            "relu relu6 gelu silu elu selu celu leaky_relu softplus softmax log_softmax softmin sigmoid logsigmoid "
            "tanh hardtanh hardswish hardsigmoid mish glu dropout dropout1d dropout2d dropout3d alpha_dropout "
            "normalize pad interpolate upsample unfold fold one_hot max_pool1d max_pool2d max_pool3d avg_pool1d "
            "avg_pool2d avg_pool3d adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d "
            "adaptive_max_pool2d pixel_shuffle pixel_unshuffle affine_grid gumbel_softmax lp_pool2d tanhshrink "
            "softsign threshold instance_norm channel_shuffle"
        ),
    ),
    (
        Effect.MEET,
        "torch.nn.functional.",
        (
            "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d linear bilinear embedding "
            "embedding_bag layer_norm group_norm batch_norm rms_norm prelu grid_sample scaled_dot_product_attention "
            "multi_head_attention_forward binary_cross_entropy cosine_embedding_loss cosine_similarity cross_entropy "
            "huber_loss l1_loss margin_ranking_loss mse_loss multi_margin_loss multilabel_margin_loss nll_loss "
            "smooth_l1_loss triplet_margin_loss triplet_margin_with_distance_loss"
        ),
    ),
    (
        Effect.ARITHMETIC,
        "torch.nn.functional.",
        (
            "binary_cross_entropy_with_logits gaussian_nll_loss hinge_embedding_loss kl_div "
            "multilabel_soft_margin_loss pairwise_distance poisson_nll_loss soft_margin_loss"
        ),
    ),
    (Effect.LIKE, "torch.nn.", "functional.ctc_loss utils.rnn.pack_padded_sequence"),
    (
        Effect.READ,
        "torch.",
        (
            "numel is_tensor is_floating_point is_complex device Size finfo iinfo get_default_dtype save manual_seed "
            "set_grad_enabled is_grad_enabled no_grad enable_grad inference_mode set_num_threads get_num_threads "
            "cuda.is_available cuda.device_count cuda.current_device cuda.empty_cache cuda.synchronize "
            "cuda.is_bf16_supported result_type can_cast is_nonzero"
        ),
    ),
    (
        Effect.READ,
        "torch.distributed.",
        (
            "all_gather_object all_reduce barrier broadcast broadcast_object_list destroy_process_group get_backend "
            "get_rank get_world_size init_process_group is_available is_initialized recv reduce send"
        ),
    ),
    (
        Effect.MEET,
        "torch.distributed.",
        "all_gather all_gather_into_tensor all_to_all all_to_all_single reduce_scatter reduce_scatter_tensor",
    ),
    (Effect.DRAW, "torch.", "normal"),
    (Effect.PASS, "torch.", "autograd.Variable jit.script compile utils.data.Subset utils.data.ConcatDataset"),
    (Effect.MEET, "torch.autograd.", "grad"),
    (
        Effect.WRAP,
        "torch.nn.",
        (
            "DataParallel parallel.DataParallel parallel.DistributedDataParallel SyncBatchNorm.convert_sync_batchnorm "
            "utils.spectral_norm utils.weight_norm utils.parametrizations.spectral_norm "
            "utils.parametrizations.weight_norm"
        ),
    ),
):
    FUNCTIONS.update(dict.fromkeys(_named(_prefix, _words), _effect))

MAP_LOCATION: dict[str, int] = {
    "torch.load": 1,
    "torch.jit.load": 1,
    "torch.hub.load_state_dict_from_url": 2,
    "torch.utils.model_zoo.load_url": 2,
}
"""What loads a file to where `map_location` says, and the position of that: without it, to where it was saved."""
FUNCTIONS.update(dict.fromkeys(MAP_LOCATION, Effect.LOAD))

COLLECTIVES = frozenset(_named("torch.distributed.", "all_reduce all_gather broadcast reduce reduce_scatter"))
"""What NCCL does with tensors of devices alone."""

SECOND_IS_NUMBER = frozenset(
    _named(
        "torch.",
        "gather scatter scatter_add scatter_reduce index_select index_add index_copy index_reduce stft istft",
    )
    + _named("torch.nn.functional.", "layer_norm group_norm rms_norm")
)
"""Functions whose tensors meet, and whose second argument is none of them: a dimension, a shape."""

MASKS: dict[str, int] = {"torch.where": 0} | dict.fromkeys(_named("torch.", "masked_fill masked_select"), 1)
"""The argument of a function that is a mask: a tensor, whatever else it takes."""

METHODS: dict[str, Effect] = {}
"""Effects of methods of tensors and modules, by name: where the receiver is not known to be another thing."""

for _effect, _words in (
    (Effect.MOVE, "to to_empty"),
    (Effect.CUDA, "cuda xpu npu hpu ipu"),
    (Effect.TO_HOST, "cpu"),
    (Effect.NEEDS_HOST, "numpy __array__"),
    (Effect.SYNC, "item tolist"),
    (
        Effect.READ,
        (
            "size dim numel nelement is_floating_point is_complex element_size stride storage_offset get_device "
            "ndimension data_ptr is_contiguous __len__ state_dict parameters named_parameters buffers named_buffers "
            "modules children named_children named_modules"
        ),
    ),
    (
        Effect.ARITHMETIC,
        (
            "add sub mul div true_divide pow maximum minimum fmax fmin lerp where eq ne lt le gt ge logical_and "
            "logical_or logical_xor atan2 addcmul remainder fmod add_ sub_ mul_ div_ pow_ lerp_ addcmul_ eq_ ne_ "
            "bitwise_and bitwise_or isclose allclose inner dist masked_fill masked_fill_ index_fill index_fill_ "
            "log_prob multiply divide"
        ),
    ),
    (
        Effect.MEET,
        (
            "matmul mm bmm mv dot outer addcdiv addcdiv_ set_ addmm baddbmm masked_select gather scatter scatter_ "
            "scatter_add scatter_add_ scatter_reduce scatter_reduce_ index_select index_add index_add_ index_copy "
            "index_copy_ index_reduce index_reduce_ take take_along_dim equal cross kron masked_scatter masked_scatter_"
        ),
    ),
    (Effect.COPY_INTO, "copy_"),
    (
        Effect.SAME,
        (
            "abs exp log log2 log10 log1p sqrt rsqrt square sign neg sin cos tan tanh erf floor ceil round trunc clamp "
            "clamp_ clamp_min clamp_max clip sigmoid relu softmax log_softmax logsumexp tril triu flip roll unsqueeze "
            "squeeze reshape transpose permute movedim swapaxes flatten ravel cumsum cumprod repeat repeat_interleave "
            "tile diag diagonal sum mean std var prod norm max min amax amin argmax argmin argsort nonzero unique "
            "logical_not isnan isinf t any all conj topk sort median unbind chunk split reciprocal view contiguous "
            "expand clone detach detach_ float double half long int short byte bool bfloat16 narrow select zero_ fill_ "
            "requires_grad_ unfold unflatten squeeze_ unsqueeze_ transpose_ t_ sqrt_ exp_ log_ neg_ abs_ normal_ "
            "uniform_ random_ bernoulli_ exponential_ multinomial bernoulli new index_put index_put_ eval train "
            "pin_memory cumprod_ relu_ sigmoid_ tanh_ retain_grad diff nan_to_num isfinite logdet inverse det cholesky "
            "svd swapdims expm1 lgamma digamma logit angle atan acos asin absolute nansum nanmean quantile trace "
            "bincount count_nonzero argwhere unique_consecutive moveaxis rot90 to_dense"
        ),
    ),
    (Effect.LIKE, "view_as expand_as reshape_as tensor_split new_zeros new_ones new_empty new_full new_tensor"),
    (Effect.BACKWARD, "backward"),
    (Effect.OTHER, "type type_as share_memory_ register_hook"),
):
    METHODS.update(dict.fromkeys(_words.split(), _effect))

TENSOR_ONLY = frozenset(
    "unsqueeze view view_as expand expand_as type_as contiguous detach detach_ softmax log_softmax sigmoid relu "
    "masked_fill masked_fill_ masked_select new_zeros new_ones new_tensor new_full new_empty numel dim permute "
    "unbind index_select index_add index_add_ scatter_ scatter_add scatter_add_ repeat_interleave mm bmm matmul "
    "logsumexp triu tril topk clamp clamp_ clamp_min narrow bool long addmm logical_not logical_and zero_ fill_ "
    "add_ mul_ sub_ div_ backward unflatten abs_ addcdiv_ addcmul_ addmm_ baddbmm_ bernoulli_ ceil_ clamp_max_ "
    "clamp_min_ clip_ copy_ cos_ cumsum_ eq_ erf_ exp_ exponential_ floor_ index_copy_ index_fill_ index_put_ lerp_ "
    "log_ log_normal_ logical_and_ logical_not_ logical_or_ masked_scatter_ ne_ neg_ normal_ pow_ random_ reciprocal_ "
    "relu_ renorm_ round_ rsqrt_ sigmoid_ sign_ sin_ sqrt_ square_ squeeze_ t_ tanh_ transpose_ tril_ triu_ trunc_ "
    "uniform_ unsqueeze_".split()
)
"""Methods that tensors have, and numbers, arrays and modules have not."""

TAKING_FURTHER = frozenset(
    "clamp clamp_ clamp_min clamp_max clip clip_ max min repeat_interleave bincount diff quantile nanquantile cov "
    "instance_norm index_put index_put_ bernoulli bernoulli_".split()
)
"""What follows its first tensor, and computes with others as well: their further arguments are tensors of its place.
Those of all others are sizes, dimensions and counts, where a tensor stands for its number."""

OF_ARRAYS = frozenset({"flatten", "reshape", "squeeze", "transpose", "argmax"})
"""Methods of arrays and of tensors. Of these two, tensors alone are moved."""

MODULE_ONLY = frozenset(
    "parameters named_parameters named_modules modules children named_children buffers named_buffers "
    "register_buffer register_parameter add_module register_forward_hook train".split()
)
"""Methods that modules have, and tensors have not. (`eval`, `state_dict` and `zero_grad` others have, too.)"""

CHANGING_MODULES = frozenset("train eval requires_grad_ half float double bfloat16 apply share_memory".split())
"""Methods of modules that give the module back, and leave it where it is."""
MODULE_CHAINS = CHANGING_MODULES | {"to", "cuda", "cpu"}
"""All methods of modules that give the module back."""

MODULE_DICT_ATTRIBUTES = frozenset(
    "T_destination add_module append apply buffers bfloat16 call_super_init children clear compile cpu cuda double "
    "dump_patches eval extra_repr float forward get_buffer get_extra_state get_parameter get_submodule half insert ipu "
    "items keys load_state_dict modules mtia named_buffers named_children named_modules named_parameters parameters "
    "pop register_buffer register_module register_parameter requires_grad_ set_extra_state set_submodule share_memory "
    "state_dict to to_empty train training type update values xpu zero_grad".split()
)
"""Names that a `ModuleDict` refuses as keys: it has attributes of these names."""

STATES = frozenset("parameters named_parameters buffers named_buffers state_dict".split())
"""Methods of modules that give what lives where they do."""

REDUCTIONS = frozenset("sum mean std var prod norm max min any all median item argmax argmin".split())
"""Functions and methods that give a 0-dim tensor where they are told no dimension."""

CONVERSIONS = frozenset({"float", "long", "double", "half", "int", "bool"})
"""Methods of tensors that convert them, and that little else has."""

SHAPING = CONVERSIONS | frozenset(
    "view reshape permute transpose unsqueeze squeeze flatten contiguous detach clone".split()
)
"""Methods of tensors that give the same numbers: of whatever else has them, they give no tensors."""

PLAIN_ATTRIBUTES = frozenset(
    "shape ndim dtype layout requires_grad is_cuda is_leaf names device batch_size sampler dataset training config "
    "weight_shape is_floating_point in_features out_features in_channels out_channels num_features num_embeddings "
    "embedding_dim embed_dim hidden_size input_size num_layers normalized_shape kernel_size".split()
)
TENSOR_ATTRIBUTES = frozenset({"T", "mT", "H", "mH", "data", "grad", "real", "imag", "values", "indices"})

BARE_MODULES = frozenset(
    _named(
        "torch.nn.",
        "ReLU ReLU6 LeakyReLU ELU SELU CELU GELU SiLU Mish Sigmoid Tanh Softmax LogSoftmax Softmax2d Softmin "
        "Softplus Softsign Softshrink Hardshrink Hardsigmoid Hardswish Hardtanh Threshold Tanhshrink LogSigmoid "
        "GLU Identity Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout Flatten Unflatten "
        "Upsample UpsamplingNearest2d UpsamplingBilinear2d PixelShuffle PixelUnshuffle MaxPool1d MaxPool2d "
        "MaxPool3d AvgPool1d AvgPool2d AvgPool3d AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d "
        "AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d LPPool1d LPPool2d ZeroPad1d ZeroPad2d ZeroPad3d "
        "ReflectionPad1d ReflectionPad2d ReplicationPad1d ReplicationPad2d ConstantPad1d ConstantPad2d "
        "CosineSimilarity PairwiseDistance Fold Unfold LocalResponseNorm CrossMapLRN2d ChannelShuffle L1Loss "
        "MSELoss SmoothL1Loss HuberLoss KLDivLoss CTCLoss GaussianNLLLoss PoissonNLLLoss CosineEmbeddingLoss "
        "MarginRankingLoss HingeEmbeddingLoss SoftMarginLoss MultiLabelMarginLoss TripletMarginLoss "
        "TripletMarginWithDistanceLoss MultiLabelSoftMarginLoss",
    )
)
"""Modules that hold no tensors and so live nowhere; what they get still meets."""

WEIGHTED_LOSSES = frozenset(
    _named("torch.nn.", "CrossEntropyLoss NLLLoss NLLLoss2d BCELoss BCEWithLogitsLoss MultiMarginLoss")
)
"""Losses that hold nothing but the weights that they are given."""

WEIGHTS = frozenset({"weight", "pos_weight"})
"""What losses call their weights."""

LOSSES = WEIGHTED_LOSSES | {name for name in BARE_MODULES if name.endswith("Loss")}

OF_DISPLAYS = frozenset(_named("torch.", "tensor as_tensor Tensor FloatTensor DoubleTensor LongTensor IntTensor"))
"""What makes a tensor with the dimensions of the display that it gets."""
_LENGTHS: frozenset[int | str] = frozenset({1, 2, 3, "targets", "input_lengths", "target_lengths"})
HOST_ARGUMENTS: dict[str, frozenset[int | str]] = {
    "torch.nn.functional.ctc_loss": _LENGTHS,
    "torch.ctc_loss": _LENGTHS,
    "torch.nn.CTCLoss": _LENGTHS,
    "torch.nn.utils.rnn.pack_padded_sequence": frozenset({1, "lengths"}),
}
"""Arguments, by position and by name, that may be on the host, or must be: lengths, and what cuDNN takes from there."""
UNUSED_ARGUMENTS: dict[str, tuple[str, frozenset[int | str]]] = {
    "torch.nn.functional.multi_head_attention_forward": ("use_separate_proj_weight", frozenset({5, "in_proj_weight"})),
}
"""The keyword that makes a function leave some arguments unused, and which."""
READ_ON_HOST = frozenset({"torch.nn.utils.rnn.pack_padded_sequence"})
"""Functions that fail for such an argument on a device."""

RECURRENT = frozenset(_named("torch.nn.", "RNN LSTM GRU RNNCell LSTMCell GRUCell"))
"""Networks that get their state beside their input."""

GIVING_TUPLES = frozenset(
    "RNN LSTM GRU LSTMCell MultiheadAttention AdaptiveLogSoftmaxWithLoss ModuleList ModuleDict DataParallel "
    "Module".split()
)
"""Classes of `torch.nn` whose modules give more than one tensor, or are not called."""

CONTAINERS = frozenset(_named("torch.nn.", "Sequential ModuleList ModuleDict"))
BUFFERS = frozenset(_named("torch.nn.", "Buffer UninitializedBuffer"))
PARAMETERS = BUFFERS | frozenset(
    _named("torch.nn.", "Parameter UninitializedParameter parameter.Parameter parameter.UninitializedParameter")
)
LOADERS = frozenset({"torch.utils.data.DataLoader", "torch.utils.data.dataloader.DataLoader"})
HOST_SAMPLING = LOADERS | frozenset(
    _named(
        "torch.utils.data.",
        "RandomSampler WeightedRandomSampler SubsetRandomSampler random_split dataset.random_split "
        "sampler.RandomSampler sampler.WeightedRandomSampler sampler.SubsetRandomSampler",
    )
)
"""Samplers and splits: they draw indices on the host, unless the program changes the default device."""
SHUFFLING = LOADERS | frozenset(
    _named("torch.utils.data.", "RandomSampler random_split dataset.random_split sampler.RandomSampler")
)
"""Those of them that draw with a generator of the host where they are given none."""
MODULE_BASES = frozenset({"torch.nn.Module", "torch.nn.modules.module.Module", "torch.nn.modules.Module"})

DTYPES = frozenset(
    _named(
        "torch.",
        "float32 float64 float16 bfloat16 half float double "
        "float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
        "complex32 complex64 complex128 chalf cfloat cdouble "
        "int8 int16 int32 int64 short int long uint8 uint16 uint32 uint64 bool "
        "qint8 qint32 quint8 quint4x2 quint2x4",
    )
)
"""The types of elements: what `to` gets that is none of them may be a device."""

KINDS: dict[str, Kind] = {
    "torch.device": Kind.DEVICE,
    "torch.accelerator.current_accelerator": Kind.DEVICE,
    **dict.fromkeys(LOADERS, Kind.LOADER),
    **dict.fromkeys(PARAMETERS, Kind.TENSOR),
    "torch.utils.data.TensorDataset": Kind.DATASET,
    **dict.fromkeys(DTYPES, Kind.DTYPE),
}
"""What sort of thing some names stand for, or give when called."""
