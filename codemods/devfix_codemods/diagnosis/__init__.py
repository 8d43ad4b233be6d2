"""From a device error to its repairs.

`Diagnosis` says what met where and how it came there, whether the error was seen in a run or read from a traceback.
`repairs` answers what to edit, best first: where the misplaced value is born rather than where the program crashes.
`read_message` says what torch's sentence means.
"""

from devfix_codemods.diagnosis.candidates import repairs
from devfix_codemods.diagnosis.messages import Category, Message, read_message
from devfix_codemods.diagnosis.records import Diagnosis, Form, Frame, Kind, Operand, Repair, Sink, Stop, misplaced_among

__all__ = [
    "Category",
    "Diagnosis",
    "Form",
    "Frame",
    "Kind",
    "Message",
    "Operand",
    "Repair",
    "Sink",
    "Stop",
    "misplaced_among",
    "read_message",
    "repairs",
]
