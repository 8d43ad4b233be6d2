"""Generators, seeds and the states of generators."""

import torch
from expectations import passes, raises

CHECK = "at::check_generator, ATen/core/Generator.h"
WANTS_DEVICE = "Expected a 'cuda' device type for generator but found 'cpu'"
WANTS_HOST = "Expected a 'cpu' device type for generator but found 'cuda'"


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def randn_on_the_device_by_a_host_generator():
    torch.randn(3, device="cuda", generator=torch.Generator())


@raises("RuntimeError", WANTS_HOST, CHECK)
def randn_on_the_host_by_a_device_generator():
    torch.randn(3, generator=torch.Generator("cuda"))


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def normal_in_place_by_a_host_generator():
    torch.empty(3, device="cuda").normal_(generator=torch.Generator())


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def randint_on_the_device_by_a_host_generator():
    torch.randint(5, (3,), device="cuda", generator=torch.Generator())


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def multinomial_on_the_device_by_a_host_generator():
    torch.multinomial(torch.ones(3, device="cuda"), 1, generator=torch.Generator())


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def bernoulli_on_the_device_by_a_host_generator():
    torch.bernoulli(torch.full((3,), 0.5, device="cuda"), generator=torch.Generator())


@raises("RuntimeError", WANTS_DEVICE, CHECK + "; reported in tianyu0207/RTFM issue 47")
def shuffling_under_a_default_device():
    torch.set_default_device("cuda")
    try:
        next(iter(torch.utils.data.DataLoader(range(4), shuffle=True)))
    finally:
        torch.set_default_device(None)


@passes("DataLoader documentation: generator; the sampler draws on the default device")
def shuffling_under_a_default_device_with_its_generator():
    torch.set_default_device("cuda")
    try:
        loader = torch.utils.data.DataLoader([0, 1, 2], shuffle=True, generator=torch.Generator("cuda"))
        assert sorted(int(batch) for batch in loader) == [0, 1, 2]
    finally:
        torch.set_default_device(None)


@raises("RuntimeError", WANTS_HOST, CHECK + "; RandomSampler calls randperm on the host, utils/data/sampler.py")
def shuffling_on_the_host_by_a_device_generator():
    next(iter(torch.utils.data.DataLoader(range(4), shuffle=True, generator=torch.Generator("cuda"))))


@raises(
    "RuntimeError",
    WANTS_HOST,
    CHECK
    + "; random_split calls randperm on the host; hcnoh/knowledge-tracing-collection-pytorch issue 1 has the reverse",
)
def random_split_by_a_device_generator():
    torch.utils.data.random_split(range(4), [2, 2], generator=torch.Generator("cuda"))


@passes("torch.Generator documentation: device")
def generator_of_the_device():
    generator = torch.Generator(device="cuda").manual_seed(3)
    assert generator.device == torch.device("cuda", 0)
    first = torch.randn(3, device="cuda", generator=generator)
    generator.manual_seed(3)
    assert torch.equal(first, torch.randn(3, device="cuda", generator=generator))
    assert isinstance(generator, torch.Generator)
    assert generator.initial_seed() == 3


@passes("torch.manual_seed documentation: seeds all devices")
def manual_seed_repeats_on_the_device():
    torch.manual_seed(1)
    first = torch.rand(3, device="cuda")
    torch.manual_seed(1)
    assert torch.equal(first, torch.rand(3, device="cuda"))


@passes("torch.cuda.manual_seed_all documentation")
def cuda_seeds_repeat():
    torch.cuda.manual_seed_all(2)
    first = torch.rand(3, device="cuda")
    torch.cuda.manual_seed_all(2)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    torch.cuda.manual_seed(2)
    assert torch.equal(first, torch.rand(3, device="cuda"))


@passes("torch.cuda.get_rng_state documentation")
def device_states_repeat():
    state = torch.cuda.get_rng_state()
    assert state.device.type == "cpu"
    assert state.dtype == torch.uint8
    first = torch.rand(3, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.equal(first, torch.rand(3, device="cuda"))
    assert len(torch.cuda.get_rng_state_all()) == torch.cuda.device_count()


@raises(
    "TypeError",
    "RNG state must be a torch.ByteTensor",
    "at::detail::check_rng_state, ATen/CPUGeneratorImpl.cpp; checkpoints loaded to the device",
)
def host_state_from_the_device():
    torch.set_rng_state(torch.get_rng_state().to("cuda"))


@raises(
    "TypeError", "RNG state must be a torch.ByteTensor", "at::detail::check_rng_state by CUDAGeneratorImpl::set_state"
)
def device_state_from_the_device():
    torch.cuda.set_rng_state(torch.cuda.get_rng_state().to("cuda"))


@passes("torch.random.fork_rng documentation")
def fork_rng_restores_the_device_too():
    torch.manual_seed(5)
    with torch.random.fork_rng(devices=[0]):
        inside = torch.rand(3, device="cuda")
    assert torch.equal(inside, torch.rand(3, device="cuda"))


@passes("torch.cuda.initial_seed and default_generators")
def default_generators():
    torch.manual_seed(11)
    assert torch.cuda.initial_seed() == 11
    assert torch.cuda.default_generators[0].device.type == "cuda"
    assert len(torch.cuda.default_generators) == torch.cuda.device_count()


@raises("RuntimeError", WANTS_DEVICE, CHECK)
def uniform_in_place_by_a_host_generator():
    torch.empty(2, 2, device="cuda").uniform_(generator=torch.Generator())


@passes("torch.distributions sample where their parameters are")
def distributions_sample_where_their_parameters_are():
    probabilities = torch.full((3,), 1 / 3, device="cuda")
    distribution = torch.distributions.Categorical(probabilities)
    action = distribution.sample()
    assert action.is_cuda
    assert distribution.log_prob(action).is_cuda
    assert torch.distributions.Normal(torch.zeros(2, device="cuda"), torch.ones(2, device="cuda")).rsample().is_cuda
