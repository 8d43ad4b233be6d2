"""Model and batches move under the same flag."""
import argparse

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--no-cuda", action="store_true", default=False)
args, _ = parser.parse_known_args()
args.cuda = not args.no_cuda and torch.cuda.is_available()

torch.manual_seed(23)
if args.cuda:
    torch.cuda.manual_seed(23)

model = nn.Sequential(nn.Linear(7, 7), nn.ReLU(), nn.Linear(7, 2))
criterion = nn.CrossEntropyLoss()
if args.cuda:
    model.cuda()
    criterion.cuda()

for data, target in DataLoader(TensorDataset(torch.randn(20, 7), torch.randint(0, 2, (20,))), batch_size=5):
    if args.cuda:
        data, target = data.cuda(), target.cuda()
    loss = criterion(model(data), target)
    loss.backward()

print("loss {:.4f}".format(loss.item()))
