import argparse

import torch
import torch.nn as nn


def get_parser():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda:0" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--hidden", type=int, default=12)
    parser.add_argument("--steps", type=int, default=4)
    return parser


def main():
    args, _ = get_parser().parse_known_args()
    torch.manual_seed(4)
    policy = nn.Sequential(nn.Linear(3, args.hidden), nn.Tanh(), nn.Linear(args.hidden, 2)).to(args.device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for step in range(args.steps):
        observations = torch.randn(16, 3).to(args.device)
        with torch.autocast(torch.device(args.device).type, dtype=torch.bfloat16):
            logits = policy(observations)
        dist = torch.distributions.Categorical(logits=logits.float())
        actions = dist.sample()
        reward = (actions == (observations[:, 0] > 0).long()).float()
        loss = -(dist.log_prob(actions) * (reward - reward.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")


main()
