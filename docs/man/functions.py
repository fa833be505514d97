#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""functions: make the manual pages of the functions of torus.h from its comments.

usage: functions.py HEADER VERSION FOLDER

A comment and the declarations that follow it make one page, which has the name of the first function; the other
functions get a page that refers to it. torus_constants(3) has the enumerations. The page of a function has the comment, the text of the section of the header, and the
structures and types of functions that the declarations use.
"""
import os
import re
import sys

# a comment, a declaration of a function, or something else that ends at a semicolon or a line
TOKENS = re.compile(r"/\*.*?\*/|TORUS_API [^;]*;|typedef [^;{]*;|(?:struct|enum)\b[^;{]*\{.*?\};|^#[^\n]*\n", re.S | re.M)
SECTION = re.compile(r"---- (.*?) ----")
COMMON = ("torus_open", "torus_last_error")
CONSTANTS = ("torus_constants", "torus_types", "torus_operators", "torus_errors")  # names of one page
# arguments that have their values in that page
HAS_CONSTANTS = re.compile(r"int (?:type|op|mode|sign|scale|side)\b|int \*\w*types\b|struct torus_(?:fft|redist)_desc")


class Page:
    """A comment and its functions."""

    def __init__(self, section, text, introduction):
        self.section, self.text, self.introduction = section, text, introduction
        self.names, self.declarations = [], []


def uncomment(comment):
    """Returns the paragraphs of a comment; lines that are set off keep their places."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment[2:-2].strip().split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip()


def read(header):
    """Returns the pages, the text of each structure and type of function by its name, and the enumerations, each with
    its comment."""
    pages, types, enums, section, introduction, comment, page = [], {}, [], "", "", "", None
    for token in TOKENS.findall(header):
        if token.startswith("/*"):
            comment, page = token, None
            title = SECTION.search(token)
            if title:
                section = title.group(1)
                introduction = uncomment("/*" + token[token.index("----", token.index(title.group(1))) + 4:])
                comment = ""
        elif token.startswith("TORUS_API"):
            if not page:
                page = Page(section, uncomment(comment), introduction)
                pages.append(page)
            page.names.append(re.search(r"(\w+)\(", token).group(1))
            page.declarations.append(re.sub(r"^TORUS_API |(?<=\n) {10}", "", token))
        elif token.startswith("struct"):
            types[re.match(r"struct \w+", token).group()] = f"{comment}\n{token}".strip()
            comment = ""
        elif token.startswith("enum"):
            enums.append((uncomment(comment) if comment else "", token))
            comment = ""
        elif token.startswith("typedef") and "(" in token:
            types[re.search(r"(\w+)\(", token).group(1)] = f"{comment}\n{token}".strip()
            comment = ""
    return pages, types, enums


def plain(text):
    """Returns text for roff, without fonts."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.M)


def running(text, known):
    """Returns paragraphs for roff: names of functions with their section, other names in bold."""
    found = []
    for paragraph in re.split(r"\n\n|(?<=\.)\n(?=torus_\w+ )", text):
        if re.search(r"^ {2,}", paragraph, re.M) and not paragraph.startswith(" "):
            head, _, listing = paragraph.partition("\n  ")
            found += [words(head, known), f".nf\n{plain('  ' + listing)}\n.fi"]
        else:
            found.append(words(paragraph, known))
    return "\n.PP\n".join(found)


def words(paragraph, known):
    text = plain(" ".join(paragraph.split()))
    text = re.sub(r"`([^`]*)`", r"\\fI\1\\fP", text)
    return re.sub(r"\b(torus_\w+|TORUS_\w+)\b(?!\.h)",
                  lambda m: f"\\fB{m.group(1)}\\fP" + ("(3)" if m.group(1) in known else ""), text)


def outside(text):
    """Returns the text with the insides of parentheses and brackets blanked, at the same places."""
    return re.sub(r"\([^()]*\)|\[[^\[\]]*\]", lambda m: "_" * len(m.group()), text)


def summary(page):
    """Returns what the first sentence about the first function says, without the names of the page's functions."""
    text = " ".join(page.text.split()).replace("`", "")
    text = text[max(0, text.find(page.names[0])):].replace(" ... ", " .. ")
    end = re.search(r"\.(?= |$)(?!\. )(?<!\.\.)", outside(text))
    text = text[:end.start()] if end else text
    names = "|".join(page.names)
    text = re.sub(rf"^(?:{names})(?:(?:, | and )(?:{names}))*:? ", "", text)
    return re.sub(r"^(?:is|are) ", "", text).replace(" .. ", " ... ")


