# SPDX-License-Identifier: Apache-2.0
"""equivalent: the changes that no test can notice, with the reasons, from equivalent.txt.

An entry of the file is a line "PATH FUNCTION", the old line after "- ", the new one after "+ ", and the reason after
"= " on one or several lines. It stays valid when lines move. "#" begins a comment.
"""


class Equivalents:
    """The entries of a file."""

    def __init__(self, path):
        self.entries, entry = {}, None
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                line = line.strip()
                if not line or line.startswith("#"):
                    continue
                if line.startswith("- "):
                    entry[1] = line[2:]
                elif line.startswith("+ "):
                    entry[2] = line[2:]
                elif line.startswith("= "):
                    if None in entry:
                        raise SystemExit(f"{path}:{number}: a reason without a change")
                    key = tuple(entry)
                    self.entries[key] = (self.entries.get(key, "") + " " + line[2:]).strip()
                else:
                    entry = [line, None, None]

    @staticmethod
    def key(change):
        return (f"{change.path} {change.function}", change.old.strip(), change.new.strip())

    def reason(self, change):
        return self.entries.get(self.key(change))

    def stale(self, files, found):
        """stale returns the entries about these files whose change the tree does not have any more."""
        there = {self.key(c) for c in found}
        return [f"{e[0]}: {e[1]}" for e in self.entries if e[0].split()[0] in files and e not in there]
