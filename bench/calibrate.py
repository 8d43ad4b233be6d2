"""How strong each kind of link is: fitted to known bugs, and tried on repositories that the fit did not see.

    python bench/calibrate.py OUTCOMES.json... [--table TABLE.json] [--prior 4]

OUTCOMES are what `--json` of deletions.py, history.py or scoring.py wrote. A finding of the broken file is *right*
where it is at most `NEAR` lines from what is broken there. One of the correct file is *wrong*, and so is the same one
(code and message) of the broken file, since it does not depend on what is broken. All others are left out.

The confidence of a finding is the product of the strengths of the links on its path. The logarithms of the strengths
are fitted by maximum likelihood on one half of the repositories, with a prior as heavy as `--prior` findings on the
table that is there (0.9 where it has none). The new table is written to TABLE; how often a confidence is right is
printed for the other half, by the new table and by what devfix said itself.
"""

import argparse
import hashlib
import itertools
import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cases import is_near
from scoring import Found, Outcome, read_outcomes

DEFAULT = 0.9
LEAST, MOST = 0.05, 0.995
"""No link is taken to be weaker or stronger, however few findings tell of it."""

BINS = (0.0, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.0)
STEPS = 2000

Strengths = Mapping[str, float]


@dataclass(frozen=True)
class Judged:
    """A finding of which it is known whether it is right. `said` is the confidence that devfix gave it."""

    repo: str
    links: tuple[str, ...]
    right: bool
    said: float = 1.0

    def confidence(self, strengths: Strengths) -> float:
        return math.prod(strengths.get(link, DEFAULT) for link in self.links)


def judged(outcomes: Iterable[Outcome]) -> list[Judged]:
    """The findings that are known to be right or wrong. Those on the same place and links count once a file."""
    known: list[Judged] = []
    for outcome in outcomes:
        wrong = {_key(one) for one in outcome.after}
        fresh = [one for one in outcome.before if _key(one) not in wrong]
        known += [_judged(outcome, one, right=False) for one in _once(outcome.after)]
        known += [_judged(outcome, one, right=True) for one in _once(fresh) if is_near(one.lines, outcome.place)]
    return known


def _key(finding: Found) -> tuple[str, str]:
    return finding.code, finding.message


def _once(findings: Iterable[Found]) -> list[Found]:
    return list({(_key(one), one.links): one for one in findings}.values())


def _judged(outcome: Outcome, finding: Found, *, right: bool) -> Judged:
    return Judged(outcome.repo, finding.links, right, finding.confidence)


def is_for_fitting(repo: str) -> bool:
    """Half of the repositories, by a hash that has nothing to do with the one of the dev half."""
    return hashlib.sha1(f"calibrate {repo}".encode()).hexdigest()[0] < "8"


def fitted(findings: Sequence[Judged], present: Strengths, prior: float) -> dict[str, float]:
    """The strengths under which what is right and wrong is most likely.

    The likelihood is concave in the logarithms of the strengths, so a projected gradient finds its one summit.
    """
    counts = Counter((tuple(sorted(one.links)), one.right) for one in findings if one.links)
    names = sorted({link for links, _ in counts for link in links} | set(present))
    middle = {name: math.log(_bounded(present.get(name, DEFAULT))) for name in names}
    place, step = dict(middle), 1e-3
    height = _height(place, counts, middle, prior)
    for _ in range(STEPS):
        slope = _slope(place, counts, middle, prior)
        while step > 1e-12:
            tried = {name: math.log(_bounded(math.exp(place[name] + step * slope[name]))) for name in names}
            reached = _height(tried, counts, middle, prior)
            if reached > height:
                break
            step /= 2
        else:
            break
        place, height, step = tried, reached, step * 3
    return {name: math.exp(place[name]) for name in names}


def _bounded(strength: float) -> float:
    return min(max(strength, LEAST), MOST)


_Counts = Mapping[tuple[tuple[str, ...], bool], int]


def _height(place: Strengths, counts: _Counts, middle: Strengths, prior: float) -> float:
    """The logarithm of the likelihood at a place, and of the prior."""
    total = -sum(prior * (place[name] - middle[name]) ** 2 / 2 for name in place)
    for (links, right), count in counts.items():
        log = sum(place[link] for link in links)
        total += count * (log if right else math.log(-math.expm1(log)))
    return total


def _slope(place: Strengths, counts: _Counts, middle: Strengths, prior: float) -> dict[str, float]:
    slope = {name: -prior * (place[name] - middle[name]) for name in place}
    for (links, right), count in counts.items():
        odds = 1.0 if right else 1 / math.expm1(-sum(place[link] for link in links))
        for link in links:
            slope[link] += count * (odds if right else -odds)
    return slope


def reliability(pairs: Iterable[tuple[float, bool]]) -> str:
    """How often each range of confidence is right."""
    many = list(pairs)
    lines = [f"{'confidence':14}{'findings':>9}{'right':>8}{'mean':>8}"]
    for low, high in itertools.pairwise(BINS):
        last = high == BINS[-1]
        found = [(said, right) for said, right in many if low <= said < high or (last and said == high)]
        if found:
            right = sum(one for _, one in found) / len(found)
            mean = sum(said for said, _ in found) / len(found)
            lines.append(f"{f'{low:.2f} to {high:.2f}':14}{len(found):9}{right:8.2f}{mean:8.2f}")
    error = sum(abs(said - right) ** 2 for said, right in many) / max(len(many), 1)
    return "\n".join([*lines, f"mean squared error {error:.3f} of {len(many)}"])


def read_table(path: Path | None) -> dict[str, float]:
    if path is None or not path.is_file():
        return {}
    return {str(name): float(value) for name, value in json.loads(path.read_text(encoding="utf-8")).items()}


def write_table(path: Path, strengths: Strengths) -> None:
    rounded = {name: round(value, 3) for name, value in sorted(strengths.items())}
    path.write_text(json.dumps(rounded, indent=2) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("outcomes", nargs="+", type=Path)
    parser.add_argument("--table", type=Path, help="where the strengths stand, and are written to")
    parser.add_argument("--prior", type=float, default=4.0)
    asked = parser.parse_args()
    known = judged(one for path in asked.outcomes for one in read_outcomes(path))
    linked = [one for one in known if one.links]
    print(
        f"{len(known)} findings are judged, {sum(one.right for one in known)} of them right; {len(linked)} tell links"
    )
    seen, unseen = ([one for one in linked if is_for_fitting(one.repo) == half] for half in (True, False))
    present = read_table(asked.table)
    strengths = fitted(seen, present, asked.prior)
    for name in sorted(strengths, key=lambda one: strengths[one]):
        count = sum(name in one.links for one in seen)
        before = f"{present[name]:.3f}" if name in present else "new"
        print(f"{name:32}{strengths[name]:8.3f}  was {before:6} {count:6} findings")
    if asked.table and strengths:
        write_table(asked.table, strengths)
    print(f"\non the other half, by these strengths\n{reliability((x.confidence(strengths), x.right) for x in unseen)}")
    every = [one for one in known if not is_for_fitting(one.repo)]
    print(f"\nas devfix said itself, links or none\n{reliability((x.said, x.right) for x in every)}")


if __name__ == "__main__":
    main()