def used(page, types):
    """Returns the structures and types of functions that the declarations use, also within structures."""
    found, text = [], " ".join(page.declarations)
    for name in types:
        if re.search(rf"\b{name}\b", text):
            found.append(name)
            text += types[name].partition("{")[2]
    return found


def write(page, pages, types, version):
    """Returns the roff source of a page."""
    known = {name for p in pages for name in p.names}
    parts = [f'.TH {page.names[0]} 3 "" "torusd {version}" "Library Functions"', ".SH NAME",
             f"{', '.join(page.names)} \\- {plain(summary(page))}", ".SH SYNOPSIS", ".nf",
             "\\fB#include <torus/torus.h>\\fP", ""]
    parts += [plain(d) + "\n" for d in page.declarations]
    parts += [plain("cc ... $(pkg-config --cflags --libs torus)"), ".fi", ".SH DESCRIPTION", running(page.text, known)]
    if HAS_CONSTANTS.search(" ".join(page.declarations)):
        parts += [".PP", "\\fBtorus_constants\\fP(3) lists the element types, the operators and the other constants."]
    for name in used(page, types):
        parts += [".PP", ".nf", plain(types[name]), ".fi"]
    if any(re.match(r"int torus_", d) for d in page.declarations):
        parts += [".SH RETURN VALUE", running(
            "Unless the text above says otherwise, the functions that return int return TORUS_OK, which is 0, or a "
            "negative error. torus_last_error returns its sentence, and torus_constants lists the errors.",
            known | {CONSTANTS[0]})]
    if page.introduction:
        parts += [".SH NOTES", running(page.introduction, known)]
    mentioned = [n for n in re.findall(r"\btorus_\w+", page.text) if n in known]
    others = sorted((set(mentioned) | set(COMMON)) - set(page.names))
    parts += [".SH SEE ALSO", ",\n".join(f"\\fB{name}\\fP(3)" for name in ["libtorus", CONSTANTS[0], *others])]
    return "\n".join(parts) + "\n"


def write_constants(pages, enums, version):
    """Returns the roff source of the page of all enumerations."""
    known = {name for p in pages for name in p.names}
    parts = [f'.TH {CONSTANTS[0]} 3 "" "torusd {version}" "Library Functions"', ".SH NAME",
             f"{', '.join(CONSTANTS)} \\- element types, operators, errors and other constants of torusd",
             ".SH SYNOPSIS", "\\fB#include <torus/torus.h>\\fP", ".SH DESCRIPTION"]
    for comment, text in enums:
        title, _, rest = " ".join(comment.split()).partition(". ")
        if comment:
            parts += [f".SS {plain(title.rstrip('.'))}"] + ([running(rest, known)] if rest else [])
        parts += [".PP", ".nf", plain(text), ".fi"]
    others = ["libtorus", *COMMON, "torus_reduce", "torus_op_create", "torus_plan_fft", "torus_plan_redist"]
    parts += [".SH SEE ALSO", ",\n".join(f"\\fB{name}\\fP(3)" for name in others)]
    return "\n".join(parts) + "\n"


def main():
    header, version, folder = sys.argv[1:]
    with open(header, encoding="utf-8") as f:
        pages, types, enums = read(f.read())
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    made = {name: f".so man3/{CONSTANTS[0]}.3\n" for name in CONSTANTS}
    made[CONSTANTS[0]] = write_constants(pages, enums, version)
    for page in pages:
        made |= {name: f".so man3/{page.names[0]}.3\n" for name in page.names}
        made[page.names[0]] = write(page, pages, types, version)
    for name, text in made.items():
        with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as f:
            f.write(text)


main()
