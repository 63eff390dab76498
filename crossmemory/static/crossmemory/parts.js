/**
 * What a message holds besides words: files, places and the like, as elements.
 *
 * @import {MessageItem, Part} from "./types.js"
 * @import {Texts} from "./texts.js"
 */

import { h } from "./dom.js";

/** Pixels that a picture takes at most; the page keeps its place free while it loads. */
const WIDEST = 420;
const HIGHEST = 320;

const PICTURES = new Set(["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif"]);

/**
 * @param {readonly Part[] | null} parts
 * @param {(attachment: string) => string} address  of a file
 * @param {Texts} texts
 * @returns {HTMLElement | null}
 */
export function partsElement(parts, address, texts) {
  const shown = (parts ?? []).map((part) => partElement(part, address, texts)).filter((element) => element !== null);
  return shown.length > 0 ? h("div", { class: "cm-parts", "data-cm": "parts" }, shown) : null;
}

/**
 * The words of a message without those that stand for a part which is shown.
 * @param {Pick<MessageItem, "text" | "parts">} item
 * @returns {string}
 */
export function ownWords({ text, parts }) {
  let words = text;
  for (const part of parts ?? []) {
    const token = `[${part.words}]`;
    if (isShown(part) && part.words && words.startsWith(token)) words = words.slice(token.length).replace(/^\s/, "");
  }
  return words;
}

/**
 * @param {number} bytes
 * @param {string} language
 * @returns {string}
 */
export function sizeOf(bytes, language) {
  const units = /** @type {const} */ (["byte", "kilobyte", "megabyte"]);
  const step = Math.min(2, bytes > 0 ? Math.floor(Math.log(bytes) / Math.log(1024)) : 0);
  const shown = bytes / 1024 ** step;
  return new Intl.NumberFormat(language, { style: "unit", unit: units[step] ?? "byte", unitDisplay: "short", maximumFractionDigits: shown < 10 && step > 0 ? 1 : 0 }).format(shown);
}

/** @param {Part} part */
function isShown(part) {
  return Boolean(part.attachment) || isPlace(part);
}

/** @param {Part} part */
function isPlace(part) {
  return typeof part.latitude === "number" && typeof part.longitude === "number";
}

/**
 * @param {Part} part
 * @param {(attachment: string) => string} address
 * @param {Texts} texts
 * @returns {HTMLElement | null} null for what its words tell well enough
 */
function partElement(part, address, texts) {
  if (isPlace(part)) return place(part, texts);
  if (!part.attachment) return null;
  const url = address(part.attachment);
  const mime = part.mime ?? "";
  if (PICTURES.has(mime)) return picture(part, url, texts);
  if (mime.startsWith("audio/")) return player("audio", part, url);
  if (mime.startsWith("video/")) return player("video", part, url);
  return download(part, url, texts);
}

/**
 * @param {Part} part
 * @param {string} url
 * @param {Texts} texts
 */
function picture(part, url, texts) {
  const alt = part.text || part.name || texts.t("part_photo");
  const { width = 0, height = 0 } = part;
  const scale = width && height ? Math.min(1, WIDEST / width, HIGHEST / height) : 0;
  const size = scale ? { width: Math.round(width * scale), height: Math.round(height * scale) } : {};
  const image = h("img", { src: url, alt, loading: "lazy", decoding: "async", "data-cm": "picture", ...size });
  image.addEventListener("error", () => link.replaceWith(download(part, url, texts)), { once: true });
  const link = h("a", { class: "cm-picture", href: url, target: "_blank", rel: "noopener" }, image);
  return link;
}

/**
 * @param {"audio" | "video"} tag
 * @param {Part} part
 * @param {string} url
 */
function player(tag, part, url) {
  const element = h(tag, { src: url, controls: true, preload: "metadata", "aria-label": part.words ?? part.name ?? "", "data-cm": tag });
  return part.text ? h("figure", { class: "cm-figure" }, element, h("figcaption", { class: "cm-soft", dir: "auto" }, part.text)) : element;
}

/**
 * @param {Part} part
 * @param {string} url
 * @param {Texts} texts
 */
function download(part, url, texts) {
  return h(
    "a",
    { class: "cm-file", href: url, download: part.name ?? "", "data-cm": "file" },
    h("bdi", { class: "cm-file-name" }, part.name || texts.t("part_file")),
    part.bytes !== undefined && h("span", { class: "cm-soft" }, sizeOf(part.bytes, texts.language)),
  );
}

/**
 * @param {Part} part
 * @param {Texts} texts
 */
function place({ latitude, longitude, name }, texts) {
  const where = `${latitude?.toFixed(5)}, ${longitude?.toFixed(5)}`;
  const url = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=16/${latitude}/${longitude}`;
  return h("a", { class: "cm-file", href: url, target: "_blank", rel: "noopener noreferrer", "data-cm": "place" }, h("bdi", { class: "cm-file-name" }, name || texts.t("part_place")), h("span", { class: "cm-soft", dir: "ltr" }, where));
}
