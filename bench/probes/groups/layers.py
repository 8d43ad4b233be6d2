"""Layers whose input, weights or buffers are misplaced."""

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices
from torch import nn

CONVOLUTION = "check_input_same_type_as_parameters, Convolution.cpp"


@raises(
    "RuntimeError",
    misplaced("mat1", "addmm"),
    recorded("addmm") + "; at::linear calls addmm; reported in ClownsharkBatwing/RES4LYF pull request 223",
)
def linear_of_host_input():
    nn.Linear(3, 2).to("cuda")(torch.ones(4, 3))


@raises("RuntimeError", misplaced("mat1", "addmm", "cuda:0", "cpu"), recorded("addmm"))
def linear_left_on_the_host():
    nn.Linear(3, 2)(torch.ones(4, 3, device="cuda"))


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm") + "; 3-D inputs are flattened, Linear.cpp")
def linear_of_host_sequence():
    nn.Linear(3, 2).to("cuda")(torch.ones(4, 5, 3))


@raises(
    "RuntimeError", misplaced("mat2", "mm", "cuda:0", "cpu"), recorded("mm") + "; without bias at::linear calls matmul"
)
def linear_without_bias_of_host_input():
    nn.Linear(3, 2, bias=False).to("cuda")(torch.ones(4, 3))


@raises("RuntimeError", misplaced("mat1", "addmm", "cuda:0", "cuda:1"), recorded("addmm"), devices=2)
def linear_of_the_other_device():
    nn.Linear(3, 2).to("cuda:1")(torch.ones(4, 3, device="cuda:0"))


@raises(
    "RuntimeError",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same "
    "or input should be a MKLDNN tensor and weight is a dense tensor",
    CONVOLUTION + ", backend Mkldnn: a float32 host batch of more than one",
)
def conv2d_of_host_batch():
    nn.Conv2d(1, 2, 3).to("cuda")(torch.ones(2, 1, 5, 5))


@raises(
    "RuntimeError",
    "Input type (torch.FloatTensor) and weight type (torch.cuda.FloatTensor) should be the same",
    CONVOLUTION + ": one small image is not for Mkldnn (ConvParams::use_mkldnn)",
)
def conv2d_of_one_small_host_image():
    nn.Conv2d(1, 2, 3).to("cuda")(torch.ones(1, 1, 5, 5))


@raises(
    "RuntimeError",
    "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    CONVOLUTION,
)
def conv2d_left_on_the_host():
    nn.Conv2d(1, 2, 3)(torch.ones(2, 1, 5, 5, device="cuda"))


@raises(
    "RuntimeError",
    "Input type (torch.cuda.FloatTensor) and bias type (torch.FloatTensor) should be the same",
    CONVOLUTION,
)
def conv2d_with_host_bias():
    F.conv2d(torch.ones(2, 1, 5, 5, device="cuda"), torch.ones(2, 1, 3, 3, device="cuda"), torch.ones(2))


@raises(
    "RuntimeError",
    "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    CONVOLUTION,
)
def conv1d_left_on_the_host():
    nn.Conv1d(1, 2, 3)(torch.ones(2, 1, 5, device="cuda"))


@raises(
    "RuntimeError",
    "Input type (torch.cuda.FloatTensor) and weight type (torch.FloatTensor) should be the same",
    CONVOLUTION,
)
def transposed_convolution_left_on_the_host():
    nn.ConvTranspose2d(1, 2, 3)(torch.ones(2, 1, 5, 5, device="cuda"))


@raises("RuntimeError", misplaced("weight", "_cudnn_convolution", "cuda:1"), recorded("cudnn_convolution"), devices=2)
def conv2d_of_the_other_device():
    nn.Conv2d(1, 2, 3).to("cuda:1")(torch.ones(2, 1, 5, 5, device="cuda:0"))


@raises(
    "RuntimeError", misplaced("index", "_index_select"), recorded("index_select") + "; embedding calls index_select"
)
def embedding_of_host_tokens():
    nn.Embedding(5, 2).to("cuda")(torch.tensor([0, 1]))


@raises("RuntimeError", misplaced("index", "_index_select", "cuda:0", "cpu"), recorded("index_select"))
def embedding_left_on_the_host():
    nn.Embedding(5, 2)(torch.tensor([0, 1], device="cuda"))


@raises("RuntimeError", misplaced("indices", "__embedding_bag"), recorded("_embedding_bag"))
def embedding_bag_of_host_tokens():
    nn.EmbeddingBag(5, 2).to("cuda")(torch.tensor([0, 1]), torch.tensor([0], device="cuda"))


@raises("RuntimeError", misplaced("offsets", "__embedding_bag"), recorded("_embedding_bag"))
def embedding_bag_with_host_offsets():
    nn.EmbeddingBag(5, 2).to("cuda")(torch.tensor([0, 1], device="cuda"), torch.tensor([0]))


