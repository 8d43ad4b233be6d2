"""DVF101: elements of a batch that stay on the host."""

from textwrap import dedent

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF101"

SILENT = {
    "moved by a type that is chosen": """
        import torch
        from torch.autograd import Variable
        from torch.utils.data import DataLoader

        def detect(images):
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            net = torch.nn.Linear(3, 3).to(device)
            Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
            for paths, x in DataLoader(images):
                x = Variable(x.type(Tensor))
                print(paths, net(x))
    """,
    "moved by the name of a type": """
        import torch
        from torch.utils.data import DataLoader

        def detect(images):
            net = torch.nn.Linear(3, 3).to("cuda")
            for paths, x in DataLoader(images):
                print(paths, net(x.type("torch.cuda.FloatTensor")))
    """,
    "a pipeline places what it is given": """
        import torch
        from torch.utils.data import DataLoader

        def caption(pipe, data, device):
            pipe.to(device)
            for image, text in DataLoader(data):
                text = text.to(device)
                print(pipe(image))
    """,
    "a function that is called, and another thing that is moved": """
        import torch
        from torch.utils.data import DataLoader

        def run(step, state, data, device):
            state = state.to(device)
            for x, y in DataLoader(data):
                x = x.to(device)
                step(y)
                print(state)
    """,
    "what is called gets the batch where it is": """
        import torch
        from torch.utils.data import DataLoader

        def run(net, data, device):
            net = net.to(device)
            for x, name in DataLoader(data):
                print(name, net(x.to(device)).argmax())
    """,
    "batch moved by helper in other file": """
        import torch
        from utils import to_device
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        for batch in loader:
            batch = to_device(batch, device)
            x, y = batch
            loss = F.cross_entropy(model(x), y)
            loss.backward()
        for x, y in loader:
            x, y = to_device((x, y), device)
            loss = F.cross_entropy(model(x), y)
            loss.backward()
    """,
    "helper inplace on dict": """
        import torch
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        def prepare(batch):
            for k in batch:
                batch[k] = batch[k].to(device)
        for batch in loader:
            prepare(batch)
            loss = torch.nn.functional.cross_entropy(model(batch["x"]), batch["y"])
            loss.backward()
    """,
    "unknown helper in place on dict": """
        import torch
        from utils import move_inplace
        import torch.nn.functional as F
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        for batch in loader:
            move_inplace(batch, device)
            loss = F.cross_entropy(model(batch["x"]), batch["y"])
            loss.backward()
    """,
    "method moves batch": """
        import torch
        import torch.nn.functional as F
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        for batch in loader:
            x = batch["x"].to(device)
            batch.to_device(device)
            loss = F.cross_entropy(model(x), batch["y"])
            loss.backward()
    """,
    "model moves its inputs itself": """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x, y):
                x = x.to(self.fc.weight.device)
                y = y.to(x.device)
                return nn.functional.cross_entropy(self.fc(x), y)
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            loss = model(x, y)
            loss.backward()
    """,
    "model moves one of its inputs itself": """
        import torch
        import torch.nn as nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc = nn.Linear(3, 3)
            def forward(self, x, y):
                out = self.fc(x)
                y = y.to(out.device)
                return nn.functional.cross_entropy(out, y)
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            loss = model(x, y)
            loss.backward()
    """,
    "criterion moves target": """
        import torch
        import torch.nn as nn
        class Loss(nn.Module):
            def forward(self, out, y):
                y = y.to(out.device)
                return nn.functional.cross_entropy(out, y)
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        criterion = Loss()
        for x, y in loader:
            x = x.to(device)
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "function moves target": """
        import torch
        import torch.nn.functional as F
        def compute_loss(out, y):
            y = y.to(out.device)
            return F.cross_entropy(out, y)
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            loss = compute_loss(model(x), y)
            loss.backward()
    """,
    "out moved back to cpu": """
        import torch
        import torch.nn.functional as F
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            out = model(x).cpu()
            loss = F.cross_entropy(out, y)
            correct += (out.argmax(1) == y).sum()
            loss.backward()
    """,
    "out moved back 2": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            out = model(x.to(device))
            _, pred = torch.max(out.data.cpu(), 1)
            correct += (pred == y).sum().item()
            all_preds.append(out.argmax(1).cpu())
            all_labels.append(y)
        preds = torch.cat(all_preds); labels = torch.cat(all_labels)
        print((preds == labels).float().mean())
    """,
    "numpy": """
        import torch
        import numpy as np
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            out = model(x).detach().cpu().numpy()
            y = y.numpy()
            err = ((out - y) ** 2).mean()
    """,
    "y numpy loss to device inline": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            out = model(x)
            loss = criterion(out, y.to(out.device))
            loss.backward()
            targets.extend(y.numpy())
    """,
    "lengths": """
        import torch
        from torch.nn.utils.rnn import pack_padded_sequence
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y, lengths in loader:
            x, y = x.to(device), y.to(device)
            packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            out = model(packed)
            out2 = model(x, lengths)
            loss = criterion(out2, y)
            loss.backward()
    """,
    "lengths in model of same file": """
        import torch
        from torch import nn
        from torch.nn.utils.rnn import pack_padded_sequence
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.rnn = nn.LSTM(3, 3)
                self.emb = nn.Embedding(3, 3)
            def forward(self, x, lens):
                packed = pack_padded_sequence(self.emb(x), lens, batch_first=True)
                return self.rnn(packed)[0]
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y, lens in loader:
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x, lens), y)
            loss.backward()
    """,
    "ctc lengths": """
        import torch
        from torch import nn
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        ctc = nn.CTCLoss()
        for x, y, input_lengths, target_lengths in loader:
            x, y = x.to(device), y.to(device)
            logp = model(x).log_softmax(2)
            loss = ctc(logp, y, input_lengths, target_lengths)
            loss.backward()
    """,
    "ctc functional T S": """
        import torch
        import torch.nn.functional as F
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y, il, tl in loader:
            x, y = x.to(device), y.to(device)
            logp = model(x).log_softmax(2)
            loss = F.ctc_loss(logp, y, il, tl)
            loss.backward()
    """,
    "deepspeech spectrogram data": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        criterion = torch.nn.CTCLoss(blank=28).to(device)
        for batch_idx, _data in enumerate(train_loader):
            spectrograms, labels, input_lengths, label_lengths = _data
            spectrograms, labels = spectrograms.to(device), labels.to(device)
            output = model(spectrograms)
            output = torch.nn.functional.log_softmax(output, dim=2).transpose(0, 1)
            loss = criterion(output, labels, input_lengths, label_lengths)
            loss.backward()
    """,
    "index": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        feats = model.embed(torch.arange(10, device=device))
        for x, idx in loader:
            x = x.to(device)
            out = model(x)
            e = feats[idx]
            s = out[:, idx]
            loss = (out - e).sum()
            loss.backward()
    """,
    "memory bank index": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        bank = torch.zeros(50000, 128, device=device)
        for images, target, index in loader:
            images, target = images.to(device), target.to(device)
            feats = model(images)
            bank[index] = feats.detach()
            w = bank[index] * 0.5
            loss = (feats * w).sum()
            loss.backward()
    """,
    "names/paths": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for images, labels, paths in loader:
            images, labels = images.to(device), labels.to(device)
            out = model(images)
            loss = criterion(out, labels)
            for p in paths:
                print(p)
            for name, o in zip(paths, out):
                torch.save(o, name + ".pt")
    """,
    "clip text list": """
        import torch, clip
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model, preprocess = clip.load("ViT-B/32", device=device)
        for images, captions in loader:
            images = images.to(device)
            tokens = clip.tokenize(captions).to(device)
            logits, _ = model(images, tokens)
            loss = criterion(logits, torch.arange(len(images), device=device))
            loss.backward()
        image = preprocess(Image.open("x")).unsqueeze(0).to(device)
        text = clip.tokenize(["a", "b"]).to(device)
        model.encode_image(image)
    """,
    "sd prompts": """
        import torch
        device = "cuda"
        text_encoder.to(device)
        unet.to(device)
        unet.train()
        for batch in loader:
            latents = vae.encode(batch["pixel_values"].to(device)).latent_dist.sample()
            ids = tokenizer(batch["prompt"], return_tensors="pt").input_ids.to(device)
            h = text_encoder(ids)[0]
            noise = torch.randn_like(latents)
            timesteps = torch.randint(0, 1000, (4,), device=latents.device).long()
            noisy = scheduler.add_noise(latents, noise, timesteps)
            pred = unet(noisy, timesteps, h).sample
            loss = torch.nn.functional.mse_loss(pred.float(), noise.float())
            loss.backward()
    """,
    "data parallel scatters": """
        import torch
        from torch import nn
        model = nn.DataParallel(Net()).cuda()
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y.cuda())
            loss.backward()
    """,
    "ddp cuda": """
        import torch
        from torch import nn
        from torch.nn.parallel import DistributedDataParallel as DDP
        model = DDP(Net().cuda(rank), device_ids=[rank])
        for x, y in loader:
            out = model(x)
            loss = criterion(out, y.cuda(rank))
            loss.backward()
    """,
    "deepspeed": """
        import torch, deepspeed
        engine, optimizer, _, _ = deepspeed.initialize(model=model)
        for x, y in loader:
            x = x.to(engine.local_rank)
            loss = F.cross_entropy(engine(x), y)
            engine.backward(loss)
    """,
    "lightning": """
        import torch
        import pytorch_lightning as pl
        class M(pl.LightningModule):
            def training_step(self, batch, i):
                x, y = batch
                x = x.to(self.device)
                return F.cross_entropy(self(x), y)
            def validate(self):
                for x, y in self.loader:
                    x = x.to(self.device)
                    F.cross_entropy(self(x), y)
    """,
    "accelerate object by argument": """
        import torch
        def train(accelerator, model, loader):
            device = accelerator.device
            model, loader = accelerator.prepare(model, loader)
            for x, y in loader:
                mask = torch.ones(3).to(device)
                x = x.to(device)
                loss = F.cross_entropy(model(x) * mask, y)
                accelerator.backward(loss)
    """,
    "fabric": """
        import torch
        def train(fabric, model, loader, device):
            model = fabric.setup(model)
            loader = fabric.setup_dataloaders(loader)
            for x, y in loader:
                z = x.to(device)
                loss = F.cross_entropy(model(x), y)
                loss.backward()
    """,
    "dataset": """
        import torch
        from torch.utils.data import Dataset
        class D(Dataset):
            def __init__(self, device):
                self.device = device
                self.items = []
                for x, y in source:
                    x = x.to(device)
                    self.items.append((x * y))
            def __getitem__(self, i):
                x, y = self.items[i]
                return x, y
    """,
    "collate": """
        import torch
        def collate_fn(batch):
            xs = []
            for x, y in batch:
                xs.append(x.to("cuda") * y)
            return torch.stack(xs)
    """,
    "moved later": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            y = y.view(-1).long()
            y = torch.clamp(y, 0, 10)
            y = y.to(device)
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "mixed on host then both moved": """
        import torch
        import torch.nn.functional as F
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            lam = torch.rand(1)
            idx = torch.randperm(x.size(0))
            x = lam * x + (1 - lam) * x[idx]
            y = F.one_hot(y, 10).float()
            y = lam * y + (1 - lam) * y[idx]
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "guarded": """
        import torch
        model = Net()
        if args.cuda:
            model.cuda()
            model.train()
        for x, y in loader:
            if args.cuda:
                x, y = x.cuda(), y.cuda()
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "two guards": """
        import torch
        use_gpu = torch.cuda.is_available()
        model = Net()
        if use_gpu:
            model = model.cuda()
        for x, y in loader:
            if use_gpu:
                x = x.cuda()
            else:
                x = x
            if use_gpu: y = y.cuda()
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "ternary": """
        import torch
        use_gpu = torch.cuda.is_available()
        model = Net().cuda() if use_gpu else Net()
        for x, y in loader:
            x = x.cuda() if use_gpu else x
            y = y.cuda() if use_gpu else y
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "ternary Variable": """
        import torch
        from torch.autograd import Variable
        use_gpu = torch.cuda.is_available()
        if use_gpu: net = net.cuda()
        for data in loader:
            inputs, labels = data
            if use_gpu:
                inputs, labels = Variable(inputs.cuda()), Variable(labels.cuda())
            else:
                inputs, labels = Variable(inputs), Variable(labels)
            loss = criterion(net(inputs), labels)
            loss.backward()
    """,
    "nn ctc short names": """
        import torch
        from torch import nn
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        ctc = nn.CTCLoss()
        for x, y, xl, yl in loader:
            x, y = x.to(device), y.to(device)
            logp = model(x).log_softmax(2)
            loss = ctc(logp, y, xl, yl)
            loss.backward()
    """,
    "local ctc class attribute": """
        import torch
        from torch import nn
        class Trainer:
            def __init__(self, model, device):
                self.model = model.to(device)
                self.device = device
                self.criterion = nn.CTCLoss(blank=0)
            def train(self, loader):
                for images, targets, target_sizes in loader:
                    images = images.to(self.device)
                    targets = targets.to(self.device)
                    logits = self.model(images)
                    input_sizes = torch.IntTensor([logits.size(0)] * logits.size(1))
                    loss = self.criterion(logits, targets, input_sizes, target_sizes)
                    loss.backward()
    """,
    "pad_packed lens used on model and cpu": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for text, n, labels in loader:
            text, labels = text.to(device), labels.to(device)
            loss = criterion(model(text, n.cpu()), labels)
            loss.backward()
    """,
    "recursive helper": """
        import torch
        def to_device(x, device):
            if isinstance(x, torch.Tensor):
                return x.to(device)
            if isinstance(x, dict):
                return {k: to_device(v, device) for k, v in x.items()}
            if isinstance(x, (list, tuple)):
                return type(x)(to_device(v, device) for v in x)
            return x
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = to_device(x, device)
            y = to_device(y, device)
            loss = criterion(model(x), y)
            loss.backward()
        for batch in loader:
            batch = to_device(batch, device)
            loss = criterion(model(batch["x"]), batch["y"])
            loss.backward()
    """,
    "device data loader class": """
        import torch
        def to_device(data, device):
            if isinstance(data, (list, tuple)):
                return [to_device(x, device) for x in data]
            return data.to(device, non_blocking=True)
        class DeviceDataLoader():
            def __init__(self, dl, device):
                self.dl = dl
                self.device = device
            def __iter__(self):
                for b in self.dl:
                    yield to_device(b, self.device)
            def __len__(self):
                return len(self.dl)
        device = torch.device("cuda")
        train_loader = DeviceDataLoader(torch.utils.data.DataLoader(ds), device)
        model = Net()
        model.to(device)
        model.train()
        for x, y in train_loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        for batch in train_loader:
            images, labels = batch
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
    """,
    "generator moves": """
        import torch
        def batches(loader, device):
            for x, y in loader:
                yield x.to(device), y.to(device)
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in batches(torch.utils.data.DataLoader(ds), device):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        for i, (x, y) in enumerate(batches(torch.utils.data.DataLoader(ds), device)):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "generator moves whole": """
        import torch
        def batches(loader, device):
            for batch in loader:
                yield [b.to(device) for b in batch]
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in batches(torch.utils.data.DataLoader(ds), device):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "cuda prefetcher": """
        import torch
        class Prefetcher:
            def __init__(self, loader):
                self.loader = iter(loader)
                self.stream = torch.cuda.Stream()
                self.preload()
            def preload(self):
                try:
                    self.next_input, self.next_target = next(self.loader)
                except StopIteration:
                    self.next_input = None
                    self.next_target = None
                    return
                with torch.cuda.stream(self.stream):
                    self.next_input = self.next_input.cuda(non_blocking=True)
                    self.next_target = self.next_target.cuda(non_blocking=True)
                    self.next_input = self.next_input.float()
                    self.next_input = self.next_input.sub_(self.mean).div_(self.std)
            def next(self):
                torch.cuda.current_stream().wait_stream(self.stream)
                input = self.next_input
                target = self.next_target
                self.preload()
                return input, target
        model = Net()
        model.cuda()
        model.train()
        prefetcher = Prefetcher(torch.utils.data.DataLoader(ds))
        input, target = prefetcher.next()
        while input is not None:
            loss = torch.nn.functional.cross_entropy(model(input), target)
            loss.backward()
            input, target = prefetcher.next()
    """,
    "collate moves": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        collate = torch.utils.data.default_collate
        loader = torch.utils.data.DataLoader(ds, collate_fn=lambda b: [t.to(device) for t in collate(b)])
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "one of two collates moves": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        collate = torch.utils.data.default_collate
        moved = lambda b: [t.to(device) for t in collate(b)]
        loader = torch.utils.data.DataLoader(ds, collate_fn=moved if args.gpu else collate)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "collate func moves": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        def collate_batch(batch):
            labels, texts, offsets = [], [], [0]
            for label, text in batch:
                labels.append(label)
                t = torch.tensor(text)
                texts.append(t)
                offsets.append(t.size(0))
            labels = torch.tensor(labels, dtype=torch.int64)
            offsets = torch.tensor(offsets[:-1]).cumsum(dim=0)
            return labels.to(device), torch.cat(texts).to(device), offsets.to(device)
        loader = torch.utils.data.DataLoader(ds, batch_size=8, shuffle=False, collate_fn=collate_batch)
        for idx, (label, text, offsets) in enumerate(loader):
            predicted = model(text, offsets)
            loss = criterion(predicted, label)
            loss.backward()
    """,
    "dataset on device": """
        import torch
        from torch.utils.data import TensorDataset, DataLoader
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        X = X.to(device); Y = Y.to(device)
        ds = TensorDataset(X, Y)
        for x, y in DataLoader(ds):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "dataset class on device": """
        import torch
        from torch.utils.data import Dataset, DataLoader
        device = torch.device("cuda")
        class DS(Dataset):
            def __init__(self, x, y):
                self.x = torch.tensor(x).to(device)
                self.y = torch.tensor(y).to(device)
            def __getitem__(self, i):
                return self.x[i], self.y[i]
            def __len__(self): return len(self.x)
        model = Net()
        model.to(device)
        model.train()
        for x, y in DataLoader(DS(a, b)):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "dataset class from csv, on device": """
        import torch
        from torch.utils.data import Dataset, DataLoader
        class DS(Dataset):
            def __init__(self, path, device):
                df = pd.read_csv(path)
                self.x = torch.tensor(df.values, dtype=torch.float32, device=device)
                self.y = torch.tensor(df["y"].values, device=device)
            def __getitem__(self, i):
                return self.x[i], self.y[i]
            def __len__(self): return len(self.x)
        device = torch.device("cuda")
        ds = DS("x.csv", device)
        model = Net()
        model.to(device)
        model.train()
        train, test = torch.utils.data.random_split(ds, [8, 2])
        for x, y in DataLoader(train):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
        for x, y in DataLoader(torch.utils.data.Subset(ds, [1,2])):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "getitem moves": """
        import torch
        from torch.utils.data import Dataset, DataLoader
        class DS(Dataset):
            def __getitem__(self, i):
                image = load(i)
                return image.to("cuda"), torch.tensor(1).cuda()
            def __len__(self): return 3
        model = Net()
        model.to("cuda")
        model.train()
        for x, y in DataLoader(DS()):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "dataset from other file": """
        import torch
        from torch.utils.data import DataLoader
        from data import GpuDataset
        device = torch.device("cuda")
        ds = GpuDataset("x", device)
        model = Net()
        model.to(device)
        model.train()
        for x, y in DataLoader(ds):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "dali": """
        import torch
        from nvidia.dali.plugin.pytorch import DALIClassificationIterator
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        train_loader = DALIClassificationIterator(pipe)
        for i, data in enumerate(train_loader):
            input = data[0]["data"]
            target = data[0]["label"].squeeze(-1).long()
            loss = torch.nn.functional.cross_entropy(model(input), target)
            loss.backward()
    """,
    "ffcv": """
        import torch
        from ffcv.loader import Loader, OrderOption
        from ffcv.transforms import ToDevice
        loader = Loader("x", pipelines={"image": [ToDevice(torch.device("cuda:0"))]})
        model = Net()
        model.to("cuda")
        model.train()
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
    """,
    "xla loader": """
        import torch
        import torch_xla.distributed.parallel_loader as pl
        import torch_xla.core.xla_model as xm
        device = xm.xla_device()
        model = Net()
        model.to(device)
        model.train()
        loader = pl.MpDeviceLoader(torch.utils.data.DataLoader(ds), device)
        for x, y in loader:
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "xla per device": """
        import torch
        import torch_xla.distributed.parallel_loader as pl
        import torch_xla.core.xla_model as xm
        device = xm.xla_device()
        model = Net()
        model.to(device)
        model.train()
        para = pl.ParallelLoader(torch.utils.data.DataLoader(ds), [device])
        for x, y in para.per_device_loader(device):
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "set default device": """
        import torch
        torch.set_default_device("cuda")
        model = Net()
        model.to("cuda")
        model.train()
        for x, y in torch.utils.data.DataLoader(ds, generator=torch.Generator(device="cuda")):
            loss = torch.nn.functional.cross_entropy(model(x), y.cuda())
            loss.backward()
    """,
    "default tensor type": """
        import torch
        torch.set_default_tensor_type("torch.cuda.FloatTensor")
        model = torch.nn.Linear(3, 3)
        crit = torch.nn.CrossEntropyLoss()
        for x, y in torch.utils.data.DataLoader(ds):
            x, y = x.cuda(), y.cuda()
            loss = crit(model(x), y)
            loss.backward()
    """,
    "set default device module": """
        import torch
        device = "cuda" if torch.cuda.is_available() else "cpu"
        torch.set_default_device(device)
        model = torch.nn.Linear(3, 3)
        for x, y in torch.utils.data.DataLoader(ds):
            x, y = x.to(device), y.to(device)
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "yield from list of arrays": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in zip(xs, ys):
            x = torch.from_numpy(x).to(device)
            y = torch.from_numpy(y).to(device)
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
    """,
    "numbers in lists": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, weight in zip(tensors, weights):
            x = x.to(device)
            total = total + model(x) * weight
        for t, scale in items:
            t = t.to(device)
            t = t * scale
        for name, t in items:
            t = t.to(device)
            out[name] = model(t)
    """,
    "agents loop": """
        import torch
        device = torch.device("cuda")
        for agent, reward in zip(agents, rewards):
            obs = agent.obs.to(device)
            value = agent.net(obs)
            loss = (value - reward) ** 2
            loss.backward()
    """,
    "rl memory": """
        import torch
        device = torch.device("cuda")
        class Agent:
            def __init__(self, n):
                self.qnetwork = QNet(n)
                self.qnetwork.to(device)
                self.qnetwork.train()
                self.memory = ReplayBuffer(n)
            def learn(self, experiences, gamma):
                states, actions, rewards, next_states, dones = experiences
                q_targets = rewards + gamma * self.qnetwork(next_states).detach().max(1)[0].unsqueeze(1) * (1 - dones)
                q_expected = self.qnetwork(states).gather(1, actions)
                loss = torch.nn.functional.mse_loss(q_expected, q_targets)
                loss.backward()
            def act(self, state):
                state = torch.from_numpy(state).float().unsqueeze(0).to(device)
                with torch.no_grad():
                    values = self.qnetwork(state)
                return np.argmax(values.cpu().data.numpy())
        class ReplayBuffer:
            def sample(self):
                experiences = random.sample(self.memory, k=3)
                states = np.vstack([e.state for e in experiences if e is not None])
                states = torch.from_numpy(states).float().to(device)
                return (states,)
    """,
    "ppo": """
        import torch
        class PPO:
            def __init__(self, policy, device):
                self.policy = policy.to(device)
                self.policy_old = policy.to(device)
                self.device = device
                self.buffer = RolloutBuffer()
                self.mse = torch.nn.MSELoss()
            def select_action(self, state):
                with torch.no_grad():
                    state = torch.FloatTensor(state).to(self.device)
                    action, logprob = self.policy_old.act(state)
                self.buffer.states.append(state)
                self.buffer.logprobs.append(logprob)
                return action.item()
            def update(self):
                rewards = []
                discounted = 0
                for reward, done in zip(reversed(self.buffer.rewards), reversed(self.buffer.is_terminals)):
                    if done: discounted = 0
                    discounted = reward + 0.99 * discounted
                    rewards.insert(0, discounted)
                rewards = torch.tensor(rewards, dtype=torch.float32).to(self.device)
                rewards = (rewards - rewards.mean()) / (rewards.std() + 1e-7)
                old_states = torch.squeeze(torch.stack(self.buffer.states, dim=0)).detach().to(self.device)
                old_logprobs = torch.squeeze(torch.stack(self.buffer.logprobs, dim=0)).detach().to(self.device)
                for _ in range(4):
                    logprobs, values, entropy = self.policy.evaluate(old_states)
                    ratios = torch.exp(logprobs - old_logprobs.detach())
                    adv = rewards - values.detach()
                    loss = -torch.min(ratios * adv, adv) + 0.5 * self.mse(values, rewards) - 0.01 * entropy
                    loss.mean().backward()
    """,
    "cleanrl": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        agent = Agent(envs)
        agent.to(device)
        agent.train()
        obs = torch.zeros((128, 4) + envs.shape).to(device)
        rewards = torch.zeros((128, 4)).to(device)
        next_obs, _ = envs.reset(seed=1)
        next_obs = torch.Tensor(next_obs).to(device)
        next_done = torch.zeros(4).to(device)
        for step in range(128):
            obs[step] = next_obs
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
            next_obs, reward, term, trunc, infos = envs.step(action.cpu().numpy())
            rewards[step] = torch.tensor(reward).to(device).view(-1)
            next_obs, next_done = torch.Tensor(next_obs).to(device), torch.Tensor(term).to(device)
            b_inds = np.arange(512)
            for start in range(0, 512, 64):
                mb = b_inds[start:start+64]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(obs[mb])
                loss = ((newvalue - rewards[mb]) ** 2).mean()
                loss.backward()
    """,
    "sb3 style buffer to": """
        import torch
        class Buf:
            def __init__(self, device):
                self.device = device
                self.obs = torch.zeros(3, 3)
            def sample(self, idx):
                return self.obs[idx].to(self.device)
            def insert(self, obs):
                self.obs[0].copy_(obs)
            def to(self, device):
                self.obs = self.obs.to(device)
        rollouts = Buf("cuda")
        rollouts.to("cuda")
    """,
    "multi gpu split": """
        import torch
        model1.to("cuda:0"); model2.to("cuda:1")
        for x, y in loader:
            h = model1(x.to("cuda:0"))
            out = model2(h.to("cuda:1"))
            loss = crit(out, y.to("cuda:1"))
            loss.backward()
    """,
    "model parallel class": """
        import torch
        import torch.nn as nn
        class MP(nn.Module):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(3, 3).to("cuda:0")
                self.b = nn.Linear(3, 3).to("cuda:1")
            def forward(self, x):
                x = self.a(x.to("cuda:0"))
                return self.b(x.to("cuda:1"))
        model = MP()
        for x, y in loader:
            y = y.to("cuda:1")
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
    """,
    "model parallel resnet": """
        import torch
        import torch.nn as nn
        from torchvision.models.resnet import ResNet, Bottleneck
        class ModelParallelResNet50(ResNet):
            def __init__(self, *args, **kwargs):
                super().__init__(Bottleneck, [3, 4, 6, 3], num_classes=10, *args, **kwargs)
                self.seq1 = nn.Sequential(self.conv1, self.bn1).to('cuda:0')
                self.seq2 = nn.Sequential(self.layer3, self.layer4).to('cuda:1')
                self.fc.to('cuda:1')
            def forward(self, x):
                x = self.seq2(self.seq1(x).to('cuda:1'))
                return self.fc(x.view(x.size(0), -1))
        def train(model):
            model.train(True)
            loss_fn = nn.MSELoss()
            for _ in range(3):
                inputs = torch.randn(2, 3)
                labels = torch.zeros(2).scatter_(1, idx, 1)
                outputs = model(inputs.to('cuda:0'))
                labels = labels.to(outputs.device)
                loss_fn(outputs, labels).backward()
    """,
}


