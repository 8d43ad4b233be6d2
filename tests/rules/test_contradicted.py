"""DVF104: no tensor is moved alone to what something else, always run with it, needs on the host."""

import pytest

CODE = "DVF104"

CONSTANT = """
    import torch
    WEIGHTS = torch.tensor([0.3, 0.6, 0.1]).view(3, 1, 1)
    def features(rgb: torch.Tensor) -> torch.Tensor:
        {line}
        mean = torch.tensor([0.4, 0.4, 0.4]).view(3, 1, 1)
        return torch.cat([rgb - mean, luma], dim=0)
"""
READ = """
    import numpy as np
    import torch
    from torch import nn
    class Criterion(nn.Module):
        def __init__(self):
            super().__init__()
            self.loss = nn.BCELoss()
        def forward(self, inputs, targets):
            loss = self.loss(inputs[:3], targets[:3])
            {line}
            penalty = torch.from_numpy(penalty)
            loss.add_(penalty)
            return loss
"""
COMPUTED = """
    import numpy as np
    import torch
    class Components:
        def train(self, y):
            normal = y - torch.mean(y, axis=0)
            gram = normal.T.matmul(normal)
            noise = torch.rand(gram.shape[0], gram.shape[1])
            vectors, values, _ = torch.linalg.svd(gram + 1e-4 * gram.mean() * noise)
            {line}
            self.vectors = vectors
"""
ENCODED = """
    import torch
    class Processor:
        def __init__(self, text_tokenizer):
            self.text_tokenizer = text_tokenizer
        def __call__(self, sample):
            {line}
            labels = torch.full((8, 4), -100)
            audio = sample["audio"].long()
            targets = audio.clone()
            ids = torch.cat([style, audio], dim=1)
            return ids, torch.cat([labels, targets], dim=1)
"""
JOINED = """
    import torch
    def sweep(steps, model, tests: torch.Tensor, device):
        rows, tests = [], tests.to(device)
        for one in steps:
            scores = model(one) @ tests.T
            rows.append({line})
        return torch.cat(rows, dim=0) if rows else torch.zeros(0, tests.shape[0], dtype=tests.dtype)
"""
LEFT = [
    (JOINED, "scores.to('cpu')"),
    (JOINED, "scores.detach().cpu()"),
    (CONSTANT, "luma = (rgb * WEIGHTS).sum(dim=0, keepdim=True)"),
    (READ, "penalty = np.abs(inputs[3].numpy() - targets[3].numpy())"),
    (COMPUTED, "self.count = np.where(values / values[0] > 0.05)[0][-1] + 1"),
    (ENCODED, "style = self.text_tokenizer('<a>', return_tensors='pt').input_ids.repeat(8, 1)"),
]
MOVED = [
    (JOINED, "scores"),
    (CONSTANT, "luma = rgb.sum(dim=0, keepdim=True)"),
    (CONSTANT, "luma = (rgb * WEIGHTS.to(rgb.device)).sum(dim=0, keepdim=True)"),
    (READ, "penalty = np.abs(inputs[3].cpu().numpy() - targets[3].cpu().numpy())"),
    (COMPUTED, "self.count = int((values / values[0] > 0.05).sum())"),
    (COMPUTED, "self.count = np.where(values.cpu() / values[0].cpu() > 0.05)[0][-1] + 1"),
    (ENCODED, "style = sample['style'].repeat(8, 1)"),
]


@pytest.mark.parametrize(("program", "line"), LEFT)
def test_what_fails_anyhow_is_left(rule, program: str, line: str) -> None:
    assert not any(rule.safeties(program.format(line=line)))


@pytest.mark.parametrize(("program", "line"), MOVED)
def test_nothing_else_fails(rule, program: str, line: str) -> None:
    assert any(rule.safeties(program.format(line=line)))