@raises("RuntimeError", misplaced("weight", "_native_layer_norm", "cuda:0", "cpu"), recorded("native_layer_norm"))
def layer_norm_of_host_input():
    nn.LayerNorm(3).to("cuda")(torch.ones(2, 3))


@raises("RuntimeError", misplaced("weight", "_native_layer_norm"), recorded("native_layer_norm"))
def layer_norm_left_on_the_host():
    nn.LayerNorm(3)(torch.ones(2, 3, device="cuda"))


@raises("RuntimeError", misplaced("weight", "_native_group_norm"), recorded("native_group_norm"))
def group_norm_left_on_the_host():
    nn.GroupNorm(1, 2)(torch.ones(2, 2, 3, device="cuda"))


@raises(
    "RuntimeError",
    misplaced("weight", "_native_batch_norm"),
    recorded("native_batch_norm") + "; cuDNN takes no 2-D input (_select_batch_norm_backend)",
)
def batch_norm_1d_left_on_the_host():
    nn.BatchNorm1d(3)(torch.ones(4, 3, device="cuda"))


@raises(
    "RuntimeError",
    misplaced("weight", "_cudnn_batch_norm"),
    recorded("cudnn_batch_norm") + "; _select_batch_norm_backend, Normalization.cpp",
)
def batch_norm_2d_left_on_the_host():
    nn.BatchNorm2d(3)(torch.ones(4, 3, 2, 2, device="cuda"))


@raises("RuntimeError", misplaced("weight", "_native_batch_norm", "cuda:0", "cpu"), recorded("native_batch_norm"))
def batch_norm_2d_of_host_input():
    nn.BatchNorm2d(3).to("cuda")(torch.ones(4, 3, 2, 2))


@raises("RuntimeError", misplaced("running_mean", "_native_batch_norm"), recorded("native_batch_norm"))
def batch_norm_with_host_statistics():
    layer = nn.BatchNorm1d(3).to("cuda")
    layer.running_mean = layer.running_mean.cpu()
    layer(torch.ones(4, 3, device="cuda"))


@raises("RuntimeError", misplaced("weight", "__prelu_kernel"), recorded("_prelu_kernel"))
def prelu_left_on_the_host():
    nn.PReLU()(torch.ones(2, 3, device="cuda"))


@raises(
    "RuntimeError",
    "grid_sampler(): expected input and grid to be on same device, but input is on cuda:0 and grid is on cpu",
    "check_grid_sampler_common, GridSamplerUtils.h",
)
def grid_sample_with_host_grid():
    F.grid_sample(torch.ones(1, 1, 2, 2, device="cuda"), torch.zeros(1, 2, 2, 2), align_corners=False)


@raises("RuntimeError", two_devices(), ITERATOR + "; a tensor attribute that is no buffer stays when a module is moved")
def positional_encoding_kept_as_an_attribute():
    class Encoding(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.zeros(4, 3)

        def forward(self, x):
            return x + self.table

    Encoding().to("cuda")(torch.ones(2, 4, 3, device="cuda"))


@passes("nn.Module.to moves buffers")
def positional_encoding_kept_as_a_buffer():
    class Encoding(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", torch.zeros(4, 3), persistent=False)

        def forward(self, x):
            return x + self.table

    assert Encoding().to("cuda")(torch.ones(2, 4, 3, device="cuda")).is_cuda


@raises("RuntimeError", misplaced("mat1", "addmm"), recorded("addmm"))
def second_layer_moves_back_to_the_host():
    x = nn.Linear(3, 3).to("cuda")(torch.ones(2, 3, device="cuda")).cpu()
    nn.Linear(3, 3).to("cuda")(x)


@passes("dropout draws its mask where the input is")
def dropout_and_activations():
    x = torch.randn(4, 3, device="cuda")
    for layer in (nn.Dropout(0.5), nn.ReLU(), nn.GELU(), nn.Softmax(1), nn.LogSoftmax(1), nn.LeakyReLU()):
        assert layer(x).is_cuda


@passes("pooling, padding, interpolation and folding have one tensor argument")
def pooling_and_shapes():
    x = torch.randn(1, 2, 4, 4, device="cuda")
    assert F.max_pool2d(x, 2).is_cuda
    assert F.adaptive_avg_pool2d(x, 1).is_cuda
    assert F.interpolate(x, scale_factor=2).is_cuda
    assert F.pad(x, (1, 1)).is_cuda
    assert F.pixel_shuffle(torch.randn(1, 4, 2, 2, device="cuda"), 2).is_cuda


@raises("RuntimeError", misplaced("indices", "_max_unpool2d"), recorded("max_unpool2d"))
def max_unpool_with_host_indices():
    pooled, indices = F.max_pool2d(torch.randn(1, 1, 4, 4, device="cuda"), 2, return_indices=True)
    F.max_unpool2d(pooled, indices.cpu(), 2)


@passes("nn.Bilinear on the device, at::bilinear")
def bilinear_on_the_device():
    a = torch.ones(2, 3, device="cuda")
    assert nn.Bilinear(3, 3, 2).to("cuda")(a, a).is_cuda
