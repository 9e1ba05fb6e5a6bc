# SPDX-License-Identifier: Apache-2.0
"""Reads archives with Python's zipfile.

Standard input: for each archive its size in decimal, a newline, its bytes. Standard output: for each
a line of JSON, a list of [name, SHA-256 of the content], sorted, or null where zipfile refuses it.
"""
import hashlib
import io
import json
import sys
import zipfile


def read(archive):
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            return sorted(
                [entry.filename, hashlib.sha256(opened.read(entry)).hexdigest()]
                for entry in opened.infolist()
            )
    except Exception:  # any exception counts as a refusal
        return None


def main():
    source = sys.stdin.buffer
    while size := source.readline():
        print(json.dumps(read(source.read(int(size)))))


main()
