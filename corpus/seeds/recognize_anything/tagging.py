"""Small stand-ins for the three taggers, the frozen image tower, and the data."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

TAGS = 6
WORDS = ["dog", "cat", "tree", "car", "road", "sky"]


class FrozenTower(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.patch = nn.Conv2d(3, dim, 4, stride=4)
        self.words = nn.Embedding(len(WORDS), dim)
        for p in self.parameters():
            p.requires_grad_(False)

    def encode_image(self, image):
        return self.patch(image).mean(dim=(2, 3))

    def encode_text(self, ids):
        return self.words(ids)


def tokenize(captions):
    return torch.tensor([[WORDS.index(w) for w in caption.split()][0] for caption in captions])


class _Tagger(nn.Module):
    def __init__(self, dim=8):
        super().__init__()
        self.image = nn.Sequential(nn.Conv2d(3, dim, 4, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.tag = nn.Linear(dim, TAGS)
        self.length = nn.Linear(dim, 1)

    def text_loss(self, feature, captions):
        lengths = torch.tensor([[float(len(c))] for c in captions], device=feature.device)
        return F.mse_loss(self.length(feature), lengths / 10)


class RamPlus(_Tagger):
    def forward(self, image, caption, image_tag, image_feature, text_embed):
        feature = self.image(image)
        loss_tag = F.binary_cross_entropy_with_logits(self.tag(feature), image_tag)
        loss_dis = F.l1_loss(feature, image_feature)
        loss_alignment = 1 - F.cosine_similarity(feature, text_embed).mean()
        return loss_tag, loss_dis, loss_alignment


class Ram(_Tagger):
    def forward(self, image, caption, image_tag, parse_tag, image_feature):
        feature = self.image(image)
        logits = self.tag(feature)
        loss_tag = F.binary_cross_entropy_with_logits(logits, image_tag)
        loss_tag = loss_tag + 0.1 * F.binary_cross_entropy_with_logits(logits, parse_tag)
        return self.text_loss(feature, caption), loss_tag, F.l1_loss(feature, image_feature)


class Tag2Text(_Tagger):
    def forward(self, image, caption, parse_tag):
        feature = self.image(image)
        return self.text_loss(feature, caption), F.binary_cross_entropy_with_logits(self.tag(feature), parse_tag)


class Captioned(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, index):
        g = torch.Generator().manual_seed(index)
        image = torch.rand(3, 16, 16, generator=g)
        image_tag = (torch.rand(TAGS, generator=g) > 0.5).float()
        parse_tag = F.one_hot(torch.tensor(index % TAGS), TAGS).float()
        caption = " ".join([WORDS[index % TAGS], "dog"])
        return image, image[:, ::2, ::2], caption, image_tag, parse_tag


def create_loader(batch_size):
    return DataLoader(Captioned(), batch_size=batch_size)
