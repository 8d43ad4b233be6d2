"""A detector of one box."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class OneBoxDetector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 6, 3), nn.ReLU(), nn.Flatten())
        self.class_head = nn.Linear(216, 2)
        self.box_head = nn.Linear(216, 4)

    def forward(self, samples, targets=None):
        features = self.backbone(samples.tensors)
        return {"pred_logits": self.class_head(features), "pred_boxes": self.box_head(features).sigmoid()}


class SetCriterion(nn.Module):
    weight_dict = {"loss_ce": 1.0, "loss_bbox": 5.0}

    def forward(self, outputs, targets):
        labels = torch.stack([t["labels"] for t in targets])
        boxes = torch.stack([t["boxes"] for t in targets])
        return {
            "loss_ce": F.cross_entropy(outputs["pred_logits"].float(), labels),
            "loss_bbox": F.l1_loss(outputs["pred_boxes"].float(), boxes),
        }
