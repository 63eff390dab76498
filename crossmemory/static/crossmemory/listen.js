/**
 * @param {EventTarget} target
 * @param {string} name
 * @param {(event: Event) => void} listener
 * @returns {() => void} stops it
 */
export function listen(target, name, listener) {
  target.addEventListener(name, listener);
  return () => target.removeEventListener(name, listener);
}
