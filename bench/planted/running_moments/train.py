import torch
from torch.distributions import Categorical

from agent import RecurrentPolicy, RunningMoments


def discounted(rewards, gamma=0.9):
    total, found = torch.zeros_like(rewards[0]), []
    for reward in reversed(rewards):
        total = reward + gamma * total
        found.insert(0, total)
    return torch.stack(found)


def rollout(policy, moments, device, steps=6, count=8):
    policy.reset(count)
    observation = torch.randn(count, 5, device=device)
    log_probabilities, rewards = [], []
    for _ in range(steps):
        moments.update(observation)
        distribution = Categorical(logits=policy(moments.normalise(observation)))
        action = distribution.sample()
        log_probabilities.append(distribution.log_prob(action))
        reward = (action == observation.argmax(1) % 3).float()
        rewards.append(reward)
        observation = observation.roll(1, dims=1)
    return torch.stack(log_probabilities), discounted(rewards)


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    policy = RecurrentPolicy().to(device)
    moments = RunningMoments(5, device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    for episode in range(3):
        log_probabilities, returns = rollout(policy, moments, device)
        loss = -(log_probabilities * (returns - returns.mean())).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"episode {episode}: {loss.item():.4f}")


if __name__ == "__main__":
    main()
