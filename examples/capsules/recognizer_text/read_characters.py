# SPDX-License-Identifier: Apache-2.0
#
# Writes the characters that a text recognizer of PaddleOCR knows, one a line, in the order of its
# scores and without the blank. They are in the metadata of the ONNX file, under "character". The
# space is not there; it is the last character of the network.
#   python3 read_characters.py MODEL.onnx CHARACTERS.txt
import sys

METADATA, KEY, VALUE = 14, 1, 2  # fields of ModelProto, and of StringStringEntryProto


def fields(message):
    """The number and value of each field of a message of protocol buffers."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        wire_type = tag & 7
        if wire_type == 0:
            yield tag >> 3, varint()
            continue
        length = {1: 8, 5: 4}.get(wire_type)
        if wire_type == 2:
            length = varint()
        if length is None or at + length > len(message):
            raise ValueError("it is damaged")
        yield tag >> 3, message[at : at + length]
        at += length


def characters(model):
    for number, entry in fields(model):
        if number == METADATA:
            entry = dict(fields(entry))
            if entry.get(KEY) == b"character":
                return entry[VALUE].decode("utf-8").split("\n")
    raise ValueError('its metadata have no "character"')


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: read_characters.py MODEL.onnx CHARACTERS.txt")
    try:
        with open(sys.argv[1], "rb") as file:
            found = characters(file.read())
    except (OSError, IndexError, KeyError, TypeError, ValueError) as error:
        sys.exit(f"cannot read the characters of {sys.argv[1]}: {error}")
    while found and not found[-1]:
        found.pop()
    with open(sys.argv[2], "w", encoding="utf-8", newline="\n") as file:
        file.write("\n".join([*found, " "]) + "\n")


main()
