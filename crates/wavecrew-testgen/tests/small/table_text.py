def table(rows: list[list[str]], header: bool = True) -> str:
    if not rows:
        return ""
    width = max(len(row) for row in rows)
    padded = [row + [""] * (width - len(row)) for row in rows]
    sizes = [max(len(row[i]) for row in padded) for i in range(width)]
    lines = []
    for index, row in enumerate(padded):
        lines.append(" | ".join(cell.ljust(size) for cell, size in zip(row, sizes)).rstrip())
        if header and index == 0:
            lines.append("-+-".join("-" * size for size in sizes))
    return "\n".join(lines)


def human_size(n: int) -> str:
    if n < 0:
        raise ValueError("negative size")
    for unit in ("B", "KB", "MB", "GB"):
        if n < 1024:
            return f"{n:.1f} {unit}" if unit != "B" else f"{n} B"
        n /= 1024
    return f"{n:.1f} TB"
