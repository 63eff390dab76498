/**
 * Bringing the files of a message to the server, one by one, before the message itself is sent.
 *
 * @import {QueueItem, QueuedFile} from "./types.js"
 */

import { ApiError } from "./api.js";

/**
 * @typedef {(conversation: string, file: Blob, name: string, onProgress: (share: number) => void) => Promise<{attachment: string}>} Upload
 */

/**
 * @param {QueueItem} item
 * @returns {boolean} some of its files are not on the server yet
 */
export function lacksFiles(item) {
  return (item.files ?? []).some((each) => each.attachment === null);
}

/**
 * @param {string} conversation
 * @param {QueueItem} item
 * @param {Upload} upload
 * @param {(files: QueuedFile[], progress: number) => void} onProgress
 * @returns {Promise<{code: string, detail: string} | "offline" | null>} what went wrong
 */
export async function bring(conversation, item, upload, onProgress) {
  const files = [...(item.files ?? [])];
  const whole = files.reduce((sum, each) => sum + each.file.size, 0) || 1;
  let done = 0;
  for (const [place, each] of files.entries()) {
    if (each.attachment === null) {
      try {
        const { attachment } = await upload(conversation, each.file, each.name, (share) => onProgress(files, (done + share * each.file.size) / whole));
        files[place] = { ...each, attachment };
      } catch (error) {
        if (error instanceof ApiError && !error.offline && error.status < 500) return { code: `file_${error.code}`, detail: `${each.name}: ${error.detail}` };
        return "offline";
      }
    }
    done += each.file.size;
    onProgress(files, done / whole);
  }
  return null;
}

/**
 * Upload one file with progress, which `fetch` cannot tell.
 * @param {string} address
 * @param {Record<string, string>} headers
 * @param {Blob} file
 * @param {string} name
 * @param {(share: number) => void} onProgress
 * @returns {Promise<{status: number, answer: any}>} status 0: no answer came
 */
export function post(address, headers, file, name, onProgress) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    const form = new FormData();
    form.append("file", file, name);
    request.open("POST", address);
    for (const [key, value] of Object.entries(headers)) request.setRequestHeader(key, value);
    request.responseType = "json";
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0));
    request.addEventListener("loadend", () => resolve({ status: request.status, answer: request.response }));
    request.send(form);
  });
}
