"""The rules of operators that `native_functions.yaml` does not tell, with where in torch's sources each is from.

Paths are below `aten/src/ATen/native`. A rule returns the claim of the results where that is not the first one of a
device among the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from . import messages
from .calls import Call, Check, Named, apart, broadcast, claimed_place, refuse, same
from .claims import HOST, Claim, claim_of
from .state import Simulation

_INDEX_TYPES = (torch.int64, torch.int32)
_MASK_TYPES = (torch.bool, torch.uint8)

MADE_OF_OTHERS = ("aten::_foreach_",)
"""Operators that have a CUDA kernel but do without it where places differ: `can_use_fast_route` in ForeachUtils.h."""

SCALARS_REFUSED = frozenset(
    {
        # `build` of these has no `allow_cpu_scalars`: PointwiseOps.cpp, TensorCompare.cpp, cuda/Loss.cu,
        # cuda/Distributions.cu.
        *("aten::addcdiv", "aten::addcdiv_", "aten::addcdiv.out"),
        *("aten::clamp.Tensor", "aten::clamp_.Tensor", "aten::clamp.Tensor_out"),
        *("aten::binary_cross_entropy", "aten::binary_cross_entropy.out"),
        "aten::binomial",
    }
)

SCALARS_REFUSED_BEFORE = {
    # PointwiseOps.cpp; since https://github.com/pytorch/pytorch/pull/143264
    (2, 7): frozenset({"aten::addcmul", "aten::addcmul_", "aten::addcmul.out"}),
}
"""More of these, in releases before the one that is named."""

SCALARS_USED_UP = frozenset(
    {
        # The number compared with is wrapped into a 0-dim host tensor, the one that may pass (BinaryOps.cpp);
        # threshold passes its input twice (Activation.cpp).
        *(f"aten::{name}.Scalar_out" for name in ("eq", "ne", "lt", "le", "gt", "ge")),
        "aten::threshold.out",
    }
)


def _free(call: Call) -> None:
    """Nothing is checked."""


def _into_first(call: Call) -> Claim | None:
    """Nothing is checked, and the result is where the first argument is."""
    return claim_of(call[call.parameters[0].name])


def _extremum_out(call: Call) -> None:
    """`max_unary_out` and `min_unary_out` in ReduceAllOps.cpp."""
    if call.place("self") is not call.place("out"):
        call.refuse(messages.unexplained("self.device() == out.device()"), *call.named("self", "out"))


def _log_sigmoid(call: Call) -> None:
    """`log_sigmoid_forward_out_cuda` in cuda/Activation.cpp does not use `buffer`."""
    call.want_iterable(call.named("output", "self"), outputs=1, scalars=None)


def _clamp_out(call: Call) -> None:
    """`clamp` in TensorCompare.cpp wants a bound before it builds the iterator."""
    if call["min"] is not None or call["max"] is not None:
        call.want_iterable(call.named("out", "self"), outputs=1, scalars=None)


def _where(call: Call) -> None:
    """`where_self_out` in TensorCompare.cpp: it moves 0-dim host tensors, and has no `allow_cpu_scalars`."""
    if call["condition"].dtype not in _MASK_TYPES:
        return
    operands = call.named("condition", "self", "other")
    if broadcast([tensor.shape for _, tensor in operands]) is None:
        return
    on_device = any(claimed_place(tensor) not in (None, HOST) for _, tensor in operands)
    moved = [named for named in operands if not (on_device and named[1].dim() == 0 and claimed_place(named[1]) is HOST)]
    outputs = call.named("out") if "out" in call.values else []
    call.want_iterable([*outputs, *moved], len(outputs), scalars=None)


def _masked_fill(call: Call) -> None:
    """`masked_fill__cuda` in cuda/IndexKernel.cpp."""
    value = call["value"]
    if isinstance(value, torch.Tensor):
        if value.dim() != 0:
            return
        if call.place("self") is HOST:
            call.refuse("masked_fill_: Expected inputs to be on same device", *call.named("self", "mask", "value"))
    own, mask = call.place("self"), call.place("mask")
    if own is not None and mask is not None and own is not mask:
        text = f"expected self and mask to be on the same device, but got mask on {mask} and self on {own}"
        call.refuse(text, *call.named("mask", "self"))


def _index(call: Call) -> Claim | None:
    """`index` in TensorAdvancedIndexing.cpp and `check_indices_on_cpu_or_selfdevice` in IndexingUtils.h."""
    own, indices = call.place("self"), call.named("indices")
    if len(call["indices"]) > call["self"].dim():
        return None
    for named in indices:
        place = claimed_place(named[1])
        if own is not None and place not in (None, HOST, own):
            text = f"indices should be either on cpu or on the same device as the indexed tensor ({own})"
            call.refuse(text, named, *call.named("self"))
    if "out" in call.values:
        call.want_iterable(call.named("out", "self"), outputs=1, scalars=None)
    return claim_of(call["self"])


def _index_put(call: Call) -> None:
    """`_index_put_impl_` in TensorAdvancedIndexing.cpp: indices are moved to `self`, and so is a 0-dim value."""
    own, value = call.place("self"), call["values"]
    place = claimed_place(value)
    if own is None or place is None or place is own or value.dim() == 0 or len(call["indices"]) > call["self"].dim():
        return
    if own is not HOST and (call["accumulate"] or torch.are_deterministic_algorithms_enabled()):
        text = f"expected device {own} but got device {place} for value tensor"
        call.refuse(text, *call.named("values", "self"))
    if value.dtype == call["self"].dtype:
        call.want_iterable(call.named("self", "values"), outputs=1, scalars=None)


def _index_fill(call: Call) -> None:
    """`index_fill_` in TensorAdvancedIndexing.cpp."""
    index, value = call["index"], call["value"]
    if index.dtype not in _INDEX_TYPES or index.dim() > 1 or (isinstance(value, torch.Tensor) and value.dim() != 0):
        return
    call.want_iterable(call.named("self", "index"), outputs=1, scalars=None)


def _sorted_search(call: Call) -> None:
    """`searchsorted_pre_check` in BucketizationUtils.h."""
    same(call)
    boundaries, sorter = call.place("sorted_sequence"), call.place("sorter")
    if boundaries is not None and sorter is not None and boundaries is not sorter:
        text = (
            "torch.searchsorted(): sorter and boundary tensors should have same device type, but got sorter tensor "
            f"device type {sorter} and input value tensor device type {boundaries}"
        )
        call.refuse(text, *call.named("sorter", "sorted_sequence"))


def _set_storage(call: Call) -> None:
    """`checkSetStorage` in Resize.h."""
    own, source = call.place("self"), call.place("source")
    if own is not None and source is not None and own is not source:
        text = (
            f'Attempted to set the storage of a tensor on device "{own}" to a storage on different device "{source}".  '
            "This is no longer allowed; the devices must match."
        )
        call.refuse(text, *call.named("self", "source"))


def _foreach_scalar_tensor(call: Call) -> None:
    """`foreach_binary_op` in cuda/ForeachBinaryOpScalarTensor.cu; what it does not refuse is done one by one.

    `mul` and `div` read a number from the host first.
    """
    tensors, (scalar,) = call.named("self"), call.named("other")
    place, common = claimed_place(scalar[1]), claimed_place(tensors[0][1])
    reads_host = call.func.name().startswith(("aten::_foreach_mul", "aten::_foreach_div"))
    uniform = all(claimed_place(tensor) is common and tensor.dtype == scalar[1].dtype for _, tensor in tensors)
    if place is None or place is common or scalar[1].dim() != 0 or not uniform or (place is HOST and reads_host):
        return
    verb = "is expected" if call.func.name().partition(".")[0].endswith("_") else "expected"
    call.refuse(f"scalar tensor {verb} to be on {common} but is on {place}", scalar, tensors[0])


def _fused_adam(call: Call) -> None:
    """`_fused_adam_kernel_cuda_` in cuda/FusedAdamKernel.cu, and the same of AdamW."""
    _want_fused_scalars(call)
    if call["amsgrad"]:
        text = "params, grads, exp_avgs, exp_avg_sqs, and max_exp_avg_sqs must have same dtype, device, and layout"
        _want_fused_lists(call, text, "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs")
    else:
        text = "params, grads, exp_avgs, and exp_avg_sqs must have same dtype, device, and layout"
        _want_fused_lists(call, text, "grads", "exp_avgs", "exp_avg_sqs")


def _fused_adagrad(call: Call) -> None:
    """`_fused_adagrad_kernel_cuda_` in cuda/FusedAdagradKernel.cu."""
    _want_fused_scalars(call)
    _want_fused_lists(call, "params and grads must have same dtype, device, and layout", "grads", "state_sums")


def _fused_sgd(call: Call) -> None:
    """`_fused_sgd_kernel_cuda_` and `_fused_sgd_with_momentum_kernel_cuda_` in cuda/FusedSgdKernel.cu: lists first."""
    lists = "{params, grads, momentum_buffer_list}" if call["momentum_buffer_list"] else "{params, grads}"
    text = messages.unexplained(f"at::native::check_fast_path_restrictions({lists})")
    _want_fused_lists(call, text, "grads", "momentum_buffer_list")
    _want_fused_scalars(call)


def _want_fused_scalars(call: Call) -> None:
    """A learning rate on the host is read by the kernel for numbers, which does not look at these."""
    if call.place("lr") is HOST:
        return
    first = call.named("self")[0]
    for named in call.named("grad_scale", "found_inf", "lr"):
        if claimed_place(named[1]) not in (None, claimed_place(first[1])):
            call.refuse(f"{named[0]} must be on the same GPU device as the params", named, first)


def _want_fused_lists(call: Call, text: str, *names: str) -> None:
    """`check_fast_path_restrictions` in ForeachUtils.h: all of these on the device of the first parameter."""
    first = call.named("self")[0]
    for named in call.named(*names):
        if claimed_place(named[1]) not in (None, claimed_place(first[1])):
            call.refuse(text, named, first)


def _segment_reduce(call: Call) -> None:
    """`segment_reduce_kernel` in SegmentReduce.cpp: the generated wrapper does not look at keyword arguments."""
    (data,) = call.named("data")
    for named in call.named("offsets", "lengths"):
        if apart(data[1], named[1]):
            text = messages.unexplained(f"data.get_device() == {named[0]}_value.get_device()")
            call.refuse(text, named, data)


def _rnn(call: Call) -> None:
    """`_cudnn_rnn` in cudnn/RNN.cpp calls `check_attributes` of RNN.h."""
    check_rnn(call.simulation, call.named("input")[0], call.named("hx", "cx"), call.named("weight"))


def check_rnn(simulation: Simulation, source: Named, hidden: Sequence[Named], parameters: Sequence[Named]) -> None:
    """`check_attributes` in RNN.h: the input against the hidden tensors and the parameters, in that order.

    Raises:
        RuntimeError: they are in different places.
    """
    for kind, tensors in (("hidden", hidden), ("parameter", parameters)):
        elsewhere = [named for named in tensors if apart(source[1], named[1])]
        if elsewhere:
            text = (
                f"Input and {kind} tensors are not at the same device, found input tensor at "
                f"{claimed_place(source[1])} and {kind} tensor at {claimed_place(elsewhere[0][1])}"
            )
            refuse(simulation, text, *elsewhere, source)


def _convolution(call: Call) -> None:
    """`_convolution` and `check_input_same_type_as_parameters` in Convolution.cpp.

    Only types are compared, so cuda:0 and cuda:1 meet in the backend's own operator; depthwise ones do in any case.
    """
    source, weight, bias = call.named("input")[0], call.named("weight")[0], call.named("bias")
    backend = _backend(call)  # compares the shapes, which comes first
    if claimed_place(source[1]) is not HOST and _is_depthwise(call):
        name = "_conv_depthwise2d" if source[1].dim() == 4 else "conv_depthwise3d"
        call.want_same(f"aten::{name}", [("self", source[1]), weight, *bias])
        return
    here = claimed_place(source[1])
    for kind, named in (("weight", weight), *(("bias", named) for named in bias)):
        place = claimed_place(named[1])
        if here is not None and place is not None and place.type != here.type:
            types = messages.legacy_type(source[1], here), messages.legacy_type(named[1], place)
            text = f"Input type ({types[0]}) and {kind} type ({types[1]}) should be the same"
            if here is HOST and backend.name == "Mkldnn":
                text += f" or input should be a MKLDNN tensor and {kind} is a dense tensor"
            call.refuse(text, named, source)
    call.want_same(f"aten::cudnn_convolution{'_transpose' * call['transposed']}", [("self", source[1]), weight])
    call.want_iterable([weight, *bias], outputs=0, scalars=None)


def _backend(call: Call) -> Any:
    values = [call[parameter.name] for parameter in call.parameters]
    return torch._C._select_conv_backend(*values)


def _is_depthwise(call: Call) -> bool:
    """`ConvParams::is_depthwise`; cuDNN takes half precision instead (`use_cudnn_depthwise`)."""
    source, weight = call["input"], call["weight"]
    return bool(
        not call["transposed"]
        and source.dim() in (4, 5)
        and call["groups"] > 1
        and source.size(1) == call["groups"]
        and weight.size(0) % source.size(1) == 0
        and source.dtype not in (torch.float16, torch.bfloat16)
    )


def _batch_norm(call: Call) -> None:
    """`_select_batch_norm_backend` in Normalization.cpp: spatial inputs with affine parameters go to cuDNN."""
    if call.outputs():
        same(call)
        return
    source, weight = call["input"], call["weight"]
    names = ("weight", "bias", "running_mean", "running_var")
    spatial = (
        source.dim() >= 3
        and source.dtype in (torch.float32, torch.float64, torch.float16)
        and weight is not None
        and call["bias"] is not None
        and (call["running_mean"] is None) is (call["running_var"] is None)
        and (call["running_mean"] is not None or call["training"])
        and source.size(0) <= (880801 if call["training"] else 65535)
        and call.place("input") is not HOST
    )
    operator = "aten::cudnn_batch_norm" if spatial else call.func.name()
    call.want_same(operator, call.named("input", *names))


def _mv(call: Call) -> None:
    """`mv` in Blas.cpp: `addmv_` on a result made where the vector is."""
    vector = call.named("vec")[0]
    call.want_same("aten::addmv_", [("self", vector[1]), ("mat", call["self"]), vector])


def _block_diag(call: Call) -> None:
    """`block_diag` in TensorShape.cpp."""
    tensors = call.named("tensors")
    for number, named in enumerate(tensors):
        if apart(tensors[0][1], named[1]):
            text = (
                "torch.block_diag: input tensors must all be on the same device. Input 0 is on device "
                f"{claimed_place(tensors[0][1])} and input {number} is on device {claimed_place(named[1])}"
            )
            call.refuse(text, named, tensors[0])


def _cholesky_solve(call: Call) -> None:
    """`linearSolveCheckInputs` in LinearAlgebraUtils.h."""
    if apart(call["self"], call["input2"]):
        text = (
            f"Expected b and A to be on the same device, but found b on {call.place('self')} and A on "
            f"{call.place('input2')} instead."
        )
        call.refuse(text, *call.named("self", "input2"))


CHECKS: dict[str, Check] = {
    # Copies between devices are what these are for; `fill_` reads the number (Fill.cpp), `bernoulli_` moves the
    # probabilities (cuda/DistributionTemplates.h).
    "aten::copy_": _into_first,
    "aten::copy": _into_first,
    "aten::_to_copy": _free,
    "aten::fill_": _into_first,
    "aten::fill": _into_first,
    "aten::bernoulli": _free,
    "aten::bernoulli_": _into_first,
    "aten::max.unary_out": _extremum_out,
    "aten::min.unary_out": _extremum_out,
    "aten::log_sigmoid_forward.output": _log_sigmoid,
    "aten::clamp.out": _clamp_out,
    "aten::where": _where,
    "aten::masked_fill_": _masked_fill,
    "aten::index": _index,
    "aten::_index_put_impl_": _index_put,
    "aten::index_fill_": _index_fill,
    "aten::searchsorted": _sorted_search,
    "aten::set_.source_Tensor": _set_storage,
    "aten::segment_reduce": _segment_reduce,
    "aten::_fused_adam_.tensor_lr": _fused_adam,
    "aten::_fused_adamw_.tensor_lr": _fused_adam,
    "aten::_fused_adagrad_.tensor_lr": _fused_adagrad,
    "aten::_fused_sgd_.tensor_lr": _fused_sgd,
    "aten::_cudnn_rnn": _rnn,
    "aten::convolution": _convolution,
    "aten::native_batch_norm": _batch_norm,
}
"""By the operator's name, with or without its overload."""

BEFORE_THE_PARTS: dict[str, Check] = {
    **{
        f"aten::_foreach_{name}.Tensor": _foreach_scalar_tensor
        for name in ("add", "add_", "mul", "mul_", "div", "div_")
    },
    "aten::mv": _mv,
    "aten::block_diag": _block_diag,
    "aten::cholesky_solve": _cholesky_solve,
}
"""What an operator made of others checks before they run."""
