#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads abidw's XML of a library from stdin; writes the part that hosts and capsules can see.

The libraries also export symbols for each other, which may change at any time: they are installed
together. A symbol is public if a header in include/ has the name of its class or function. What
stays are the public symbols, the types of include/, and what these name, sorted. Places in sources
are left out: otherwise, each new line in a header would change the baseline.
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as ElementTree

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
LISTS = ("elf-function-symbols", "elf-variable-symbols")
DECLARATIONS = ("function-decl", "var-decl")
REFERENCES = ("type-id", "naming-typedef-id", "def-of-decl-id")
PLACES = ("filepath", "line", "column")


def public_names():
    names = set()
    for header in INCLUDE.rglob("*.hpp"):
        names.update(re.findall(r"\w+", re.sub(r"//.*", "", header.read_text())))
    return names


def is_public(symbol, names):
    # _ZN4vcap6detail4nameE…, also a vtable, type information, a thunk or a guard variable of it.
    mangled = re.match(r"_Z(?:T[VTIS]|Thn?\d+_|GV)?N[VKRO]*4vcap(?:6detail)?(\d+)(.*)", symbol)
    return bool(mangled) and mangled[2][: int(mangled[1])] in names


def drop_private(parent, names):
    for child in list(parent):
        of_function = child.tag == "member-function"
        element = child.find("function-decl") if of_function else child
        symbol = element.get("name" if element.tag == "elf-symbol" else "elf-symbol-id")
        if symbol is not None and not is_public(symbol, names):
            parent.remove(child)
        else:
            drop_private(child, names)


def items(scope, namespace=()):
    """The types, functions and variables, with their namespaces."""
    for child in scope:
        if child.tag == "namespace-decl":
            yield from items(child, (*namespace, child.get("name")))
        else:
            yield namespace, child


def pieces(item, namespace):
    """The parts that are kept or left out one by one; of a class of another library, also its member types."""
    yield item
    if namespace[:1] != ("vcap",):
        for member in item.iter("member-type"):
            yield member


def reachable(placed):
    owner, references, outer, wanted = {}, {}, {}, []
    for namespace, item in placed:
        for piece in pieces(item, namespace):  # an inner piece comes after the outer one
            outer[piece] = item
            for part in piece.iter():
                owner[part] = piece
        if item.tag in DECLARATIONS or "include/vcap/" in item.get("filepath", ""):
            wanted.append(item)
    by_id = {part.get("id"): piece for part, piece in owner.items() if part.get("id")}
    for part, piece in owner.items():
        references.setdefault(piece, []).extend(part.get(r) for r in REFERENCES if part.get(r))

    kept = set(wanted)
    while wanted:
        piece = wanted.pop()
        for other in (outer[piece], *map(by_id.get, references[piece])):
            if other is not None and other not in kept:
                kept.add(other)
                wanted.append(other)
    return kept


def drop_unreached(item, namespace, kept):
    unreached = {piece for piece in pieces(item, namespace) if piece not in kept}
    for parent in list(item.iter()):
        for child in list(parent):
            if child in unreached:
                parent.remove(child)


def main():
    root = ElementTree.parse(sys.stdin).getroot()
    drop_private(root, public_names())

    parts = root.findall("abi-instr")
    placed = [placed for part in parts for placed in items(part)]
    kept = reachable(placed)
    for part in parts[1:]:
        root.remove(part)
    whole = parts[0]
    for child in list(whole):
        whole.remove(child)
    whole.set("path", "include/vcap")

    scopes = {(): whole}
    for namespace, item in sorted(
        (pair for pair in placed if pair[1] in kept),
        key=lambda pair: (pair[0], pair[1].tag, *map(pair[1].get, ("mangled-name", "name", "id"), ("",) * 3)),
    ):
        for depth in range(len(namespace)):
            inner = namespace[: depth + 1]
            if inner not in scopes:
                attributes = {"name": namespace[depth]}
                scopes[inner] = ElementTree.SubElement(scopes[inner[:-1]], "namespace-decl", attributes)
        drop_unreached(item, namespace, kept)
        scopes[namespace].append(item)

    for element in root.iter():
        for attribute in PLACES:
            element.attrib.pop(attribute, None)
    ElementTree.indent(root)
    sys.stdout.write(ElementTree.tostring(root, encoding="unicode") + "\n")


if __name__ == "__main__":
    main()
