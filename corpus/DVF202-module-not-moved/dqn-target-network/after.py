import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")


class QNetwork(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.fc1 = nn.Linear(n_obs, 24)
        self.fc2 = nn.Linear(24, n_actions)

    def forward(self, obs):
        return self.fc2(F.relu(self.fc1(obs)))


random.seed(5)
torch.manual_seed(5)
policy_net = QNetwork(4, 2).to(device)
target_net = QNetwork(4, 2).to(device)
target_net.load_state_dict(policy_net.state_dict())
target_net.eval()
optimizer = torch.optim.RMSprop(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=200)

state = torch.zeros(4)
for t in range(64):
    action = random.randrange(2)
    next_state = state * 0.9 + torch.randn(4) * 0.1
    memory.append((state, action, float(next_state.sum()), next_state))
    state = next_state

for update in range(4):
    states, actions, rewards, next_states = zip(*random.sample(memory, 16))
    states = torch.stack(states).to(device)
    next_states = torch.stack(next_states).to(device)
    actions = torch.tensor(actions, device=device).unsqueeze(1)
    rewards = torch.tensor(rewards, device=device)

    q = policy_net(states).gather(1, actions).squeeze(1)
    with torch.no_grad():
        target = rewards + 0.99 * target_net(next_states).max(dim=1).values
    loss = F.smooth_l1_loss(q, target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(f"loss {loss.item():.4f}")