SPLIT = """
    import torch
    from torch import nn
    from torch.utils.data import DataLoader
    class Tagger(nn.Module):
        def __init__(self, tokens, device):
            super().__init__()
            self.tokens, self.net, self.device = tokens, nn.Linear(3, 3), device
        def forward(self, kinds, rows):
            ids = [{read} for one in range(len(rows))]
            return self.net(torch.tensor(ids).to(self.device)), kinds
    def run(model, loader, device):
        for batch in loader:
            kinds, rows = batch["kind"], batch["rows"]
            kinds = kinds.to(device)
            model(kinds, rows)
    def main(data, tokens, device):
        model = Tagger(tokens, device)
        model.to(device)
        run(model, DataLoader(data), device)
"""


READ_AS_TEXT = [
    "rows[one].split(' ')",
    "'[CLS] ' + rows[one]",
    "self.tokens.tokenize(rows[one])",
    "[r.strip() for r in rows]",
]


@pytest.mark.parametrize("read", READ_AS_TEXT)
def test_what_the_model_reads_as_text(rule, read: str) -> None:
    assert rule.findings(SPLIT.format(read=read)) == ()


def test_what_the_loop_reads_as_text(rule) -> None:
    program = SPLIT.format(read="1").replace(
        "model(kinds, rows)", "model(kinds, rows)\n            f(rows[0].split('/'))"
    )
    assert rule.findings(program) == ()


