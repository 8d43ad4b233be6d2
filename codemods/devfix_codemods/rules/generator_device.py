"""A generator draws numbers for another device than its own.

## What it does

Compares the device of each `torch.Generator` with the place that is filled from it: `torch.randn(…, generator=g)`,
`torch.multinomial`, `x.normal_(generator=g)`, samplers and `random_split`. It also finds generators of the host that a
module keeps and draws with where its input is, noise that is drawn on the host with the caller's generator and moved
afterwards, and the state of the host's generator that a checkpoint may have taken to a device. Generators are followed
through functions, also of other files, attributes and lists; one that may come from elsewhere as well is left alone.
Where the file, or one that it imports, sets a default device, or a default tensor type of CUDA, it finds loaders,
samplers and splits that shuffle without a generator: they make one on the host, and draw on the default device.

## Why it fails

A generator only fills memory of its own kind of device:

    RuntimeError: Expected a 'cuda' device type for generator but found 'cpu'

Indices of samplers and splits are drawn on the host. `torch.set_rng_state` wants its bytes on the host:

    TypeError: RNG state must be a torch.ByteTensor

## Before

    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(shape, generator=generator, device=device)

## After

    generator = torch.Generator(device=device).manual_seed(0)
    noise = torch.randn(shape, generator=generator, device=device)

## Fix safety

Safe where all that the generator fills is on one device, which has a name where the generator is made: the program
fails there today, and on the host nothing changes. Noise drawn with a caller's generator is drawn on that generator's
device and moved as before, so that no working seed gives other numbers; that is safe too, as is `.cpu()` on the state
of the host's generator. A loader under a default device gets a generator there, with the seed of the host's, so that a
seeded program stays one; where the default is the host it gets none, as before: safe. Unsafe where a sampler gets the
generator of a device, which is right under a default device that another file sets. Where a generator serves two
devices, or a module keeps it, the finding has no fix.

## Since torch

Any.
"""

from collections.abc import Iterator

from devfix_codemods.demands.default_devices import shuffled_on_device
from devfix_codemods.demands.mismatches import Mismatches
from devfix_codemods.demands.states import restored_states
from devfix_codemods.findings import Finding
from devfix_codemods.program import Program
from devfix_codemods.rules import Rule


def check(program: Program) -> Iterator[Finding]:
    """Generators against the place of what they fill, and the states of the host's that are restored."""
    index = program.index
    for one in (
        *restored_states(index),
        *shuffled_on_device(index, program.loaded(b"set_default_")),
        *Mismatches(index).told(),
    ):
        yield one.finding(RULE.code, RULE.name, program.source)


RULE = Rule(
    "DVF404",
    "generator-device",
    (
        (b"generator=", b".to("),
        (b"torch.Generator(",),
        (b"Generator(", b"generator="),
        (b"manual_seed(", b"generator="),
        (b"default_generator", b"generator="),
        (b"set_rng_state(",),
        *((b"shuffle", b"DataLoader("), (b"set_default_", b"DataLoader("), (b"RandomSampler(",), (b"random_split(",)),
    ),
    check,
)
