"""Which argument of a function of torch, or of a method of tensors, counts a dimension."""

SECOND_IS_DIMENSION = frozenset(
    "index_select gather scatter scatter_ scatter_add scatter_add_ index_add index_add_ index_copy index_copy_ softmax "
    "log_softmax unsqueeze squeeze cat concat stack unbind cumsum cumprod narrow select argmax argmin size".split()
)
"""Functions, and methods of tensors, that take a dimension right behind the tensor."""
THIRD_IS_DIMENSION = frozenset({"chunk", "split", "tensor_split", "repeat_interleave", "topk"})
"""Those that take it behind one argument more."""
