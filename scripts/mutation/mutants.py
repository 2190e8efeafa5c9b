"""The mutants of a file: what is changed in it."""

import collections
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
Mutant = collections.namedtuple("Mutant", "file line column rule before after")

# Each: its rule, a regular expression, and what stands for it.
BOTH = [
    ("relation", r" <= ", " < "), ("relation", r" < ", " <= "), ("relation", r" >= ", " > "),
    ("relation", r" > ", " >= "), ("relation", r" == ", None), ("arithmetic", r" \+ ", " - "),
    ("arithmetic", r" - ", " + "), ("arithmetic", r" \* ", " / "), ("arithmetic", r" / ", " * "),
    ("constant", r"\btrue\b", "false"), ("constant", r"\bfalse\b", "true"),
    # Not of more digits: these are times and limits, of which one more or less is no fault.
    ("constant", r"(?<![\w.'])(\d)(?![\w.'])", "+1"), ("constant", r"(?<![\w.'])([1-9])(?![\w.'])", "-1"),
    ("minimum", r"\bmin\b(?=[<(])", "max"), ("minimum", r"\bmax\b(?=[<(])", "min"),
]
LUA = BOTH + [
    ("relation", r" == ", " ~= "), ("relation", r" ~= ", " == "), ("logic", r" and ", " or "),
    ("logic", r" or ", " and "), ("negation", r"\bnot ", ""), ("negation", r"\b(?:if|while) (.+) then$", "not"),
    ("statement", r"^\s*(?!local )((redis\.p?call|[a-z_]+)\(.*\)|[\w.\[\], ]+ = .*[^,({]|return\b.*[^,({]|return)$", ""),
    ("statement", r"(?<= then )(.*)(?= end$)", ""),
]
CPP = BOTH + [
    ("relation", r" == ", " != "), ("relation", r" != ", " == "), ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "), ("negation", r"(?<=[( ])!(?=[\w:(])", ""),
    ("negation", r"\b(?:if|while) \((.+)\) (?:\{|return\b.*;|continue;|break;)$", "!"),
    ("statement", r"^\s*(?!return|throw|using|auto |const |static |struct |class |\[|\}|#)[\w:.>*\[\]()-]+"
                  r"(\(.*\)| [-+|]?= .*);$", ";"),
    ("statement", r"(?<=\) )(return;|return [^;]*;|continue;|break;|[\w.:>-]+\(.*\);)$", ";"),
]


def masked(line, is_lua):
    """The line with texts and comments made unreadable, as long as before."""
    texts = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"" if is_lua else r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)'"
    line = re.sub(texts, lambda found: found[0][0] + "\0" * (len(found[0]) - 2) + found[0][-1], line)
    return re.sub(r"--.*" if is_lua else r"//.*", lambda found: " " * len(found[0]), line).rstrip()


def mutants_of(path):
    is_lua = path.endswith(".lua")
    with open(f"{ROOT}/{path}", encoding="utf-8") as file:
        lines = file.read().split("\n")
    for number, line in enumerate(lines, 1):
        readable = masked(line, is_lua)
        if readable.startswith(("#", "namespace")) or "template" in readable:
            continue
        for rule, pattern, into in LUA if is_lua else CPP:
            if into is None:
                continue
            for found in re.finditer(pattern, readable):
                start, end = found.span(1) if found.re.groups and rule != "statement" else found.span()
                if into in ("+1", "-1"):
                    new = str(int(found[1]) + int(into))
                elif into in ("not", "!"):
                    new = f"{into} ({line[start:end]})"
                else:
                    new = into
                yield Mutant(path, number, start + 1, rule, line.strip(), (line[:start] + new + line[end:]).strip())
