"""A rollout is kept on the host; minibatches of it go to the device."""
import torch
import torch.nn as nn


class RolloutBuffer:
    def __init__(self, steps, envs, obs_dim):
        self.obs = torch.zeros(steps, envs, obs_dim)
        self.actions = torch.zeros(steps, envs, dtype=torch.long)
        self.rewards = torch.zeros(steps, envs)
        self.values = torch.zeros(steps + 1, envs)
        self.step = 0

    def insert(self, obs, action, reward, value):
        self.obs[self.step] = obs.cpu()
        self.actions[self.step] = action.cpu()
        self.rewards[self.step] = reward
        self.values[self.step] = value.cpu()
        self.step += 1

    def advantages(self, gamma=0.99):
        returns = torch.zeros_like(self.rewards)
        carry = torch.zeros(self.rewards.shape[1])
        for t in reversed(range(self.step)):
            carry = self.rewards[t] + gamma * carry
            returns[t] = carry
        return returns - self.values[:-1]

    def minibatches(self, size, device):
        flat = self.obs.flatten(0, 1), self.actions.flatten(), self.advantages().flatten()
        for index in torch.randperm(len(flat[0])).split(size):
            yield tuple(t[index].to(device) for t in flat)


torch.manual_seed(9)
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
policy, critic = nn.Linear(3, 2).to(device), nn.Linear(3, 1).to(device)
buffer = RolloutBuffer(steps=8, envs=4, obs_dim=3)
obs = torch.randn(4, 3)

with torch.no_grad():
    for _ in range(8):
        dist = torch.distributions.Categorical(logits=policy(obs.to(device)))
        action = dist.sample()
        buffer.insert(obs, action, torch.rand(4), critic(obs.to(device)).squeeze(1))
        obs = torch.randn(4, 3)

for obs, actions, advantages in buffer.minibatches(16, device):
    dist = torch.distributions.Categorical(logits=policy(obs))
    loss = -(dist.log_prob(actions) * advantages).mean()
    loss.backward()

print(f"loss {loss.item():.4f}")
