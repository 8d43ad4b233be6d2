"""What callers in the file put where a model is whose device they ask for, and what the program copies from there."""

import pytest

SHOWN = """
    class Pictures:
        def after(self, model, batch):
            x = batch["x"].to(model.device)
            y = model(x){copied}
            self.show(x, y)
            self.log(model, batch["image"])
        def log(self, model, image):
            model.logger.add_image("first", torch.from_numpy(np.asarray(image)), model.step)
        def show(self, x: torch.Tensor, y: torch.Tensor):
            plot(x{read}.numpy())
            plot(y.numpy())
"""


@pytest.mark.parametrize(("copied", "read"), [(".cpu()", ".cpu()"), ("", ""), (".cpu()", "")])
def test_what_is_copied_before_or_nowhere(placed, copied: str, read: str) -> None:
    found = placed(SHOWN.format(copied=copied, read=read)).conflicts
    assert all(one.confidence < 0.7 for one in found)


def test_what_is_where_its_like_is_copied_from(placed) -> None:
    assert placed(SHOWN.format(copied="", read=".cpu()")).of("y").confidence > 0.7
