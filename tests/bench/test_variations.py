"""The programs of `bench/variations.py` are what it promises: wrong in one place, in every shape."""

import ast
import importlib.util
from pathlib import Path

import pytest
from variation.cases import Case, programs
from variation.kinds import all_kinds
from variation.measuring import Row
from variation.proving import Machine, lay
from variation.shapes import ABSENT, AXES, Draws
from variation.tables import print_misses, print_tables
from variation.writing import Program

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="programs run with torch")


@pytest.fixture(scope="module")
def drawn() -> list[Program]:
    """One program of each kind."""
    return [next(candidates) for candidates in programs(len(all_kinds()), seed=3)]


def test_there_is_a_program_of_every_kind(drawn: list[Program]) -> None:
    assert [program.kind for program in drawn] == list(all_kinds())
    assert len(drawn) >= 20


def test_programs_parse(drawn: list[Program]) -> None:
    for program in drawn:
        for text in (*program.wrong.values(), *program.right.values()):
            ast.parse(text)


def test_program_and_twin_differ_where_the_move_is_missing(drawn: list[Program]) -> None:
    for program in drawn:
        assert program.wrong != program.right
        assert program.wrong.keys() == program.right.keys()
        lines = {name: len(text.splitlines()) for name, text in program.wrong.items()}
        assert program.omitted
        for name, omitted in program.omitted.items():
            assert omitted
            assert omitted <= set(range(1, lines[name] + 2))


def test_a_program_in_two_files_imports_one_from_the_other() -> None:
    many = [next(candidates) for candidates in programs(12, 1, ["target"])]
    two = next(program for program in many if program.shape.home == "two-files")
    [module] = [name.removesuffix(".py") for name in two.wrong if name != "main.py"]
    assert f"from {module} import " in two.wrong["main.py"]


def test_a_seed_draws_the_same_programs_whatever_other_kinds_there_are() -> None:
    alone = [next(candidates) for candidates in programs(3, 5, ["numpy"])]
    beside = [next(candidates) for candidates in programs(6, 5, ["numpy", "target"])]
    assert [program for program in beside if program.kind == "numpy"] == alone


def test_draws_cover_all_values_evenly() -> None:
    draws = Draws("0 target")
    shapes = [draws.draw({}) for _ in range(90)]
    assert len(set(shapes)) == 90
    for axis, values in AXES.items():
        counts = [sum(getattr(shape, axis) == value for shape in shapes) for value in values]
        assert min(counts) >= 90 / len(values) / 2, axis


@pytest.mark.slow
@needs_torch
def test_programs_fail_as_promised_and_their_twins_pass(drawn: list[Program], tmp_path: Path) -> None:
    some = [
        program for program in drawn if program.kind in {"target", "attribute", "numpy", "host-table", "hidden-pair"}
    ]
    with Machine(tmp_path, simulated=True) as machine:
        for program in some:
            wrong, right = (
                lay(tmp_path / program.kind / name, files)
                for name, files in (("wrong", program.wrong), ("right", program.right))
            )
            twin, failed = machine.run(right, wrong)
            assert twin.error == ""
            assert failed.is_device_error
            assert failed.file in program.wrong
        broken = lay(tmp_path / "broken", {"main.py": "import torch\n\ntorch.zeros(2).unknown\n"})
        [outcome] = machine.run(broken)
    assert len(some) == 5
    assert (outcome.file, outcome.line, outcome.is_device_error) == ("main.py", 3, False)


def test_tables_tell_which_value_switches_a_finding_off(capsys: pytest.CaptureFixture[str]) -> None:
    def row(number: int, home: str, *codes: str) -> Row:
        values = {**dict.fromkeys(AXES, ABSENT), "home": home}
        case = Case(f"{number}-target", "target", values, True, {"main.py": [7]}, "RuntimeError: devices", "main.py", 9)
        return Row(case, codes, (), bool(codes), "" if codes else "RuntimeError: devices")

    rows = [row(number, "script", "DVF101") for number in range(3)] + [row(number, "closure") for number in range(3, 6)]
    print_tables(rows)
    print_misses(rows, 1)
    printed = capsys.readouterr().out
    assert "| target | 6 | 50 % | 50 % | 50 % | 50 % | 0 |" in printed
    assert "| home | closure | 3 | 0 % | 0 % | 0 % |" in printed
    assert "target, home closure: 0 of 3; else 3 of 3" in printed
    assert "3 programs are missed" in printed
    assert "3-target: home=closure" in printed
