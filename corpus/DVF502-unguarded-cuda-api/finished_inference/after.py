import time

import torch as th
from torch import nn


@th.no_grad()
def throughput(model, batches, device):
    """Samples a second, of batches that may lie anywhere."""
    seen = 0
    begin = time.time()
    for batch in batches:
        seen += model(batch.to(device)).shape[0]
    # kernels may still run
    if th.cuda.is_available():
        th.cuda.synchronize()
    return seen / (time.time() - begin)


th.manual_seed(0)
where = "cuda" if th.cuda.is_available() else "cpu"
classifier = nn.Linear(7, 3).to(where).eval()
batches = [th.randn(4, 7) for _ in range(3)]
assert throughput(classifier, batches, where) > 0
print(f"loss {classifier(batches[0].to(where)).logsumexp(1).mean().item():.4f}")
