"""Training and evaluation of a detector."""
import argparse
import math
import sys
from typing import Iterable

import torch
import misc as utils
from detector import OneBoxDetector, SetCriterion
try:
    from torch.amp import autocast, GradScaler
except ImportError:
    from torch.cuda.amp import GradScaler
    from torch import autocast
from misc import NestedTensor


def train_one_epoch(
    model: torch.nn.Module,
    criterion: torch.nn.Module,
    data_loader: Iterable,
    optimizer: torch.optim.Optimizer,
    device: torch.device,
    epoch: int,
    batch_size: int,
    max_norm: float = 0,
    args=None,
):
    metric_logger = utils.MetricLogger()
    header = "Epoch: [{}]".format(epoch)

    # Gradient scaler for mixed precision
    scaler = GradScaler(enabled=args.amp)

    optimizer.zero_grad()
    assert batch_size % args.grad_accum_steps == 0
    sub_batch_size = batch_size // args.grad_accum_steps
    for data_iter_step, (samples, targets) in enumerate(metric_logger.log_every(data_loader, 10, header)):
        for i in range(args.grad_accum_steps):
            start_idx = i * sub_batch_size
            final_idx = start_idx + sub_batch_size
            new_samples = NestedTensor(samples.tensors[start_idx:final_idx], samples.mask[start_idx:final_idx])
            new_samples = new_samples.to(device)
            new_targets = [{k: v.to(device) for k, v in t.items()} for t in targets[start_idx:final_idx]]

            with autocast('cuda', enabled=args.amp, dtype=torch.bfloat16):
                outputs = model(new_samples, new_targets)
                loss_dict = criterion(outputs, new_targets)
                weight_dict = criterion.weight_dict
                losses = sum(
                    (1 / args.grad_accum_steps) * loss_dict[k] * weight_dict[k]
                    for k in loss_dict.keys()
                    if k in weight_dict
                )

            scaler.scale(losses).backward()

        loss_value = sum(v * weight_dict[k] for k, v in utils.reduce_dict(loss_dict).items()).item()
        if not math.isfinite(loss_value):
            print("Loss is {}, stopping training".format(loss_value))
            sys.exit(1)

        if max_norm > 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm)

        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        metric_logger.update(loss=loss_value, **utils.reduce_dict(loss_dict))
        metric_logger.update(lr=optimizer.param_groups[0]["lr"])
    return metric_logger.averages()


@torch.no_grad()
def evaluate(model, criterion, data_loader, device, args=None):
    model.eval()
    criterion.eval()

    metric_logger = utils.MetricLogger()
    header = "Test:"

    for samples, targets in metric_logger.log_every(data_loader, 10, header):
        samples = samples.to(device)
        targets = [{k: v.to(device) for k, v in t.items()} for t in targets]

        # Mixed precision in evaluation
        with autocast('cuda', enabled=args.amp, dtype=torch.bfloat16):
            outputs = model(samples)

        for key in outputs.keys():
            outputs[key] = outputs[key].float()

        loss_dict = utils.reduce_dict(criterion(outputs, targets))
        metric_logger.update(
            loss=sum(loss_dict[k] * weight for k, weight in criterion.weight_dict.items()),
            **loss_dict,
        )
    return metric_logger.averages()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-amp", dest="amp", action="store_false")
    parser.add_argument("--grad-accum-steps", default=2, type=int)
    parser.add_argument("--epochs", default=2, type=int)
    args, _ = parser.parse_known_args()

    torch.manual_seed(5)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    args.amp = args.amp and device.type == "cuda"
    data = utils.nested_batches(count=3, batch_size=4)
    model = OneBoxDetector().to(device)
    criterion = SetCriterion()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        train_one_epoch(model, criterion, data, optimizer, device, epoch, 4, max_norm=0.1, args=args)
        stats = evaluate(model, criterion, data, device, args=args)
    print("loss {:.4f}".format(stats["loss"]))


if __name__ == "__main__":
    main()
