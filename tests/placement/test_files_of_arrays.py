"""What lies in files of arrays is an array, however deep; a legacy constructor takes tensors of the host alone."""

import pytest
from devfix_codemods.catalogue import Kind

READ = """
    import h5py, zarr
    from library import open_store

    def read(path, row):
        with {opened} as file:
            return file["kept"]{part}
"""


def _kind(placed, opened: str, part: str) -> Kind | None:
    analysis = placed(READ.format(opened=opened, part=part)).analysis
    ((value, _),) = analysis.module.functions[-1].returns
    return analysis.kinds.of(value)


@pytest.mark.parametrize("opened", ["open_store(path)", "h5py.special_dtype(path)"])
def test_what_is_read_from_what_nobody_knows(placed, opened: str) -> None:
    assert _kind(placed, opened, "") is None


@pytest.mark.parametrize("opened", ['h5py.File(path, "r")', "zarr.open(path)", "np.load(path)"])
@pytest.mark.parametrize("part", ["", "[row]", '["inner"][:, row]'])
def test_what_is_read_from_a_file_of_arrays(placed, opened: str, part: str) -> None:
    assert _kind(placed, opened, part) is Kind.ARRAY


MASKED = """
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 3)
        def forward(self, x: torch.Tensor, rows):
            mask = torch.FloatTensor({given})
            return self.layer(x) * mask
"""


@pytest.mark.parametrize("given", ["x[0]", "x == 0", "x + 1"])
def test_it_fails_itself_where_the_tensor_is_elsewhere(placed, given: str) -> None:
    assert placed(MASKED.format(given=given)).births == []


@pytest.mark.parametrize("given", ["rows", "[0, 1]", "np.ones(3)"])
def test_what_it_makes_of_others_stays_on_the_host(placed, given: str) -> None:
    assert placed(MASKED.format(given=given)).births == [f"torch.FloatTensor({given})"]


KEPT = """
    class Mask(nn.Module):
        def __init__(self, n, device):
            super().__init__()
            self.start = torch.zeros(n, device=device)
            self.mask = {made}
"""


@pytest.mark.parametrize("made", ["nn.Parameter(torch.FloatTensor(torch.ones(n)))", "torch.FloatTensor(torch.ones(n))"])
def test_what_it_is_given_is_made_on_the_host(placed, made: str) -> None:
    assert "torch.ones(n)" not in placed(KEPT.format(made=made)).births


def test_what_another_one_is_given_is_made_beside_the_others(placed) -> None:
    assert "torch.ones(n)" in placed(KEPT.format(made="torch.relu(torch.ones(n))")).births
