"""JUnit's XML, which nearly every CI system shows: a suite for each file, a failure for each finding."""

from collections.abc import Iterable, Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from devfix.reporting.tally import remaining
from devfix.reporting.terminal import one_line
from devfix.reporting.text import message_of, place_of, remedy_of
from devfix.results import Checked, Failed, Problem, Result, Rewritten


def document(results: Sequence[Result], errors: Sequence[Failed]) -> str:
    """The test suites. A file without findings is a test that passed."""
    root = Element("testsuites", name="devfix")
    for result in results:
        if isinstance(result, Checked | Rewritten):
            _suite(root, result.target.label, remaining(result))
    for error in errors:
        _failed(root, error)
    _count(root, root.iter("testcase"))
    indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + tostring(root, encoding="unicode")


def _suite(root: Element, label: str, problems: Sequence[Problem]) -> None:
    name = one_line(label)
    suite = SubElement(root, "testsuite", name=name, package="devfix")
    for problem in problems:
        place = place_of(problem, problem.span)
        case = SubElement(suite, "testcase", name=f"{problem.code} at {place}", classname=name, file=name)
        message = one_line(message_of(problem))
        failure = SubElement(case, "failure", message=message, type=problem.code)
        told = f"{name}:{place}: {problem.code} {problem.name}: {message}"
        failure.text = "\n".join(filter(None, [told, one_line(remedy_of(problem))]))
    if not problems:
        SubElement(suite, "testcase", name="devfix", classname=name, file=name)
    _count(suite, suite.iter("testcase"))


def _failed(root: Element, error: Failed) -> None:
    name = one_line(error.target.label)
    suite = SubElement(root, "testsuite", name=name, package="devfix")
    case = SubElement(suite, "testcase", name="devfix", classname=name, file=name)
    SubElement(case, "error", message=one_line(error.reason))
    _count(suite, [case])


def _count(element: Element, cases: Iterable[Element]) -> None:
    found = list(cases)
    element.set("tests", str(len(found)))
    element.set("failures", str(sum(case.find("failure") is not None for case in found)))
    element.set("errors", str(sum(case.find("error") is not None for case in found)))
