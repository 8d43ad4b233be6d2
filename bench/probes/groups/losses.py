"""Losses: predictions on the device with targets or weights forgotten on the host, and the reverse."""

import torch
import torch.nn.functional as F  # noqa: N812 - its usual name
from expectations import ITERATOR, misplaced, passes, raises, recorded, two_devices
from torch import nn


def logits(place="cuda"):
    return torch.zeros(4, 3, device=place)


def classes(place="cpu"):
    return torch.tensor([0, 1, 2, 0], device=place)


@raises("RuntimeError", misplaced("target", "nll_loss_forward"), recorded("nll_loss_forward"))
def cross_entropy_with_host_target():
    F.cross_entropy(logits(), classes())


@raises("RuntimeError", misplaced("target", "nll_loss_forward", "cuda:0", "cpu"), recorded("nll_loss_forward"))
def cross_entropy_of_host_logits():
    F.cross_entropy(logits("cpu"), classes("cuda"))


@raises("RuntimeError", misplaced("weight", "nll_loss_forward"), recorded("nll_loss_forward"))
def cross_entropy_with_host_class_weights():
    F.cross_entropy(logits(), classes("cuda"), weight=torch.ones(3))


@raises(
    "RuntimeError",
    misplaced("weight", "nll_loss_forward"),
    recorded("nll_loss_forward") + "; a loss module's weight is a buffer that stays where the module is",
)
def cross_entropy_module_left_on_the_host():
    nn.CrossEntropyLoss(weight=torch.ones(3))(logits(), classes("cuda"))


@passes("nn.Module.to moves buffers; weight of nn.CrossEntropyLoss is one")
def cross_entropy_module_moved():
    assert nn.CrossEntropyLoss(weight=torch.ones(3)).to("cuda")(logits(), classes("cuda")).is_cuda


@raises("RuntimeError", misplaced("target", "_nll_loss2d_forward"), recorded("nll_loss2d_forward"))
def cross_entropy_of_images_with_host_target():
    F.cross_entropy(torch.zeros(1, 3, 2, 2, device="cuda"), torch.zeros(1, 2, 2, dtype=torch.long))


@raises(
    "RuntimeError", two_devices(), "cross_entropy_loss_prob_target multiplies input by target, LossNLL.cpp; " + ITERATOR
)
def cross_entropy_with_host_probabilities():
    F.cross_entropy(logits(), torch.full((4, 3), 1 / 3))


@raises("RuntimeError", misplaced("target", "nll_loss_forward"), recorded("nll_loss_forward"))
def nll_loss_with_host_target():
    F.nll_loss(F.log_softmax(logits(), 1), classes())


@raises("RuntimeError", two_devices(), recorded("mse_loss"))
def mse_loss_with_host_target():
    F.mse_loss(logits(), torch.zeros(4, 3))


@passes(recorded("mse_loss") + ": 0-dim host tensors are promoted")
def mse_loss_of_scalar_with_host_scalar():
    assert F.mse_loss(torch.tensor(1.0, device="cuda"), torch.tensor(1.0)).is_cuda


@raises("RuntimeError", two_devices(), "at::native::l1_loss subtracts, Loss.cpp; " + ITERATOR)
def l1_loss_with_host_target():
    F.l1_loss(logits(), torch.zeros(4, 3))


@raises("RuntimeError", two_devices(), recorded("smooth_l1_loss"))
def smooth_l1_loss_of_host_prediction():
    F.smooth_l1_loss(logits("cpu"), torch.zeros(4, 3, device="cuda"))


@raises("RuntimeError", misplaced("target", "_huber_loss"), recorded("huber_loss"))
def huber_loss_with_host_target():
    F.huber_loss(logits(), torch.zeros(4, 3))


@raises("RuntimeError", two_devices(), "binary_cross_entropy_out_cuda builds a TensorIterator, cuda/Loss.cu")
def binary_cross_entropy_with_host_target():
    F.binary_cross_entropy(torch.full((4,), 0.5, device="cuda"), torch.ones(4))


