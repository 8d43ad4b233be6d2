"""What joins, shapes, packages and stores say of what values are and of where they belong."""

import ast

import pytest
from devfix_codemods.catalogue import Kind
from devfix_codemods.ir import Op


def kinds_of(found, text: str) -> set[Kind | None]:
    """What is known of all values that are written so."""
    nodes = found.analysis.module.nodes()
    meant = [one for one in nodes if isinstance(one.syntax, ast.expr) and ast.unparse(one.syntax) == text]
    meant += [one for one in found.analysis.module.of(Op.PARAM) if one.extra == text]
    return {found.analysis.kinds.of(one) for one in meant}


TWICE = """
    def main(rows, loader, net: nn.Module, device):
        for x, y in rows:
            y = np.array(y)
            keep(y)
        net = net.to(device)
        for x, y in loader:
            {read}
            loss = F.mse_loss(net(x.to(device)), y)
            loss.backward()
        return {last}
"""


def test_a_name_that_is_used_again(placed) -> None:
    """The loops bind one name to two things, and nothing reads the join of both."""
    assert placed(TWICE.format(read="pass", last="net")).births == ["y"]


def test_a_join_that_is_read(placed) -> None:
    found = placed("def f(c):\n    y = np.zeros(3)\n    if c:\n        y = np.ones(3)\n    return y\n")
    assert kinds_of(found, "y") <= {Kind.ARRAY}


SIZES = """
    def f(mask, {given}):
        rows, columns = mask.shape
        device = mask.device
        box = torch.zeros(rows, 4)
        return place(box)
"""


def test_parts_of_a_shape_are_numbers(placed) -> None:
    assert kinds_of(placed(SIZES.format(given="n")), "rows") == {Kind.NUMBER}


def test_what_has_a_shape_and_a_device_is_a_tensor(placed) -> None:
    assert kinds_of(placed(SIZES.format(given="n")), "mask") == {Kind.TENSOR}


@pytest.mark.parametrize("asked", ["mask.device", "mask.shape", "mask.dtype, mask.device"])
def test_one_of_both_says_nothing(placed, asked: str) -> None:
    assert kinds_of(placed(f"def f(mask):\n    return {asked}\n"), "mask") == {None}


PUT = """
    import graphs
    def build(n, device):
        graph = graphs.make(n)
        {before}
        graph.edges["b"] = {value}
        {after}
        return graph
"""
MOVE = "graph = graph.to(device)"


def test_what_is_put_into_what_was_moved(placed) -> None:
    found = placed(PUT.format(before=MOVE, value="torch.zeros(n)", after="pass"))
    assert found.of("torch.zeros(n)").links == ("put-into-moved",)


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("pass", "torch.zeros(n)", MOVE),
        (MOVE, "torch.zeros(n, device=device)", "pass"),
        (MOVE, "[0] * n", "pass"),
    ],
)
def test_what_is_put_into_something_else(placed, before: str, value: str, after: str) -> None:
    assert placed(PUT.format(before=before, value=value, after=after)).births == []


PICTURE = """
    from torchvision import transforms
    import files
    def run(path, device):
        net = nn.Linear(3, 3).to(device)
        shown = transforms.Compose([transforms.Resize(8), {last}])
        return net(shown(files.read(path)).unsqueeze(0){moved})
"""


@pytest.mark.parametrize("last", ["transforms.ToTensor()", "transforms.PILToTensor(), transforms.Grayscale()"])
def test_transforms_make_tensors_on_the_host(placed, last: str) -> None:
    assert placed(PICTURE.format(last=last, moved="")).births == ["shown(files.read(path))"]


@pytest.mark.parametrize(
    ("last", "moved"), [("transforms.ToTensor()", ".to(device)"), ("transforms.CenterCrop(4)", "")]
)
def test_transforms_of_what_is_a_tensor_already(placed, last: str, moved: str) -> None:
    assert "shown(files.read(path))" not in placed(PICTURE.format(last=last, moved=moved)).births


SOUND = """
    import torchaudio
    def run(path, device):
        net = nn.Linear(3, 3).to(device)
        wave, rate = torchaudio.{read}(path)
        {moved}
        return net(wave / rate)
"""


@pytest.mark.parametrize(
    ("read", "moved", "births"),
    [("load", "pass", ["wave"]), ("load", "wave = wave.to(device)", []), ("info", "pass", [])],
)
def test_what_is_read_from_files_is_on_the_host(placed, read: str, moved: str, births: list[str]) -> None:
    assert placed(SOUND.format(read=read, moved=moved)).births == births


WRAPPED = """
    from meshes import parallel
    def train(mesh, place):
        kind = torch.accelerator.current_accelerator().type
        net = nn.Linear(3, 3){moved}
        spread = parallel(module=net, mesh=mesh)
        out = spread(torch.rand(4, 3{told}))
        out.sum().backward()
"""


@pytest.mark.parametrize(
    ("moved", "told", "births"),
    [(".to(kind)", "", ["torch.rand(4, 3)"]), (".to(kind)", ", device=kind", []), ("", "", [])],
)
def test_who_is_given_a_module_and_gives_one_gives_the_same(placed, moved: str, told: str, births: list[str]) -> None:
    assert placed(WRAPPED.format(moved=moved, told=told)).births == births


MODEL = """
    from nets import Reader
    def main(loader, device, **options):
        words = nn.Embedding(3, 4)
        net = Reader(words){moved}
        optimizer = torch.optim.Adam(net.parameters())
        for x in loader:
            net(x.to(device)).sum().backward()
            optimizer.step()
"""


@pytest.mark.parametrize(("moved", "births"), [("", ["Reader(words)"]), (".to(device)", [])])
def test_a_class_that_gets_a_layer_makes_another_module(placed, moved: str, births: list[str]) -> None:
    assert placed(MODEL.format(moved=moved)).births == births


GRAPHS = """
    {imports}
    def test(net: nn.Module, data, device):
        out = net.to(device)(data.x.to(device), data.edge_index)
        return out
"""


@pytest.mark.parametrize(
    ("imports", "kind"), [("from torch_geometric.nn import GCNConv", Kind.TENSOR), ("import networks", None)]
)
def test_parts_of_graphs(placed, imports: str, kind: Kind | None) -> None:
    assert kinds_of(placed(GRAPHS.format(imports=imports)), "data.edge_index") == {kind}


LISTS = """
    from dgl.dataloading import GraphDataLoader
    def run(data, net: nn.Module, loss, device):
        net = net.to(device)
        for graph, ids, third in GraphDataLoader(data):
            out = net(graph.to(device))
            F.mse_loss(out, third).backward()
            print({read})
"""


@pytest.mark.parametrize(("read", "births"), [("third.cpu()", ["third"]), ("len(third)", [])])
def test_rows_that_hold_no_list(placed, read: str, births: list[str]) -> None:
    assert placed(LISTS.format(read=read)).births == births
