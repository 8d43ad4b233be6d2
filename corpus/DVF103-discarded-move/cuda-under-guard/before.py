import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(2, 6, 5)
        self.fc = nn.Linear(6, 2)

    def forward(self, x):
        x = F.relu(self.conv(x))
        return self.fc(x.max(dim=2)[0])


def predict(net, signal, use_cuda):
    net.eval()
    if use_cuda:
        net.cuda()
        signal.cuda()
    with torch.no_grad():
        return F.softmax(net(signal), dim=1)


def main():
    torch.manual_seed(1)
    use_cuda = torch.cuda.is_available()
    signal = torch.randn(3, 2, 40)
    probs = predict(Net(), signal, use_cuda)
    print("loss %.4f" % -probs.max(dim=1)[0].log().mean().item())


if __name__ == "__main__":
    main()
