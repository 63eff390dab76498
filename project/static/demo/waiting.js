/** Waiting for the truth: nothing in a scene is ticked because time went by. */

/** Why a scene did not hold, in words for people. */
export class Broken extends Error {}

export const words = document.getElementById("words")?.dataset ?? {};

/** A text for people, with its gaps filled. */
export function say(key, values = {}) {
  return (words[key] ?? key).replace(/\{(\w+)\}/g, (gap, name) => values[name] ?? gap);
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); reject(signal.reason); }, { once: true });
  });
}

/** Ask `look` until it gives something; `seconds` without it break the scene. */
export async function until(look, signal, seconds = 30, every = 120) {
  const deadline = performance.now() + seconds * 1000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (performance.now() > deadline) throw new Broken(say("late", { seconds }));
    await pause(every, signal);
  }
}

/** JSON of one of our own addresses. */
export async function ask(address, { body, csrf, signal } = {}) {
  const options = body === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json", ...(csrf ? { "X-CSRFToken": csrf } : {}) },
    body: JSON.stringify(body),
  };
  const response = await fetch(address, { ...options, credentials: "same-origin", cache: "no-store", signal });
  if (!response.ok) throw new Broken(say("refused", { address, status: response.status }));
  return response.json();
}
