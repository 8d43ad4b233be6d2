"""Repairs of modules and optimizers in the wrong place."""

from collections.abc import Callable

from devfix_codemods.diagnosis import Kind, Operand, Stop

from .conftest import GPU, Crash, module, tensor

Build = Callable[..., Crash]


def test_the_parts_of_a_module_are_not_moved_in_its_constructor(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self, device):
                super().__init__()
                self.fc = nn.Linear(3, 3)

            def forward(self, x):
                return self.fc(x)

        def main(device):
            net = Net(device)
            x = torch.ones(3, device=device)
            return net(x)
        """)
    case = build.at("self.fc(x)", module("self.fc"), tensor("x", GPU), through=[("train.py", "net(x)")])
    assert not any("nn.Linear(3, 3)." in result for result in case.results())
    assert case.results()[0] == "net = Net(device).to(device)"


def test_a_module_of_a_registry_is_moved_where_the_script_builds_it(crash: Build) -> None:
    build = crash(
        {
            "train.py": """
            import torch
            from zoo import build

            def main(config):
                device = torch.device(config["device"])
                model = build(config["model"])
                x = torch.ones(3).to(device)
                return model(x)
            """,
            "zoo.py": """
            from torch import nn

            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.fc = nn.Linear(3, 3)

                def forward(self, x):
                    return self.fc(x)

            MODELS = {"net": Net}

            def build(name):
                return MODELS[name]()
            """,
        }
    )
    case = build.at(
        "self.fc(x)", module("self.fc"), tensor("x", GPU), through=[("train.py", "model(x)")], file="zoo.py"
    )
    assert case.results()[0] == 'model = build(config["model"]).to(device)'


def test_a_model_that_is_built_before_the_device_is_known_moves_later(crash: Build) -> None:
    build = crash("""
        import torch
        model = torch.nn.Linear(3, 3)
        device = torch.device("cuda")
        x = torch.ones(3, device=device)
        model(x)
        """)
    case = build.at("model(x)", module("model"), tensor("x", GPU))
    assert "model.to(device)" in case.results()


def test_a_new_head_moves_with_the_whole_model(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        def adapt(model, classes):
            model.head = nn.Linear(8, classes)
            return model

        def main(model, x, device):
            model.to(device)
            model = adapt(model, 3)
            model(x)
        """)
    made = Stop("cpu", "made by torch.empty", "train.py", build.line("model.head"))
    case = build.at("model(x)", module("model", GPU, ("head.weight", (made,))), tensor("x", GPU))
    results = case.results()
    assert results
    assert any(result == "model = adapt(model, 3).to(device)" for result in results)


def test_a_new_head_in_a_script_is_followed_by_a_move(crash: Build) -> None:
    build = crash("""
        import torch
        from zoo import net
        device = torch.device("cuda")
        model = net().to(device)
        setattr(model, "name", 3)
        model.head = torch.nn.Linear(8, 3)
        model(torch.ones(8).to(device))
        """)
    case = build.at("model(torch.ones(8).to(device))", module("model", GPU, ("head.weight", ())))
    assert case.results()[0] == "model.to(device)"


def test_modules_in_a_plain_list_are_held_in_a_module_list(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.layers = [nn.Linear(3, 3) for _ in range(2)]

            def forward(self, x):
                for layer in self.layers:
                    x = layer(x)
                return x
        """)
    case = build.at("layer(x)", module("layer"), tensor("x", GPU))
    assert case.results()[0] == "self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])"


def test_a_loss_with_weights_is_moved_where_it_is_built(crash: Build) -> None:
    build = crash("""
        import torch

        def train(model, x, y, device):
            criterion = torch.nn.CrossEntropyLoss(weight=torch.ones(3))
            out = model(x)
            return criterion(out, y)
        """)
    case = build.at("criterion(out, y)", module("criterion"), tensor("out", GPU), tensor("y", GPU))
    assert case.results()[0] == "criterion = torch.nn.CrossEntropyLoss(weight=torch.ones(3)).to(device)"


def test_a_part_that_forward_builds_follows_the_input(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def forward(self, x):
                if self.proj is None:
                    self.proj = nn.Linear(3, 3)
                return self.proj(x)
        """)
    case = build.at("self.proj(x)", module("self.proj"), module("self", GPU, ("proj.weight", ())), tensor("x", GPU))
    assert "self.proj = nn.Linear(3, 3).to(x.device)" in case.results()


def test_the_model_moves_before_the_optimizer_that_loads_its_state(crash: Build) -> None:
    build = crash("""
        import torch

        def resume(model, device, state):
            optimizer = torch.optim.Adam(model.parameters())
            optimizer.load_state_dict(state)
            model.to(device)
            optimizer.step()
        """)
    case = build.at("optimizer.step()", Operand("optimizer", Kind.OPTIMIZER, "cpu"), module("model", GPU))
    titles = [repair.title for repair in case.repairs]
    assert titles[0] == "Move the model before `optimizer` is built: `model.to(device)`"


def test_modules_that_a_comprehension_calls_are_found(crash: Build) -> None:
    build = crash("""
        import torch
        from torch import nn

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.heads = [nn.Linear(3, 3) for _ in range(2)]

            def forward(self, x):
                return sum(head(x) for head in self.heads)
        """)
    case = build.at("head(x)", module("head"), tensor("x", GPU))
    assert case.results()[0] == "self.heads = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])"
    assert case.repairs[0].effect is not None  # layers that were never trained now are
