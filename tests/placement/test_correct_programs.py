"""Programs as people write them, all of them right: no flow rule may say a word."""

from textwrap import dedent

import pytest
from devfix_codemods.engine import check
from devfix_codemods.outcomes import Checked, Options
from devfix_codemods.rules import all_rules
from devfix_codemods.source import Source

RUN = """
if __name__ == "__main__":
    main()
"""

SELECT = frozenset(rule.code for rule in all_rules() if rule.code.startswith(("DVF1", "DVF2")))

PROGRAMS = {
    "gan": """
        import torch
        from torch import nn
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        G = Generator()
        G.to(device)
        G.train()
        D = Discriminator()
        D.to(device)
        D.train()
        criterion = nn.BCELoss()
        fixed_noise = torch.randn(64, 100, 1, 1, device=device)
        for epoch in range(10):
            for i, data in enumerate(dataloader, 0):
                D.zero_grad()
                real_cpu = data[0].to(device)
                b_size = real_cpu.size(0)
                label = torch.full((b_size,), 1.0, dtype=torch.float, device=device)
                output = D(real_cpu).view(-1)
                errD_real = criterion(output, label)
                errD_real.backward()
                noise = torch.randn(b_size, 100, 1, 1, device=device)
                fake = G(noise)
                label.fill_(0)
                output = D(fake.detach()).view(-1)
                errD_fake = criterion(output, label)
                errD_fake.backward()
                with torch.no_grad():
                    f = G(fixed_noise).detach().cpu()
                img_list.append(vutils.make_grid(f, padding=2))
    """,
    "old gan variable": """
        import torch
        from torch.autograd import Variable
        Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
        cuda = torch.cuda.is_available()
        generator = Generator()
        discriminator = Discriminator()
        adversarial_loss = torch.nn.BCELoss()
        if cuda:
            generator.cuda()
            discriminator.cuda()
            adversarial_loss.cuda()
        for epoch in range(n):
            for i, (imgs, _) in enumerate(dataloader):
                valid = Variable(Tensor(imgs.size(0), 1).fill_(1.0), requires_grad=False)
                fake = Variable(Tensor(imgs.size(0), 1).fill_(0.0), requires_grad=False)
                real_imgs = Variable(imgs.type(Tensor))
                z = Variable(Tensor(np.random.normal(0, 1, (imgs.shape[0], 100))))
                gen_imgs = generator(z)
                g_loss = adversarial_loss(discriminator(gen_imgs), valid)
                g_loss.backward()
                real_loss = adversarial_loss(discriminator(real_imgs), valid)
                fake_loss = adversarial_loss(discriminator(gen_imgs.detach()), fake)
                d_loss = (real_loss + fake_loss) / 2
                d_loss.backward()
    """,
    "infogan like with LongTensor alias": """
        import torch
        FloatTensor = torch.cuda.FloatTensor
        LongTensor = torch.cuda.LongTensor
        model = Net()
        model.cuda()
        model.train()
        for i, (imgs, labels) in enumerate(dataloader):
            real_imgs = imgs.type(FloatTensor)
            labels = labels.type(LongTensor)
            loss = criterion(model(real_imgs), labels)
            loss.backward()
    """,
    "dqn": """
        import torch
        import torch.nn as nn
        device = torch.device("cuda")
        policy_net = DQN(n_obs, n_act)
        policy_net.to(device)
        policy_net.train()
        target_net = DQN(n_obs, n_act)
        target_net.to(device)
        target_net.train()
        target_net.load_state_dict(policy_net.state_dict())
        memory = ReplayMemory(10000)
        def optimize_model():
            transitions = memory.sample(BATCH_SIZE)
            batch = Transition(*zip(*transitions))
            non_final_mask = tuple(map(lambda s: s is not None, batch.next_state))
            non_final_mask = torch.tensor(non_final_mask, device=device, dtype=torch.bool)
            non_final_next_states = torch.cat([s for s in batch.next_state if s is not None])
            state_batch = torch.cat(batch.state)
            action_batch = torch.cat(batch.action)
            reward_batch = torch.cat(batch.reward)
            state_action_values = policy_net(state_batch).gather(1, action_batch)
            next_state_values = torch.zeros(BATCH_SIZE, device=device)
            with torch.no_grad():
                next_state_values[non_final_mask] = target_net(non_final_next_states).max(1).values
            expected = (next_state_values * GAMMA) + reward_batch
            criterion = nn.SmoothL1Loss()
            loss = criterion(state_action_values, expected.unsqueeze(1))
            optimizer.zero_grad()
            loss.backward()
        for i_episode in range(10):
            state, info = env.reset()
            state = torch.tensor(state, dtype=torch.float32, device=device).unsqueeze(0)
            for t in count():
                action = select_action(state)
                observation, reward, terminated, truncated, _ = env.step(action.item())
                reward = torch.tensor([reward], device=device)
                next_state = torch.tensor(observation, dtype=torch.float32, device=device).unsqueeze(0)
                next_state = None if terminated else next_state
                memory.push(state, action, next_state, reward)
                state = next_state
                optimize_model()
                target_net_state_dict = target_net.state_dict()
                policy_net_state_dict = policy_net.state_dict()
                for key in policy_net_state_dict:
                    target_net_state_dict[key] = policy_net_state_dict[key]*TAU + target_net_state_dict[key]*(1-TAU)
                target_net.load_state_dict(target_net_state_dict)
    """,
    "rollout": """
        import torch
        def collect(env, policy, device):
            policy.to(device)
            policy.train()
            obs_buf = torch.zeros(128, 8, 4)
            rew_buf = torch.zeros(128, 8)
            obs = torch.as_tensor(env.reset())
            for t in range(128):
                with torch.no_grad():
                    action, value = policy(obs.to(device))
                obs_buf[t] = obs
                obs, reward, done, info = env.step(action.cpu().numpy())
                obs = torch.as_tensor(obs)
                rew_buf[t] = torch.as_tensor(reward)
            return obs_buf, rew_buf
    """,
    "segmentation": """
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch.utils.data import DataLoader, random_split
        def train_model(model, device, epochs=5):
            train_set, val_set = random_split(dataset, [n_train, n_val], generator=torch.Generator().manual_seed(0))
            train_loader = DataLoader(train_set, shuffle=True)
            criterion = nn.CrossEntropyLoss() if model.n_classes > 1 else nn.BCEWithLogitsLoss()
            for epoch in range(1, epochs + 1):
                model.train()
                for batch in train_loader:
                    images, true_masks = batch['image'], batch['mask']
                    assert images.shape[1] == model.n_channels
                    images = images.to(device=device, dtype=torch.float32, memory_format=torch.channels_last)
                    true_masks = true_masks.to(device=device, dtype=torch.long)
                    with torch.autocast(device.type if device.type != 'mps' else 'cpu', enabled=amp):
                        masks_pred = model(images)
                        if model.n_classes == 1:
                            loss = criterion(masks_pred.squeeze(1), true_masks.float())
                            loss += dice_loss(F.sigmoid(masks_pred.squeeze(1)), true_masks.float(), multiclass=False)
                        else:
                            loss = criterion(masks_pred, true_masks)
                            hot = F.one_hot(true_masks, model.n_classes).permute(0, 3, 1, 2).float()
                            loss += dice_loss(F.softmax(masks_pred, dim=1).float(), hot, multiclass=True)
                    grad_scaler.scale(loss).backward()
    """,
    "transformer": """
        import torch
        from torch import nn
        device = torch.device("cuda")
        model = TransformerModel(ntokens)
        model.to(device)
        model.train()
        def generate_square_subsequent_mask(sz):
            return torch.triu(torch.ones(sz, sz) * float('-inf'), diagonal=1)
        def batchify(data, bsz):
            seq_len = data.size(0) // bsz
            data = data[:seq_len * bsz]
            data = data.view(bsz, seq_len).t().contiguous()
            return data.to(device)
        train_data = batchify(train_data, 20)
        def get_batch(source, i):
            seq_len = min(35, len(source) - 1 - i)
            data = source[i:i+seq_len]
            target = source[i+1:i+1+seq_len].reshape(-1)
            return data, target
        def train(model):
            model.train()
            src_mask = generate_square_subsequent_mask(35).to(device)
            for batch, i in enumerate(range(0, train_data.size(0) - 1, 35)):
                data, targets = get_batch(train_data, i)
                output = model(data, src_mask)
                loss = criterion(output.view(-1, ntokens), targets)
                loss.backward()
    """,
    "detection": """
        import torch
        def train_one_epoch(model, optimizer, data_loader, device):
            model.train()
            for images, targets in metric_logger.log_every(data_loader, 10, header):
                images = list(image.to(device) for image in images)
                targets = [
                    {k: v.to(device) if isinstance(v, torch.Tensor) else v for k, v in t.items()} for t in targets
                ]
                loss_dict = model(images, targets)
                losses = sum(loss for loss in loss_dict.values())
                losses.backward()
        @torch.inference_mode()
        def evaluate(model, data_loader, device):
            cpu_device = torch.device("cpu")
            model.eval()
            for images, targets in data_loader:
                images = list(img.to(device) for img in images)
                outputs = model(images)
                outputs = [{k: v.to(cpu_device) for k, v in t.items()} for t in outputs]
                res = {target["image_id"]: output for target, output in zip(targets, outputs)}
                coco_evaluator.update(res)
    """,
    "detr": """
        import torch
        def train_one_epoch(model, criterion, data_loader, optimizer, device):
            model.train()
            criterion.train()
            for samples, targets in metric_logger.log_every(data_loader, 10, "x"):
                samples = samples.to(device)
                targets = [{k: v.to(device) for k, v in t.items()} for t in targets]
                outputs = model(samples)
                loss_dict = criterion(outputs, targets)
                weight_dict = criterion.weight_dict
                losses = sum(loss_dict[k] * weight_dict[k] for k in loss_dict.keys() if k in weight_dict)
                losses.backward()
    """,
    "imagenet": """
        import torch
        def train(train_loader, model, criterion, optimizer, epoch, device, args):
            model.train()
            for i, (images, target) in enumerate(train_loader):
                images = images.to(device, non_blocking=True)
                target = target.to(device, non_blocking=True)
                output = model(images)
                loss = criterion(output, target)
                acc1, acc5 = accuracy(output, target, topk=(1, 5))
        def validate(val_loader, model, criterion, args):
            def run_validate(loader, base_progress=0):
                with torch.no_grad():
                    for i, (images, target) in enumerate(loader):
                        if args.gpu is not None and torch.cuda.is_available():
                            images = images.cuda(args.gpu, non_blocking=True)
                        if torch.backends.mps.is_available():
                            images = images.to('mps')
                            target = target.to('mps')
                        if torch.cuda.is_available():
                            target = target.cuda(args.gpu, non_blocking=True)
                        output = model(images)
                        loss = criterion(output, target)
            run_validate(val_loader)
    """,
    "timm mixup prefetcher": """
        import torch
        def train_one_epoch(model, loader, loss_fn, args, device, mixup_fn=None):
            for batch_idx, (input, target) in enumerate(loader):
                if not args.prefetcher:
                    input, target = input.to(device), target.to(device)
                    if mixup_fn is not None:
                        input, target = mixup_fn(input, target)
                output = model(input)
                loss = loss_fn(output, target)
                loss.backward()
    """,
    "hf dict comp": """
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
        from torch.utils.data import DataLoader
        device = "cuda" if torch.cuda.is_available() else "cpu"
        model = AutoModelForSequenceClassification.from_pretrained("x").to(device)
        tok = AutoTokenizer.from_pretrained("x")
        for batch in DataLoader(ds):
            batch = {k: v.to(device) for k, v in batch.items()}
            outputs = model(**batch)
            loss = outputs.loss
            loss.backward()
        inputs = tok("a b", return_tensors="pt").to(device)
        print(model(**inputs).logits)
        inputs = tok("a b", return_tensors="pt")
        inputs = {k: v.to(device) for k, v in inputs.items()}
        print(model(**inputs).logits)
        inputs = tok("a b", return_tensors="pt").input_ids.to(device)
        print(model.generate(inputs))
    """,
    "hf for loop dict": """
        import torch
        device = torch.device("cuda")
        model.to(device)
        model.train()
        for batch in loader:
            for k in batch:
                batch[k] = batch[k].to(device)
            loss = model(**batch).loss
            loss.backward()
        for batch in loader:
            for k, v in batch.items():
                if torch.is_tensor(v):
                    batch[k] = v.to(device)
            loss = model(**batch).loss
            loss.backward()
        for batch in loader:
            for key in ["image", "label"]:
                batch[key] = batch[key].to(device)
            loss = criterion(model(batch["image"]), batch["label"])
            loss.backward()
    """,
    "hf mapped tuple": """
        import torch
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        for batch in loader:
            x, y, m = [t.to(device) for t in batch]
            loss = criterion(model(x, m), y)
            loss.backward()
        for batch in loader:
            x, y, m = tuple(t.to(device) for t in batch)
            loss = criterion(model(x, m), y)
            loss.backward()
        for batch in loader:
            x, y, m = map(lambda t: t.to(device), batch)
            loss = criterion(model(x, m), y)
            loss.backward()
        for batch in loader:
            batch = tuple(t.to(device) for t in batch)
            x, y, m = batch
            loss = criterion(model(x, m), y)
            loss.backward()
        for batch in loader:
            batch = [t.cuda() if hasattr(t, "cuda") else t for t in batch]
            loss = criterion(model(batch[0], batch[2]), batch[1])
            loss.backward()
    """,
    "bert old": """
        import torch
        device = torch.device("cuda")
        model = M()
        model.to(device)
        model.train()
        for step, batch in enumerate(train_dataloader):
            b_input_ids = batch[0].to(device)
            b_input_mask = batch[1].to(device)
            b_labels = batch[2].to(device)
            model.zero_grad()
            loss, logits = model(b_input_ids, token_type_ids=None, attention_mask=b_input_mask, labels=b_labels)
            loss.backward()
            logits = logits.detach().cpu().numpy()
            label_ids = b_labels.to('cpu').numpy()
            total += flat_accuracy(logits, label_ids)
    """,
    "pyg": """
        import torch
        from torch_geometric.loader import DataLoader
        device = torch.device("cuda")
        model = GCN()
        model.to(device)
        model.train()
        for data in train_loader:
            data = data.to(device)
            out = model(data.x, data.edge_index, data.batch)
            loss = criterion(out, data.y)
            loss.backward()
        for data in train_loader:
            data.to(device)
            out = model(data.x, data.edge_index, data.batch)
            loss = criterion(out, data.y)
            loss.backward()
        dataset = Planetoid(root='data/Cora', name='Cora')
        data = dataset[0].to(device)
        for epoch in range(100):
            out = model(data.x, data.edge_index)
            loss = F.nll_loss(out[data.train_mask], data.y[data.train_mask])
            loss.backward()
    """,
    "pyg batch obj": """
        import torch
        device = torch.device("cuda")
        model = GCN()
        model.to(device)
        model.train()
        for batch in loader:
            batch.to(device)
            loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
            loss.backward()
    """,
    "dgl": """
        import torch
        device = torch.device("cuda")
        model = GCN()
        model.to(device)
        model.train()
        for batched_graph, labels in dataloader:
            batched_graph = batched_graph.to(device)
            labels = labels.to(device)
            feat = batched_graph.ndata.pop("attr")
            logits = model(batched_graph, feat)
            loss = F.cross_entropy(logits, labels)
            loss.backward()
    """,
    "cuda blocks": """
        import torch
        device = torch.device("cuda")
        model = GraphSAGE()
        model.to(device)
        model.train()
        for input_nodes, output_nodes, blocks in dataloader:
            blocks = [b.to(device) for b in blocks]
            x = blocks[0].srcdata["feat"]
            y = blocks[-1].dstdata["label"]
            loss = F.cross_entropy(model(blocks, x), y)
            loss.backward()
    """,
    "moved where it is elsewhere": """
        import torch
        class Sampler:
            def pick(self, index, storage, place):
                place = torch.device(place)
                index, rows = torch.as_tensor(index), torch.zeros(3)
                if index.device != place:
                    index = index.to(place)
                if place != rows.device:
                    rows = rows.to(place, non_blocking=True)
                weight = torch.as_tensor(storage[index], device=place)
                return torch.where(weight == 0, index, weight) + rows
    """,
    "what is a tensor is taken to the host": """
        import torch
        def to_host(*values):
            return [x.detach().cpu() if isinstance(x, torch.Tensor) else x for x in values]
        def to_cpu(x):
            return x if not torch.is_tensor(x) else x.detach().cpu()
        class Metric:
            def __call__(self, predictions: torch.Tensor, gold: torch.Tensor):
                predictions, gold = to_host(predictions, gold)
                return torch.where(predictions == 1, gold, torch.tensor([0.0])).sum(dim=0)
            def loss(self, model, x, device):
                out = to_cpu(model(x.to(device)))
                return out + torch.zeros(3)
    """,
    "branch else raise": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            if isinstance(x, torch.Tensor):
                x, y = x.to(device), y.to(device)
            else:
                x, y = [t.to(device) for t in x], y.to(device)
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "try": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            try:
                y = y.to(device)
            except AttributeError:
                pass
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "None optional": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y, m in loader:
            x, y = x.to(device), y.to(device)
            if m is not None:
                m = m.to(device)
            loss = criterion(model(x, m), y)
            loss.backward()
    """,
    "hasattr": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for batch in loader:
            batch = {k: (v.to(device) if hasattr(v, "to") else v) for k, v in batch.items()}
            loss = criterion(model(batch["image"]), batch["label"])
            loss.backward()
    """,
    "selected keys": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for batch in loader:
            inputs = {k: v.to(device) for k, v in batch.items() if k != "labels"}
            labels = batch["labels"].to(device)
            loss = criterion(model(**inputs), labels)
            loss.backward()
    """,
    "pop labels": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for batch in loader:
            labels = batch.pop("labels")
            batch = {k: v.to(device) for k, v in batch.items()}
            loss = criterion(model(**batch).logits, labels.to(device))
            loss.backward()
    """,
    "pop, numpy metric": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for batch in loader:
            labels = batch.pop("labels")
            batch = {k: v.to(device) for k, v in batch.items()}
            preds = model(**batch).logits.argmax(-1)
            metric.add_batch(predictions=preds, references=labels)
            refs.extend(labels.tolist())
    """,
    "accuracy on cpu helper": """
        import torch
        def accuracy(output, target):
            pred = output.argmax(1).cpu()
            return (pred == target).float().mean()
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            x = x.to(device)
            out = model(x)
            acc = accuracy(out, y)
            loss = criterion(out, y.to(device))
            loss.backward()
    """,
    "next iter": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        it = iter(loader)
        for step in range(100):
            try:
                x, y = next(it)
            except StopIteration:
                it = iter(loader)
                x, y = next(it)
            x, y = x.to(device), y.to(device)
            loss = criterion(model(x), y)
            loss.backward()
    """,
    "cycle / while": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        def cycle(dl):
            while True:
                for data in dl:
                    yield data
        dl = cycle(loader)
        while step < n:
            for _ in range(acc):
                data = next(dl).to(device)
                loss = model(data)
                loss.backward()
            step += 1
    """,
    "diffusion": """
        import torch
        device = torch.device("cuda")
        model = Unet()
        model.to(device)
        model.train()
        for images, _ in loader:
            images = images.to(device)
            t = torch.randint(0, T, (images.size(0),), device=device)
            noise = torch.randn_like(images)
            sa = sqrt_alphas.to(device)[t][:, None, None, None]
            xt = sa * images + noise
            loss = torch.nn.functional.mse_loss(model(xt, t), noise)
            loss.backward()
    """,
    "schedule gather on host": """
        import torch
        betas = torch.linspace(0, 1, 100)
        alphas = 1 - betas
        acp = torch.cumprod(alphas, 0)
        def extract(a, t, shape):
            out = a.gather(-1, t.cpu())
            return out.reshape(t.shape[0], 1).to(t.device)
        device = torch.device("cuda")
        for x, _ in loader:
            x = x.to(device)
            t = torch.randint(0, 100, (4,), device=device).long()
            xt = extract(acp, t, x.shape) * x
            loss = F.mse_loss(model(xt, t), x)
            loss.backward()
    """,
    "vae": """
        import torch
        from torch.nn import functional as F
        device = torch.device("cuda" if args.cuda else "cpu")
        model = VAE()
        model.to(device)
        model.train()
        def loss_function(recon_x, x, mu, logvar):
            bce = F.binary_cross_entropy(recon_x, x.view(-1, 784), reduction="sum")
            return bce - 0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        def train(epoch):
            for batch_idx, (data, _) in enumerate(train_loader):
                data = data.to(device)
                recon, mu, logvar = model(data)
                loss = loss_function(recon, data, mu, logvar)
                loss.backward()
        def test(epoch):
            with torch.no_grad():
                for i, (data, _) in enumerate(test_loader):
                    data = data.to(device)
                    recon, mu, logvar = model(data)
                    n = min(data.size(0), 8)
                    comparison = torch.cat([data[:n], recon.view(4, 1, 28, 28)[:n]])
                    save_image(comparison.cpu(), "x")
            sample = torch.randn(64, 20).to(device)
            sample = model.decode(sample).cpu()
    """,
    "style transfer": """
        import torch
        device = torch.device("cuda")
        content = load("a").to(device)
        style = load("b").to(device)
        target = content.clone().requires_grad_(True).to(device)
        for ii in range(10):
            tf = get_features(target, vgg)
            loss = 0
            for layer in weights:
                a = tf[layer]
                s = style_grams[layer]
                loss += weights[layer] * torch.mean((a - s) ** 2)
            loss.backward()
    """,
    "contrastive": """
        import torch
        device = torch.device("cuda")
        model = SimCLR()
        model.to(device)
        model.train()
        for (x1, x2), _ in loader:
            x1, x2 = x1.to(device), x2.to(device)
            z = torch.cat([model(x1), model(x2)])
            labels = torch.cat([torch.arange(8) for i in range(2)], dim=0)
            labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float().to(device)
            sim = z @ z.T
            mask = torch.eye(labels.shape[0], dtype=torch.bool).to(device)
            labels = labels[~mask].view(labels.shape[0], -1)
            loss = criterion(sim, labels)
            loss.backward()
    """,
    "images cat": """
        import torch
        device = torch.device("cuda")
        model = SupCon()
        model.to(device)
        model.train()
        for idx, (images, labels) in enumerate(train_loader):
            images = torch.cat([images[0], images[1]], dim=0)
            if torch.cuda.is_available():
                images = images.cuda(non_blocking=True)
                labels = labels.cuda(non_blocking=True)
            f = model(images)
            loss = criterion(f, labels)
            loss.backward()
    """,
    "triplet": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for a, p, n in loader:
            a, p, n = (t.to(device) for t in (a, p, n))
            loss = torch.nn.functional.triplet_margin_loss(model(a), model(p), model(n))
            loss.backward()
    """,
    "few-shot": """
        import torch
        device = torch.device("cuda")
        model = Proto()
        model.to(device)
        model.train()
        for support, s_labels, query, q_labels, _ in loader:
            scores = model(support.to(device), s_labels.to(device), query.to(device)).detach()
            correct = (torch.max(scores, 1)[1] == q_labels.to(device)).sum().item()
            counts[int(q_labels[0])] += 1
    """,
    "seq2seq": """
        import torch
        device = torch.device("cuda")
        enc.to(device)
        for pair in pairs:
            src, trg = tensors_from_pair(pair)
            h = enc.init_hidden()
            for i in range(src.size(0)):
                out, h = enc(src[i], h)
            loss = crit(out, trg[0])
            loss.backward()
    """,
    "seq2seq torchtext": """
        import torch
        device = torch.device("cuda")
        it = BucketIterator.splits((a, b), batch_size=3, device=device)
        model = Seq()
        model.to(device)
        model.train()
        for i, batch in enumerate(it):
            src = batch.src
            trg = batch.trg
            out = model(src, trg)
            loss = criterion(out.view(-1, 3), trg[1:].view(-1))
            loss.backward()
    """,
    "nerf": """
        import torch
        device = torch.device("cuda")
        model = Nerf()
        model.to(device)
        model.train()
        for i in range(100):
            img_i = np.random.choice(i_train)
            target = images[img_i]
            target = torch.Tensor(target).to(device)
            pose = poses[img_i, :3, :4]
            rays_o, rays_d = get_rays(H, W, K, torch.Tensor(pose))
            sel = coords[idx].long()
            rays_o = rays_o[sel[:, 0], sel[:, 1]]
            batch = torch.stack([rays_o, rays_o], 0).to(device)
            rgb = render(batch)
            loss = ((rgb - target) ** 2).mean()
            loss.backward()
    """,
    "kd": """
        import torch
        device = torch.device("cuda")
        teacher = T()
        teacher.to(device)
        teacher.train()
        student = S()
        student.to(device)
        student.train()
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            with torch.no_grad():
                t = teacher(x)
            s = student(x)
            loss = 0.5 * kl(s, t) + 0.5 * ce(s, y)
            loss.backward()
    """,
    "teacher on cpu outputs moved": """
        import torch
        device = torch.device("cuda")
        teacher = T().eval()
        student = S()
        student.to(device)
        student.train()
        for x, y in loader:
            t = teacher(x).to(device)
            s = student(x.to(device))
            loss = kl(s, t)
            loss.backward()
    """,
    "host preprocess": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            mean = x.mean()
            y = (y - mean) / x.std()
            x = (x - mean) / x.std()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
    """,
    "sum stat on host scalars": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            out = model(x.to(device))
            loss = criterion(out, y.to(device))
            loss = loss * torch.tensor(0.5) + 0.1
            loss.backward()
            total += loss.item() * x.size(0)
            n += y.size(0)
            confusion[y.view(-1), out.argmax(1).cpu().view(-1)] += 1
    """,
    "y host index into out": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, y in loader:
            out = model(x.to(device))
            logp = torch.log_softmax(out, 1)
            loss = -logp[torch.arange(len(y)), y].mean()
            loss.backward()
    """,
    "mask host idx": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for x, mask in loader:
            out = model(x.to(device))
            loss = (out[mask.bool()] ** 2).mean()
            loss.backward()
    """,
    "print values": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for i, (images, labels) in enumerate(loader):
            images = images.to(device)
            out = model(images)
            pred = out.argmax(1)
            for p, l in zip(pred, labels):
                if p == l: ok += 1
                cm[l][p] += 1
            print(labels[0], pred[0])
    """,
    "label compare item": """
        import torch
        device = torch.device("cuda")
        model = Net()
        model.to(device)
        model.train()
        for image, label in loader:
            out = model(image.to(device))
            if out.argmax().item() == label.item():
                ok += 1
    """,
    "shadowed device name & loops over devices": """
        import torch
        for device in ["cpu", "cuda"]:
            model = Net()
            model.to(device)
            model.train()
            x = torch.randn(3, 3, device=device)
            y = torch.randn(3, 3).to(device)
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
    """,
    "benchmark compare": """
        import torch
        x = torch.randn(3)
        a = f(x)
        b = f(x.cuda()).cpu()
        assert torch.allclose(a, b)
    """,
    "test parametrized device": """
        import torch, pytest
        @pytest.mark.parametrize("device", ["cpu", "cuda"])
        def test(device):
            m = torch.nn.Linear(3, 3).to(device)
            x = torch.zeros(3).to(device)
            for inp, exp in cases:
                assert torch.equal(m(inp.to(device)).cpu(), exp)
                assert m(inp.to(device)).cpu().tolist() == exp
    """,
    "made without values, which a checkpoint gives it on the host": """
        import torch
        from torch import nn
        meta = torch.device("meta")
        model = nn.Linear(2, 2, device=meta)
        model.load_state_dict(torch.load("w.pt", map_location="cpu"), assign=True)
        model(torch.zeros(3, 2))
    """,
    "made without values, the place under the names of devices": """
        import torch
        from torch import nn
        device = torch.device("meta")
        def load(state):
            model = nn.Linear(2, 2, device=device)
            model.load_state_dict(state, assign=True)
            return model(torch.zeros(3, 2))
        def made(state, where):
            model = nn.Linear(2, 2, device=where)
            model.load_state_dict(state, assign=True)
            return model(torch.zeros(3, 2))
        def main():
            load({}), made({}, torch.device("meta"))
    """,
    "no torch shadowed 'to'": """
        import torch
        for a, b in schedule:
            a = a.to("utc")
            c = a - b
        for df, other in frames:
            df = df.to("cuda")
            z = df + other
    """,
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_nothing_is_found(program: str) -> None:
    outcome = check(Source("train.py", (dedent(program) + RUN).encode()), Options(SELECT))
    assert isinstance(outcome, Checked), outcome
    assert outcome.findings == ()
