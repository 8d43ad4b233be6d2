"""DVF402: parts of what a function is given, of which it takes others to a device, each by its name."""

import pytest

CODE = "DVF402"

STEP = """
    import torch

    def step(event, model, device):
        {moved}
        out = model(image)
        seen = {read}.numpy()
        return seen, out.detach().cpu().numpy()
"""
MOVED = 'image = event["inputs"]["image"].to(device)'
LEFT = {
    "the part itself": (MOVED, 'event["inputs"]["image"].detach()'),
    "another part": (MOVED, 'event["labels"]["classes"].detach()'),
    "a part of another part": (MOVED, 'event["sizes"][0].detach()'),
    "beside what follows the model": (
        'image = event["inputs"]["image"].to(next(model.parameters()).device)',
        'event["labels"]["classes"]',
    ),
}
TAKEN_AWAY = {
    "put back under its key": (
        'event["image"] = image = event["image"].to(device)',
        'event["image"].detach()',
    ),
    "each under its key": (
        'for key in event:\n            event[key] = event[key].to(device)\n        image = event["image"]',
        'event["classes"].detach()',
    ),
    "what others follow": (
        'image = event["inputs"].to(event["classes"].device)',
        'event["classes"].detach()',
    ),
    "what the model gave": (MOVED, "out.detach()"),
}


@pytest.mark.parametrize(("moved", "read"), LEFT.values(), ids=LEFT)
def test_what_is_left_is_where_it_came_from(rule, moved: str, read: str) -> None:
    assert rule.findings(STEP.format(moved=moved, read=read)) == ()


@pytest.mark.parametrize(("moved", "read"), TAKEN_AWAY.values(), ids=TAKEN_AWAY)
def test_what_is_moved_itself_is_copied(rule, moved: str, read: str) -> None:
    assert f"{read}.cpu().numpy()" in rule.fixed(STEP.format(moved=moved, read=read), unsafe=True)


def test_labels_of_a_batch_whose_images_are_moved(rule) -> None:
    program = """
        import torch

        def embed(model, loader, level, device):
            found, seen = [], []
            for images, *labels, indices in loader():
                if isinstance(images, tuple):
                    images, *others = images
                labels = labels[level] if len(labels) > 1 else labels[0]
                found.extend(labels.numpy())
                out = model(images.to(device))
                seen.extend(out.cpu().numpy())
                seen.extend(out.detach().cpu().numpy())
            return found, seen
    """
    assert rule.findings(program) == ()