def test_what_the_model_reads_as_numbers(rule) -> None:
    program = SPLIT.format(read="rows.view(-1)[one].item()")
    assert "rows = rows.to(device" in rule.fixed(program, unsafe=True)


READER = """
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence
from torch.utils.data import DataLoader
def collate(rows):
    words, order, ls = stack(rows)
    {collates}
    return words, order, ls
class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 8)
        self.rnn = nn.GRU(8, 8, batch_first=True)
    def forward(self, words, order, ls=None):
        seen = self.embed(words)
        {packs}
        return self.rnn(seen)[1][0][order]
def train(net, loader, device, criterion):
    for words, order, ls in loader:
        words, order = words.to(device), order.to(device)
        loss = criterion(net(words, order, {given}), order)
        loss.backward()
def main(data, device):
    net = Reader()
    net.to(device)
    train(net, DataLoader(data, collate_fn=collate), device, nn.CrossEntropyLoss())
"""


def _reader(packs: str, collates: str = "pass", given: str = "ls") -> str:
    return READER.format(packs=packs, collates=collates, given=given)


@pytest.mark.parametrize(
    "program",
    [
        _reader("seen = pack_padded_sequence(seen, ls, batch_first=True)"),
        _reader("seen = nn.utils.rnn.pack_padded_sequence(seen, lengths=ls, batch_first=True)"),
        _reader("seen = pack_padded_sequence(seen, ls)", given="ls=ls"),
        _reader("seen = seen * ls if ls is not None else seen", "ls = ls if ls[0] is not None else None"),
        _reader("seen = seen * ls if ls is not None else seen", "if bare:\n        ls = None"),
    ],
)
def test_what_the_model_needs_on_the_host_or_may_lack(rule, program: str) -> None:
    assert rule.findings(program) == ()


