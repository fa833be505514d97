#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""functions: make the manual pages of the functions of torus.h from its comments.

usage: functions.py HEADER VERSION FOLDER

A comment and the declarations that follow it make one page, which has the name of the first function; the other
functions get a page that refers to it. The page has the comment, the text of the section of the header, and the
structures and types of functions that the declarations use.
"""
import os
import re
import sys

# a comment, a declaration of a function, or something else that ends at a semicolon or a line
TOKENS = re.compile(r"/\*.*?\*/|TORUS_API [^;]*;|typedef [^;{]*;|(?:struct|enum)\b[^;{]*\{.*?\};|^#[^\n]*\n", re.S | re.M)
SECTION = re.compile(r"---- (.*?) ----")
COMMON = ("torus_open", "torus_last_error")


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
    """Returns the pages, and the text of each structure and type of function by its name."""
    pages, types, section, introduction, comment, page = [], {}, "", "", "", None
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
        elif token.startswith("typedef") and "(" in token:
            types[re.search(r"(\w+)\(", token).group(1)] = f"{comment}\n{token}".strip()
            comment = ""
    return pages, types


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


def summary(page):
    """Returns what the first sentence says that the first function does."""
    first = " ".join(page.text.split())
    match = re.search(rf"\b{page.names[0]} (.*?)(?:[.;:](?: |$)|$)", first)
    text = match.group(1).replace("`", "") if match else f"{page.section} of torusd"
    return text if len(text) < 100 else text[:100].rsplit(" ", 1)[0] + " ..."


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
    for name in used(page, types):
        parts += [".PP", ".nf", plain(types[name]), ".fi"]
    if any(re.match(r"int torus_", d) for d in page.declarations):
        parts += [".SH RETURN VALUE", running(
            "Unless the text above says otherwise, the functions that return int return TORUS_OK, which is 0, or a "
            "negative error. torus_last_error returns its sentence.", known)]
    if page.introduction:
        parts += [".SH NOTES", running(page.introduction, known)]
    mentioned = [n for n in re.findall(r"\btorus_\w+", page.text) if n in known]
    others = sorted((set(mentioned) | set(COMMON)) - set(page.names))
    parts += [".SH SEE ALSO", ",\n".join(f"\\fB{name}\\fP(3)" for name in ["libtorus", *others])]
    return "\n".join(parts) + "\n"


def main():
    header, version, folder = sys.argv[1:]
    with open(header, encoding="utf-8") as f:
        pages, types = read(f.read())
    os.makedirs(folder, exist_ok=True)
    for old in os.listdir(folder):
        os.unlink(os.path.join(folder, old))
    for page in pages:
        for name in page.names:
            with open(os.path.join(folder, name + ".3"), "w", encoding="utf-8") as f:
                f.write(write(page, pages, types, version) if name == page.names[0] else
                        f".so man3/{page.names[0]}.3\n")


main()
