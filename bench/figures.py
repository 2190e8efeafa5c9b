"""How the benchmarks write their figures."""

import statistics

MILLISECOND = 1e6  # in nanoseconds


class Table:
    def __init__(self, own="rlock", peer="peer"):
        self.rows = [("figure", own, peer, "ratio [quartiles]", "target")]

    def add(self, figure, own, peer="", ratio="", target=""):
        self.rows.append((figure, own, peer, ratio, target))

    def __str__(self):
        widths = [max(len(row[i]) for row in self.rows) for i in range(len(self.rows[0]))]
        lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |"
                 for row in self.rows]
        lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return "\n".join(lines)


def ratio_text(own, peer):
    ratios = [a / b for a, b in zip(own, peer) if b > 0]
    if len(ratios) < 2:
        return ""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return f"{middle:.2f} [{low:.2f}-{high:.2f}]"


def milliseconds(nanoseconds):
    return f"{statistics.median(nanoseconds) / MILLISECOND:.2f} ms"


def mebibytes(kib):
    return f"{kib / 1024:.1f} MiB"