def test_what_the_model_needs_beside_its_input(rule) -> None:
    assert "        ls = ls.to(device)\n" in rule.fixed(_reader("seen = seen * ls[:, None, None]"))


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT)
def test_is_silent(rule, program: str) -> None:
    assert rule.findings(program) == ()


HEAD = """import torch
from torch import nn
from torch.utils.data import DataLoader
from models import Net

device = torch.device("cuda")
model = Net()
model.to(device)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""

LOOPS = {
    "beside its sibling, in the same words": (
        """
for images, labels in loader:
    images = images.to(device, non_blocking=True)  # to the card
    loss = criterion(model(images), labels)
""",
        """
for images, labels in loader:
    images = images.to(device, non_blocking=True)  # to the card
    labels = labels.to(device, non_blocking=True)
    loss = criterion(model(images), labels)
""",
    ),
    "after the last sibling of a tuple": (
        """
for images, masks, labels in loader:
    images, masks = images.to(device), masks.to(device)
    loss = criterion(model(images, masks), labels)
""",
        """
for images, masks, labels in loader:
    images, masks = images.to(device), masks.to(device)
    labels = labels.to(device)
    loss = criterion(model(images, masks), labels)
""",
    ),
    "inline, where the sibling is": (
        """
for images, labels in loader:
    loss = criterion(model(images.to(device)), labels)
""",
        """
for images, labels in loader:
    labels = labels.to(device)
    loss = criterion(model(images.to(device)), labels)
""",
    ),
    "with the device of a sibling that also changes its dtype": (
        """
for images, labels in loader:
    images = images.to(device, dtype=torch.float32)
    loss = criterion(model(images), labels)
""",
        """
for images, labels in loader:
    images = images.to(device, dtype=torch.float32)
    labels = labels.to(device)
    loss = criterion(model(images), labels)
""",
    ),
    "an item of a dictionary": (
        """
for batch in loader:
    image = batch["image"].to(device)
    label = batch["label"]
    loss = criterion(model(image), label)
""",
        """
for batch in loader:
    image = batch["image"].to(device)
    label = batch["label"].to(device)
    loss = criterion(model(image), label)
""",
    ),
    "an item by position": (
        """
for batch in loader:
    x = batch[0].to(device)
    y = batch[1]
    loss = criterion(model(x), y)
""",
        """
for batch in loader:
    x = batch[0].to(device)
    y = batch[1].to(device)
    loss = criterion(model(x), y)
""",
    ),
    "unpacked in the body": (
        """
for batch in loader:
    x, y = batch
    x = x.to(device)
    loss = criterion(model(x), y)
""",
        """
for batch in loader:
    x, y = batch
    x = x.to(device)
    y = y.to(device)
    loss = criterion(model(x), y)
""",
    ),
    "under enumerate and tqdm": (
        """
from tqdm import tqdm
for i, (x, y) in enumerate(tqdm(loader)):
    x = x.to(device)
    loss = criterion(model(x), y)
""",
        """
from tqdm import tqdm
for i, (x, y) in enumerate(tqdm(loader)):
    x = x.to(device)
    y = y.to(device)
    loss = criterion(model(x), y)
""",
    ),
    "at its use, where the name is also read as an array": (
        """
for x, y in loader:
    x = x.to(device)
    loss = criterion(model(x), y)
    seen.append(y.numpy())
""",
        """
for x, y in loader:
    x = x.to(device)
    loss = criterion(model(x), y.to(device))
    seen.append(y.numpy())
""",
    ),
    "several at once": (
        """
for x, y, z in loader:
    x = x.to(device)
    out = model(x)
    loss = criterion(out, y) + nn.functional.mse_loss(out, z)
""",
        """
for x, y, z in loader:
    x = x.to(device)
    y = y.to(device)
    z = z.to(device)
    out = model(x)
    loss = criterion(out, y) + nn.functional.mse_loss(out, z)
""",
    ),
    "in a loop of its own kind of move": (
        """
