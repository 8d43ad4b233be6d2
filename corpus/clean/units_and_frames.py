"""Other things have a .to as well."""
import datetime

import numpy as np
import torch


class Quantity:
    """A number with a unit."""

    FACTORS = {"m": 1.0, "km": 1e-3, "cm": 100.0}

    def __init__(self, magnitude, unit="m"):
        self.magnitude, self.unit = magnitude, unit

    def to(self, unit):
        return Quantity(self.magnitude / self.FACTORS[self.unit] * self.FACTORS[unit], unit)

    def ito(self, unit):
        self.magnitude, self.unit = self.to(unit).magnitude, unit


class Frame:
    def __init__(self, columns):
        self.columns = columns

    def to(self, kind):
        print("written as", kind)

    def items(self):
        return self.columns.items()


class Mail:
    def to(self, address):
        self.address = address
        return self


distance = Quantity(np.arange(3.0))
distance.ito("km")
frame = Frame({"d": distance.to("cm").magnitude})
frame.to("csv")
for name, column in frame.items():
    Mail().to(name)
    table = torch.as_tensor(column)
print(datetime.date(2024, 1, 1).isoformat())
print(f"loss {table.mean().item():.4f}")
