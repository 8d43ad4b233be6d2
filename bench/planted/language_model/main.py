import torch
from lm.model import LanguageModel
from lm.training import Trainer
from torch.utils.data import DataLoader, TensorDataset


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    tokens = torch.randint(0, 40, (48, 17))
    loader = DataLoader(TensorDataset(tokens), batch_size=16, shuffle=True)
    Trainer(LanguageModel(40), device).fit(loader, epochs=2)


if __name__ == "__main__":
    main()
