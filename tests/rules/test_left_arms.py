"""DVF202: one arm of a choice leaves a module as it makes it, where the others move theirs."""

import pytest

CODE = "DVF202"

CHOICE = """
    import torch
    from nets import Deep, Wide

    def build(options, device):
        if options.deep:
            net = Deep(options.width).to(device)
        else:
            net = {made}
        return net{after}
"""


def _choice(made: str, after: str = "") -> str:
    return CHOICE.format(made=made, after=after)


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("Wide(3).to(device)", ""),
        ("Wide(3)", ".to(device)"),
        ("Wide(3, device)", ""),
        ("Wide(3, **options.extras)", ""),
        ("build_wide(3)", ""),
        ("options.net", ""),
        ("Wide(3).cpu()", ""),
        ("torch.nn.Softmax(1)", ""),
    ],
)
def test_arms_that_are_moved_or_place_themselves(rule, made: str, after: str) -> None:
    assert rule.findings(_choice(made, after)) == ()


def test_an_arm_for_the_host(rule) -> None:
    assert rule.findings(_choice("Wide(3)").replace("options.deep", "torch.cuda.is_available()")) == ()


def test_an_arm_that_wraps_another_one(rule) -> None:
    program = """
        import torch
        from nets import Deep, Parallel
        def build(options, device):
            net = Deep(3).to(device)
            if options.parallel:
                net = Parallel(net)
            return net
    """
    assert rule.findings(program) == ()


def test_an_arm_that_wraps_what_is_moved_in_place(rule) -> None:
    program = """
        import torch
        from torch import nn
        from nets import Deep
        def build(options):
            net = Deep(3)
            if options.several:
                net.cuda(options.gpu)
                net = nn.parallel.DistributedDataParallel(net, device_ids=[options.gpu])
            else:
                net = nn.DataParallel(net).cuda()
            return net
    """
    assert rule.findings(program) == ()


def test_the_arm_that_is_left(rule) -> None:
    fixed = rule.fixed(_choice("Wide(3)"), unsafe=True)
    assert "net = Wide(3).to(device)\n" in fixed


def test_each_arm_is_told_the_device_and_moved_as_well(rule) -> None:
    program = _choice("Wide(options, device, log)").replace("Deep(options.width)", "Deep(options, 3, device, log)")
    assert "net = Wide(options, device, log).to(device)\n" in rule.fixed(program, unsafe=True)


def test_a_function_that_gets_what_is_chosen_and_the_device(rule) -> None:
    program = _choice("Wide(3)").replace("return net", "return train(options, net, device)")
    assert "net = Wide(3).to(device)\n" in rule.fixed(program, unsafe=True)


def test_one_of_several_values_that_a_function_returns(rule) -> None:
    program = """
        import torch
        from nets import Deep, Flat, Wide
        def build(kind):
            if kind == "deep":
                return Deep(3).cuda()
            if kind == "flat":
                return Flat(3).cuda()
            return Wide(3)
    """
    assert "return Wide(3).cuda()\n" in rule.fixed(program, unsafe=True)


def test_what_is_chosen_is_wrapped_behind_the_choice(rule) -> None:
    program = _choice("Wide(3)").replace(
        "return net", "net = Parallel(net, device_ids=[device])\n        return Trainer(net, device)"
    )
    assert "net = Wide(3).to(device)\n" in rule.fixed(program, unsafe=True)
