"""Fine-tuning of three image taggers on captioned images."""
import argparse
import random

import numpy as np
import torch

import tagging
import utils


def embed_captions(tower, caption):
    with torch.no_grad():
        ids = tagging.tokenize(caption).to(next(tower.parameters()).device)
        embedding = tower.encode_text(ids)
        embedding /= embedding.norm(dim=-1, keepdim=True)
    return embedding


def train_ram_plus(model, data_loader, optimizer, epoch, device, config, tower):
    model.train()

    metric_logger = utils.MetricLogger(delimiter="  ")
    metric_logger.add_meter("lr", utils.SmoothedValue(window_size=50, fmt="{value:.6f}"))
    metric_logger.add_meter("loss_tag", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))
    metric_logger.add_meter("loss_dis", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))
    metric_logger.add_meter("loss_alignment", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))

    header = "Train Epoch: [{}]".format(epoch)
    print_freq = config["print_freq"]

    for i, (image, image_224, caption, image_tag, parse_tag) in enumerate(metric_logger.log_every(data_loader, print_freq, header)):

        optimizer.zero_grad()

        text_embed = embed_captions(tower, caption)

        image = image.to(device, non_blocking=True)
        image_224 = image_224.to(device, non_blocking=True)
        image_tag = image_tag.to(device, non_blocking=True)

        with torch.no_grad():
            image_feature = tower.encode_image(image_224)

        loss_tag, loss_dis, loss_alignment = model(image, caption, image_tag, image_feature, text_embed)
        loss = loss_tag + loss_dis + loss_alignment

        loss.backward()
        optimizer.step()

        metric_logger.update(loss_tag=loss_tag.item())
        metric_logger.update(loss_dis=loss_dis.item())
        metric_logger.update(loss_alignment=loss_alignment.item())
        metric_logger.update(lr=optimizer.param_groups[0]["lr"])

    return metric_logger.averages()


def train_ram(model, data_loader, optimizer, epoch, device, config, tower):
    model.train()

    metric_logger = utils.MetricLogger(delimiter="  ")
    metric_logger.add_meter("lr", utils.SmoothedValue(window_size=50, fmt="{value:.6f}"))
    metric_logger.add_meter("loss_t2t", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))
    metric_logger.add_meter("loss_tag", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))
    metric_logger.add_meter("loss_dis", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))

    header = "Train Epoch: [{}]".format(epoch)
    print_freq = config["print_freq"]

    for i, (image, image_224, caption, image_tag, parse_tag) in enumerate(metric_logger.log_every(data_loader, print_freq, header)):

        optimizer.zero_grad()

        image = image.to(device, non_blocking=True)
        image_224 = image_224.to(device, non_blocking=True)
        image_tag = image_tag.to(device, non_blocking=True)
        parse_tag = parse_tag.to(device, non_blocking=True)

        with torch.no_grad():
            image_feature = tower.encode_image(image_224)

        loss_t2t, loss_tag, loss_dis = model(image, caption, image_tag, parse_tag, image_feature)
        loss = loss_t2t + loss_tag / (loss_tag / loss_t2t).detach() + loss_dis

        loss.backward()
        optimizer.step()

        metric_logger.update(loss_t2t=loss_t2t.item())
        metric_logger.update(loss_tag=loss_tag.item())
        metric_logger.update(loss_dis=loss_dis.item())
        metric_logger.update(lr=optimizer.param_groups[0]["lr"])

    return metric_logger.averages()


def train_tag2text(model, data_loader, optimizer, epoch, device, config):
    model.train()

    metric_logger = utils.MetricLogger(delimiter="  ")
    metric_logger.add_meter("lr", utils.SmoothedValue(window_size=50, fmt="{value:.6f}"))
    metric_logger.add_meter("loss_t2t", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))
    metric_logger.add_meter("loss_tag", utils.SmoothedValue(window_size=50, fmt="{value:.4f}"))

    header = "Train Epoch: [{}]".format(epoch)
    print_freq = config["print_freq"]

    for i, (image, _, caption, _, parse_tag) in enumerate(metric_logger.log_every(data_loader, print_freq, header)):

        optimizer.zero_grad()

        image = image.to(device, non_blocking=True)
        parse_tag = parse_tag.to(device, non_blocking=True)

        loss_t2t, loss_tag = model(image, caption, parse_tag)
        loss = loss_t2t + loss_tag / (loss_tag / loss_t2t).detach()

        loss.backward()
        optimizer.step()

        metric_logger.update(loss_t2t=loss_t2t.item())
        metric_logger.update(loss_tag=loss_tag.item())
        metric_logger.update(lr=optimizer.param_groups[0]["lr"])

    return metric_logger.averages()


def main(args, config):
    device = torch.device(args.device)

    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    random.seed(args.seed)

    data_loader = tagging.create_loader(config["batch_size"])
    tower = tagging.FrozenTower().to(device)
    models = {"ram_plus": tagging.RamPlus(), "ram": tagging.Ram(), "tag2text": tagging.Tag2Text()}

    for name, model in models.items():
        if args.model_type not in (name, "all"):
            continue
        model = model.to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=config["init_lr"], weight_decay=0.05)
        for epoch in range(config["max_epoch"]):
            utils.step_lr(optimizer, epoch, config["init_lr"], 0.9)
            if name == "ram_plus":
                train_stats = train_ram_plus(model, data_loader, optimizer, epoch, device, config, tower)
            elif name == "ram":
                train_stats = train_ram(model, data_loader, optimizer, epoch, device, config, tower)
            else:
                train_stats = train_tag2text(model, data_loader, optimizer, epoch, device, config)
            print(name, train_stats)

    print("loss", train_stats["loss_tag"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--model-type", default="all", choices=("all", "ram_plus", "ram", "tag2text"))
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", default=42, type=int)
    args, _ = parser.parse_known_args()
    main(args, {"batch_size": 4, "init_lr": 1e-3, "max_epoch": 1, "print_freq": 50})
