"""Meters for the training loops."""


class SmoothedValue:
    def __init__(self, window_size=20, fmt="{value:.4f}"):
        self.values, self.window_size, self.fmt = [], window_size, fmt

    def update(self, value):
        self.values.append(value)

    @property
    def global_avg(self):
        return sum(self.values) / max(len(self.values), 1)

    def __str__(self):
        return self.fmt.format(value=self.values[-1])


class MetricLogger:
    def __init__(self, delimiter="\t"):
        self.meters, self.delimiter = {}, delimiter

    def add_meter(self, name, meter):
        self.meters[name] = meter

    def update(self, **values):
        for name, value in values.items():
            self.meters.setdefault(name, SmoothedValue()).update(value)

    def log_every(self, iterable, print_freq, header=""):
        for i, item in enumerate(iterable):
            yield item
            if i % print_freq == 0:
                print(header, self.delimiter.join(f"{name}: {meter}" for name, meter in self.meters.items()))

    def averages(self):
        return {name: f"{meter.global_avg:.3f}" for name, meter in self.meters.items()}


def step_lr(optimizer, epoch, init_lr, decay):
    for group in optimizer.param_groups:
        group["lr"] = init_lr * decay**epoch
