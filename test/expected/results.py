# Reads what the black-box checks wrote, and the lists of names that are expected to pass.
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("fixtures", "farskip", "bad_models", "node_tests")


def read_log(path):
    """{name: passed} from lines `ok NAME` and `FAIL NAME: reason`."""
    found = {}
    for line in path.read_text(errors="replace").splitlines():
        word, _, rest = line.partition(" ")
        if word == "ok":
            found[rest.strip()] = True
        elif word == "FAIL":
            found[rest.strip().split(": ")[0]] = False
    return found


def read_json_lines(path):
    """{name: passed} from one JSON object a line; a killed program may leave half a line at the end."""
    found = {}
    for line in path.read_text().splitlines():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[record["name"]] = not record["problems"]
    return found


def read_table(path):
    """{name: passed} from lines `test<TAB>form…`; the suffix, .pass or .fail, says which."""
    rows = (line.split("\t") for line in path.read_text(errors="replace").splitlines() if "\t" in line)
    return {f"{row[0]} [{row[1]}]": path.suffix == ".pass" for row in rows}


def read_results(folder, program):
    """{name: passed} of one program, from all its files in the folder of results."""
    found = {}
    for path in sorted(pathlib.Path(folder).glob(program + "*")):
        if path.suffix == ".json":
            found.update(read_json_lines(path))
        elif path.suffix in (".pass", ".fail"):
            found.update(read_table(path))
        elif program in ("fixtures", "farskip"):
            found.update(read_log(path))
    return found


def read_expected(folder, program):
    """The set of names in the program's list; empty where there is no list yet."""
    path = pathlib.Path(folder) / f"{program}.txt"
    return set(path.read_text().splitlines()) if path.exists() else set()
