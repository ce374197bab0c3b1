"""Pictures of many kinds made by Pillow and OpenCV, and what Pillow decodes from files: upright RGB over black.

Reads from stdin {"folder": where to write, "read": [other files]} and writes to stdout a JSON list of
{"file", "width", "height", "pixels"} for its own pictures and the other ones; `pixels` is a file of RGB bytes.
"""

import json
import os
import sys

import cv2
import numpy as np
from PIL import Image, ImageCms, ImageOps

WIDTH, HEIGHT = 93, 61
ORIENTATION = 0x0112


def picture():
    """Ramps, edges and a little noise: what codecs find in photographs."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    red = 255 * x / (WIDTH - 1)
    green = 255 * y / (HEIGHT - 1)
    blue = 127 + 120 * np.sin(x / 9) * np.cos(y / 7)
    image = np.stack([red, green, blue], axis=2)
    image[10:25, 20:50] = [250, 20, 30]
    image[35:50, 40:80] = [10, 200, 240]
    image += np.random.default_rng(3).normal(0, 4, image.shape)
    return np.clip(np.round(image), 0, 255).astype(np.uint8)


def make(folder):
    rgb = picture()
    image = Image.fromarray(rgb)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    alpha = Image.fromarray(((x * 5 + y * 3) % 256).astype(np.uint8))
    grey = image.convert("L")
    rgba = image.copy()
    rgba.putalpha(alpha)
    grey_alpha = grey.copy()
    grey_alpha.putalpha(alpha)
    palette = image.quantize(40, method=Image.Quantize.MEDIANCUT)
    cmyk = Image.fromarray(np.dstack([255 - rgb, np.asarray(alpha) // 3]), "CMYK")
    deep = rgb.astype(np.uint16) * 256 + rgb[::-1]
    deep_grey = np.asarray(grey).astype(np.uint16) * 257
    p3 = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    made = []

    def save(name, source, **options):
        made.append(os.path.join(folder, name))
        source.save(made[-1], **options)

    def write(name, array, *parameters):
        made.append(os.path.join(folder, name))
        assert cv2.imwrite(made[-1], array, list(parameters))

    for subsampling in ("4:4:4", "4:2:2", "4:2:0"):
        save(f"rgb-{subsampling.replace(':', '')}.jpg", image, quality=90, subsampling=subsampling)
    save("progressive.jpg", image, quality=85, progressive=True)
    save("grey.jpg", grey, quality=90)
    save("rgb-kept.jpg", image, quality=95, keep_rgb=True)
    save("profile.jpg", image, quality=90, icc_profile=p3)
    save("cmyk-adobe.jpg", cmyk, quality=95)
    for bits, mode in ((1, image.convert("1")), (8, palette)):
        save(f"indexed-{bits}.png", mode)
    save("indexed-4.png", image.quantize(16), bits=4)
    save("indexed-transparent.png", palette, transparency=5)
    save("indexed-alphas.png", rgba.quantize(60, method=Image.Quantize.FASTOCTREE))
    save("grey.png", grey)
    save("grey-transparent.png", grey, transparency=int(np.asarray(grey)[0, 0]))
    save("rgb-transparent.png", image, transparency=tuple(int(v) for v in rgb[15, 30]))
    save("grey-alpha.png", grey_alpha)
    save("rgba.png", rgba)
    write("rgb-16.png", deep[:, :, ::-1])
    write("rgba-16.png", np.dstack([deep[:, :, ::-1], np.asarray(alpha).astype(np.uint16) * 257]))
    save("grey-16.png", Image.fromarray(deep_grey))
    save("grey-16.tif", Image.fromarray(deep_grey))
    write("rgb-16.tif", deep[:, :, ::-1], cv2.IMWRITE_TIFF_COMPRESSION, 1)
    write("rgb-16-lzw.tif", deep[:, :, ::-1])
    for compression in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        save(f"rgb-{compression}.tif", image, compression=compression)
    for compression in ("group3", "group4", "raw"):
        save(f"bilevel-{compression}.tif", image.convert("1"), compression=compression)
    save("palette.tif", palette)
    save("rgba.tif", rgba)
    save("cmyk.tif", cmyk)
    save("cmyk-lzw.tif", cmyk, compression="tiff_lzw")
    save("pages.tif", image, save_all=True, append_images=[grey.convert("RGB")])
    save("lossy.webp", image, quality=80)
    save("lossless.webp", image, lossless=True)
    save("alpha.webp", rgba, quality=80, exact=True)
    save("alpha-lossless.webp", rgba, lossless=True, exact=True)
    save("animated.webp", image, save_all=True, append_images=[grey.convert("RGB")], duration=80, lossless=True)
    save("animated-alpha.webp", rgba, save_all=True, append_images=[image], duration=80, lossless=True, exact=True)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = orientation
        for extension, options in (("jpg", {"quality": 90}), ("png", {}), ("webp", {"lossless": True}), ("tif", {})):
            save(f"exif-{orientation}.{extension}", image, exif=exif, **options)
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    save("cmyk-exif-6.jpg", cmyk, quality=95, exif=exif)
    return made


def decode(file):
    """Upright 8-bit RGB over black."""
    with Image.open(file) as opened:
        image = ImageOps.exif_transpose(opened)
    if image.mode.startswith("I"):
        # convert() would clip; 16 bits become 8 by their high byte, as in Pillow's own reading of 16-bit RGB.
        grey = (np.asarray(image).astype(np.uint32) >> 8).astype(np.uint8)
        return np.repeat(grey[:, :, None], 3, axis=2)
    if "A" in image.mode or "transparency" in image.info:
        image = image.convert("RGBA")
        return np.asarray(Image.alpha_composite(Image.new("RGBA", image.size, (0, 0, 0, 255)), image))[:, :, :3]
    return np.asarray(image.convert("RGB"))


def main():
    order = json.load(sys.stdin)
    answers = []
    for file in make(order["folder"]) + order["read"]:
        rgb = decode(file)
        pixels = f"{os.path.join(order['folder'], os.path.basename(file))}.rgb"
        with open(pixels, "wb") as out:
            out.write(np.ascontiguousarray(rgb).tobytes())
        answers.append({"file": file, "width": rgb.shape[1], "height": rgb.shape[0], "pixels": pixels})
    json.dump(answers, sys.stdout)


main()
