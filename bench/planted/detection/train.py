"""Boxes and classes for the cells of a grid."""

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __init__(self, count):
        generator = torch.Generator().manual_seed(5)
        self.images = torch.rand(count, 3, 16, 16, generator=generator)
        self.boxes = torch.rand(count, 4, 4, generator=generator)
        self.classes = torch.randint(0, 3, (count, 4), generator=generator)

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        target = {"boxes": self.boxes[index], "labels": self.classes[index]}
        return self.images[index], target


def collate(batch):
    images, targets = zip(*batch)
    return list(images), list(targets)


class Detector(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(3, 16, 3, stride=4, padding=1), nn.ReLU())
        self.boxes = nn.Conv2d(16, 4, 1)
        self.classes = nn.Conv2d(16, classes, 1)

    def anchors(self, height, width, device):
        rows = (torch.arange(height, device=device) + 0.5) / height
        columns = (torch.arange(width, device=device) + 0.5) / width
        grid = torch.stack(torch.meshgrid(rows, columns, indexing="ij"), dim=-1)
        return grid.reshape(-1, 2)

    def forward(self, images, targets=None):
        features = self.backbone(torch.stack(images))
        count, _, height, width = features.shape
        centres = self.anchors(height, width, features.device)
        boxes = self.boxes(features).flatten(2).transpose(1, 2)
        boxes = torch.cat([boxes[..., :2] + centres, boxes[..., 2:]], dim=-1)
        logits = self.classes(features).flatten(2).transpose(1, 2)
        if targets is None:
            return boxes, logits
        return self.losses(boxes, logits, targets)

    def losses(self, boxes, logits, targets):
        box_loss, class_loss = 0, 0
        for number, target in enumerate(targets):
            distance = torch.cdist(target["boxes"], boxes[number])
            nearest = distance.argmin(dim=1)
            box_loss = box_loss + (boxes[number][nearest] - target["boxes"]).abs().mean()
            class_loss = class_loss + nn.functional.cross_entropy(logits[number][nearest], target["labels"])
        return {"boxes": box_loss, "classes": class_loss}


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    model = Detector().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loader = DataLoader(Scenes(12), batch_size=4, collate_fn=collate)
    for epoch in range(2):
        for images, targets in loader:
            images = [image.to(device) for image in images]
            targets = [{name: value.to(device) for name, value in target.items()} for target in targets]
            losses = model(images, targets)
            loss = sum(losses.values())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