@raises("RuntimeError", two_devices(), "binary_cross_entropy_with_logits: (1 - target).mul_(input), Loss.cpp")
def binary_cross_entropy_with_logits_and_host_target():
    F.binary_cross_entropy_with_logits(torch.zeros(4, device="cuda"), torch.ones(4))


@raises("RuntimeError", two_devices(), "binary_cross_entropy_with_logits: (pos_weight - 1).mul(target), Loss.cpp")
def binary_cross_entropy_with_logits_and_host_pos_weight():
    F.binary_cross_entropy_with_logits(logits(), torch.ones(4, 3, device="cuda"), pos_weight=torch.ones(3))


@raises("RuntimeError", two_devices(), "at::native::kl_div multiplies target by input, Loss.cpp")
def kl_div_with_host_target():
    F.kl_div(F.log_softmax(logits(), 1), torch.full((4, 3), 1 / 3), reduction="batchmean")


@raises("RuntimeError", two_devices(), "at::native::cosine_embedding_loss: where(target == 1, …), Loss.cpp")
def cosine_embedding_loss_with_host_target():
    F.cosine_embedding_loss(logits(), logits() + 1, torch.ones(4))


@raises("RuntimeError", two_devices(), "at::native::margin_ranking_loss multiplies by target, Loss.cpp")
def margin_ranking_loss_with_host_target():
    F.margin_ranking_loss(torch.zeros(4, device="cuda"), torch.zeros(4, device="cuda"), torch.ones(4))


@raises("RuntimeError", two_devices(), "pairwise_distance subtracts, Distance.cpp; triplet_margin_loss, Loss.cpp")
def triplet_margin_loss_with_host_negative():
    F.triplet_margin_loss(logits(), logits(), torch.ones(4, 3))


@raises("RuntimeError", misplaced("target", "_multi_margin_loss"), recorded("multi_margin_loss"))
def multi_margin_loss_with_host_target():
    F.multi_margin_loss(logits(), classes())


@raises("RuntimeError", two_devices(), "at::native::poisson_nll_loss: exp(input) - target * input, Loss.cpp")
def poisson_nll_loss_with_host_target():
    F.poisson_nll_loss(logits(), torch.ones(4, 3))


@passes("ctc_loss_impl moves host targets to the device, as a service for the user, LossCTC.cpp")
def ctc_loss_with_host_targets():
    log_probs = F.log_softmax(torch.zeros(5, 1, 3, device="cuda"), 2)
    assert F.ctc_loss(log_probs, torch.tensor([[1, 2]]), torch.tensor([5]), torch.tensor([2])).is_cuda


@passes("at::native::ctc_loss takes lengths to the host: input_lengths.to(kCPU), LossCTC.cpp")
def ctc_loss_with_device_lengths():
    log_probs = F.log_softmax(torch.zeros(5, 1, 3, device="cuda"), 2)
    lengths = torch.tensor([5], device="cuda"), torch.tensor([2], device="cuda")
    assert F.ctc_loss(log_probs, torch.tensor([[1, 2]], device="cuda"), *lengths).is_cuda


@passes("torch.nn.CTCLoss documentation: lengths are on the host for cuDNN, and elsewhere they are taken there")
def ctc_loss_with_host_lengths():
    log_probs = F.log_softmax(torch.zeros(5, 1, 3, device="cuda"), 2)
    targets = torch.tensor([[1, 2]], device="cuda")
    assert F.ctc_loss(log_probs, targets, torch.tensor([5]), torch.tensor([2])).is_cuda
    assert F.ctc_loss(log_probs, targets, (5,), (2,)).is_cuda


@passes("both on the host: nothing is on the device")
def cross_entropy_wholly_on_the_host():
    assert F.cross_entropy(logits("cpu"), classes()).device.type == "cpu"


@raises("RuntimeError", two_devices("cuda:0", "cuda:1"), ITERATOR, devices=2)
def mse_loss_across_devices():
    F.mse_loss(logits("cuda:0"), logits("cuda:1"))


@raises("RuntimeError", misplaced("target", "nll_loss_forward", "cuda:1"), recorded("nll_loss_forward"), devices=2)
def cross_entropy_across_devices():
    F.cross_entropy(logits("cuda:0"), classes("cuda:1"))
