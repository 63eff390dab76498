/**
 * Events that were too large for a frame: it names where they are, and they are fetched before it is taken.
 *
 * @import {LogEvent} from "./types.js"
 */

/**
 * @param {Record<string, any>} frame
 * @returns {boolean}
 */
export function hasRefs(frame) {
  if (frame.type === "event") return Boolean(frame.event?.ref);
  return frame.type === "structured_replay" && Array.isArray(frame.events) && frame.events.some((e) => e?.ref);
}

/**
 * @param {Record<string, any>} frame
 * @param {((ref: string) => Promise<LogEvent>) | undefined} fetchRef
 * @returns {Promise<Record<string, any> | null>} null when a piece could not be had
 */
export async function withRefs(frame, fetchRef) {
  if (!fetchRef) return null;
  /** @param {LogEvent} event */
  const whole = (event) => (event.ref ? fetchRef(event.ref) : Promise.resolve(event));
  try {
    if (frame.type === "event") return { ...frame, event: await whole(frame.event) };
    return { ...frame, events: await Promise.all(frame.events.map(whole)) };
  } catch {
    return null;
  }
}
