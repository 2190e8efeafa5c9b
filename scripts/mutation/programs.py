"""Puts changed scripts into programs that were built: their texts stand there as they are."""

import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))


def embedded(folder, to):
    """Has the scripts of a folder like lua/ written to another as a server gets them. Returns their texts, or nothing."""
    done = subprocess.run(["cmake", "-D", "LUA=" + folder, "-D", "TO=" + to, "-P", ROOT + "/cmake/ExpandLua.cmake"],
                          stderr=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        return None
    texts = {}
    for path in glob.glob(to + "/*.lua"):
        with open(path, "rb") as file:
            texts[os.path.basename(path)[:-4]] = file.read()
    return texts


def fitted(text, size):
    """Makes a text as long as it was, and no different. Returns nothing if it cannot be."""
    lines = text.split(b"\n")
    for i, line in enumerate(lines):
        if sum(map(len, lines)) + len(lines) - 1 <= size:
            break
        if b"'" not in line and b'"' not in line:
            lines[i] = re.sub(rb" ?(==|~=|<=|>=|[=<>,+*]) ?", rb"\1", line)
    text = b"\n".join(lines)
    return text + b"\n" * (size - len(text)) if len(text) <= size else None


def patch(folder, source, changed):
    """Writes the programs with scripts changed into `folder`, and the scripts into `folder`/texts. Returns whether that
    could be done."""
    for path in glob.glob(ROOT + "/lua/**/*.lua", recursive=True):
        path = os.path.relpath(path, ROOT)
        os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(changed(path))
    originals = embedded(ROOT + "/lua", folder + "/originals")
    mutated = embedded(folder + "/lua", folder + "/texts")
    if mutated is None:
        return False
    for name in ("rlock", "tests/rlock_redis_test"):
        with open(f"{source}/{name}", "rb") as file:
            program = file.read()
        for script, text in originals.items():
            if text not in program:
                if name == "rlock":
                    sys.exit(f"{source}/{name} has no {script}.lua as it is in lua/: build it anew")
                continue
            new = fitted(mutated[script], len(text)) if mutated[script] != text else text
            if new is None:
                return False
            if new == text:
                continue
            program = program.replace(text, new)
            old_name, new_name = (hashlib.sha1(each).hexdigest().encode() for each in (text, new))
            program = program.replace(old_name, new_name)
        path = f"{folder}/{os.path.basename(name)}"
        with open(path, "wb") as file:
            file.write(program)
        os.chmod(path, 0o755)
    shutil.copy(f"{source}/rlock-tls.so", folder)
    return True
