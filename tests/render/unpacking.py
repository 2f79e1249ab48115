"""Reads a payload back, independently of the code that wrote it."""

from __future__ import annotations

import base64
import gzip
import json
import struct
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

import numpy as np


@dataclass
class Unpacked:
    header: dict[str, Any]
    columns: dict[str, np.ndarray]

    def text(self, column: str) -> list[str | None]:
        """Returns a text column's values."""
        return [None if i < 0 else self.header["strings"][i] for i in self.columns[column].tolist()]


def unpack(payload: bytes) -> Unpacked:
    assert payload[:4] == b"FXPG"
    (length,) = struct.unpack_from("<I", payload, 4)
    header = json.loads(payload[8 : 8 + length])
    columns, at = {}, -(-(8 + length) // 8) * 8
    for entry in header["columns"]:
        kind = np.dtype("<" + entry["type"])
        stored = np.frombuffer(payload, kind, entry["length"], at)
        columns[entry["name"]] = (
            np.cumsum(stored.astype(np.float64 if kind.kind == "f" else np.int64)) if entry["delta"] else stored
        )
        at += -(-stored.nbytes // 8) * 8
    assert at == len(payload)
    return Unpacked(header, columns)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and the text of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.seen and self.seen[-1][0] == "script" and self.cdata_elem == "script":
            self.scripts[-1] += data
        else:
            self.text.append(data)


def payload_of(page: str) -> Unpacked:
    """Returns what a page's payload element holds."""
    elements = Elements(page)
    (data,) = [
        text
        for text, (_, attrs) in zip(elements.scripts, [e for e in elements.seen if e[0] == "script"], strict=True)
        if "data-fxstore-payload" in attrs
    ]
    return unpack(gzip.decompress(base64.b64decode(data)))