for x, y in loader:
    x = x.cuda(non_blocking=True)
    loss = nn.functional.cross_entropy(model(x), y)
""",
        """
for x, y in loader:
    x = x.cuda(non_blocking=True)
    y = y.cuda(non_blocking=True)
    loss = nn.functional.cross_entropy(model(x), y)
""",
    ),
    "an async loop": (
        """
async def train():
    async for x, y in loader:
        x = x.to(device)
        loss = criterion(model(x), y)
        loss.backward()
""",
        """
async def train():
    async for x, y in loader:
        x = x.to(device)
        y = y.to(device)
        loss = criterion(model(x), y)
        loss.backward()
""",
    ),
    "a batch of next(iter())": (
        """
x, y = next(iter(loader))
x = x.to(device)
loss = criterion(model(x), y)
""",
        """
x, y = next(iter(loader))
x = x.to(device)
y = y.to(device)
loss = criterion(model(x), y)
""",
    ),
    "the plain target of a loop over a loader": (
        """
for x, y in DataLoader(data):
    out = model(x.to(device))
    loss = nn.functional.mse_loss(out, y)
""",
        """
for x, y in DataLoader(data):
    y = y.to(device)
    out = model(x.to(device))
    loss = nn.functional.mse_loss(out, y)
""",
    ),
}


@pytest.mark.parametrize(("before", "after"), LOOPS.values(), ids=LOOPS)
def test_moves_the_forgotten_element(rule, before: str, after: str) -> None:
    assert rule.fixed(HEAD + before) == HEAD + after


NOTHING_MOVED = HEAD + "for x, y in DataLoader(data):\n    loss = nn.functional.cross_entropy(model(x), y)\n"


def test_the_target_of_a_loss_and_the_argument_of_a_model(rule) -> None:
    assert rule.safeties(NOTHING_MOVED) == [Safety.SAFE, Safety.SAFE]
    assert rule.fixed(NOTHING_MOVED).endswith(
        "    x = x.to(device, non_blocking=True)\n"
        "    y = y.to(device, non_blocking=True)\n"
        "    loss = nn.functional.cross_entropy(model(x), y)\n"
    )


DEVICES = {
    "self.device": (
        """
        class Trainer:
            def __init__(self, model, device):
                self.device = device
                self.model = model.to(device)
                self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            def train(self, loader):
                for x, y in DataLoader(data):
                    loss = nn.functional.mse_loss(self.model(x), y)
        """,
        "self.device",
    ),
    "args.device": (
        """
        def main(args):
            model = Net()
            model.to(args.device)
            model.train()
            for x, y in DataLoader(data):
                loss = nn.functional.mse_loss(model(x), y)
        """,
        "args.device",
    ),
    "a parameter": (
        """
        def main(model, device):
            model.to(device)
            model.train()
            for x, y in DataLoader(data):
                loss = nn.functional.mse_loss(model(x), y)
        """,
        "device",
    ),
    "a literal": (
        """
        def main(model):
            model.to('cuda:1')
            model.train()
            for x, y in DataLoader(data):
                loss = nn.functional.mse_loss(model(x), y)
        """,
        "'cuda:1'",
    ),
}


@pytest.mark.parametrize(("program", "device"), DEVICES.values(), ids=DEVICES)
def test_the_device_that_is_at_hand(rule, program: str, device: str) -> None:
    imports = "import torch\nfrom torch import nn\nfrom torch.utils.data import DataLoader\nfrom models import Net\n"
    after = rule.fixed(imports + dedent(program), unsafe=True)
    assert f"y = y.to({device}, non_blocking=True)\n" in after
    assert f"x = x.to({device}, non_blocking=True)\n" in after


def test_a_device_of_the_model_where_a_function_has_nothing_else(rule) -> None:
    program = """
        import torch
        from torch import nn
        from torch.utils.data import DataLoader
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        def evaluate(model, loader):
            model.eval()
            for x, y in loader:
                loss = nn.functional.mse_loss(model(x), y)
        def main():
            device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
            model = nn.Linear(3, 3).to(device)
            evaluate(model, DataLoader(data))
        main()
    """
    assert "y = y.to(device, non_blocking=True)" in rule.fixed(program)


def test_the_finding_tells_the_way_of_the_value(rule) -> None:
    program = (
        HEAD + "for images, labels in loader:\n    images = images.to(device)\n    criterion(model(images), labels)\n"
    )
    finding = rule.finding(program)
    assert finding.message == "`labels` stays on the host, but meets `model(images)` on `device` in `criterion`"
    assert [one.note for one in finding.trail] == [
        "`labels` comes from the loader here, on the host",
        "it meets `model(images)` here",
        "`Net()` is moved here",
    ]
    assert finding.origin.line == finding.trail[0].span.line
    assert finding.span.line == finding.trail[1].span.line
    assert finding.fix.title == "Move `labels` to `device`, as `images` is"


def test_each_fix_can_be_taken_alone(rule) -> None:
    program = HEAD + (
        "for x, y, w in loader:\n    x = x.to(device)\n    loss = criterion(model(x), y) + criterion(model(x), w)\n"
    )
    after = rule.fixed(program, accept=lambda one: "`w`" in one.message)
    assert "w = w.to(device)" in after
    assert "y = y.to(device)" not in after


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_are_those_of_the_text(rule, end: str) -> None:
    lines = [
        "# -*- coding: utf-8 -*-",
        "import torch",
        "def train(model, loader, device):",
        "\tmodel.train()",
        "\tfor bilder, größe in loader:",
        "\t\tbilder = bilder.to(device)  # äöü",
        "\t\tverlust = torch.nn.functional.cross_entropy(model(bilder), größe)",
    ]
    program = end.join(lines) + end
    finding = rule.finding(program.encode())
    assert (finding.span.line, finding.span.column) == (7, 12)
    assert (finding.origin.line, finding.origin.column) == (5, 13)
    wanted = [*lines[:6], "\t\tgröße = größe.to(device)", lines[6]]
    assert rule.fixed(program.encode()) == end.join(wanted) + end


def test_a_comment_silences_the_line(rule) -> None:
    program = HEAD + (
        "for x, y in loader:\n    x = x.to(device)\n    criterion(model(x), y)  # devfix: ignore[DVF101]\n"
    )
    assert rule.findings(program) == ()


def test_items_that_a_dataset_may_have_placed(rule):
    assert (
        rule.findings("""
        import torch
        from torch.utils.data import DataLoader, Dataset
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        class Waves(Dataset):
            def __len__(self): return 3
            def __getitem__(self, index):
                return warped(torch.linspace(0, 1, 5, device=device)), torch.ones(1, device=device)
        model = torch.nn.Linear(5, 1).to(device)
        for wave, target in DataLoader(Waves()):
            loss = torch.nn.functional.mse_loss(model(wave), target)
    """)
        == ()
    )


# Moves in one branch only

BRANCHES = """
    import torch
    class Sampler:
        def run(self, block, given, device, steps):
            if {test}:
                sigmas = spread(steps)
                sigmas = sigmas.to(device)
            else:
                sigmas = {other}
            {after}
            return [one * 2 for one in sigmas]
"""


@pytest.mark.parametrize(
    ("test", "other", "after"),
    [
        ("steps", "spread(4)", "pass"),
        ("steps", "given", "pass"),
        ("steps", "None", "pass"),
        ("steps", "[0.1, 0.2]", "pass"),
        ("steps", "torch.ones(3, device=device)", "pass"),
        ("steps", "self.scheduler.sigmas", "sigmas = sigmas.to(device)"),
        ("steps", "self.scheduler.sigmas.to(device)", "pass"),
        ("steps", "self.scheduler.sigmas.cuda()", "pass"),
        ("given.device != device", "self.scheduler.sigmas", "pass"),
        ("torch.cuda.is_available()", "self.scheduler.sigmas", "pass"),
        ("steps", "self.scheduler.sigmas", "return 3"),
    ],
)
def test_branches_that_need_no_move(rule, test: str, other: str, after: str) -> None:
    assert (
        rule.findings(
            BRANCHES.format(test=test, other=other, after=after).replace(
                "return [one * 2 for one in sigmas]", "pass" if after == "return 3" else "return sigmas[0] * 2"
            )
        )
        == ()
    )


def test_a_module_takes_along_what_it_holds(rule) -> None:
    program = BRANCHES.format(test="steps", other="self.table", after="pass")
    assert rule.findings(program.replace("Sampler:", "Sampler(torch.nn.Module):")) == ()


def test_a_device_that_only_one_branch_knows(rule) -> None:
    program = BRANCHES.format(test="steps", other="self.scheduler.sigmas", after="pass")
    assert rule.findings(program.replace("given, device,", "given,").replace("= spread", "= device = spread")) == ()


GRAPHS = """
    def train(model, graphs, parallel, device):
        for graph in graphs:
            {before}
            if parallel:
                parts = [one.forces for one in graph]
                forces = torch.cat(parts, dim=0).to(device)
            else:
                forces = {forces}
            score(model(graph), forces)
