import torch
import torch.nn as nn
import torch.optim as optim
from torch.optim import lr_scheduler
from torch.utils.data import DataLoader, TensorDataset

from models import Backbone


def train_model(model, loaders, criterion, optimizer, scheduler, device, epochs=2):
    for epoch in range(epochs):
        for phase in ["train", "val"]:
            model.train(phase == "train")
            running_loss, running_corrects = 0.0, 0
            for inputs, labels in loaders[phase]:
                inputs = inputs.to(device)
                labels = labels.to(device)
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
            if phase == "train":
                scheduler.step()
            print(f"{epoch} {phase}: {running_loss:.3f} {running_corrects.item()}")
    return model


def main():
    torch.manual_seed(0)
    device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
    loaders = {
        phase: DataLoader(TensorDataset(torch.rand(24, 1, 12, 12), torch.randint(0, 3, (24,))), batch_size=8)
        for phase in ["train", "val"]
    }
    model = Backbone()
    for weight in model.parameters():
        weight.requires_grad = False
    model.fc = nn.Linear(model.fc.in_features, 3)
    model = model.to(device)
    optimizer = optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
    scheduler = lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.1)
    train_model(model, loaders, nn.CrossEntropyLoss(), optimizer, scheduler, device)


if __name__ == "__main__":
    main()
