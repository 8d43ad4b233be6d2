"""DVF501: code that runs only where CUDA was chosen, and models that another runtime than torch may run."""

from textwrap import dedent

import pytest

CODE = "DVF501"

CHOSEN = """
    import torch
    def points(x, kernel, keep, lib=None):
        {choice}
        h = torch.zeros(3)
        {test}
            h = h.cuda()
        return x.view(3) + h
"""


@pytest.mark.parametrize("test", ["if lib == on_card:", "if on_host is not lib:", "if keep and lib != on_host:"])
@pytest.mark.parametrize(
    "choice",
    [
        "lib = on_card if x.is_cuda else on_host",
        "lib = wide if keep else on_card if x.is_cuda else on_host",
        "if x.is_cuda:\n            lib = on_card\n        elif x.is_cpu:\n            lib = on_host",
        "if x.device.type == 'cpu':\n            lib = on_host\n        else:\n            lib = on_card",
    ],
)
def test_what_a_question_chose_is_asked_for(rule, choice: str, test: str) -> None:
    assert rule.findings(CHOSEN.format(choice=choice, test=test)) == ()


@pytest.mark.parametrize(
    ("choice", "test"),
    [
        ("lib = wide if keep else narrow", "if lib == wide:"),
        ("if keep:\n            lib = wide", "if lib == wide:"),
        ("if x.is_cuda:\n            keep = True", "if lib == wide:"),
    ],
)
def test_nothing_asked_for_cuda(rule, choice: str, test: str) -> None:
    assert "h = h.to(x.device)" in rule.fixed(CHOSEN.format(choice=choice, test=test))


@pytest.mark.parametrize("host", ["h.numpy()", "h.detach().cpu()", "h.cpu().numpy().copy()"])
def test_the_host_and_cuda_are_chosen_between(rule, host: str) -> None:
    program = f"""
        import torch
        def f(x, keep):
            h = torch.zeros(3)
            h = {host} if keep else h.cuda()
            return x.view(3) + h
    """
    assert rule.findings(program) == ()


def test_a_branch_that_leaves_it_where_it_is(rule) -> None:
    program = """
        import torch
        def f(x, keep):
            h = torch.zeros(3)
            return x.view(3) + (h if keep else h.cuda())
    """
    assert "h.to(x.device)" in rule.fixed(program)


@pytest.mark.parametrize(
    ("name", "test"),
    [("run_detector_trt", "fast"), ("run", "mode == TENSORRT"), ("run", "use_trt"), ("run", "not mode.trt")],
)
def test_engines_of_cards_run_on_cards(rule, name: str, test: str) -> None:
    program = f"""
        import torch
        def {name}(image, model, mode, fast, use_trt):
            if {test}:
                return model(torch.tensor(image).cuda())
    """
    assert rule.findings(program) == ()


RUNTIME = """
    import torch
    def run_session(x, session):
        return session.run(None, x)
    def depth(image, model{said}, mode, fast):
        {before}
        return model(torch.tensor(image).cuda())
"""


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("", "if fast:\n            return run_onnx(image, model)"),
        ("", "if fast:\n            return runtimes.onnx.run(image, net=model)"),
        ("", "if fast:\n            return run_session(image, model)"),
        ("", "if fast:\n            return run_session(image, session=model)"),
        ("", "names = [one.name for one in model.get_outputs()] if fast else []"),
        (": ort.InferenceSession | Net", ""),
        (": 'OpenVINOModel'", ""),
    ],
)
def test_a_session_has_no_parameters(rule, said: str, before: str) -> None:
    assert rule.findings(RUNTIME.format(said=said, before=before)) == ()


@pytest.mark.parametrize("test", ["if mode == ONNX:", "if mode == 'onnxruntime':", "if mode.ort:"])
def test_nor_where_one_runs(rule, test: str) -> None:
    program = RUNTIME.format(said="", before=test).replace("        return model(", "            return model(")
    assert rule.findings(program) == ()


@pytest.mark.parametrize(
    ("said", "before"),
    [
        ("", ""),
        (": Net", ""),
        ("", "torch.onnx.export(model, image, fast)"),
        ("", "if fast:\n            export_onnx(model, image)"),
        ("", "if mode == ONNX:\n            return image"),
        ("", "resort(model)"),
    ],
)
def test_what_is_exported_is_a_module(rule, said: str, before: str) -> None:
    fixed = rule.fixed(RUNTIME.format(said=said, before=before), unsafe=True)
    assert "torch.tensor(image).to(next(model.parameters()).device)" in fixed


def test_no_device_for_branches_that_need_none(rule) -> None:
    program = """
        import torch
        def run(model, x, mode):
            if mode == "plain":
                x = x.cuda()
                y = model(x)
            elif mode == "twice":
                x = x.cuda()
                y = model(model(x))
            else:
                y = model.run(x)
            return y
    """
    after = rule.unchanged_unless_unsafe(program)
    assert after == dedent(program).replace(".cuda()", ".to(next(model.parameters()).device)")


@pytest.mark.parametrize(
    ("above", "first"),
    [
        ("if mode:", "x = x.cuda()"),
        ("if not mode:\n            y = model.run()\n        else:", "x = x.cuda()"),
        ("if mode:", "for x, y in data:\n                x = x.cuda()"),
        ("for x, y in data:\n          if mode:", "x = x.cuda()"),
        ("for x, y in data:\n            if mode:\n                continue", "x = x.cuda()"),
    ],
)
def test_the_device_of_a_model_in_the_branch_that_needs_it(rule, above: str, first: str) -> None:
    deep = " " * 4 if first.startswith("for") else ""
    body = f"{first}\n            {deep}y = y.cuda()\n            {deep}z = model(x, y)"
    program = f"""
    import torch
    def run(model, data, x, y, mode):
        z = None
        {above}
            {body}
        return z
    """
    after = rule.unchanged_unless_unsafe(program)
    assert (
        f"        device = next(model.parameters()).device\n        {first.partition(chr(10))[0].split(' = ')[0]}"
        in after
    )
    assert after.count("next(") == 1
    assert after.count(".to(device)") == 2


def test_one_of_them_is_always_needed(rule) -> None:
    program = """
        import torch
        def run(model, x, mask):
            x = x.cuda()
            if mask is not None:
                mask = mask.cuda()
            return model(x, mask)
    """
    after = rule.unchanged_unless_unsafe(program)
    assert "    device = next(model.parameters()).device\n    x = x.to(device)\n" in after
    assert "mask = mask.to(device)" in after


@pytest.mark.parametrize(
    "test",
    [
        "str(device) == 'cuda:0' or str(device) == 'cuda'",
        "str(device) == 'cuda' or str(device) in ('cuda:0', 'cuda:1')",
        "str(device) == 'cuda' or str(device).startswith('cuda:')",
        "str(device) == 'cuda' or str(device) == f'cuda:{card}'",
        "str(device) == 'cuda' or 'cuda' in str(device)",
        "str(device) == 'cuda' or str(device).split(':')[0] == kind",
    ],
)
def test_the_number_of_the_card_is_thought_of(rule, test: str) -> None:
    assert rule.findings(f"import torch\ndef f(device, card, kind):\n    return {test}\n") == ()


@pytest.mark.parametrize("test", ["str(other) == 'cuda:0'", "str(device) == 'cpu'", "device == 'cuda:0'"])
def test_of_another_device_or_nothing(rule, test: str) -> None:
    program = f"import torch\ndef f(device, other):\n    return {test} or str(device) == 'cuda'\n"
    assert f"{test} or str(device).startswith('cuda')" in rule.unchanged_unless_unsafe(program)