"""


@pytest.mark.parametrize(
    ("before", "forces"),
    [
        ("if not parallel: graph.to(device)", "graph.forces"),
        ("if not parallel: graph.to(device)", 'graph.extra["forces"]'),
        ("graph.to(device, non_blocking=True)", "graph.forces"),
        ("graph = graph.to(device)", "graph.forces"),
        ("graph.cuda()", "graph.forces"),
        ('graph.to("cuda:0")', "graph.forces"),
        ("graph.nodes.to(device)", "graph.nodes.forces"),
        ("state.graph.to(device)", "state.graph.forces"),
    ],
)
def test_a_part_of_what_is_moved_as_a_whole(rule, before: str, forces: str) -> None:
    assert rule.findings("import torch\n" + dedent(GRAPHS.format(before=before, forces=forces))) == ()


TOLD_APART = """
    import torch

    class Sizes:
        def decode(self, i, residual, other):
            if {test}:
                mean = torch.tensor({made}).to({device})
            else:
                mean = self.means[i, :]
            return [mean + residual for _ in range(i)]
"""


@pytest.mark.parametrize(
    ("test", "made", "device"),
    [
        ("torch.is_tensor(residual)", "self.means[i, :]", "residual.device"),
        ("torch.is_tensor(residual)", "self.means.tolist()", "residual.device"),
        ("isinstance(residual, torch.Tensor)", "self.rows[i]", "residual.device"),
        ("hasattr(residual, 'device')", "self.rows[i]", "residual.device"),
        ("type(residual) is torch.Tensor", "self.rows[i]", "residual.device"),
        ("i > 3", "self.means[i, :]", "residual.device"),
    ],
)
def test_what_the_other_branch_has_no_tensors_for(rule, test: str, made: str, device: str) -> None:
    assert rule.findings(TOLD_APART.format(test=test, made=made, device=device)) == ()


CHAIN = """
    import torch
    for images, target in torch.utils.data.DataLoader(data):
        if args.gpu is not None:
            {first}
        elif torch.cuda.is_available():
            {second}
        {after}
        loss = criterion(model(images), target)
"""


@pytest.mark.parametrize(
    ("first", "second", "after"),
    [
        ("images = images.cuda(args.gpu)", "images = images.cuda()", "pass"),
        ("images = images.cuda(args.gpu)", "target = target.cuda()", "images, target = images.cuda(), target.cuda()"),
        ("images = images.cuda(args.gpu)", "pass", "pass"),
        ("images = images.cuda(args.gpu)", "other = other.cuda()", "pass"),
    ],
)
def test_chains_that_move_the_same(rule, first: str, second: str, after: str) -> None:
    found = rule.findings(CHAIN.format(first=first, second=second, after=after))
    assert not any("another path" in one.message for one in found)


def test_branches_of_a_chain_that_move_different_items(rule) -> None:
    program = CHAIN.format(
        first="images = images.cuda(args.gpu, non_blocking=True)", second='target = target.to("cuda")', after="pass"
    )
    made = "import torch\n    model, criterion = torch.nn.Linear(3, 3).cuda(), torch.nn.MSELoss()\n"
    program = program.replace("import torch\n", made)
    assert "        target = target.cuda(args.gpu, non_blocking=True)\n" in rule.fixed(program, unsafe=True)


ARRAYS = """
    import torch
    def act(state, net, device):
        if {test}:
            state = torch.from_numpy(state)
            {move}
        {after}
        return net(state)
"""


@pytest.mark.parametrize(
    ("test", "move", "after"),
    [
        ("not torch.is_tensor(state)", "state = state.float()", "pass"),
        ("not torch.is_tensor(state)", "state = state.to(device)", "state = state.to(device)"),
        ("not torch.is_tensor(state)", "state = state.to(state.dtype)", "pass"),
        ("not isinstance(state, list)", "state = state.to(device)", "pass"),
        ("not isinstance(state, (list, torch.Tensor))", "state = state.to(device)", "pass"),
        ("state.device != device", "state = state.to(device)", "pass"),
    ],
)
def test_tensors_that_need_no_move(rule, test: str, move: str, after: str) -> None:
    assert rule.findings(ARRAYS.format(test=test, move=move, after=after)) == ()


@pytest.mark.parametrize("test", ["not torch.is_tensor(state)", "not isinstance(state, torch.Tensor)"])
def test_only_what_is_no_tensor_yet_is_moved(rule, test: str) -> None:
    program = ARRAYS.format(test=test, move="state = state.to(device)", after="# act")
    expected = "        state = state.to(device)\n    state = state.to(device)\n    # act\n"
    assert expected in rule.unchanged_unless_unsafe(program)


STEPS = """
    import torch
    class Trainer:
        def train_step(self, sample):
            if self.processor is not None:
                sample = self.processor.preprocess(sample)
            else:
                sample = {{k: v.to(self.device) for k, v in sample.items()}}
            return self.model(**sample)
        def eval_step(self, sample):
            if {test}:
                sample = {body}
            {after}
            return self.model(**sample)
"""


@pytest.mark.parametrize(
    ("test", "body", "after"),
    [
        ("self.other is not None", "self.processor.preprocess(sample)", "pass"),
        ("self.processor is not None", "self.processor.preprocess(sample, 1)", "pass"),
        ("self.processor is not None", "self.processor.preprocess(sample)", "sample = sample.to(self.device)"),
        (
            "self.processor is not None",
            "self.processor.preprocess(sample)",
            "sample['x'] = sample['x'].to(self.device)",
        ),
    ],
)
def test_methods_that_are_not_alike(rule, test: str, body: str, after: str) -> None:
    assert rule.findings(STEPS.format(test=test, body=body, after=after)) == ()


def test_what_one_branch_computes_on_the_host_is_moved_there_alone(rule) -> None:
    program = """
        import torch
        class Learner:
            def losses(self, batch, values):
                if self.traces:
                    values = values.cpu()
                    gains = torch.zeros(len(values))
                    for i, reward in enumerate(batch.rewards_on_host):
                        gains[i] = reward - values[i]
                    gains = gains.to(self.device)
                else:
                    gains = batch.gains
                return (gains - gains.mean()).abs()
    """
    assert rule.findings(program) == ()


INLINE = """
    import torch
    def train(loader, net, judge, device):
        for x, _ in loader:
            {first}
            y = norm(y)
            x = {second}
            a = judge(y)
            b = {third}
            loss = score(a, b)
"""


@pytest.mark.parametrize(
    ("first", "second", "third"),
    [
        ("y = net(x)", "norm(x)", "judge(x)"),
        ("y = net(x.to(device))", "norm(x.to(device))", "judge(x)"),
        ("y = net(x.to(device))", "norm(x)", "judge(x.to(device))"),
        ("y = net(x.to(device))", "norm(x)", "other(x)"),
        ("y = net(x.to(device))", "norm(x)", "x"),
        ("y = net(x.to(dtype))", "norm(x)", "judge(x)"),
        ("y = net(x.to(device)).cpu() if x.cpu() else 0", "norm(x)", "judge(x)"),
    ],
)
def test_items_moved_inside_a_call_that_stay_apart(rule, first: str, second: str, third: str) -> None:
    found = rule.findings(INLINE.format(first=first, second=second, third=third))
    assert not any("another path" in one.message for one in found)


CALLED = {
    "a parameter, moved as a statement": ("    net.to(device)", "net"),
    "a parameter, moved into a name": ("    model = net.to(device)", "model"),
    "a parameter, moved with cuda": ("    net.cuda()", "net"),
}


@pytest.mark.parametrize(("move", "name"), CALLED.values(), ids=CALLED)
def test_what_is_moved_and_called_is_a_module(rule, move: str, name: str) -> None:
    lines = [
        "import torch",
        "from torch.utils.data import DataLoader",
        "",
        "def fit(net, data, device):",
        move,
        "    criterion = torch.nn.CrossEntropyLoss()",
        "    for x, y in DataLoader(data):",
        f"        x = x.{'cuda()' if 'cuda' in move else 'to(device)'}",
        f"        print(criterion({name}(x), y))",
        "",
    ]
    found = rule.findings("\n".join(lines))
    assert [finding.span.line for finding in found] == [9]


def test_what_is_moved_into_an_attribute_and_called_is_a_module(rule) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader

        class Base:
            def __init__(self, model, args):
                self.device = torch.device(args.device)
                self.model = model.to(self.device)
                self.criterion = torch.nn.CrossEntropyLoss()

        class Trainer(Base):
            def train(self, data):
                for x, y in DataLoader(data):
                    x = x.to(self.device)
                    print(self.criterion(self.model(x), y))
    """
    assert [finding.span.line for finding in rule.findings(dedent(program))] == [15]


