import torch
from loop import fit
from net import Classifier
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(3)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    data = TensorDataset(torch.randn(8, 4), torch.randint(2, (8,)))
    model = Classifier().to(device)
    print(f"loss {fit(model, DataLoader(data, batch_size=4), device):.4f}")


if __name__ == "__main__":
    main()
