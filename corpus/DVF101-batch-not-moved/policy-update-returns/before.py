import torch
import torch.nn as nn
from torch.distributions import Categorical
from torch.utils.data import DataLoader, TensorDataset


class Policy(nn.Module):
    def __init__(self, obs_dim, n_actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh())
        self.pi = nn.Linear(32, n_actions)
        self.v = nn.Linear(32, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class Agent:
    def __init__(self, obs_dim=4, n_actions=2):
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.policy = Policy(obs_dim, n_actions).to(self.device)
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=3e-3)

    def collect(self, steps=64):
        obs = torch.randn(steps, 4)
        actions = torch.randint(0, 2, (steps,))
        rewards = (obs[:, 0] > 0).float() * (actions == 1).float()
        returns = torch.flip(torch.cumsum(torch.flip(rewards, [0]), 0), [0]) / steps
        return TensorDataset(obs, actions, returns)

    def update(self, rollout):
        for obs, actions, returns in DataLoader(rollout, batch_size=16, shuffle=True):
            obs = obs.to(self.device)
            actions = actions.to(self.device)
            dist, values = self.policy(obs)
            advantage = returns - values
            actor_loss = -(dist.log_prob(actions) * advantage.detach()).mean()
            loss = actor_loss + 0.5 * advantage.pow(2).mean() - 0.01 * dist.entropy().mean()
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return loss.item()


torch.manual_seed(19)
agent = Agent()
for iteration in range(2):
    last = agent.update(agent.collect())
print(f"loss {last:.4f}")