def test_a_type_of_numbers_moves_nothing(rule) -> None:
    program = """
        import torch
        from torch.utils.data import DataLoader

        def detect(images, device):
            net = torch.nn.Linear(3, 3).to(device)
            for paths, x in DataLoader(images):
                print(paths, net(x.type(torch.float32)))
    """
    assert len(rule.findings(program)) == 1


PASSED_ON = """
import torch
def train(box, loader, device):
    for images, targets, {name} in loader:
        images, targets = images.to(device), targets.to(device)
        loss = box(images, targets, {name})
        loss.backward()
{after}
"""


@pytest.mark.parametrize(
    ("name", "after"),
    [
        ("supplement", "        print(supplement['index'])"),
        ("supplement", "        print(supplement.get('index'))"),
        ("supplement", "        print(list(supplement.items()))"),
        ("supplement", "def test(box, loader):\n    for x, y, supplement in loader:\n        box(x, **supplement)"),
        ("supplement_dict", ""),
        ("extras", ""),
    ],
)
def test_a_mapping_that_a_model_gets_has_no_to(rule, name: str, after: str) -> None:
    assert rule.findings(PASSED_ON.format(name=name, after=after)) == ()


def test_what_a_model_gets_with_its_siblings(rule) -> None:
    assert "        weight = weight.to(device)\n" in rule.fixed(PASSED_ON.format(name="weight", after=""))


TEXTS = {
    "an annotation of that name": """
class Prior:
    def loss(self, images: torch.Tensor, notes: list[str]):
        return self.net(notes) + self.net(images)
    def validate(self, net):
        for images, notes in self.loader:
            images = images.to(self.device)
            a = self.net(notes) + self.net(images)
""",
    "an annotation of what gets it": """
class Prior:
    def loss(self, images, given: torch.Tensor | list[str]):
        return self.net(given) + self.net(images)
    def validate(self, net):
        for images, notes in self.loader:
            images = images.to(self.device)
            a = self.net(notes) + self.net(images)
            self.loss(images, notes)
""",
    "a tokenizer": """
class Prior:
    def validate(self, net):
        for images, notes in self.loader:
            images = images.to(self.device)
            count = len(self.tokenizer(notes))
            a = self.net(notes) + self.net(images)
""",
}
PRIOR = """
import torch
class Base:
    def __init__(self, net, loader, device):
        self.device = device
        self.net = net.to(self.device)
        self.loader = torch.utils.data.DataLoader(loader)
"""


@pytest.mark.parametrize("name", TEXTS)
def test_what_may_be_text(rule, name: str) -> None:
    assert rule.findings(PRIOR + TEXTS[name].replace("Prior:", "Prior(Base):")) == ()


def test_what_is_no_text(rule) -> None:
    program = TEXTS["an annotation of that name"].replace("list[str]", "torch.Tensor").replace("Prior:", "Prior(Base):")
    assert "            notes = notes.to(self.device)\n" in rule.fixed(PRIOR + program, unsafe=True)


BY_PARTS = """
    import torch
    from torch.utils.data import DataLoader

    class Trainer:
        def __init__(self, model, loader: DataLoader, args):
            self.model = model.to(args.device)
            self.loader = loader
            self.args = args

        def run(self):
            for batch in self.loader:
                {first}
                {second}
                self.model(**batch).loss.backward()
"""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            'batch["ids"] = batch["ids"].to(self.args.device)',
            'batch["mask"] = batch["mask"].to(self.args.device)',
        ),
        ('batch["ids"] = batch["ids"].long().to(self.args.device)', 'batch["mask"] = batch["mask"].cuda()'),
        (
            'batch["ids"], batch["mask"] = batch["ids"].to(self.args.device), batch["mask"].to(self.args.device)',
            "pass",
        ),
        ("for key in batch:", "    batch[key] = batch[key].to(self.args.device)"),
    ],
)
def test_a_mapping_whose_items_are_moved_one_by_one(rule, first: str, second: str) -> None:
    assert rule.findings(BY_PARTS.format(first=first, second=second)) == ()


def test_a_mapping_of_which_an_item_is_moved_for_something_else(rule) -> None:
    program = BY_PARTS.format(first='ids = batch["ids"].to(self.args.device)', second="print(ids)")
    assert "for k, v in batch.items()}" in rule.unchanged_unless_unsafe(program)


GIVEN_AWAY = """
    import torch
    from torch.utils._pytree import tree_map
    from torch.utils.data import DataLoader

    {helper}
    def train(model, data, criterion, device):
        model.to(device)
        model.train()
        for image, target in DataLoader(data):
            target = target.to(device)
            criterion({call}, target).backward()
"""
MOVING_HELPERS = {
    "of whatever kind it is given": (
        """
        def run(model, given, device="cpu"):
            if isinstance(given, dict):
                for key in given.keys():
                    given[key] = given[key].to(device) if torch.is_tensor(given[key]) else given[key]
                return model(**given)
            if isinstance(given, (list, tuple)):
                given = [one.to(device) if torch.is_tensor(one) else one for one in given]
                return model(*given)
            if device == "cpu" or not torch.is_tensor(given):
                return model(given)
            given = given.to(device)
            return model(given)
        """,
        "run(model, image, device=device)",
    ),
    "by position and by name": (
        """
        def run(model, *args, device=None, **kwargs):
            if device is None or device == "cpu":
                return model(*args, **kwargs)
            return model(*[one.to(device) for one in args], **{k: v.to(device) for k, v in kwargs.items()})
        """,
        "run(model, image, device=device)",
    ),
    "by another helper of its own": (
        """
        def move(x, device):
            if isinstance(x, dict):
                return {k: move(v, device) for k, v in x.items()}
            return x.to(device) if torch.is_tensor(x) else x

        def run(model, image, device=None):
            if device != "cpu":
                return model(move(image, device))
            return model(image)
        """,
        "run(model, image, device)",
    ),
    "leaf by leaf": (
        """
        def run(model, image, device=None):
            if device != "cpu":
                return model(tree_map(lambda one: one.to(device), image))
            return model(image)
        """,
        "run(model, image, device)",
    ),
    "after a detour": (
        """
        def inner(model, x, device):
            if device == "cpu":
                return model(x)
            return model(x.to(device))

        def run(model, image, device=None):
            return inner(model, image.float(), device)
        """,
        "run(model, image, device)",
    ),
    "by a method": (
        """
        class Runner:
            def __init__(self, model):
                self.model = model

            def run(self, image, device):
                if device == "cpu":
                    return self.model(image)
                return self.model(image.to(device))
        """,
        "Runner(model).run(image, device)",
    ),
    "by a call of an object": (
        """
        class Runner:
            def __init__(self, model, device):
                self.model = model
                self.device = device

            def __call__(self, image):
                if self.device == "cpu":
                    return self.model(image)
                return self.model(image.to(self.device))
        """,
        "Runner(model, device)(image)",
    ),
    "by a helper of another library": (
        """
        from accelerate.utils import send_to_device

        def run(model, image, device=None):
            if device != "cpu":
                return model(send_to_device(image, device))
            return model(image)
        """,
        "run(model, image, device)",
    ),
}


@pytest.mark.parametrize("helper", MOVING_HELPERS, ids=str)
def test_a_helper_on_the_way_moves_what_it_is_given(rule, helper: str) -> None:
    assert rule.findings(_given_away(*MOVING_HELPERS[helper])) == ()


@pytest.mark.parametrize(
    "helper",
    [
        "def run(model, image, device):\n    return model(image).to(device)\n",
        "def run(model, image, device):\n    return model(image.to(torch.float16))\n",
        "def run(model, image, device):\n    mask = torch.ones(3).to(device)\n    return model(image * mask)\n",
    ],
)
def test_a_helper_on_the_way_that_moves_something_else(rule, helper: str) -> None:
    fixed = rule.fixed(_given_away(helper, "run(model, image, device)"), unsafe=True)
    assert "        image = image.to(device)\n" in fixed


def _given_away(helper: str, call: str) -> str:
    return dedent(GIVEN_AWAY).replace("{helper}", dedent(helper)).replace("{call}", call)


BLOCKS = """
import torch
from torch import nn
{imports}
class Trainer:
    def __init__(self, model, loader, device):
        self.device = device
        self.model = model.to(self.device)
        self.loader = loader
    def step(self):
        for {targets} in self.loader:
            inputs = inputs.to(self.device)
            labels = labels.to(self.device)
            loss = nn.functional.cross_entropy(self.model(blocks, inputs), labels)
            loss.backward()
"""


@pytest.mark.parametrize(
    ("imports", "targets", "moved"),
    [
        ("import dgl", "inputs, labels, blocks", False),
        ("from dgl.dataloading import DataLoader", "inputs, labels, blocks", False),
        ("import dgl", "blocks, inputs, labels", True),
        ("", "inputs, labels, blocks", True),
    ],
)
def test_blocks_of_a_graph_are_a_list(rule, imports: str, targets: str, moved: bool) -> None:
    findings = rule.findings(BLOCKS.format(imports=imports, targets=targets))
    assert any("`blocks`" in one.message for one in findings) is moved


