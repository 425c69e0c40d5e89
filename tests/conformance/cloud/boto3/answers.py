"""Compares raw answers with botocore's model of them, which its own parsers do not insist on."""

import json
import re
import xml.etree.ElementTree as ElementTree

NUMBER = re.compile(r"^-?\d+$")
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def scalar_problem(shape, text):
    """The reason why a text is no value of a scalar shape, or None."""
    kind = shape.type_name
    if kind in ("integer", "long") and not NUMBER.match(text):
        return f"{text!r} is no {kind}"
    if kind in ("float", "double") and not re.match(r"^-?\d+(\.\d+)?$", text):
        return f"{text!r} is no {kind}"
    if kind == "boolean" and text not in ("true", "false"):
        return f"{text!r} is no boolean"
    if kind == "timestamp" and not TIME.match(text):
        return f"{text!r} is no time"
    if kind == "string" and shape.enum and text not in shape.enum:
        return f"{text!r} is none of the values of {shape.name}"
    return None


def missing(shape, present, path):
    return [f"{path}.{name} is missing" for name in shape.required_members if name not in present]


def xml_structure(shape, element, path):
    names = {
        member.serialization.get("name", name): name for name, member in shape.members.items()
    }
    problems, present = [], set()
    for child in element:
        name = names.get(local(child))
        if name is None:
            problems.append(f"{path} has the unknown element {local(child)}")
            continue
        member = shape.members[name]
        repeats = member.type_name == "list" and member.serialization.get("flattened")
        if name in present and not repeats:
            problems.append(f"{path}.{name} is there twice")
        present.add(name)
        problems += (
            xml_problems(member.member, child, f"{path}.{name}")
            if repeats
            else xml_problems(member, child, f"{path}.{name}")
        )
    return problems + missing(shape, present, path)


def xml_problems(shape, element, path):
    """The differences between an XML element and its shape."""
    if shape.type_name == "structure":
        return xml_structure(shape, element, path)
    if shape.type_name == "list":
        wanted = shape.member.serialization.get("name", "member")
        problems = []
        for index, child in enumerate(element):
            if local(child) != wanted:
                problems.append(f"{path} has the element {local(child)} instead of {wanted}")
            problems += xml_problems(shape.member, child, f"{path}[{index}]")
        return problems
    if shape.type_name == "map":
        return [f"{path} is a map, which no served operation has"]
    problem = scalar_problem(shape, element.text or "")
    return [] if problem is None else [f"{path}: {problem}"]


JSON_TYPES = {
    "string": str,
    "integer": int,
    "long": int,
    "boolean": bool,
    "float": (int, float),
    "double": (int, float),
    "timestamp": (int, float),
}


def json_problems(shape, value, path):
    """The differences between a JSON value and its shape."""
    if shape.type_name == "structure":
        if not isinstance(value, dict):
            return [f"{path} is no object"]
        names = {
            member.serialization.get("name", name): name for name, member in shape.members.items()
        }
        problems = [f"{path} has the unknown field {key}" for key in value if key not in names]
        for key, inner in value.items():
            if key in names:
                member = shape.members[names[key]]
                problems += json_problems(member, inner, f"{path}.{key}")
        return problems + missing(shape, {names.get(key) for key in value}, path)
    if shape.type_name == "list":
        if not isinstance(value, list):
            return [f"{path} is no list"]
        return [
            problem
            for index, inner in enumerate(value)
            for problem in json_problems(shape.member, inner, f"{path}[{index}]")
        ]
    if shape.type_name == "map":
        return [
            problem
            for key, inner in value.items()
            for problem in json_problems(shape.value, inner, f"{path}.{key}")
        ]
    if not isinstance(value, JSON_TYPES[shape.type_name]):
        return [f"{path}: {value!r} is no {shape.type_name}"]
    if shape.type_name == "string" and shape.enum and value not in shape.enum:
        return [f"{path}: {value!r} is none of the values of {shape.name}"]
    return []


def answer_problems(model, protocol, body):
    """The differences between the body of an answer and the output of an operation."""
    shape, name = model.output_shape, model.name
    if protocol in ("json", "rest-json"):
        return json_problems(shape, json.loads(body or b"{}"), name) if shape else []
    root = ElementTree.fromstring(body)
    if local(root) != f"{name}Response":
        return [f"the answer is {local(root)} instead of {name}Response"]
    wrapper = shape.serialization.get("resultWrapper") if shape else None
    if wrapper is not None:
        found = [child for child in root if local(child) == wrapper]
        return xml_structure(shape, found[0], name) if found else [f"{name} has no {wrapper}"]
    frame = ("requestId", "ResponseMetadata")
    for child in [child for child in root if local(child) in frame]:
        root.remove(child)
    if shape is not None:
        return xml_structure(shape, root, name)
    # Operations without an output answer nothing, or in EC2 `return`.
    return [
        f"{name} has the unknown element {local(child)}"
        for child in root
        if local(child) not in ("return", f"{name}Result")
    ]
