"""Recurrent layers, packed sequences, attention and transformers."""

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from expectations import misplaced, passes, raises, recorded
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

ATTRIBUTES = "check_attributes, aten/src/ATen/native/RNN.h"


def apart(name, input_place, other_place):
    return (
        f"Input and {name} tensors are not at the same device, found input tensor at {input_place} "
        f"and {name} tensor at {other_place}"
    )


@raises("RuntimeError", apart("parameter", "cpu", "cuda:0"), ATTRIBUTES)
def lstm_of_host_input():
    nn.LSTM(2, 3).to("cuda")(torch.ones(4, 1, 2))


@raises("RuntimeError", apart("parameter", "cuda:0", "cpu"), ATTRIBUTES + "; " + recorded("_cudnn_rnn"))
def lstm_left_on_the_host():
    nn.LSTM(2, 3)(torch.ones(4, 1, 2, device="cuda"))


@raises("RuntimeError", apart("hidden", "cuda:0", "cpu"), ATTRIBUTES + "; " + recorded("_cudnn_rnn"))
def lstm_with_host_hidden_state():
    state = torch.zeros(1, 1, 3), torch.zeros(1, 1, 3)
    nn.LSTM(2, 3).to("cuda")(torch.ones(4, 1, 2, device="cuda"), state)


@raises("RuntimeError", apart("hidden", "cpu", "cuda:0"), ATTRIBUTES)
def lstm_of_host_input_with_device_hidden_state():
    state = torch.zeros(1, 1, 3, device="cuda"), torch.zeros(1, 1, 3, device="cuda")
    nn.LSTM(2, 3).to("cuda")(torch.ones(4, 1, 2), state)


@raises("RuntimeError", apart("hidden", "cuda:0", "cpu"), ATTRIBUTES + "; " + recorded("_cudnn_rnn"))
def gru_with_host_hidden_state():
    nn.GRU(2, 3).to("cuda")(torch.ones(4, 1, 2, device="cuda"), torch.zeros(1, 1, 3))


@raises("RuntimeError", apart("hidden", "cuda:0", "cpu"), ATTRIBUTES + "; " + recorded("_cudnn_rnn"))
def rnn_with_host_hidden_state():
    nn.RNN(2, 3).to("cuda")(torch.ones(4, 1, 2, device="cuda"), torch.zeros(1, 1, 3))


@raises("RuntimeError", apart("hidden", "cuda:0", "cuda:1"), ATTRIBUTES, devices=2)
def gru_with_hidden_state_of_the_other_device():
    nn.GRU(2, 3).to("cuda:0")(torch.ones(4, 1, 2, device="cuda:0"), torch.zeros(1, 1, 3, device="cuda:1"))


@passes("nn.RNNBase.forward makes zeros where its input is")
def lstm_without_hidden_state():
    output, (hidden, cell) = nn.LSTM(2, 3).to("cuda")(torch.ones(4, 1, 2, device="cuda"))
    assert output.is_cuda
    assert hidden.is_cuda
    assert cell.is_cuda


@raises(
    "RuntimeError",
    "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    "checkLongTensor, PackedSequence.cpp",
)
def packing_with_device_lengths():
    pack_padded_sequence(torch.ones(2, 3, 2, device="cuda"), torch.tensor([3, 2], device="cuda"), batch_first=True)


@raises(
    "RuntimeError",
    "'lengths' argument should be a 1D CPU int64 tensor, but got 1D cuda:0 Long tensor",
    "checkLongTensor, PackedSequence.cpp",
)
def packing_unsorted_with_device_lengths():
    lengths = torch.tensor([2, 3], device="cuda")
    pack_padded_sequence(torch.ones(2, 3, 2, device="cuda"), lengths, batch_first=True, enforce_sorted=False)


@passes("pack_padded_sequence documentation: lengths must be on the CPU if provided as a tensor")
def packing_with_host_lengths():
    packed = pack_padded_sequence(torch.ones(2, 3, 2, device="cuda"), torch.tensor([3, 2]), batch_first=True)
    output, _ = nn.GRU(2, 3, batch_first=True).to("cuda")(packed)
    padded, lengths = pad_packed_sequence(output, batch_first=True)
    assert padded.is_cuda
    assert lengths.device.type == "cpu"


@passes("pack_padded_sequence documentation: lengths may be a list")
def packing_unsorted_with_a_list():
    packed = pack_padded_sequence(torch.ones(2, 3, 2, device="cuda"), [2, 3], batch_first=True, enforce_sorted=False)
    assert packed.data.is_cuda
    assert packed.sorted_indices.is_cuda
    assert packed.batch_sizes.device.type == "cpu"


@raises("RuntimeError", apart("parameter", "cpu", "cuda:0"), ATTRIBUTES)
def lstm_of_packed_host_sequence():
    packed = pack_padded_sequence(torch.ones(2, 3, 2), [3, 2], batch_first=True)
    nn.LSTM(2, 3, batch_first=True).to("cuda")(packed)


