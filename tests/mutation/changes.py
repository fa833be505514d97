# SPDX-License-Identifier: Apache-2.0
"""changes: the small changes that mutate.py makes in a file of C.

A change replaces one line: a negated condition, a dropped statement, a number or a comparison that is one off, swapped
operands or connectives. Comments, asserts, strings, declarations and tables of states stay as they are.
"""
import collections
import re

Change = collections.namedtuple("Change", "path function number old new kind")

SWAPS = [
    ("one off", " < ", " <= "), ("one off", " <= ", " < "), ("one off", " > ", " >= "), ("one off", " >= ", " > "),
    ("one off", " + 1", ""), ("one off", " - 1", ""), ("one off", " + 1", " + 2"), ("one off", " = 0;", " = 1;"),
    ("negated", " == ", " != "), ("negated", " != ", " == "),
    ("negated", " = true;", " = false;"), ("negated", " = false;", " = true;"),
    ("negated", "return true;", "return false;"), ("negated", "return false;", "return true;"),
    ("swapped", " && ", " || "), ("swapped", " || ", " && "),
]
STATEMENT = re.compile(r"^\s+(?:\(void\))?[*&]?[\w\[\]>.()&*-]+ ?(?:\(.*\)|(?:[|&+-]|<<|>>)?= .*|\+\+|--);$")
DECLARATION = re.compile(r"^\s+(?:return|static|const|struct|enum|bool|char|int|size_t|u?int\d+_t|td_\w+) [\w*]")
JUMP = re.compile(r"^\s+(?:return|break|continue);$")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$")
LOOP = re.compile(r"^(\s*for \([^;]*; )([^;]+)(;[^;]*\)(?: \{)?)$")
RESULT = re.compile(r"^(\s+return )([^;]*(?:[<>=!]=|&&|\|\|| < | > )[^;]*)(;)$")
MINUS = re.compile(r"([\w>.\[\]-]*\w\]?) - ([\w>.\[\]-]*\w\]?)")
ARGUMENTS = re.compile(r"(\w+\((?:core, )?)([\w>.&-]+), ([\w>.&-]+)(\);$)")
CHOICE = re.compile(r" \? ([^?:]+) : ([^?:;]+)(;|\)|,)")
FUNCTION = re.compile(r"^(?:\w[\w\s*]*?[\s*])?(\w+)\((?!\()")


def balanced(text):
    depth = 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if depth < 0:
            return False
    return depth == 0


def is_code(line):
    return line.startswith("    ") and not re.search(r"/\*|\*/|assert\(|^\s*\*|\"", line)


def negate(text):
    return f"!({text})"


def of_line(line):
    """Returns the changes of a line: a kind and the new line."""
    found = []
    for pattern in (CONDITION, LOOP, RESULT):
        m = pattern.match(line)
        if m and balanced(m.group(2)):
            found.append(("negated", f"{m.group(1)}({negate(m.group(2))}){m.group(3) or ''}" if pattern is CONDITION
                          else m.group(1) + negate(m.group(2)) + m.group(3)))
    if (STATEMENT.match(line) and not DECLARATION.match(line) and balanced(line)) or JUMP.match(line):
        found.append(("dropped", re.match(r"^\s+", line).group(0) + ";"))
    for kind, old, new in SWAPS:
        found += [(kind, line[:m.start()] + new + line[m.end():]) for m in re.finditer(re.escape(old), line)]
    m = MINUS.search(line)
    if m and not m.group(2).isdigit():
        found.append(("swapped", line[:m.start()] + f"{m.group(2)} - {m.group(1)}" + line[m.end():]))
    m = ARGUMENTS.search(line)
    if m and m.group(2) != "core":
        found.append(("swapped", line[:m.start()] + f"{m.group(1)}{m.group(3)}, {m.group(2)}{m.group(4)}"))
    m = CHOICE.search(line)
    if m and balanced(m.group(1)) and balanced(m.group(2)):
        found.append(("swapped", line[:m.start()] + f" ? {m.group(2)} : {m.group(1)}{m.group(3)}" + line[m.end():]))
    return found


def of_file(path, text):
    """Returns all changes of a file, in the order of its lines."""
    found, function, statics = [], "", False
    for number, line in enumerate(text.split("\n")):
        if line[:1].isalpha():
            m = FUNCTION.match(line)
            function = m.group(1) if m else function
            statics = bool(re.match(r"^(?:static )?(?:const )?(?:struct|enum).*[{=]$", line))
        if statics or not is_code(line):
            continue
        seen = {line}
        for kind, new in of_line(line):
            if new not in seen:
                seen.add(new)
                found.append(Change(path, function, number, line, new, kind))
    return found
