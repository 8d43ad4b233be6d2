"""Mean teacher: the teacher is an average of the student."""

import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Student(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.conv = nn.Conv1d(1, width, 3, padding=1)
        self.norm = nn.BatchNorm1d(width)
        self.head = nn.Linear(width, 3)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x.unsqueeze(1))))
        return self.head(x.mean(-1))


@torch.no_grad()
def update_teacher(teacher, student, momentum):
    for kept, new in zip(teacher.parameters(), student.parameters()):
        kept.mul_(momentum).add_(new, alpha=1 - momentum)


def train(epochs=2):
    torch.manual_seed(3)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    student = Student().to(device)
    teacher = copy.deepcopy(student)
    teacher = teacher.to(device).eval()
    optimizer = torch.optim.Adam(student.parameters(), 1e-3)
    signals = torch.randn(64, 20)
    labels = torch.randint(0, 3, (64,))
    for epoch in range(epochs):
        order = torch.randperm(len(signals))
        for part in order.split(16):
            x, y = signals[part].to(device), labels[part].to(device)
            logits = student(x)
            with torch.no_grad():
                soft = teacher(x + 0.1 * torch.randn_like(x)).softmax(-1)
            loss = F.cross_entropy(logits, y) + F.mse_loss(logits.softmax(-1), soft)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            update_teacher(teacher, student, 0.99)
        print(epoch, round(loss.item(), 5))


train()
