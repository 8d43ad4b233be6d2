import torch


class EMA:
    """An average of a model's weights that outlives a restart."""

    def __init__(self, model, decay=0.9):
        self.decay = decay
        self.shadow = {name: weight.detach().clone() for name, weight in model.named_parameters()}

    @torch.no_grad()
    def update(self, model):
        for name, weight in model.named_parameters():
            self.shadow[name].mul_(self.decay).add_(weight, alpha=1 - self.decay)

    def save(self, path):
        torch.save({name: weight.cpu() for name, weight in self.shadow.items()}, path)

    def load(self, path, device):
        self.shadow = torch.load(path, map_location=device)