COLLATED_ARRAYS = """
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
def collate_fn(batch):
    found = {made}
    return {{"user": torch.tensor(np.array([one["user"] for one in batch])), "act": found}}
def train(model, data, device):
    model.to(device)
    for part in DataLoader(data, collate_fn=collate_fn):
        user, act = part["user"].to(device), part["act"]
        loss = nn.functional.cross_entropy(model(user, act), user)
        loss.backward()
"""


@pytest.mark.parametrize(
    ("made", "moved"),
    [
        ('np.array([one["act"] for one in batch], dtype=object)', False),
        ('torch.tensor([one["act"] for one in batch])', True),
        ('torch.from_numpy(np.array([one["act"] for one in batch]))', True),
    ],
)
def test_what_a_collate_function_leaves_an_array(rule, made: str, moved: bool) -> None:
    assert bool(rule.findings(COLLATED_ARRAYS.format(made=made))) is moved


MAPPING = """
from typing import Dict, List
from torch.utils.data import DataLoader
class Tuner:
    def __init__(self, model, device):
        self.device = device
        self.model = model.to(device)
    def epoch(self, loader: DataLoader):
        for inputs, answers in loader:
            self.step(inputs, answers)
    def step(self, inputs{annotation}, answers):
        labels = answers.to(self.device)
        return self.model({given}, labels)
"""


@pytest.mark.parametrize(
    ("annotation", "given", "edits"),
    [
        ("", 'inputs["ids"]', 1),
        (": dict", 'inputs["ids"]', 1),
        (": Dict[str, torch.Tensor]", 'inputs["ids"]', 1),
        (": List[torch.Tensor]", "inputs[0]", 0),
        (": dict", "inputs", 0),
    ],
)
def test_an_entry_of_what_is_said_to_be_a_mapping(rule, annotation: str, given: str, edits: int) -> None:
    found = rule.findings(MAPPING.format(annotation=annotation, given=given))
    assert sum(one.fix is not None for one in found) == edits


def test_an_entry_that_may_be_missing(rule) -> None:
    program = HEAD + (
        "for batch in DataLoader(data):\n"
        '    inputs = {key: one.to(device) for key, one in batch["inputs"].items()}\n'
        '    loss = model(inputs, batch.get("tag"))\n'
    )
    assert rule.findings(program) == ()


def test_a_mask_beside_moved_ids(rule) -> None:
    program = """
        import torch
        def forward(self, inputs):
            ids = inputs["input_ids"]
            mask = inputs.get("attention_mask", None)
            return self.model.generate(input_ids=ids.to(self.model.device), attention_mask=mask)
    """
    assert "attention_mask=mask.to(self.model.device) if mask is not None else None)" in rule.fixed(
        program, unsafe=True
    )


def test_what_only_several_devices_scatter(rule) -> None:
    program = HEAD + (
        "if torch.cuda.device_count() > 1:\n    model = nn.DataParallel(model)\n"
        "for x, y in loader:\n    loss = criterion(model(x), y.to(device))\n"
    )
    assert "    x = x.to(device)\n" in rule.unchanged_unless_unsafe(program)


def test_the_type_of_a_sibling_in_a_display_is_its_own(rule) -> None:
    program = """
        import torch
        def train(model, loader, criterion, device):
            model.to(device)
            for x, y in loader:
                a, b = x.to(device, torch.float16), y
                criterion(model(a), b).backward()
    """
    assert "a, b = x.to(device, torch.float16), y.to(device)\n" in rule.fixed(program, unsafe=True)


@pytest.mark.parametrize("annotation", ["", ": torch.Tensor"])
def test_what_is_read_by_keys_has_no_move_of_its_own(rule, annotation: str) -> None:
    program = f"""
        import torch
        class Loop:
            def step(self, batch{annotation}):
                return self.process(batch)
            def process(self, batch):
                strokes, text, style = batch["strokes"], batch["text"], batch["style"]
                strokes, text, style = strokes[:2].to(self.device), text.to(self.device), style.to(self.device)
                return strokes, text, style
            def train(self, rows):
                loader = torch.utils.data.DataLoader(rows)
                while True:
                    batch = next(iter(loader))
                    self.step(batch)
    """
    assert not any("next(" in one.message for one in rule.findings(program) if one.fix is not None)


@pytest.mark.parametrize(
    "tests",
    [
        ("np.random.uniform() < 0.5", "np.random.uniform() < 0.5"),
        ("time.time() < until", "time.time() < until"),
        ("asked(cuda=True)", "asked(amp=True)"),
    ],
)
def test_tests_that_are_answered_anew(rule, tests: tuple[str, str]) -> None:
    program = f"""
        import time
        import numpy as np
        from torch.utils.data import DataLoader
        from options import asked, until
        def train(model, data, criterion, device):
            model.to(device)
            for x, y in DataLoader(data):
                x = x.to(device)
                if {tests[0]}:
                    y = y.to(device)
                if {tests[1]}:
                    criterion(model(x), y).backward()
    """
    assert rule.finding(program).message.startswith("`y` stays on the host, but meets `model(x)` on `device`")


IN_LIGHTNING = """
import torch
from {package} import {base}
class Net({base}):
    def {method}:
        for x, y in {loop}:
            y = y.to(self.device)
            loss = self.loss(self.net(x), y)
            loss.backward()
"""


@pytest.mark.parametrize(
    ("package", "base", "method", "loop"),
    [
        ("lightning", "LightningModule", "validation_step(self, batch, index)", "batch"),
        ("lightning", "LightningModule", "validation_step(self, batch, index)", "enumerate(batch[0])"),
        ("accelerate", "Accelerator", "evaluate(self)", "self.loader"),
    ],
)
def test_what_a_framework_may_have_placed(rule, package: str, base: str, method: str, loop: str) -> None:
    program = IN_LIGHTNING.format(package=package, base=base, method=method, loop=loop)
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(program))


@pytest.mark.parametrize("loop", ["self.trainer.datamodule.train_dataloader()", "self.loader"])
def test_lightning_places_nothing_of_a_loop_of_ones_own(rule, loop: str) -> None:
    program = IN_LIGHTNING.format(
        package="lightning", base="LightningModule", method="on_validation_epoch_end(self)", loop=loop
    )
    assert "            x = x.to(self.device)\n" in rule.fixed(program, unsafe=True)


BESIDE_LIGHTNING = """
    import torch
    import {package} as framework
    class Net(framework.{base}):
        pass
    def evaluate(net, loader, device):
        {moved}
        for batch in loader:
            net(batch).sum().backward()
"""


@pytest.mark.parametrize(
    ("package", "base", "moved"),
    [
        ("pytorch_lightning", "LightningModule", "net.eval()"),
        ("pytorch_lightning", "LightningModule", "net, loader = framework.prepared(net, loader)"),
        ("accelerate", "Accelerator", "net = net.to(device)"),
        ("lightning", "Fabric", "net = net.to(device)"),
    ],
)
def test_what_a_framework_may_place_in_functions(rule, package: str, base: str, moved: str) -> None:
    program = BESIDE_LIGHTNING.format(package=package, base=base, moved=moved)
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(program))


@pytest.mark.parametrize("moved", ["net = net.to(device)", "net.to(device)"])
def test_functions_that_move_their_model_themselves(rule, moved: str) -> None:
    program = BESIDE_LIGHTNING.format(package="pytorch_lightning", base="LightningModule", moved=moved)
    assert "        batch = batch.to(device, non_blocking=True)\n" in rule.fixed(program, unsafe=True)


BATCHES = """
    import torch
    def predict(batch, net):
        return net(batch["graph"])
    def evaluate(net, loader, device):
        net = net.to(device)
        for batch in loader:
            measure(net(batch), {read})
"""


def test_mappings_have_no_move_of_their_own(rule) -> None:
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(BATCHES.format(read='batch["y"]')))


def test_graphs_have_one_whatever_else_has_their_name(rule) -> None:
    fixed = rule.fixed(BATCHES.format(read='batch.ndata["y"]'), unsafe=True)
    assert "        batch = batch.to(device, non_blocking=True)\n" in fixed


KEYED = """
    import torch
    def embed(model, loader, device, {key}):
        model = model.to(device)
        for batch in loader:
            keep(model.encode_text(batch[{key}]))
"""


@pytest.mark.parametrize("key", ["caption_type", "text_column", "path"])
def test_what_stands_under_a_key_for_texts(rule, key: str) -> None:
    assert {Safety.SAFE, Safety.UNSAFE}.isdisjoint(rule.safeties(KEYED.format(key=key)))


@pytest.mark.parametrize("key", ["field", "column"])
def test_what_stands_under_another_key(rule, key: str) -> None:
    assert f"batch[{key}].to(device" in rule.fixed(KEYED.format(key=key), unsafe=True)
