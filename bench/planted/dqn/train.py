import random

import numpy as np
import torch
from torch import nn

from buffer import ReplayBuffer

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class Environment:
    def reset(self):
        self.state = np.zeros(4, dtype=np.float32)
        return self.state

    def step(self, action):
        self.state = self.state + np.float32(0.1 if action else -0.1)
        return self.state, float(-abs(self.state).sum()), bool(abs(self.state).max() > 1)


def build():
    return nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))


class Agent:
    def __init__(self):
        self.policy = build().to(device)
        self.target = build().to(device)
        self.target.load_state_dict(self.policy.state_dict())
        self.optimizer = torch.optim.Adam(self.policy.parameters(), lr=1e-3)
        self.buffer = ReplayBuffer(500, device)

    def act(self, state, epsilon):
        if random.random() < epsilon:
            return random.randrange(2)
        with torch.no_grad():
            values = self.policy(torch.as_tensor(state, device=device).unsqueeze(0))
        return int(values.argmax(1))

    def learn(self, count=16, gamma=0.9):
        states, actions, rewards, following, dones = self.buffer.sample(count)
        values = self.policy(states).gather(1, actions).squeeze(1)
        with torch.no_grad():
            best = self.target(following).max(1).values
        loss = nn.functional.smooth_l1_loss(values, rewards + gamma * best * (1 - dones))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


def main():
    random.seed(0)
    torch.manual_seed(0)
    agent, environment = Agent(), Environment()
    loss = 0.0
    for episode in range(3):
        state, done, steps = environment.reset(), False, 0
        while not done and steps < 12:
            action = agent.act(state, epsilon=0.5)
            following, reward, done = environment.step(action)
            agent.buffer.push(state, action, reward, following, done)
            state, steps = following, steps + 1
            if len(agent.buffer) >= 16:
                loss = agent.learn()
        print(f"episode {episode}: {steps} steps, loss {loss:.5f}")


if __name__ == "__main__":
    main()
