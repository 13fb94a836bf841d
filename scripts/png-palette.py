"""Makes a screenshot small: a PNG of 8-bit RGB or RGBA becomes one with the 256 most frequent colours.

python3 scripts/png-palette.py FILE
"""

import struct
import sys
import zlib
from collections import Counter


def chunks(data):
    at = 8
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        yield kind, data[at + 8 : at + 8 + length]
        at += 12 + length


def predicted(kind, left, up, corner):
    if kind == 4:
        guess = left + up - corner
        return min((left, up, corner), key=lambda value: abs(guess - value))
    return (0, left, up, (left + up) // 2)[kind]


def rows(raw, width, height, size):
    above = bytearray(width * size)
    for y in range(height):
        start = y * (width * size + 1)
        kind, row = raw[start], bytearray(raw[start + 1 : start + 1 + width * size])
        for i in range(len(row)):
            left, corner = (row[i - size], above[i - size]) if i >= size else (0, 0)
            row[i] = (row[i] + predicted(kind, left, above[i], corner)) & 255
        yield [tuple(row[i : i + 3]) for i in range(0, len(row), size)]
        above = row


def nearest(colour, palette):
    return min(range(len(palette)), key=lambda at: sum((a - b) ** 2 for a, b in zip(colour, palette[at])))


def main(name):
    data = open(name, "rb").read()
    header = next(body for kind, body in chunks(data) if kind == b"IHDR")
    width, height, depth, kind = struct.unpack(">IIBB", header[:10])
    if depth != 8 or kind not in (2, 6):
        sys.exit(f"{name}: not an RGB image of 8 bits")
    raw = zlib.decompress(b"".join(body for kind, body in chunks(data) if kind == b"IDAT"))
    image = list(rows(raw, width, height, 3 if kind == 2 else 4))
    colours = Counter(pixel for row in image for pixel in row)
    palette = [colour for colour, _ in colours.most_common(256)]
    index = {colour: nearest(colour, palette) for colour in colours}
    pixels = b"".join(b"\0" + bytes(index[pixel] for pixel in row) for row in image)
    with open(name, "wb") as out:
        out.write(data[:8])
        for kind, body in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", b"".join(bytes(colour) for colour in palette)),
            (b"IDAT", zlib.compress(pixels, 9)),
            (b"IEND", b""),
        ):
            out.write(struct.pack(">I", len(body)) + kind + body)
            out.write(struct.pack(">I", zlib.crc32(kind + body)))


main(sys.argv[1])
