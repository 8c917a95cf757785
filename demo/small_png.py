"""Screenshots as PNG with 256 colours: pages need few, and the files are a third of the size."""

import base64
import struct
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

# The browser decodes the picture and finds, for each pixel, the nearest of its 256 most frequent
# colours; what comes back is one byte a pixel and the colours.
_TO_PALETTE = """async (data) => {
  const blob = await (await fetch(`data:image/png;base64,${data}`)).blob();
  const image = await createImageBitmap(blob);
  const canvas = new OffscreenCanvas(image.width, image.height);
  const context = canvas.getContext("2d");
  context.drawImage(image, 0, 0);
  const pixels = new Uint32Array(
    context.getImageData(0, 0, image.width, image.height).data.buffer);
  const counts = new Map();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const colours = [...counts].sort((a, b) => b[1] - a[1]).slice(0, 256).map(([colour]) => colour);
  const parts = (colour) => [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
  const palette = colours.map(parts);
  const index = new Map();
  for (const colour of counts.keys()) {
    const [r, g, b] = parts(colour);
    let best = 0, nearest = Infinity;
    palette.forEach(([pr, pg, pb], i) => {
      const distance = (r - pr) ** 2 + (g - pg) ** 2 + (b - pb) ** 2;
      if (distance < nearest) [best, nearest] = [i, distance];
    });
    index.set(colour, best);
  }
  let bytes = "";
  for (const pixel of pixels) bytes += String.fromCharCode(index.get(pixel));
  return { width: image.width, height: image.height, palette: palette.flat(), bytes: btoa(bytes) };
}"""


def small_png(page: "Page", picture: bytes) -> bytes:
    """The PNG `picture` with a palette; `page` is an empty page that does the work."""
    found = page.evaluate(_TO_PALETTE, base64.b64encode(picture).decode())
    width, height = found["width"], found["height"]
    pixels = base64.b64decode(found["bytes"])
    rows = b"".join(b"\0" + pixels[y * width : (y + 1) * width] for y in range(height))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            (b"PLTE", bytes(found["palette"])),
            (b"IDAT", zlib.compress(rows, 9)),
            (b"IEND", b""),
        )
    )