@passes("PackedSequence.to moves data and keeps batch_sizes on the host")
def packed_sequence_moved():
    packed = pack_padded_sequence(torch.ones(2, 3, 2), [3, 2], batch_first=True).to("cuda")
    assert packed.data.is_cuda
    assert packed.batch_sizes.device.type == "cpu"
    assert nn.LSTM(2, 3, batch_first=True).to("cuda")(packed)[0].data.is_cuda


@raises(
    "RuntimeError",
    misplaced("mat2", "mm", "cuda:0", "cpu"),
    "GRUCell::operator(), RNN.cpp: on CUDA matmul_hh(hidden) without bias; " + recorded("mm"),
)
def gru_cell_with_host_hidden_state():
    nn.GRUCell(2, 3).to("cuda")(torch.ones(1, 2, device="cuda"), torch.zeros(1, 3))


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm"),
    "LSTMCell::operator(), RNN.cpp: on the host linear_ih(input); " + recorded("addmm"),
)
def lstm_cell_of_host_input():
    state = torch.zeros(1, 3, device="cuda"), torch.zeros(1, 3, device="cuda")
    nn.LSTMCell(2, 3).to("cuda")(torch.ones(1, 2), state)


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm"),
    "SimpleCell::operator(), RNN.cpp: linear_hh(hidden) first; " + recorded("addmm"),
)
def rnn_cell_with_host_hidden_state():
    nn.RNNCell(2, 3).to("cuda")(torch.ones(1, 2, device="cuda"), torch.zeros(1, 3))


@passes("nn.LSTMCell.forward makes zeros where its input is")
def lstm_cell_without_state():
    assert nn.LSTMCell(2, 3).to("cuda")(torch.ones(1, 2, device="cuda"))[0].is_cuda


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm") + "; F._in_projection_packed calls linear")
def attention_of_host_query():
    x = torch.ones(4, 1, 2)
    nn.MultiheadAttention(2, 1).to("cuda")(x, x, x)


@raises(
    "RuntimeError",
    misplaced("batch1", "baddbmm", "cuda:0", "cpu"),
    recorded("baddbmm") + "; F.multi_head_attention_forward: baddbmm(attn_mask, q, k) where weights are wanted",
)
def attention_with_host_mask():
    x = torch.ones(4, 1, 2, device="cuda")
    nn.MultiheadAttention(2, 1).to("cuda")(x, x, x, attn_mask=torch.zeros(4, 4))


@raises(
    "RuntimeError",
    misplaced("batch1", "baddbmm", "cuda:0", "cpu"),
    recorded("baddbmm") + "; F._canonical_mask makes a float mask where the padding mask is",
)
def attention_with_host_padding_mask():
    x = torch.ones(4, 1, 2, device="cuda")
    nn.MultiheadAttention(2, 1).to("cuda")(x, x, x, key_padding_mask=torch.zeros(1, 4, dtype=torch.bool))


@raises(
    "RuntimeError",
    "Expected query, key, and value to have the same device type, but got query.device: cuda:0 key.device: cpu "
    "and value.device: cuda:0 instead.",
    "validate_sdpa_input, transformers/attention.cpp",
)
def scaled_dot_product_attention_with_host_key():
    x = torch.ones(1, 1, 4, 2, device="cuda")
    F.scaled_dot_product_attention(x, x.cpu(), x)


@passes("F.scaled_dot_product_attention documentation")
def scaled_dot_product_attention_on_the_device():
    x = torch.randn(1, 2, 4, 8, device="cuda")
    assert F.scaled_dot_product_attention(x, x, x, is_causal=True).is_cuda


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm"))
def transformer_encoder_of_host_input():
    nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 8), 1).to("cuda")(torch.ones(3, 1, 4))


@passes("nn.Transformer.generate_square_subsequent_mask documentation: device")
def transformer_with_mask_on_the_device():
    mask = nn.Transformer.generate_square_subsequent_mask(3, device="cuda")
    layer = nn.TransformerEncoderLayer(4, 1, 8, batch_first=True).to("cuda")
    assert layer(torch.ones(2, 3, 4, device="cuda"), src_mask=mask).is_cuda


@passes("nn.Transformer.generate_square_subsequent_mask: the default device")
def square_subsequent_mask_is_on_the_host():
    assert nn.Transformer.generate_square_subsequent_mask(3).device.type == "cpu"


@raises(
    "RuntimeError",
    misplaced("attn_bias", "__scaled_dot_product_efficient_attention"),
    recorded("_scaled_dot_product_efficient_attention") + "; float32 with a mask is for that kernel, sdp_utils.cpp",
)
def scaled_dot_product_attention_with_host_mask():
    x = torch.randn(1, 2, 4, 8, device="cuda")
    F.scaled_dot_product_attention(x, x, x, attn_mask=torch.zeros(4, 4))
