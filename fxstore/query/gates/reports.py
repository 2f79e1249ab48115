"""A check as other tools read it."""

from __future__ import annotations

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from fxstore.query.gates.rules import NOT_ENOUGH, NOTE, PASSED, TRIPPED

if TYPE_CHECKING:
    from fxstore.query.gates.check import Check

# What XML 1.0 has no character for.
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_COMMANDS: Final = {TRIPPED: "error", NOT_ENOUGH: "warning", NOTE: "notice"}


def junit(check: Check) -> str:
    """Returns JUnit XML: one test case per rule, a failure where it tripped, skipped where data was not enough."""
    states = {rule: check.state_of(rule) for rule in check.rules}
    counted = list(states.values())
    suite = ET.Element(
        "testsuite",
        name="fxstore check",
        tests=str(len(states)),
        failures=str(counted.count(TRIPPED)),
        errors="0",
        skipped=str(counted.count(NOT_ENOUGH)),
    )
    rows = check.rows()
    for rule, state in states.items():
        case = ET.SubElement(suite, "testcase", classname="fxstore.check", name=_xml(rule))
        said = [_line(row) for row in rows if row["rule"] == rule and row["state"] == state]
        if state == TRIPPED:
            failure = ET.SubElement(case, "failure", type="rule", message=_xml(f"{len(said)} tripped: {said[0]}"))
            failure.text = _xml("\n".join(said))
        elif state == NOT_ENOUGH:
            ET.SubElement(case, "skipped", message=_xml("; ".join(said)))
        notes = [_line(row) for row in rows if row["rule"] == rule and row["state"] in (NOTE, PASSED)]
        if notes:
            ET.SubElement(case, "system-out").text = _xml("\n".join(notes))
    verdict = check.why() if TRIPPED in counted else None
    if verdict is not None and verdict.metric is not None:
        ET.SubElement(suite, "system-out").text = _xml(f"{verdict.caption}\n{verdict.text}")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def commands(check: Check) -> list[str]:
    """Returns one workflow command per finding that is no pass: error, warning or notice, at its source line."""
    return [_command(row) for row in check.rows() if row["state"] in _COMMANDS]


def _command(row: dict[str, Any]) -> str:
    fields = {"title": f"fxstore: {row['rule']}"}
    if row["source_file"]:
        fields = {"file": _relative(row["source_file"]), "line": str(row["source_line"] or 1), **fields}
    said = ",".join(f"{name}={_property(value)}" for name, value in fields.items())
    return f"::{_COMMANDS[row['state']]} {said}::{_escaped(_line(row))}"


def _line(row: dict[str, Any]) -> str:
    place = "/".join(part for part in (row["stage"], row["name"]) if part)
    said = f"{place}: {row['reason']}" if place else str(row["reason"])
    return f"{said} ({row['overlay']})" if row["overlay"] else said


def _relative(path: str) -> str:
    """Returns a path from the working directory on, where it is in it: so GitHub finds the file."""
    try:
        return Path(path).relative_to(os.getcwd()).as_posix()
    except ValueError:
        return path


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def _xml(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
