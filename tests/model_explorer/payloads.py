"""Small payloads of Model Explorer's, whole ones and random ones that are broken in one place or two."""

from __future__ import annotations

import random
from typing import Any

from fxstore.model_explorer.validation.checks import Findings
from fxstore.model_explorer.validation.nodes import namespaces
from fxstore.model_explorer.validation.read import graph_of

Json = dict[str, Any]


def edge(source: str, output: str = "0", target: str = "0") -> Json:
    return {"sourceNodeId": source, "sourceNodeOutputId": output, "targetNodeInputId": target}


def item(key: str, value: Any) -> Json:
    return {"key": key, "value": value}


def port(name: str = "0", *attrs: Json) -> Json:
    return {"id": name, "attrs": list(attrs) or [item("shape", "2, 3")]}


def node(name: str, *sources: str, namespace: str = "", **more: Any) -> Json:
    edges = [edge(source, target=str(i)) for i, source in enumerate(sources)]
    return {"id": name, "label": name or "empty", "namespace": namespace, "incomingEdges": edges,
            "outputsMetadata": [port()], **more}  # fmt: skip


def graph(*nodes: Json, name: str = "g", **more: Any) -> Json:
    return {"id": name, "nodes": list(nodes), **more}


def with_rows(*graphs: Json) -> list[Json]:
    """Gives each graph a row for every layer, and the row of the whole."""
    for one in graphs:
        layers = namespaces(graph_of(one, Findings()).nodes)
        one.setdefault("groupNodeAttributes", {layer: {"kind": "test"} for layer in ("", *layers)})
    return list(graphs)


NAMES = [
    "", "a", "b", "0", "01", "constructor", "__proto__", "toString", "hasOwnProperty", "a/b", "a;b", ";a", "a;", "/",
    "//", "a\\", "\\", "a\\/b", "a___group___", "___group___", "x___group___", "section_1_of_2", " ", "\n", "a\nb",
    "\u2028", "%2F", "|", "a|1", "Const", "const", "no_value", "GraphInputs", "\x00", "\x01", "\x7f", "\u00e9",
    "___escaped_slash___", "a:1", "..",
]  # fmt: skip
TEXTS = [
    "v", "", 'say "x"', "dense<1,2>", "dense<[[1]]> : tensor", "dense<", "tensor<1x2xf32>", "[1,2]", '{"a":1}', "a\nb",
    " ", "<empty>", "1*2",
]  # fmt: skip
KEYS = [
    "k", "op", "__value", "__tensor_tag", "tensor_name", "shape", "tensor_shape", "dtype", "__proto__", "constructor",
    "id", "name", "", "__hidden",
]  # fmt: skip
WRONG = [
    None,
    1,
    0,
    True,
    [],
    {},
    "x",
    [1],
    [None],
    [{}],
    ["x"],
    [{"key": "k"}],
    [{"key": 1, "value": 2}],
    [{"id": "0"}],
]


def sound(r: random.Random) -> Json:
    """Returns a graph with nothing wrong in it but, now and then, an edge back."""
    count = r.randint(1, 12)
    nodes: list[Json] = []
    for i in range(count):
        sources = [
            f"n{r.randrange(i or 1) if r.random() > 0.1 else r.randrange(count)}|1" for _ in range(r.randint(0, 2))
        ]
        one = node(f"n{i}|1", namespace=r.choice(["", "a", "a/b", "a/c", "d", "d/e/f"]), attrs=[item("op", "v")])
        one["incomingEdges"] = [edge(source, r.choice("01"), str(n)) for n, source in enumerate(sources)]
        one["outputsMetadata"] = [port(o, item("shape", str(r.randint(1, 9)))) for o in "01"]
        if r.random() < 0.3:
            one["inputsMetadata"] = [port("0", item("name", "x"))]
        nodes.append(one)
    return graph(*nodes)


def break_once(r: random.Random, one: Json) -> None:
    """Changes one thing of a graph, seldom for the better."""
    nodes: list[Json] = one["nodes"]
    n, name, key, text = r.choice(nodes), r.choice(NAMES), r.choice(KEYS), r.choice(TEXTS)
    ids = [other["id"] for other in nodes]
    match r.randint(0, 13):
        case 0:
            for other in nodes:
                for use in other["incomingEdges"]:
                    if use["sourceNodeId"] == n["id"]:
                        use["sourceNodeId"] = name
            n["id"] = name
        case 1:
            n["namespace"] = name
        case 2:
            n["label"] = name
        case 3:
            n["attrs"].append(item(key, text))
        case 4:
            n["outputsMetadata"].append(port(r.choice([*NAMES, "0"]), item(key, text)))
        case 5:
            n["incomingEdges"].append(edge(r.choice([*ids, name]), r.choice(["0", "1", name]), r.choice("01")))
        case 6:
            n["subgraphIds"] = [r.choice([name, "g"])]
        case 7:
            one["id"] = name
        case 8:
            n["config"] = {"pinToGroupTop": True}
        case 9:
            n[r.choice([*n, "inputsMetadata", "subgraphIds", "style", "config"])] = r.choice(WRONG)
        case 10:
            del n[r.choice(list(n))]
        case 11:
            nodes.append(dict(n))
        case 12:
            one["layoutConfigs"] = {r.choice(["nodeSep", "rankSep"]): r.choice([0, 10, -10, "x", True, 0.5])}
        case 13:
            one["nodeLabelsToHide"] = [r.choice([nodes[0].get("label"), "x", "Const"])]
