"""DVF404: generators against the device of what they fill."""

import pytest
from devfix_codemods.findings import Safety

CODE = "DVF404"

SILENT = {
    "one device for both": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        g = torch.Generator(device=device).manual_seed(0)
        x = torch.randn(3, generator=g, device=device)
    """,
    "the generator's own device": """
        import torch
        def noise(shape, g, device):
            g = torch.Generator().manual_seed(0)
            return torch.randn(shape, generator=g, device=g.device).to(device)
    """,
    "the device of what gathers what was made there": """
        import torch
        class Step:
            def __call__(self):
                g = torch.Generator().manual_seed(0)
                x = torch.rand(3, device=self.run.accelerator.device)
                seen = self.run.accelerator.gather(x * 2)
                return seen + torch.randn(3, device=x.device, generator=g)
    """,
    "host generators of samplers and splits": """
        import torch
        from torch.utils.data import DataLoader, RandomSampler, random_split
        torch.zeros(1).to("cuda")
        a, b = random_split(data, [8, 2], generator=torch.Generator().manual_seed(1))
        loader = DataLoader(a, shuffle=True, generator=torch.Generator())
        sampler = RandomSampler(b, generator=torch.Generator())
    """,
    "a sampler under a default device": """
        import torch
        from torch.utils.data import DataLoader
        torch.set_default_device("cuda")
        loader = DataLoader(data, shuffle=True, generator=torch.Generator(device="cuda"))
    """,
    "indices and numbers that stay on the host": """
        import torch
        def permuted(x: torch.Tensor, seed):
            g = torch.Generator().manual_seed(seed)
            noise = torch.randn(x.shape, generator=g)
            return x[torch.randperm(len(x), generator=g)], noise.to(x.device)
    """,
    "a generator of the caller's device": """
        import torch
        def noise(x: torch.Tensor, seed):
            g = torch.Generator(device=x.device).manual_seed(seed)
            return torch.randn(x.shape, generator=g, device=x.device)
    """,
    "drawn on the host, moved afterwards": """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        g = torch.Generator().manual_seed(0)
        x = torch.randn(3, generator=g).to(device)
    """,
    "a caller's generator for a device of the program's choice": """
        import torch
        def latents(shape, device, generator=None):
            return torch.randn(shape, generator=generator).to(device)
    """,
    "a caller's generator on the host, as it says": """
        import torch
        def step(sample, generator=None):
            if sample.device.type == "mps":
                return torch.randn(sample.shape, device="cpu", generator=generator).to(sample.device)
            return torch.randn(sample.shape, device=sample.device, generator=generator)
    """,
    "a caller's generator that is made anew": """
        import torch
        def step(sample, generator=None):
            if generator is None:
                generator = torch.Generator()
            return torch.randn(sample.shape, generator=generator).to(sample.device)
    """,
    "only the dtype changes": """
        import torch
        def step(sample, generator=None):
            return torch.randn(sample.shape, generator=generator).to(sample.dtype)
    """,
    "a place that nothing is known of": """
        import torch
        def fill(x, mean):
            g = torch.Generator().manual_seed(0)
            x.normal_(generator=g)
            torch.multinomial(mean, 3, generator=g)
            return torch.randn(3, generator=g, device=somewhere())
    """,
    "a generator of another library": """
        import torch
        import numpy as np
        g = np.random.Generator(np.random.PCG64())
        x = torch.zeros(3, device="cuda")
        y = sample(x, generator=g)
    """,
    "a state that this function took": """
        import torch
        def reproducible(f):
            state = torch.get_rng_state()
            f()
            torch.set_rng_state(state)
            states = {"torch": torch.get_rng_state()}
            torch.set_rng_state(states["torch"])
    """,
    "a state that the file takes and gives back itself": """
        import torch
        def states():
            return {"torch": torch.get_rng_state()}
        def set_states(states):
            torch.set_rng_state(states["torch"])
        def resume(model, state):
            model.load_state_dict(state)
    """,
    "a state that goes to the host": """
        import torch
        def restore(states, checkpoint):
            torch.set_rng_state(states["torch"].cpu())
            states[1] = states[1].cpu()
            torch.set_rng_state(states[1])
            checkpoint = torch.load("a.pt", map_location="cpu")
            torch.set_rng_state(checkpoint["rng"])
    """,
    "a checkpoint that is left where it was saved": """
        import torch
        def resume(path):
            checkpoint = torch.load(path)
            torch.set_rng_state(checkpoint["rng"])
    """,
}


@pytest.mark.parametrize("program", SILENT.values(), ids=SILENT.keys())
def test_silent(rule, program):
    assert rule.findings(program) == ()


def test_host_generator_for_a_device(rule):
    program = """
        import torch
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        g = torch.Generator()
        g.manual_seed(0)
        x = torch.randn(3, generator=g, device=device)
        k = torch.multinomial(torch.ones(3, device=device), 1, generator=g)
    """
    assert rule.safeties(program) == [Safety.SAFE]
    assert "g = torch.Generator(device=device)\n" in rule.fixed(program)


def test_a_state_that_is_loaded_may_be_on_a_device(rule) -> None:
    assert rule.safeties("""
        import torch
        class Trainer:
            def state_dict(self):
                return {"torch": torch.get_rng_state()}
            def load_state_dict(self, state):
                torch.set_rng_state(state["torch"])
    """) == [Safety.SAFE]


def test_generator_made_where_it_draws(rule):
    fixed = rule.fixed("""
        import torch
        x = torch.rand(3, device="cuda", generator=torch.Generator().manual_seed(1))
    """)
    assert 'generator=torch.Generator(device="cuda").manual_seed(1)' in fixed


def test_generator_made_where_a_parameter_is(rule):
    fixed = rule.fixed("""
        import torch
        def jitter(x):
            g = torch.Generator().manual_seed(1)
            return x + torch.randn(3, generator=g, device=x.device)
    """)
    assert "g = torch.Generator(device=x.device).manual_seed(1)" in fixed


def test_generator_that_goes_elsewhere_too_is_unsafe(rule):
    assert rule.safeties("""
        import torch
        g = torch.Generator()
        shuffle(data, g)
        x = torch.rand(3, device="cuda", generator=g)
    """) == [Safety.UNSAFE]


def test_generator_of_two_places_has_no_fix(rule):
    finding = rule.finding("""
        import torch
        from torch.utils.data import random_split
        g = torch.Generator().manual_seed(0)
        a, b = random_split(data, [8, 2], generator=g)
        x = torch.rand(3, device="cuda", generator=g)
    """)
    assert finding.fix is None
    assert finding.advice is not None


def test_default_generator_has_no_fix(rule):
    finding = rule.finding("""
        import torch
        x = torch.rand(3, device="cuda", generator=torch.manual_seed(0))
    """)
    assert finding.fix is None


@pytest.mark.parametrize("made", ["torch.manual_seed(0)", "torch.default_generator"])
def test_default_generator_with_a_name(rule, made):
    program = f"import torch\ng = {made}\nx = torch.rand(3, device='cuda', generator=g)\n"
    assert rule.finding(program).message == "the generator is on the host, but it draws numbers on `cuda`"


def test_a_choice_of_devices_is_told_as_it_is_written(rule):
    device = '"cuda" if torch.cuda.is_available() else "cpu"'
    program = f"import torch\ng = torch.Generator(device={device})\nx = torch.randperm(9, generator=g)\n"
    assert rule.finding(program).message == f"the generator is on `{device}`, but it draws numbers on the host"


def test_device_bound_after_the_generator_has_no_fix(rule):
    assert rule.safeties("""
        import torch
        g = torch.Generator().manual_seed(0)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        x = torch.rand(3, device=device, generator=g)
    """) == [None]


def test_device_generator_for_indices(rule):
    program = """
        import torch
        from torch.utils.data import random_split, DataLoader
        def split(data, device):
            return random_split(data, [8, 2], generator=torch.Generator(device).manual_seed(3))
    """
    assert "generator=torch.Generator().manual_seed(3)" in rule.unchanged_unless_unsafe(program)


def test_device_generator_for_host_points(rule):
    program = """
        import torch
        device = "cuda"
        g = torch.Generator(device)
        a = torch.rand(
            3,
            generator=g,
        ).to(device)
    """
    assert rule.safeties(program) == [Safety.SAFE]
    assert "    generator=g,\n    device=device,\n).to(device)" in rule.fixed(program)
    assert rule.safeties("import torch\ng = torch.Generator('cuda')\na = torch.randperm(9, generator=g)\n") == [
        Safety.UNSAFE
    ]


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("pass", "sample.device"),
        ("device = sample.device if torch.is_tensor(sample) else 'cpu'", "device"),
        ("pass", "device=sample.device"),
    ],
)
def test_noise_with_a_callers_generator(rule, line, target):
    program = f"""
        import torch
        def step(sample, generator=None):
            {line}
            return sample + torch.randn(sample.shape, generator=generator).to({target})
    """
    assert rule.safeties(program) == [Safety.SAFE]
    assert "generator=generator, device=generator.device if generator is not None else None)" in rule.fixed(program)


def test_state_of_a_checkpoint(rule):
    program = """
        import torch
        def resume(path, device):
            checkpoint = torch.load(path, map_location=device)
            torch.set_rng_state(checkpoint["rng"])
        def restore(states):
            torch.random.set_rng_state(states[0])
    """
    fixed = rule.fixed(program)
    assert 'torch.set_rng_state(checkpoint["rng"].cpu())' in fixed
    assert "torch.random.set_rng_state(states[0].cpu())" in fixed


def test_a_generator_for_the_device_of_a_parameter(rule) -> None:
    program = """
        import torch
        def noise(x, seed):
            g = torch.Generator()
            g.manual_seed(seed)
            return torch.randint(0, 9, x.shape, generator=g, device=x.device)
    """
    assert "g = torch.Generator(device=x.device)\n" in rule.fixed(program)
    assert rule.safeties(program) == [Safety.SAFE]


RESTORED = """
    import torch
    def restore_states(states):
        torch.set_rng_state(states["torch"])
    def capture():
        return {{"torch": torch.get_rng_state(), "step": 3}}
    def resume(path, other, callback=None):
        {lines}
"""


@pytest.mark.parametrize(
    "lines",
    [
        'run = torch.load(path, map_location="cpu"); restore_states(run["states"])',
        'run = torch.load(path, map_location=torch.device("cpu")); restore_states(states=run)',
        "held = None\n        if callback:\n            held = capture()\n        restore_states(held)",
    ],
)
def test_states_that_each_caller_has_on_the_host(rule, lines: str) -> None:
    assert rule.findings(RESTORED.format(lines=lines)) == ()


@pytest.mark.parametrize(
    "lines",
    [
        "run = torch.load(path, map_location=other); restore_states(run)",
        'run = torch.load(path, map_location="cpu"); restore_states(run["states"]); restore_states(other)',
        "held = capture()\n        if other:\n            held = other\n        restore_states(held)",
        "print(path)",
    ],
)
def test_states_of_which_some_caller_does_not_say(rule, lines: str) -> None:
    assert 'torch.set_rng_state(states["torch"].cpu())' in rule.fixed(RESTORED.format(lines=lines))


KEPT_BY_SOLVER = """
    import torch
    class Solver:
        def __init__(self, device: torch.device):
            self.device = device
            self.gen = torch.Generator(device=device)
        def first(self, n):
            return torch.randn(n, generator=self.gen, device={device})
        def again(self, x):
            x.data += torch.randn(x.shape, generator=self.gen) * 0.1
"""


def test_a_draw_that_is_right_already_hinders_no_repair(rule) -> None:
    fixed = rule.unchanged_unless_unsafe(KEPT_BY_SOLVER.format(device="self.device"))
    assert "torch.randn(x.shape, generator=self.gen, device=self.device) * 0.1" in fixed


def test_a_draw_on_another_device_speaks_against_the_generator(rule) -> None:
    assert not any(rule.safeties(KEPT_BY_SOLVER.format(device='"cuda:1"')))


KEPT = """
    import torch
    def restore(states):
        torch.set_rng_state(states[1])
    class Engine:
        def resume(self, engine):
            states = {states}
            restore(states)
"""


def test_states_that_an_object_of_others_kept(rule) -> None:
    program = KEPT.format(states='getattr(engine.state, "rng_states", None)')
    assert "torch.set_rng_state(states[1].cpu())" in rule.fixed(program)


@pytest.mark.parametrize("states", ["[3, torch.get_rng_state()]", "(engine, torch.get_rng_state())"])
def test_states_that_the_file_took_itself(rule, states: str) -> None:
    assert rule.findings(KEPT.format(states=states)) == ()


LOOP = """
import torch
def train(loader, n, other):
    gen = torch.Generator()
    for batch in loader:
        if batch:
            gen = gen.manual_seed(n)
            for i in range(n):
                gen = torch.Generator()
                torch.randn(3, generator=gen, device="cuda")
        else:
            gen = gen if n else other
"""


def test_a_generator_that_loops_bind_anew_comes_to_an_end(rule) -> None:
    rule.findings(LOOP)
